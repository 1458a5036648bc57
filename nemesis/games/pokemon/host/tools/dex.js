// Writes the dex as JSON lines: first the vocabulary of all ids, then the facts of each mod. The Python module
// `dex_export` runs this program and turns the facts into tables.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/**
 * @typedef {Record<string, any>} Facts
 * @typedef {{species: string[], moves: string[], items: string[], abilities: string[], types: string[]}} Vocabulary
 * @typedef {keyof Vocabulary} Kind
 */

// Move ids in requests that no dex has.
const MOVES_OF_REQUESTS = ['recharge', 'fight'];
// The type of a Pokémon that lost its types, and the type of the glitch Pokémon of gen 1.
const TYPES_OF_NO_CHART = ['???', 'bird'];

/** @type {Record<Kind, string>} the names of the data tables in the package */
const SOURCES = { species: 'Pokedex', moves: 'Moves', items: 'Items', abilities: 'Abilities', types: 'TypeChart' };

/** @type {Record<Kind, string[]>} */
const FACTS = {
  species: [
    'baseStats', 'types', 'weighthg', 'nfe', 'baseSpecies', 'abilities', 'gender', 'genderRatio', 'isMega', 'isPrimal',
    'requiredItem', 'forceTeraType', 'isNonstandard',
  ],
  moves: [
    'basePower', 'accuracy', 'pp', 'noPPBoosts', 'priority', 'category', 'type', 'target', 'flags', 'recoil', 'drain',
    'hasCrashDamage', 'mindBlownRecoil', 'chloroblastRecoil', 'struggleRecoil', 'critRatio', 'willCrit', 'multihit',
    'multiaccuracy', 'boosts', 'self', 'selfBoost', 'secondaries', 'status', 'volatileStatus', 'stallingMove',
    'selfSwitch', 'forceSwitch', 'weather', 'terrain', 'pseudoWeather', 'sideCondition', 'slotCondition', 'heal',
    'selfdestruct', 'ohko', 'damage', 'damageCallback', 'basePowerCallback', 'overrideOffensiveStat',
    'overrideOffensivePokemon', 'overrideDefensiveStat', 'ignoreDefensive', 'ignoreAbility', 'breaksProtect',
    'zMove', 'maxMove', 'isZ', 'isMax', 'isNonstandard',
  ],
  items: [
    'desc', 'isChoice', 'isBerry', 'isGem', 'megaStone', 'zMoveType', 'fling', 'onTakeItem', 'isNonstandard',
  ],
  abilities: ['isNonstandard'],
  types: ['damageTaken', 'isNonstandard'],
};

/**
 * @param {any} dex
 * @returns {Vocabulary}
 */
function vocabularyOf(dex) {
  /** @type {(kind: Kind) => string[]} */
  const keys = (kind) => Object.keys(dex.data[SOURCES[kind]]);
  const formes = dex.species.all().flatMap((/** @type {any} */ species) => species.cosmeticFormes ?? []);
  return {
    species: [...new Set([...keys('species'), ...formes.map(dex.toID)])],
    moves: [...keys('moves'), ...MOVES_OF_REQUESTS],
    items: keys('items'),
    abilities: keys('abilities'),
    types: [...keys('types'), ...TYPES_OF_NO_CHART],
  };
}

/**
 * @param {any} entry of a dex
 * @param {string[]} names
 * @returns {Facts} the properties that are set; a callback counts as true
 */
function pick(entry, names) {
  /** @type {Facts} */
  const facts = {};
  for (const name of names) {
    const value = entry[name];
    if (value === undefined || value === null || value === '') continue;
    // A callback that is false has a meaning: the item cannot be taken.
    if (value === false && name !== 'onTakeItem') continue;
    facts[name] = typeof value === 'function' ? true : value;
  }
  return facts;
}

/**
 * @param {any} dex
 * @param {Vocabulary} vocabulary
 * @returns {Record<Kind, Record<string, Facts>>}
 */
function factsOf(dex, vocabulary) {
  const kinds = /** @type {Kind[]} */ (Object.keys(SOURCES));
  /** @type {any} */
  const facts = {};
  for (const kind of kinds) {
    const entries = vocabulary[kind].map((id) => [id, dex[kind].get(id)]).filter(([, entry]) => entry.exists);
    facts[kind] = Object.fromEntries(entries.map(([id, entry]) => [id, pick(entry, FACTS[kind])]));
  }
  return facts;
}

function main() {
  const { Dex } = require('pokemon-showdown');
  const vocabulary = vocabularyOf(Dex);
  const isPlayed = (/** @type {any} */ { gameType }) => gameType === 'singles' || gameType === 'doubles';
  const formats = Dex.formats.all().filter(isPlayed);
  const generations = Array.from({ length: Dex.gen }, (_, index) => `gen${index + 1}`);
  const mods = new Set([...generations, ...formats.map((/** @type {any} */ format) => format.mod)]);
  process.stdout.write(`${JSON.stringify(vocabulary)}\n`);
  for (const mod of mods) {
    const dex = /** @type {any} */ (Dex.mod(mod));
    const known = (/** @type {Kind} */ kind) => {
      const ids = new Set(vocabulary[kind]);
      return Object.keys(dex.data[SOURCES[kind]]).every((id) => ids.has(id));
    };
    // A mod with ids of its own uses the table of its generation, because the vocabulary lacks those ids anyway.
    const own = /** @type {Kind[]} */ (Object.keys(SOURCES)).every(known);
    const facts = own ? factsOf(dex, vocabulary) : null;
    process.stdout.write(`${JSON.stringify({ mod, generation: dex.gen, facts })}\n`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();

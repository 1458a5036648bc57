// Completes the known part of a team to a team that requests can be written for, and marks what is guessed.
//
// Whatever a log never shows is sampled from usage statistics of the format, if there are any, and marked as guessed in
// either case. It is sampled and not the most likely value, because otherwise every unusual value would be recognizable
// as true, and often as used later. What the log shows always takes precedence. Apart from using a guessed move, a
// seat's legal actions depend on revealed facts only.

import { lexiconOf, toId } from '../tracker/lexicon.js';
import { UNKNOWN_ITEM } from '../tracker/own.js';
import { LogRandom } from './random.js';

/** @import { SpeciesFacts } from '../tracker/lexicon.js' */
/** @import { Log } from './log.js' */
/** @import { Knowledge, Known } from './teams.js' */
/** @import { SpeciesUsage } from './usage.js' */

/**
 * Bits of what is unknown about a Pokémon: `moves` if any move is, and from `move` on one bit for each of four moves.
 */
export const GUESSED = {
  item: 1, ability: 2, moves: 4, tera: 8, stats: 16, brought: 32, species: 64, move: 128, forme: 2048,
};

/**
 * One Pokémon as its seat knows it.
 * @typedef {object} Member
 * @property {string} name
 * @property {string} species id; '' if unknown
 * @property {number} level
 * @property {string} gender
 * @property {string[]} moves '' for an unknown one
 * @property {string} item
 * @property {string} ability
 * @property {string} tera
 * @property {{item: string, ability: string}} revealed those that the log reveals, without guesses
 * @property {Record<string, number>} stats 0 where unknown
 * @property {number} maxHp 0 where unknown
 * @property {number} guessed bits of `GUESSED`
 * @property {{species: string, moves: string[]} | null} uncrowned its form at team preview, if its item changes it
 */

/** @typedef {(knowledge: Knowledge, dex: any, log: Log, seat: number) => Member[]} Complete */

const LAST_GENERATION_WITH_MAX_STATS = 2; // in which all stats can be maximal at once
const MOVES = 4;
/** The move that replaces Iron Head, by the species whose item changes its forme at the start of the battle. */
const CROWNED = new Map([['zaciancrowned', 'behemothblade'], ['zamazentacrowned', 'behemothbash']]);
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

/**
 * @param {Map<string, SpeciesUsage> | null} usual by species, or null to guess nothing
 * @returns {Complete}
 */
export function teamCompleter(usual) {
  return ({ team, sheet }, dex, { text }, seat) => {
    const random = new LogRandom(text, String(seat));
    const species = usual ? speciesOf(team, lexiconOf(dex), usual, random) : team.map((known) => known.species);
    return team.map((known, number) => {
      const fill = usual && species[number] ? fillIn(known, species[number], dex, usual, random) : null;
      return memberOf(known, species[number], sheet, dex, fill);
    });
  };
}

/**
 * Without team preview, a log does not name Pokémon that never came in. An empty place would reveal how the battle
 * ends, so it is filled with a plausible Pokémon.
 * @param {Known[]} team
 * @param {import('../tracker/lexicon.js').Lexicon} lexicon
 * @param {Map<string, SpeciesUsage>} usual
 * @param {LogRandom} random
 * @returns {(SpeciesFacts | undefined)[]}
 */
function speciesOf(team, lexicon, usual, random) {
  const seen = team.flatMap(({ species }) => species ?? []);
  if (seen.length === team.length) return seen;
  const taken = new Set(seen.map(({ base }) => base));
  const free = (/** @type {string} */ id) => !taken.has(lexicon.species(id).base);
  /** @type {Record<string, number>} */
  const allSpecies = Object.fromEntries([...usual].map(([id, { team: mates }]) => [id, mates?.[id] ?? 0]));
  /** @type {Record<string, number>} */
  const teammates = {};
  for (const [id, count] of seen.flatMap((one) => Object.entries(usual.get(one.id)?.team ?? {}))) {
    teammates[id] = (teammates[id] ?? 0) + count;
  }
  return team.map((known) => {
    if (known.species) return known.species;
    const id = random.pick(teammates, free) ?? random.pick(allSpecies, free);
    if (!id) return undefined;
    const species = lexicon.species(id);
    taken.add(species.base);
    return species;
  });
}

/**
 * @param {Known} known
 * @param {SpeciesFacts | undefined} species its species, or a guess
 * @param {boolean} sheet whether the order of the moves is that of the team
 * @param {any} dex
 * @param {Completion | null} fill
 * @returns {Member}
 */
function memberOf(known, species, sheet, dex, fill) {
  const moves = sheet ? known.moves : inNeutralOrder(known, fill?.moves ?? []);
  const crownedMove = CROWNED.get(species?.id ?? '');
  const stats = species && statsOf(known, species, dex, fill !== null);
  return {
    name: known.name,
    species: species?.id ?? '',
    level: known.level,
    gender: known.gender,
    moves,
    uncrowned:
      species && crownedMove ? { species: species.base, moves: replaced(moves, crownedMove, 'ironhead') } : null,
    item: (fill ?? known).item ?? UNKNOWN_ITEM,
    ability: (fill ?? known).ability ?? '',
    tera: (fill ?? known).tera ?? '',
    revealed: { item: known.item ?? UNKNOWN_ITEM, ability: known.ability ?? '' },
    stats: Object.fromEntries(STATS.map((stat) => [stat, stats?.[stat] ?? 0])),
    maxHp: stats?.hp ?? 0,
    guessed: guessesOf(known, moves),
  };
}

/**
 * @param {Known} known
 * @param {string[]} moves as shown in requests
 * @returns {number} bits of `GUESSED`
 */
function guessesOf(known, moves) {
  let guessed = GUESSED.stats;
  if (!known.species) guessed |= GUESSED.species;
  if (!known.forme) guessed |= GUESSED.forme;
  if (known.item === undefined) guessed |= GUESSED.item;
  if (known.ability === undefined) guessed |= GUESSED.ability;
  if (!known.allMoves) guessed |= GUESSED.moves;
  if (known.tera === undefined) guessed |= GUESSED.tera;
  moves.forEach((id, place) => {
    if (!known.moves.includes(id)) guessed |= GUESSED.move << place;
  });
  return guessed;
}

/**
 * `moves` are the additional ones.
 * @typedef {{moves: string[], item?: string, ability?: string, tera?: string}} Completion
 */

/**
 * @param {Known} known
 * @param {SpeciesFacts} species
 * @param {any} dex
 * @param {Map<string, SpeciesUsage>} usual
 * @param {LogRandom} random
 * @returns {Completion} what is revealed, else sampled or, without statistics, the simulator's default
 */
function fillIn(known, { id }, dex, usual, random) {
  const { moves = {}, item = {}, ability = {}, tera = {} } = usual.get(id) ?? {};
  const { abilities, types } = dex.species.get(id);
  /** @type {string[]} */
  const others = [];
  while (!known.allMoves && known.moves.length + others.length < MOVES) {
    const next = random.pick(moves, (one) => !known.moves.includes(one) && !others.includes(one));
    if (!next) break;
    others.push(next);
  }
  return {
    moves: others,
    item: known.item ?? random.pick(item),
    ability: known.ability ?? random.pick(ability) ?? (dex.gen >= 3 ? toId(abilities[0] ?? '') : undefined),
    tera: known.tera ?? random.pick(tera) ?? toId(types[0] ?? ''),
  };
}

/**
 * @param {string[]} items
 * @param {string} old
 * @param {string} other
 * @returns {string[]}
 */
function replaced(items, old, other) {
  return items.map((item) => (item === old ? other : item));
}

/**
 * Sorted, because the order of first use would reveal when a move will be used, and guesses at the end would reveal
 * which moves will be.
 * @param {Known} known
 * @param {string[]} others guessed ones
 * @returns {string[]}
 */
function inNeutralOrder({ moves, allMoves }, others) {
  if (allMoves) return [...moves].sort();
  const filled = [...moves, ...others].sort();
  return [...filled, ...Array(MOVES - filled.length).fill('')];
}

/**
 * @param {Known} known
 * @param {SpeciesFacts} species
 * @param {any} dex
 * @param {boolean} fill whether to guess them
 * @returns {Record<string, number> | null}
 */
function statsOf({ level, nature }, species, dex, fill) {
  const best = dex.gen <= LAST_GENERATION_WITH_MAX_STATS;
  if (!best && !fill) return null;
  const base = dex.species.get(species.id).baseStats;
  // Maximal values in the first two generations; later 85 effort points in each stat.
  const [individual, effort] = best ? [30, 63] : [31, 21];
  const value = (/** @type {string} */ stat) => Math.floor(((2 * base[stat] + individual + effort) * level) / 100);
  const { plus, minus } = dex.natures.get(nature ?? '');
  const stats = Object.fromEntries(
    STATS.map((stat) => {
      const plain = value(stat) + 5;
      if (stat === plus && stat !== minus) return [stat, Math.floor(plain * 1.1)];
      return [stat, stat === minus && stat !== plus ? Math.floor(plain * 0.9) : plain];
    }),
  );
  return { ...stats, hp: species.id === 'shedinja' ? 1 : value('hp') + level + 10 };
}

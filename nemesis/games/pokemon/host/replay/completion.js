// From what a log tells of a team to a team that a request can be written for, with a note of what was not told.
//
// What a log never shows is drawn from what is usual in the format, if that is told, and marked as guessed either way. It
// is drawn, and not the likeliest, since else whatever is unusual would be known to be true, and often to be used later.
// What the log shows always wins. A guess frees or binds nobody: what a seat could do besides using it follows from what is
// told alone.

import { LogRandom } from './random.js';
import { lexiconOf, toId } from '../tracker/lexicon.js';
import { UNKNOWN_ITEM } from '../tracker/own.js';

/** @import { Log } from './log.js' */
/** @import { Knowledge, Known } from './teams.js' */
/** @import { SpeciesUsage } from './usage.js' */
/** @import { SpeciesFacts } from '../tracker/lexicon.js' */

/** Bits of what is not known of a Pokémon: `moves` if any of them is not, and from `move` on one bit for each of four. */
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
 * @property {string[]} moves '' for one that is not known
 * @property {string} item
 * @property {string} ability
 * @property {string} tera
 * @property {{item: string, ability: string}} told what is told of these, guesses aside
 * @property {Record<string, number>} stats 0 where unknown
 * @property {number} maxHp 0 where unknown
 * @property {number} guessed bits of `GUESSED`
 * @property {{species: string, moves: string[]} | null} uncrowned what it is at team preview, if a crown changes it then
 */

/** @typedef {(knowledge: Knowledge, dex: any, log: Log, seat: number) => Member[]} Complete */

const LAST_GENERATION_WITH_MAX_STATS = 2; // generations in which nothing speaks against the highest values
const MOVES = 4;
/** What takes the place of Iron Head, by the species whose item crowns it as the battle begins. */
const CROWNED = new Map([['zaciancrowned', 'behemothblade'], ['zamazentacrowned', 'behemothbash']]);
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

/**
 * @param {Map<string, SpeciesUsage> | null} usual by species, or null if nothing is to be filled in
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
 * Without a team preview, a log does not name who never came in. That there is such a one tells much of how the battle will
 * end, so the places are taken by Pokémon that such a team might have.
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
 * @param {SpeciesFacts | undefined} species it, or whoever takes its place
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
    uncrowned: species && crownedMove ? { species: species.base, moves: replaced(moves, crownedMove, 'ironhead') } : null,
    item: (fill ?? known).item ?? UNKNOWN_ITEM,
    ability: (fill ?? known).ability ?? '',
    tera: (fill ?? known).tera ?? '',
    told: { item: known.item ?? UNKNOWN_ITEM, ability: known.ability ?? '' },
    stats: Object.fromEntries(STATS.map((stat) => [stat, stats?.[stat] ?? 0])),
    maxHp: stats?.hp ?? 0,
    guessed: guessesOf(known, moves),
  };
}

/**
 * @param {Known} known
 * @param {string[]} moves as they are shown
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

/** @typedef {{moves: string[], item?: string, ability?: string, tera?: string}} Completion `moves` are those to be added */

/**
 * @param {Known} known
 * @param {SpeciesFacts} species
 * @param {any} dex
 * @param {Map<string, SpeciesUsage>} usual
 * @param {LogRandom} random
 * @returns {Completion} what is told, else drawn or, where nobody showed it, what the simulator takes if a team does not say
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
 * In the order in which they were first used, the place of a move would tell when it will be used; and if guesses stood
 * at the end, that it will be.
 * @param {Known} known
 * @param {string[]} others that are guessed
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
 * @param {boolean} fill whether they are to be guessed
 * @returns {Record<string, number> | null}
 */
function statsOf({ level, nature }, species, dex, fill) {
  const best = dex.gen <= LAST_GENERATION_WITH_MAX_STATS;
  if (!best && !fill) return null;
  const base = dex.species.get(species.id).baseStats;
  // The highest values at once in the first generations; later 85 effort points in each stat, as nobody is favoured.
  const [born, trained] = best ? [30, 63] : [31, 21];
  const value = (/** @type {string} */ stat) => Math.floor(((2 * base[stat] + born + trained) * level) / 100);
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

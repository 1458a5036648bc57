// Random Gen 1 teams of any moves, most of them with code of their own, to make rare effects meet.

/** @import { Simulator } from '../simulator.js' */
/** @import { Random } from './play.js' */

const SPECIES = 151;
const MOVES = 165;
const MEMBERS = 6;
const SLOTS = 4;
const NICKNAMES = ['Ada', 'Bob'];
const LEVELS = [100, 50, 5];
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];
/** Moves whose effects are more than data. */
const CODED = [
  'bide', 'bind', 'clamp', 'conversion', 'counter', 'defensecurl', 'dig', 'disable', 'explosion', 'firespin', 'fly',
  'focusenergy', 'haze', 'hyperbeam', 'leechseed', 'lightscreen', 'metronome', 'mimic', 'minimize', 'mirrormove', 'mist',
  'petaldance', 'psywave', 'rage', 'razorwind', 'recover', 'reflect', 'rest', 'selfdestruct', 'sleeppowder', 'solarbeam',
  'spore', 'struggle', 'substitute', 'supersonic', 'superfang', 'thrash', 'thunderwave', 'toxic', 'transform', 'wrap',
];

/**
 * @param {Simulator} simulator
 * @param {any} dex of Gen 1
 * @param {Random} random
 * @returns {string} a packed team; some of its members share species, nickname or both
 */
export function wildTeam({ Teams }, dex, random) {
  const species = inGames(dex.species.all(), SPECIES);
  const moves = inGames(dex.moves.all(), MOVES);
  const size = random(4) ? MEMBERS : 1 + random(MEMBERS);
  const kinds = Array.from({ length: random(4) ? species.length : 2 }, () => species[random(species.length)]);
  const sets = Array.from({ length: size }, () => {
    const { name } = kinds[random(kinds.length)];
    const own = new Set();
    const count = random(4) ? SLOTS : 1 + random(SLOTS);
    while (own.size < count) own.add(random(3) ? CODED[random(CODED.length)] : moves[random(moves.length)].id);
    return {
      name: random(4) ? name : NICKNAMES[random(NICKNAMES.length)],
      species: name,
      item: '',
      ability: 'No Ability',
      moves: [...own],
      nature: '',
      gender: '',
      evs: Object.fromEntries(STATS.map((stat) => [stat, 252])),
      ivs: Object.fromEntries(STATS.map((stat) => [stat, 2 * random(16)])),
      level: random(3) ? LEVELS[0] : LEVELS[random(LEVELS.length)],
    };
  });
  return Teams.pack(/** @type {any} */ (sets));
}

/**
 * @param {any[]} entries
 * @param {number} last
 * @returns {any[]}
 */
function inGames(entries, last) {
  return entries.filter(({ num, isNonstandard }) => num > 0 && num <= last && !isNonstandard);
}

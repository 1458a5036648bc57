// Random teams to measure and compare simulators: those of the random-battle formats, and sets from the whole dex.

/** @import { Simulator } from '../simulator.js' */
/** @import { Random } from './play.js' */

const MEMBERS = 6;
const MOVES = 4;
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];

/**
 * A team of the format's own generator or, if it has none, of the most similar random-battle format.
 * @param {Simulator} simulator
 * @param {any} format
 * @param {Random} random
 * @returns {string} packed
 */
export function generatedTeam({ Dex, Teams, PRNG }, format, random) {
  const dex = Dex.forFormat(format);
  const generator = format.team ? format.id : generatorOf(dex, format);
  const seed = [random(65536), random(65536), random(65536), random(65536)].join(',');
  return Teams.pack(Teams.generate(generator, { seed: /** @type {any} */ (new PRNG(/** @type {any} */ (seed))) }));
}

/**
 * @param {any} dex
 * @param {any} format
 */
function generatorOf(dex, format) {
  if (dex.currentMod.startsWith('champions')) return 'gen9championsrandombattle';
  return `gen${dex.gen}${dex.gen === 9 && format.gameType === 'doubles' ? 'randomdoublesbattle' : 'randombattle'}`;
}

/**
 * A team of random sets from anything in the generation, so that rare effects interact.
 * @param {Simulator} simulator
 * @param {any} format
 * @param {Random} random
 * @returns {string} packed
 */
export function wildTeam({ Dex, Teams }, format, random) {
  const dex = Dex.forFormat(format);
  const pools = poolsOf(dex);
  return Teams.pack(/** @type {any} */ (Array.from({ length: MEMBERS }, () => wildSet(dex, pools, random))));
}

/**
 * @typedef {object} Pools
 * @property {any[]} species
 * @property {any[]} moves
 * @property {any[]} items
 * @property {any[]} abilities
 */

/** @type {WeakMap<object, Pools>} */
const knownPools = new WeakMap();

/**
 * @param {any} dex
 * @returns {Pools}
 */
function poolsOf(dex) {
  let pools = knownPools.get(dex);
  if (!pools) {
    const present = (/** @type {any} */ entry) => entry.gen <= dex.gen && entry.isNonstandard !== 'Future';
    pools = {
      species: dex.species.all().filter((/** @type {any} */ species) => present(species) && !species.battleOnly),
      moves: dex.moves.all().filter((/** @type {any} */ move) => present(move) && !move.isZ && !move.isMax),
      items: dex.items.all().filter(present),
      abilities: dex.abilities.all().filter(present),
    };
    knownPools.set(dex, pools);
  }
  return pools;
}

/**
 * @param {any} dex
 * @param {Pools} pools
 * @param {Random} random
 */
function wildSet(dex, pools, random) {
  const species = draw(pools.species, random);
  const own = Object.values(species.abilities);
  const moves = new Set();
  while (moves.size < MOVES) moves.add(draw(pools.moves, random).id);
  return {
    name: species.baseSpecies,
    species: species.name,
    item: wildItem(species, pools, random),
    ability: random(3) && pools.abilities.length ? draw(pools.abilities, random).name : draw(own, random),
    moves: [...moves],
    nature: draw(dex.natures.all(), random).name,
    gender: '',
    evs: Object.fromEntries(STATS.map((stat) => [stat, 4 * random(64)])),
    ivs: Object.fromEntries(STATS.map((stat) => [stat, random(32)])),
    level: random(2) ? 100 : 40 + random(60),
    happiness: random(256),
    teraType: draw(dex.types.names(), random),
    gigantamax: Boolean(species.canGigantamax && random(2)),
  };
}

/**
 * Species with items of their own (mega stones, plates, Z-crystals) hold one of them half of the time.
 * @param {any} species
 * @param {Pools} pools
 * @param {Random} random
 */
function wildItem(species, pools, random) {
  const own = pools.items.filter(
    (item) => item.itemUser?.includes(species.name) || (item.megaStone && species.name in item.megaStone),
  );
  if (own.length && random(2)) return draw(own, random).name;
  return pools.items.length ? draw(pools.items, random).name : '';
}

/**
 * @template T
 * @param {T[]} items
 * @param {Random} random
 * @returns {T}
 */
function draw(items, random) {
  return items[random(items.length)];
}

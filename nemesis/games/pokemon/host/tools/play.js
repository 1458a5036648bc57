// Plays battles with random legal choices, to measure and compare simulators.

/** @import { Simulator } from '../simulator.js' */

/**
 * Random integers in [0, bound), independent of the PRNG of any battle (mulberry32).
 * @typedef {(bound: number) => number} Random
 */

/**
 * @param {number} seed
 * @returns {Random}
 */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

/**
 * @param {Simulator} simulator
 * @param {any} format
 * @param {string[]} teams packed
 * @param {Random} random
 * @returns {import('pokemon-showdown').Battle}
 */
export function startBattle({ Battle }, format, teams, random) {
  const seed = Array.from({ length: 4 }, () => random(2 ** 16)).join(',');
  const [p1, p2] = teams.map((team, seat) => ({ name: `Seat ${seat + 1}`, team }));
  return new Battle({ formatid: format.id, format, seed: /** @type {any} */ (seed), p1, p2 });
}

const MAX_TRIES = 8;

/**
 * Answer requests at random until the battle ends or reaches the turn limit.
 * @param {any} battle
 * @param {Random} random
 * @param {number} turnLimit
 * @param {(choice: string) => void} [observe] is called with every choice before it is made
 * @returns {number} decisions made
 */
export function playRandomly(battle, random, turnLimit, observe) {
  let decisions = 0;
  while (!battle.ended && battle.turn <= turnLimit) {
    const waiting = battle.sides.filter((/** @type {any} */ side) => side.requestState);
    for (const side of waiting) answer(battle, side, random, observe);
    decisions += waiting.length;
  }
  return decisions;
}

/**
 * A request does not show every trap, so a refused choice is followed by another.
 * @param {any} battle
 * @param {any} side
 * @param {Random} random
 * @param {(choice: string) => void} [observe]
 */
function answer(battle, side, random, observe) {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const choice = tries < MAX_TRIES - 1 ? randomChoice(side.activeRequest, random) : 'default';
    observe?.(`${side.id} ${choice}`);
    if (battle.choose(side.id, choice)) return;
  }
  throw new Error(`The simulator accepts no choice: ${side.choice.error}`);
}

/**
 * A random choice for a request, legal as far as the request shows.
 * @param {any} request
 * @param {Random} random
 * @returns {string}
 */
export function randomChoice(request, random) {
  if (request.teamPreview) return randomOrder(request, random);
  const bench = benchOf(request);
  const places = request.forceSwitch ?? request.active;
  const gimmicks = new Set();
  return places
    .map((/** @type {any} */ place, /** @type {number} */ slot) => {
      if (request.forceSwitch) return place ? randomSwitch(request, slot, bench, random) : 'pass';
      const pokemon = request.side.pokemon[slot];
      if (pokemon.condition.endsWith(' fnt') || pokemon.commanding) return 'pass';
      if (bench.length && !place.trapped && random(6) === 0) return randomSwitch(request, slot, bench, random);
      return randomMove(request, slot, gimmicks, random);
    })
    .join(', ');
}

/**
 * @param {any} request
 * @param {Random} random
 */
function randomOrder(request, random) {
  const places = request.side.pokemon.map((/** @type {any} */ _, /** @type {number} */ place) => place + 1);
  shuffle(places, random);
  return `team ${places.slice(0, request.maxChosenTeamSize ?? places.length).join(',')}`;
}

/**
 * @param {any} request
 * @returns {number[]} places of the Pokémon that can come in, from 1
 */
function benchOf(request) {
  /** @type {number[]} */
  const bench = [];
  request.side.pokemon.forEach((/** @type {any} */ pokemon, /** @type {number} */ place) => {
    if (!pokemon.active && !pokemon.condition.endsWith(' fnt')) bench.push(place + 1);
  });
  return bench;
}

/**
 * Removes the Pokémon from the bench, because it cannot come into two slots.
 * @param {any} request
 * @param {number} slot
 * @param {number[]} bench
 * @param {Random} random
 */
function randomSwitch(request, slot, bench, random) {
  if (request.side.pokemon[slot].reviving) {
    const fainted = request.side.pokemon.flatMap((/** @type {any} */ pokemon, /** @type {number} */ place) =>
      pokemon.condition.endsWith(' fnt') ? [place + 1] : [],
    );
    return `switch ${fainted[random(fainted.length)]}`;
  }
  if (!bench.length) return 'pass';
  return `switch ${bench.splice(random(bench.length), 1)[0]}`;
}

/**
 * @param {any} request
 * @param {number} slot
 * @param {Set<string>} gimmicks those that another slot uses this turn
 * @param {Random} random
 */
function randomMove(request, slot, gimmicks, random) {
  const active = request.active[slot];
  const usable = active.moves.flatMap((/** @type {any} */ move, /** @type {number} */ place) =>
    move.disabled ? [] : [place],
  );
  let place = usable[random(usable.length)];
  let { target } = active.moves[place];
  let gimmick = random(3) === 0 ? randomGimmick(active, place, random) : '';
  if (gimmicks.has(gimmick)) gimmick = '';
  if (gimmick) gimmicks.add(gimmick);
  if (gimmick === ' zmove') target = active.canZMove[place].target;
  if (gimmick === ' dynamax' || (active.maxMoves && !active.canDynamax)) {
    const maximal = active.maxMoves.maxMoves;
    if (maximal[place].disabled) place = maximal.findIndex((/** @type {any} */ move) => !move.disabled);
    target = maximal[place].target;
  }
  return `move ${place + 1}${randomTarget(request, slot, target, random)}${gimmick}`;
}

/**
 * @param {any} active
 * @param {number} place
 * @param {Random} random
 */
function randomGimmick(active, place, random) {
  const offered = [];
  if (active.canMegaEvo) offered.push(' mega');
  if (active.canMegaEvoX) offered.push(' megax');
  if (active.canMegaEvoY) offered.push(' megay');
  if (active.canUltraBurst) offered.push(' ultra');
  if (active.canZMove?.[place]) offered.push(' zmove');
  if (active.canDynamax) offered.push(' dynamax');
  if (active.canTerastallize) offered.push(' terastallize');
  return offered.length ? offered[random(offered.length)] : '';
}

/**
 * @param {any} request
 * @param {number} slot
 * @param {string} target target type of the move
 * @param {Random} random
 */
function randomTarget(request, slot, target, random) {
  if (request.active.length < 2) return '';
  const foes = [' 1', ' 2'];
  const ally = ` -${2 - slot}`;
  /** @type {Record<string, string[] | undefined>} */
  const choosable = {
    normal: [...foes, ally],
    any: [...foes, ally],
    adjacentFoe: foes,
    adjacentAlly: [ally],
    adjacentAllyOrSelf: [' -1', ' -2'],
  };
  const places = choosable[target] ?? [];
  return places.length ? places[random(places.length)] : '';
}

/**
 * @template T
 * @param {T[]} items
 * @param {Random} random
 */
function shuffle(items, random) {
  for (let last = items.length - 1; last > 0; last--) {
    const other = random(last + 1);
    [items[last], items[other]] = [items[other], items[last]];
  }
}

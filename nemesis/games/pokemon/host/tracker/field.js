// Weather, terrain, rooms, side conditions and delayed moves, with their remaining durations.

import { startDuration } from './durations.js';
import { noteCause } from './items.js';

/** @import { Duration } from './durations.js' */
/** @import { Pokemon, Side } from './state.js' */
/** @import { Tracker } from './tracker.js' */

const TERRAINS = new Set(['electricterrain', 'grassyterrain', 'mistyterrain', 'psychicterrain']);
/** @type {Record<string, number>} */
const MAX_LAYERS = { spikes: 3, toxicspikes: 2 };
const NOT_SWAPPED = new Set(['luckychant', 'quickguard', 'wideguard', 'craftyshield', 'matblock']);
/** @type {Record<string, string>} */
const OLD_NAMES = { snow: 'snowscape' };

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function weather(tracker, parts) {
  if (parts[3] === '[upkeep]') return;
  const id = tracker.lexicon.id(parts[2]);
  if (id === 'none' || id === '') {
    tracker.weather = null;
    return;
  }
  tracker.readTags(parts, 3);
  tracker.weather = startDuration(tracker, OLD_NAMES[id] ?? id, setterOf(tracker));
  if (tracker.from?.kind === 'ability' && tracker.lexicon.generation <= 5) tracker.weather.turns = -1;
}

/**
 * @param {Tracker} tracker
 * @returns {Pokemon | null} whose ability or move started the condition
 */
function setterOf(tracker) {
  const setter = tracker.pokemonAt(tracker.of) ?? tracker.actor?.pokemon ?? null;
  noteCause(tracker, setter);
  return setter;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function fieldStart(tracker, parts) {
  tracker.readTags(parts, 3);
  const { id } = tracker.lexicon.effect(parts[2]);
  const setter = setterOf(tracker);
  if (TERRAINS.has(id)) tracker.terrain = startDuration(tracker, id, setter);
  else tracker.rooms.set(id, startDuration(tracker, id, null));
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function fieldEnd(tracker, parts) {
  const { id } = tracker.lexicon.effect(parts[2]);
  if (TERRAINS.has(id)) tracker.terrain = null;
  else tracker.rooms.delete(id);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function fieldActivate(tracker, parts) {
  const { id } = tracker.lexicon.effect(parts[2]);
  if (id === 'fairylock' || id === 'iondeluge') tracker.rooms.set(id, startDuration(tracker, id, null));
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function sideStart(tracker, parts) {
  startSideCondition(tracker, tracker.sideAt(parts[2]), tracker.lexicon.effect(parts[3]).id);
}

/**
 * @param {Tracker} tracker
 * @param {Side} side
 * @param {string} id
 */
export function startSideCondition(tracker, side, id) {
  const present = side.conditions.get(id);
  if (present) present.layers = Math.min(present.layers + 1, MAX_LAYERS[id] ?? 1);
  else side.conditions.set(id, startDuration(tracker, id, tracker.actor?.pokemon ?? null));
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function sideEnd(tracker, parts) {
  tracker.sideAt(parts[2]).conditions.delete(tracker.lexicon.effect(parts[3]).id);
}

/** @param {Tracker} tracker */
function swapSideConditions({ sides: [one, other] }) {
  const moved = [...one.conditions].filter(([id]) => !NOT_SWAPPED.has(id));
  for (const [id] of moved) one.conditions.delete(id);
  for (const [id, condition] of [...other.conditions]) {
    if (NOT_SWAPPED.has(id)) continue;
    other.conditions.delete(id);
    one.conditions.set(id, condition);
  }
  for (const [id, condition] of moved) other.conditions.set(id, condition);
}

/**
 * Count down everything that lasts a number of turns.
 * @param {Tracker} tracker
 */
export function passTurn(tracker) {
  const { weather: sky, terrain, rooms, sides, phase } = tracker;
  if (sky) tick(sky, phase);
  if (terrain) tick(terrain, phase);
  tickAll(rooms, phase);
  for (const side of sides) {
    tickAll(side.conditions, phase);
    for (const counters of [side.wish, side.futureMove]) {
      if (counters[0]) counters[0]--;
      if (counters[1]) counters[1]--;
    }
  }
}

/**
 * @param {Duration} duration
 * @param {number} phase
 */
function tick(duration, phase) {
  if (duration.startPhase !== phase) duration.elapsed++; // not yet if it started at the end of this turn
}

/**
 * @param {Map<string, Duration>} durations
 * @param {number} phase
 */
function tickAll(durations, phase) {
  for (const duration of durations.values()) {
    tick(duration, phase);
    // Short conditions end without a line.
    if (duration.turns > 0 && duration.turns <= 2 && duration.elapsed >= duration.turns) durations.delete(duration.id);
  }
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const fieldLines = [
  ['-weather', weather],
  ['-fieldstart', fieldStart],
  ['-fieldend', fieldEnd],
  ['-fieldactivate', fieldActivate],
  ['-sidestart', sideStart],
  ['-sideend', sideEnd],
  ['-swapsideconditions', swapSideConditions],
];

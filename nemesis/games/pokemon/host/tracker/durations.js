// Durations of conditions, as known to the public and to the seat of the setter.

import { NONE } from './state.js';

/** @import { Pokemon } from './state.js' */
/** @import { Tracker } from './tracker.js' */

const EXTENDED_TURNS = 8; // with the item that extends it
/** @type {Record<string, string>} the item that extends a condition */
const EXTENDED_BY = {
  raindance: 'damprock', sunnyday: 'heatrock', sandstorm: 'smoothrock', hail: 'icyrock', snowscape: 'icyrock',
  electricterrain: 'terrainextender', grassyterrain: 'terrainextender', mistyterrain: 'terrainextender',
  psychicterrain: 'terrainextender', reflect: 'lightclay', lightscreen: 'lightclay', auroraveil: 'lightclay',
};

/** A condition that may end by itself. */
export class Duration {
  /**
   * @param {string} id
   * @param {number} turns that it lasts; -1 for no limit
   * @param {string} item that would extend it, or ''
   * @param {Pokemon | null} setter
   * @param {number} phase
   */
  constructor(id, turns, item, setter, phase) {
    this.id = id;
    this.startPhase = phase;
    this.layers = 1;
    this.turns = turns;
    this.item = item;
    this.setter = item ? setter : null;
    this.elapsed = 0;
    this.publicTurns = item ? 0 : turns; // 0 while the public does not know
    this.ownTurns = item ? 0 : turns; // the same for the setter's seat
    this.open = !!item; // whether the setter still holds the item from the start of the condition
    this.unsure = false; // whether even its seat does not know that item, as in replays
    if (setter?.itemState === NONE) this.publicTurns = turns;
    else if (setter?.item) this.learn(setter.item);
  }

  /** @param {string} item that the setter held, which is now public */
  learn(item) {
    if (this.open) this.publicTurns = item === this.item ? EXTENDED_TURNS : this.turns;
  }

  /** @param {string} item that the setter held, known to its seat */
  learnAsOwner(item) {
    this.ownTurns = item === this.item ? EXTENDED_TURNS : this.turns;
  }

  /**
   * @param {number} seat
   * @returns {number} total turns, or 0 if the seat does not know
   */
  total(seat) {
    return this.ownTurns && this.setter?.side.index === seat ? this.ownTurns : this.publicTurns;
  }

  /**
   * @param {number} seat
   * @returns {number} minimum of turns left, or -1 for no limit
   */
  least(seat) {
    if (this.turns < 0) return -1;
    const left = (this.total(seat) || this.turns) - this.elapsed;
    return left > 0 ? left : this.most(seat);
  }

  /**
   * @param {number} seat
   * @returns {number} maximum of turns left, or -1 for no limit
   */
  most(seat) {
    return this.turns < 0 ? -1 : (this.total(seat) || EXTENDED_TURNS) - this.elapsed;
  }
}

/**
 * @param {Tracker} tracker
 * @param {string} id
 * @param {Pokemon | null} setter
 * @returns {Duration}
 */
export function startDuration({ lexicon, phase }, id, setter) {
  const item = EXTENDED_BY[id] ?? '';
  return new Duration(id, lexicon.duration(id), item && lexicon.existsInFormat(item) ? item : '', setter, phase);
}

/**
 * The item that a Pokémon holds, or held until now, became public.
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {string} item
 */
export function learnDurations(tracker, pokemon, item) {
  for (const duration of extendable(tracker)) if (duration.setter === pokemon) duration.learn(item);
}

/**
 * The item changed, so the new item says nothing about the item at the start of a condition.
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 */
export function closeDurations(tracker, pokemon) {
  for (const duration of extendable(tracker)) if (duration.setter === pokemon) duration.open = false;
}

/**
 * @param {Tracker} tracker
 * @returns {Duration[]} all that an item may have extended
 */
export function extendable({ weather, terrain, sides: [one, other] }) {
  const all = [];
  if (weather?.setter) all.push(weather);
  if (terrain?.setter) all.push(terrain);
  for (const condition of one.conditions.values()) if (condition.setter) all.push(condition);
  for (const condition of other.conditions.values()) if (condition.setter) all.push(condition);
  return all;
}

// Turns, and the state that changes with them.

import { passTurn } from './field.js';

/** @import { Pokemon, Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */

const MAX_TOXIC = 15;
const FOR_TWO_TURNS = ['mustrecharge', 'lockon'];
const MAX_LOCKED = 2; // turns after the first one

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function nextTurn(tracker, parts) {
  tracker.turn = Number(parts[2]);
  tracker.isNewTurn = true;
  tracker.actor = tracker.acting = null;
  for (const side of tracker.sides) for (const slot of side.slots) endOfTurn(slot);
}

/** @param {Tracker} tracker */
function upkeep(tracker) {
  passTurn(tracker);
  for (const side of tracker.sides) {
    for (const slot of side.slots) {
      if (!slot.pokemon || slot.pokemon.fainted) continue;
      endOfTurn(slot);
      updateSlot(tracker, slot, slot.pokemon);
    }
  }
}

/**
 * Update the state that changes each turn without a line.
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {Pokemon} pokemon
 */
function updateSlot({ lexicon, phase, turn }, { volatiles, stallTurn, lockedTurn }, pokemon) {
  const { generation } = lexicon;
  if (generation >= 3 && pokemon.status === 'tox' && pokemon.statusPhase < phase) {
    pokemon.statusTurns = Math.min(pokemon.statusTurns + 1, MAX_TOXIC);
  }
  const loafs = generation <= 4 && pokemon.shownAbility === 'truant';
  if (loafs && !volatiles.delete('truant')) volatiles.set('truant', turn);
  if (!volatiles.size || generation === 1) return;
  if (stallTurn !== turn) volatiles.delete('stall');
  const locked = volatiles.get('lockedmove');
  const spent = locked !== undefined && turn - locked >= MAX_LOCKED;
  if (lockedTurn !== turn || spent) volatiles.delete('lockedmove');
  for (const id of FOR_TWO_TURNS) {
    const started = volatiles.get(id);
    if (started !== undefined && started < turn) volatiles.delete(id);
  }
}

/** @param {Slot} slot */
function endOfTurn(slot) {
  for (const id of slot.untilTurnEnds) slot.volatiles.delete(id);
  slot.untilTurnEnds.length = 0;
}

/**
 * An empty line separates the actions of a turn from its end.
 * @param {Tracker} tracker
 */
function emptyLine(tracker) {
  tracker.phase++;
  tracker.actor = tracker.acting = null;
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const turnLines = [
  ['turn', nextTurn],
  ['upkeep', upkeep],
  ['', emptyLine],
];

// Outcomes of moves, and effects of moves that have no line of their own.

import { noteCause } from './items.js';

/** @import { MoveFacts } from './lexicon.js' */
/** @import { Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */

/** Bits of an action's outcome. */
export const OUTCOME = {
  missed: 1, failed: 2, immune: 4, critical: 8, super_effective: 16, resisted: 32, protected: 64, knocked_out: 128,
};
const DID_NOT_SUCCEED = OUTCOME.missed | OUTCOME.failed | OUTCOME.immune | OUTCOME.protected;
/** Moves that start a volatile of the same name without a line. */
const LEAVES_VOLATILE = new Set(['minimize', 'defensecurl']);

/**
 * Apply the effects of a used move that have no line of their own.
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {MoveFacts} facts
 * @param {string[]} parts
 */
export function applySilentEffects(tracker, slot, facts, parts) {
  const { volatiles, side, index } = slot;
  // If the user is already confused, no line shows the end of the lock. A move without `[from]` starts a new one.
  const restarts = tracker.lexicon.generation > 2 && tracker.from === null;
  if (!facts.locks) volatiles.delete('lockedmove');
  else if (restarts || !volatiles.has('lockedmove')) volatiles.set('lockedmove', tracker.turn);
  slot.lockedTurn = tracker.turn;
  if (facts.id === 'wish' && !side.wish[index]) side.wish[index] = 2;
  else if (facts.id === 'healingwish' || facts.id === 'lunardance') side.healingWish[index] = true;
  else if (LEAVES_VOLATILE.has(facts.id) && !volatiles.has(facts.id)) volatiles.set(facts.id, tracker.turn);
  if (tracker.lexicon.generation === 1) applySilentEffectsInFirstGeneration(tracker, slot, facts, parts);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {MoveFacts} facts
 * @param {string[]} parts
 */
function applySilentEffectsInFirstGeneration(tracker, slot, facts, parts) {
  const foe = tracker.sides[1 - slot.side.index].slots[0];
  slot.volatiles.delete('partiallytrapped');
  if (facts.id === 'rage') slot.volatiles.set('rage', tracker.turn);
  if (facts.binds) {
    foe.volatiles.delete('mustrecharge');
    const caught = !parts.includes('[miss]', 5) && !foe.volatiles.has('partiallytrapped');
    if (caught) foe.volatiles.set('partiallytrapped', tracker.turn);
  } else {
    foe.volatiles.delete('partiallytrapped');
  }
}

/**
 * @param {Tracker} tracker
 * @param {number} bits
 */
export function noteOutcome(tracker, bits) {
  const { acting, actor } = tracker;
  if (acting) acting.last.outcome |= bits;
  if (actor && bits & DID_NOT_SUCCEED) undoSilentEffects(tracker, actor);
}

/**
 * A move that did not succeed has no silent effects.
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function undoSilentEffects({ lexicon, turn }, { volatiles, side, index, lastMove }) {
  if (lexicon.generation > 1) volatiles.delete('lockedmove');
  if (lexicon.generation >= 6 && lastMove && lexicon.move(lastMove).stalls) volatiles.delete('stall');
  if (lastMove === 'wish' && side.wish[index] === 2) side.wish[index] = 0;
  else if (lastMove === 'healingwish' || lastMove === 'lunardance') side.healingWish[index] = false;
  else if (LEAVES_VOLATILE.has(lastMove) && volatiles.get(lastMove) === turn) volatiles.delete(lastMove);
}

/**
 * @param {number} bits
 * @returns {(tracker: Tracker, parts: string[]) => void}
 */
function outcome(bits) {
  return (tracker, parts) => {
    noteOutcome(tracker, bits);
    tracker.readTags(parts, 3);
    if (tracker.from) noteCause(tracker, tracker.pokemonAt(tracker.of) ?? tracker.pokemonAt(parts[2]));
  };
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const outcomeLines = [
  ['-miss', outcome(OUTCOME.missed)],
  ['-fail', outcome(OUTCOME.failed)],
  ['-notarget', outcome(OUTCOME.failed)],
  ['-immune', outcome(OUTCOME.immune)],
  ['-crit', outcome(OUTCOME.critical)],
  ['-supereffective', outcome(OUTCOME.super_effective)],
  ['-resisted', outcome(OUTCOME.resisted)],
];

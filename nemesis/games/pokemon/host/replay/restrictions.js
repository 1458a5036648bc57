// What keeps a Pokémon from choosing freely: moves that go on by themselves, moves that are disabled, and traps.
//
// The simulator writes all this into a request. Here it follows from what the public saw and what the seat knows.

/** @import { Pokemon, Slot } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */

const TRAPS = ['trapped', 'partiallytrapped', 'ingrain', 'noretreat', 'octolock'];
const HOLDS = ['commanded', 'commanding', 'skydrop'];
const TRAPPING_ABILITIES = ['shadowtag', 'arenatrap', 'magnetpull'];
const FIRST_GENERATION_WITH_UNTRAPPABLE_GHOSTS = 6;

/**
 * One own Pokémon on the field, as its seat knows it.
 * @typedef {object} Standing
 * @property {Slot} slot
 * @property {Pokemon} shown what the public knows of it
 * @property {string} item as far as it is told
 * @property {string} ability as far as it is told
 * @property {{id: string, pp: number, maxpp: number, guessed: boolean}[]} moves
 * @property {string} used the move that was last used, be it called by another
 * @property {string} chosen the move that was last chosen, other than Struggle
 */

/**
 * A move that the Pokémon goes on with, without any choice.
 * @param {Tracker} tracker
 * @param {Standing} standing
 * @returns {string} its id, or ''
 */
export function lockedMove({ lexicon }, { slot, used }) {
  const { volatiles } = slot;
  if (volatiles.has('mustrecharge')) return 'recharge';
  if (volatiles.has('twoturnmove') || (volatiles.has('lockedmove') && !volatiles.has('dynamax'))) return used;
  if (volatiles.has('uproar')) return 'uproar';
  if (lexicon.generation === 1 && volatiles.has('rage')) return 'rage';
  if (lexicon.generation > 2 && volatiles.has('bide')) return 'bide';
  return '';
}

/**
 * Outrage and its like last two or three turns, and the public does not always see that they are over.
 * @param {Tracker} tracker
 * @param {Standing} standing
 * @returns {boolean}
 */
export function mayHaveEnded({ turn }, { slot }) {
  const began = slot.volatiles.get('lockedmove');
  return began !== undefined && turn - began > 1;
}

/**
 * A move that is all there is besides switching, in the first generations.
 * @param {Tracker} tracker
 * @param {Standing} standing
 * @returns {string} its id, or ''
 */
export function semiLockedMove(tracker, { slot, shown }) {
  const { generation } = tracker.lexicon;
  if (generation <= 2 && slot.volatiles.has('bide')) return 'bide';
  if (generation > 1) return '';
  const foe = tracker.sides[1 - slot.side.index].slots[0];
  const asleep = shown.status === 'slp' || shown.status === 'frz';
  // Wrap and its like bind both for one turn to be sure; whether they go on, neither can tell.
  if (boundLastTurn(tracker, foe) && tracker.lexicon.move(slot.lastMove).binds) return asleep ? 'fight' : slot.lastMove;
  return asleep || boundLastTurn(tracker, slot) ? 'fight' : '';
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @returns {boolean} whether its Pokémon was bound in the turn before
 */
function boundLastTurn({ turn }, { volatiles }) {
  return volatiles.get('partiallytrapped') === turn - 1;
}

/**
 * @param {Tracker} tracker
 * @param {Standing} standing
 * @param {any} move of the dex
 * @returns {boolean} whether the request forbids the move
 */
export function isDisabled(tracker, standing, move) {
  const { slot, item, ability, moves, chosen } = standing;
  const { volatiles, lastMove } = slot;
  const has = (/** @type {string} */ id) => moves.some((one) => one.id === id);
  const itemSuppressed = volatiles.has('embargo') || tracker.rooms.has('magicroom') || ability === 'klutz';
  const choiceLocked = chosen !== move.id && slot.actedWithItem && has(chosen) && !volatiles.has('dynamax');
  if (choiceLocked && item.startsWith('choice') && !itemSuppressed) return true;
  if (choiceLocked && ability === 'gorillatactics') return true;
  if (volatiles.has('disable') && slot.disabledMove === move.id) return true;
  if (volatiles.has('encore') && has(slot.encoredMove) && slot.encoredMove !== move.id) return true;
  if (volatiles.has('torment') && lastMove === move.id) return true;
  if (move.flags.cantusetwice && lastMove === move.id) return true;
  if (move.category === 'Status' && move.id !== 'mefirst') {
    if (volatiles.has('taunt') || (item === 'assaultvest' && !itemSuppressed)) return true;
  }
  if (move.flags.heal && volatiles.has('healblock')) return true;
  if (move.flags.sound && volatiles.has('throatchop')) return true;
  if (move.flags.gravity && tracker.rooms.has('gravity')) return true;
  if (move.id === 'stuffcheeks') return !item.endsWith('berry');
  return move.id === 'belch' && !standing.shown.lastItem.endsWith('berry');
}

/**
 * @param {Tracker} tracker
 * @param {Standing} standing
 * @param {(foe: Pokemon) => string} abilityOf what a foe's ability is, as far as the log ever tells
 * @returns {'' | 'open' | 'hidden' | 'maybe' | 'unknown'} whether it is trapped, by something that its seat can see or not;
 *   `maybe` is not, though its seat cannot be sure, and of `unknown` nobody can tell
 */
export function trapOf(tracker, standing, abilityOf) {
  const { slot, item, shown } = standing;
  const { volatiles } = slot;
  const { generation } = tracker.lexicon;
  if (HOLDS.some((id) => volatiles.has(id))) return 'open';
  if (item === 'shedshell') return '';
  const types = typesOf(slot, shown);
  if (generation >= FIRST_GENERATION_WITH_UNTRAPPABLE_GHOSTS && types.includes('ghost')) return '';
  if (tracker.rooms.has('fairylock')) return 'open';
  if (generation > 1 && TRAPS.some((id) => volatiles.has(id))) return 'open';
  let trap = /** @type {'' | 'maybe' | 'unknown'} */ ('');
  for (const foe of tracker.sides[1 - slot.side.index].slots.slice(0, tracker.activeSlots)) {
    if (!foe.pokemon || foe.pokemon.fainted) continue;
    const actual = abilityOf(foe.pokemon);
    for (const ability of TRAPPING_ABILITIES) {
      if (!canTrap(ability, standing, types)) continue;
      if (ability === actual && !foe.volatiles.has('gastroacid')) return 'hidden';
      const { abilities } = tracker.lexicon.dex.species.get((foe.shownSpecies ?? foe.pokemon.species).id);
      /** @type {string[]} */
      const names = generation > 2 ? Object.values(abilities ?? {}) : [];
      if (names.some((name) => tracker.lexicon.id(name) === ability)) trap = actual && trap !== 'unknown' ? 'maybe' : 'unknown';
    }
  }
  return trap;
}

/**
 * @param {string} trap an ability
 * @param {Standing} standing
 * @param {string[]} types
 * @returns {boolean} whether it holds such a Pokémon
 */
function canTrap(trap, { slot, item, ability }, types) {
  if (trap === 'shadowtag') return ability !== 'shadowtag';
  if (trap === 'magnetpull') return types.includes('steel');
  if (item === 'ironball' || slot.volatiles.has('smackdown') || slot.volatiles.has('ingrain')) return true;
  const lifted = ability === 'levitate' || item === 'airballoon' || slot.volatiles.has('magnetrise');
  return !types.includes('flying') && !lifted;
}

/**
 * @param {Slot} slot
 * @param {Pokemon} shown
 * @returns {string[]}
 */
function typesOf(slot, shown) {
  if (shown.terastallized && shown.teraType !== 'stellar') return [shown.teraType];
  const types = slot.types ?? (slot.shownSpecies ?? shown.species).types;
  return slot.addedType ? [...types, slot.addedType] : types;
}

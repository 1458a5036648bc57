// Restrictions on the choices of a Pokémon: locked moves, disabled moves, and traps.
//
// The simulator writes them into requests. Here they are inferred from the public state and the seat's knowledge.

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
 * @property {Pokemon} shown its public state
 * @property {string} item as far as it is revealed
 * @property {string} ability as far as it is revealed
 * @property {{id: string, pp: number, maxpp: number, guessed: boolean}[]} moves
 * @property {string} used the last used move, chosen or called by another
 * @property {string} chosen the last chosen move, other than Struggle
 */

/**
 * A move that the Pokémon has to continue.
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
 * Outrage and similar moves last two or three turns, and their end is not always public.
 * @param {Tracker} tracker
 * @param {Standing} standing
 * @returns {boolean}
 */
export function mayHaveEnded({ turn }, { slot }) {
  const started = slot.volatiles.get('lockedmove');
  return started !== undefined && turn - started > 1;
}

/**
 * In the first generations, the only move besides switching.
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
  // Wrap and similar moves bind both Pokémon for at least one turn. Neither seat knows whether they continue.
  if (boundLastTurn(tracker, foe) && tracker.lexicon.move(slot.lastMove).binds) return asleep ? 'fight' : slot.lastMove;
  return asleep || boundLastTurn(tracker, slot) ? 'fight' : '';
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @returns {boolean} whether its Pokémon was bound in the previous turn
 */
function boundLastTurn({ turn }, { volatiles }) {
  return volatiles.get('partiallytrapped') === turn - 1;
}

/**
 * @param {Tracker} tracker
 * @param {Standing} standing
 * @param {any} move of the dex
 * @returns {boolean} whether the request disables the move
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
 * @param {(foe: Pokemon) => string} abilityOf the ability of a foe, as far as the log reveals it
 * @returns {'' | 'open' | 'hidden' | 'maybe' | 'unknown'} whether it is trapped, visibly to its seat or not; `maybe`
 *   if it is not trapped but its seat cannot know that, and `unknown` if the log does not show it
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
      if (!names.some((name) => tracker.lexicon.id(name) === ability)) continue;
      trap = actual && trap !== 'unknown' ? 'maybe' : 'unknown';
    }
  }
  return trap;
}

/**
 * @param {string} trap an ability
 * @param {Standing} standing
 * @param {string[]} types
 * @returns {boolean} whether it traps such a Pokémon
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

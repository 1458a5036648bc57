// Actions: moves and their PP costs, lost turns, and faints.

import { revealIllusionByMove } from './identity.js';
import { noteAbility } from './items.js';
import { OUTCOME, applySilentEffects, noteOutcome } from './outcomes.js';

/** @import { MoveFacts } from './lexicon.js' */
/** @import { Side, Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */

const LOCKED = 'lockedmove';
const CALLS_OWN_MOVES = 'sleeptalk';
/** Reasons that end a multi-turn move in gen 1. */
const INTERRUPTS_IN_FIRST_GENERATION = new Set(['par', 'confusion', 'disable']);
const PLEDGES = new Set(['firepledge', 'grasspledge', 'waterpledge']);
/** Reasons that prevent a move before Truant is checked. */
const BEFORE_TRUANT = new Set(['slp', 'frz']);

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function move(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const { pokemon } = slot;
  if (!pokemon) return;
  const facts = tracker.lexicon.move(parts[3]);
  tracker.readTags(parts, 5);
  const { from } = tracker;
  tracker.actor = slot;
  endUntilMove(slot);
  if (!from || isChosen(tracker, facts.id)) use(tracker, slot, facts, parts, isContinued(tracker, facts.id));
  else if (from.kind === 'ability') noteAbility(pokemon, from.id);
  else call(tracker, slot, facts, parts, from.id);
  applySilentEffects(tracker, slot, facts, parts);
}

/**
 * @param {Pick<Tracker, 'from' | 'lexicon'>} tracker that has read the tags of the move's line
 * @param {string} id of a move
 * @returns {boolean} whether its user chose it, perhaps in an earlier turn, and no other effect caused it
 */
export function isChosen({ from, lexicon }, id) {
  if (!from || from.kind === 'item' || isContinued({ from, lexicon }, id)) return true;
  // An ally's use of the same move or of another pledge moved it up in the turn order.
  return from.id === id || (PLEDGES.has(from.id) && PLEDGES.has(id));
}

/**
 * @param {Pick<Tracker, 'from' | 'lexicon'>} tracker
 * @param {string} id of a move
 * @returns {boolean} whether it continues from an earlier turn
 */
function isContinued({ from, lexicon }, id) {
  return from !== null && (from.id === LOCKED || (lexicon.generation === 1 && from.id === id));
}

/**
 * A move that was called by another one. Pressure costs PP of the calling move.
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {MoveFacts} facts
 * @param {string[]} parts
 * @param {string} caller
 */
function call(tracker, { moves, side }, facts, parts, caller) {
  if (caller === CALLS_OWN_MOVES) moves.reveal(facts.id);
  const place = moves.ids.indexOf(caller);
  if (place >= 0 && tracker.lexicon.generation >= 4) moves.spent[place] += pressure(tracker, side, facts, parts);
}

/**
 * A chosen move: it is revealed, costs PP, and becomes the last move.
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {MoveFacts} facts
 * @param {string[]} parts
 * @param {boolean} locked
 */
function use(tracker, slot, facts, parts, locked) {
  const { generation } = tracker.lexicon;
  tracker.acting = tracker.beginAction(slot, 'move') ? slot : null;
  if (tracker.acting) aim(tracker, slot, facts, parts);
  slot.streak = slot.lastMove === facts.id ? slot.streak + 1 : 1;
  slot.lastMove = facts.id;
  slot.actedWithItem = true;
  if (generation >= 5 && slot.pokemon?.shownAbility === 'truant') slot.volatiles.set('truant', tracker.turn);
  const charged = slot.volatiles.delete('twoturnmove');
  const bound = locked || charged || (generation === 2 && slot.volatiles.has('lockedmove'));
  // Two-turn moves cost PP in the second turn in gen 1, and in the first turn since gen 2.
  const free = generation === 1 && facts.charges ? !charged : bound;
  if (!facts.inMoveset) return;
  revealIllusionByMove(slot, facts.id);
  const { moves, mimic } = slot;
  if (bound && !moves.ids.includes(facts.id)) return; // it continues a move that was called by another one
  const cost = free ? 0 : 1 + pressure(tracker, slot.side, facts, parts);
  if (mimic?.id !== facts.id) {
    moves.spent[moves.reveal(facts.id)] += cost;
    return;
  }
  mimic.spent += cost;
  if (generation === 1) moves.spent[moves.reveal('mimic')] += cost; // there, the learned move uses the PP of Mimic
}

/**
 * @param {string | undefined} text the target part of a move's line, which may be `null` or missing
 * @returns {text is string}
 */
function isIdent(text) {
  return !!text && text.charCodeAt(0) === 112; // 112 is p
}

/**
 * @param {Tracker} tracker
 * @param {string} ident of a Pokémon in a slot, or of one that fainted there
 * @returns {Slot | undefined}
 */
function slotOf(tracker, ident) {
  if (ident.charCodeAt(3) === 58) return tracker.slotAt(ident); // 58 is : after the letter of a slot
  const name = tracker.nameIn(ident);
  return tracker.sideAt(ident).slots.find(({ pokemon }) => pokemon?.name === name);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {MoveFacts} facts
 * @param {string[]} parts
 */
function aim(tracker, { last }, facts, parts) {
  last.move = facts.id;
  if (!facts.named || !isIdent(parts[4])) return;
  for (let place = 5; place < parts.length; place++) if (parts[place].startsWith('[spread]')) return;
  const target = slotOf(tracker, parts[4]);
  if (!target) return;
  last.side = target.side.index;
  last.slot = target.index;
}

/**
 * @param {Tracker} tracker
 * @param {Side} side of the user
 * @param {MoveFacts} facts
 * @param {string[]} parts
 * @returns {number} additional PP cost of Pressure
 */
function pressure(tracker, side, facts, parts) {
  if (facts.aim === 'none' || tracker.lexicon.generation < 3 || parts.includes('[notarget]', 5)) return 0;
  if (tracker.sides.some(({ slots }) => slots.some((slot) => slot.hasNeutralizingGas))) return 0;
  const foes = tracker.sides[1 - side.index].slots;
  const pressing = (/** @type {Slot} */ { pokemon, volatiles }) =>
    pokemon && !pokemon.fainted && pokemon.shownAbility === 'pressure' && !volatiles.has('gastroacid') ? 1 : 0;
  if (facts.aim === 'foes') return pressing(foes[0]) + pressing(foes[1]);
  if (isIdent(parts[4])) {
    const target = slotOf(tracker, parts[4]);
    return !target || target.side === side ? 0 : pressing(target);
  }
  // The line has no target. The cost is certain only if all active foes have the ability.
  const standing = foes.filter((slot) => slot.pokemon && !slot.pokemon.fainted);
  return standing.length && standing.every(pressing) ? 1 : 0;
}

/** @param {Slot} slot */
function endUntilMove(slot) {
  for (const id of slot.untilMove) slot.volatiles.delete(id);
  slot.untilMove.length = 0;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function cant(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const { pokemon, volatiles } = slot;
  if (!pokemon) return;
  const reason = tracker.lexicon.effect(parts[3]);
  if (reason.kind === 'ability') noteAbility(pokemon, reason.id);
  if (reason.kind === 'ability' && reason.id !== 'truant') {
    noteOutcome(tracker, OUTCOME.failed); // Damp and similar: the line names the Pokémon with the ability
    return;
  }
  const counts = loseTurn(tracker, slot, reason.id);
  if (counts && parts[4]) slot.last.move = tracker.lexicon.move(parts[4]).id;
  if (parts[4] && !parts[4].startsWith('[')) reveal(tracker, slot, parts[4]);
  if (reason.id === 'slp' || reason.id === 'frz') pokemon.statusTurns++;
  if (pokemon.shownAbility === 'truant' && tracker.lexicon.generation >= 5) updateTruant(tracker, volatiles, reason.id);
  if (reason.id === 'recharge' || reason.id === 'flinch') volatiles.delete('mustrecharge');
  if (tracker.lexicon.generation === 1 && reason.id !== 'partiallytrapped') {
    tracker.sides[1 - slot.side.index].slots[0].volatiles.delete('partiallytrapped');
  }
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {string} reason
 * @returns {boolean} whether this is the recorded action of the turn
 */
export function loseTurn(tracker, slot, reason) {
  const first = tracker.lexicon.generation === 1;
  endUntilMove(slot);
  tracker.actor = tracker.acting = null;
  slot.streak = 0;
  const interrupts = INTERRUPTS_IN_FIRST_GENERATION.has(reason);
  if (!first || interrupts) slot.volatiles.delete('twoturnmove');
  if (first && interrupts) for (const id of ['bide', 'lockedmove']) slot.volatiles.delete(id);
  return tracker.beginAction(slot, 'cannot_move');
}

/**
 * @param {Tracker} tracker
 * @param {Map<string, number>} volatiles
 * @param {string} reason why it did not move
 */
function updateTruant({ turn }, volatiles, reason) {
  if (reason === 'truant' || reason === 'recharge') volatiles.delete('truant');
  else if (!BEFORE_TRUANT.has(reason)) volatiles.set('truant', turn);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {string} name
 */
function reveal(tracker, slot, name) {
  const facts = tracker.lexicon.move(name);
  if (facts.inMoveset && slot.mimic?.id !== facts.id) slot.moves.reveal(facts.id);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function faint(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon || pokemon.fainted) return;
  if (tracker.acting && tracker.acting !== slot) tracker.acting.last.outcome |= OUTCOME.knocked_out;
  pokemon.hp = 0;
  pokemon.fainted = true;
  pokemon.setStatus('');
  pokemon.terastallized = false;
  pokemon.side.faints++;
  if (slot.pokemon !== pokemon) return;
  slot.leave();
  slot.reset(slot.since);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function prepare(tracker, parts) {
  if (parts[4] === '[premajor]') return; // Chilly Reception is only announced
  const slot = tracker.slotAt(parts[2]);
  slot.volatiles.set('twoturnmove', tracker.turn);
  if (tracker.lexicon.move(parts[3]).id === 'skydrop' && parts[4]) {
    tracker.slotAt(parts[4]).volatiles.set('skydrop', tracker.turn);
  }
}

/**
 * A charging move that hits in the same turn.
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function anim(tracker, parts) {
  tracker.slotAt(parts[2]).volatiles.delete('twoturnmove');
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function mustRecharge(tracker, parts) {
  tracker.slotAt(parts[2]).volatiles.set('mustrecharge', tracker.turn);
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const actionLines = [
  ['move', move],
  ['cant', cant],
  ['faint', faint],
  ['-prepare', prepare],
  ['-anim', anim],
  ['-mustrecharge', mustRecharge],
];

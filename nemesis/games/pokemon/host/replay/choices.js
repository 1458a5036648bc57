// Which action a seat chose, from what was seen of its slots. An action is known if it is the only legal one that fits;
// else those that fit are told, if there are others.

import { LEAD, LONE_SWITCH, MOVES, OPTIONS, PASS, PICKS, SWITCH, TURNS, switchOption } from '../battle/actions.js';
import { hasBit, setBit } from '../battle/masks.js';
import { NO_TARGET, TARGETS } from '../battle/requests.js';
import { publicMove } from '../tracker/own.js';

/** @import { Request } from '../battle/requests.js' */

/** Bits that say how a decision was read. */
export const READ = { request_unsure: 1, late: 2 };

/**
 * What was seen of one slot.
 * @typedef {object} Observation
 * @property {'' | 'move' | 'switch' | 'pass'} kind
 * @property {string} move id, or '' if it is not known
 * @property {number[] | null} targets places in TARGETS that it may have been aimed at, null for any
 * @property {number} place in the request of who was switched in
 * @property {boolean | null} gimmick null if nobody can tell
 * @property {boolean} stayed whether it certainly did not choose to switch
 * @property {boolean} open whether it may have moves that the request does not show
 */

/**
 * @param {Observation['kind']} [kind]
 * @returns {Observation}
 */
export function noObservation(kind = '') {
  return { kind, move: '', targets: null, place: -1, gimmick: null, stayed: false, open: false };
}

/**
 * @typedef {object} Reading
 * @property {number} action or -1
 * @property {Uint8Array | null} possible legal actions that fit, if it is none of the others and not known which
 * @property {string} problem why nothing fits, or ''
 */

/**
 * @param {string} [problem]
 * @returns {Reading} of a decision whose choice nobody can tell
 */
export function noReading(problem = '') {
  return { action: -1, possible: null, problem };
}

/**
 * @param {{slots: number, brought: number, size: number}} space
 * @param {Request} request
 * @param {Uint8Array} bits legal mask
 * @param {Observation[]} seen by slot
 * @returns {Reading}
 */
export function readTurn(space, request, bits, seen) {
  const tables = seen.map((observation, slot) => fittingOptions(space, request, slot, observation));
  const fitting = fittingActions(space, bits, tables);
  if (!fitting.length) {
    const any = Array(OPTIONS).fill(true);
    const slot = space.slots > 1 && fittingActions(space, bits, [tables[0], any]).length ? 1 : 0;
    return noReading(problemOf(request, slot, seen[slot]));
  }
  // Where moves are hidden, that nothing else fits means nothing.
  if (fitting.length === 1 && seen.every(({ kind, open }) => kind || !open)) {
    return { action: fitting[0], possible: null, problem: '' };
  }
  return { action: -1, possible: asBits(fitting, bits), problem: '' };
}

/**
 * @param {{slots: number}} space
 * @param {Uint8Array} bits legal mask
 * @param {boolean[][]} tables by slot, which of its options fit
 * @returns {number[]} the legal actions of a turn that fit
 */
function fittingActions({ slots }, bits, [first, second]) {
  const legal = (/** @type {number} */ index) => hasBit(bits, index);
  const ones = optionsIn(first);
  if (slots === 1) return ones.filter(legal);
  const others = optionsIn(second);
  const found = [];
  for (const one of ones) {
    for (const other of others) if (legal(one * OPTIONS + other)) found.push(one * OPTIONS + other);
  }
  return found;
}

/**
 * @param {boolean[]} table
 * @returns {number[]}
 */
function optionsIn(table) {
  const options = [];
  for (let option = 0; option < table.length; option++) if (table[option]) options.push(option);
  return options;
}

/**
 * @param {number[]} actions some of the legal ones
 * @param {Uint8Array} bits legal mask
 * @returns {Uint8Array | null} them as a mask, unless they are all
 */
function asBits(actions, bits) {
  const mask = new Uint8Array(bits.length);
  for (const index of actions) setBit(mask, index);
  return mask.some((byte, place) => byte !== bits[place]) ? mask : null;
}

/**
 * @param {{slots: number, brought: number, size: number}} space
 * @param {Uint8Array} bits legal mask
 * @param {number[]} leads numbers in the team
 * @param {number[]} others that are known to have been brought
 * @returns {Reading}
 */
export function readPreview({ slots, brought, size }, bits, leads, others) {
  const first = slots === 1 ? LEAD : TURNS;
  const fitting = []; // where all are brought, nobody sees in which order those at the back were named
  for (let index = first; index < size; index++) {
    if (!hasBit(bits, index)) continue;
    const pick = slots === 1 ? [index - LEAD] : PICKS[index - TURNS];
    const back = pick.slice(slots);
    if (!leads.every((lead) => pick.indexOf(lead) >= 0 && pick.indexOf(lead) < slots)) continue;
    if (brought > pick.length || others.every((other) => back.includes(other))) fitting.push(index);
  }
  const known = leads.length === slots && fitting.length === 1;
  const problem = fitting.length ? '' : 'the leads are not legal';
  const possible = known || !fitting.length ? null : asBits(fitting, bits);
  return { action: known ? fitting[0] : -1, possible, problem };
}

/**
 * @param {{slots: number, brought: number}} space
 * @param {Request} request
 * @param {number} slot
 * @param {Observation} seen
 * @returns {boolean[]} which options of the slot fit what was seen
 */
function fittingOptions({ slots, brought }, request, slot, seen) {
  const lone = slots === 1;
  const [moves, end] = lone ? [LONE_SWITCH, LEAD] : [SWITCH, OPTIONS];
  const wanted = lone ? LONE_SWITCH + seen.place : switchOption(request, slot, seen.place, brought);
  const fits = Array(end).fill(false);
  for (let option = 0; option < end; option++) {
    if (option < moves) fits[option] = fitsMove(request, slot, seen, ...partsOf(option, lone));
    else if (!lone && option === PASS) fits[option] = seen.kind === 'pass' || seen.kind === '';
    else if (seen.kind === 'switch') fits[option] = option === wanted;
    else fits[option] = !seen.kind && !seen.stayed;
  }
  return fits;
}

/**
 * @param {number} option that is a move
 * @param {boolean} lone
 * @returns {[number, boolean, number]} the move, whether with the gimmick, and the target
 */
function partsOf(option, lone) {
  if (lone) return [option % MOVES, option >= MOVES, NO_TARGET];
  const aim = option % (2 * TARGETS.length);
  return [Math.floor(option / (2 * TARGETS.length)), aim >= TARGETS.length, aim % TARGETS.length];
}

/**
 * @param {Request} request
 * @param {number} slot
 * @param {Observation} seen
 * @param {number} move
 * @param {boolean} gimmick
 * @param {number} target
 * @returns {boolean}
 */
function fitsMove(request, slot, seen, move, gimmick, target) {
  if (seen.kind === 'switch' || seen.kind === 'pass') return false;
  if (seen.gimmick !== null && seen.gimmick !== gimmick) return false;
  if (!seen.move) return true;
  const { id, guessed } = request.active?.[slot]?.moves[move] ?? {};
  if (guessed) return false; // what was used is known
  if (id !== 'fight' && (id === undefined || publicMove(id) !== seen.move)) return false;
  return target === NO_TARGET || !seen.targets || seen.targets.includes(target);
}

/**
 * @param {Request} request
 * @param {number} slot
 * @param {Observation} seen
 * @returns {string} why it cannot have been chosen
 */
function problemOf(request, slot, seen) {
  const active = request.active?.[slot];
  if (seen.kind === 'switch') return active?.trapped ? 'a trapped Pokémon was switched' : 'a switch is not legal';
  if (seen.kind === 'pass') return 'a slot did nothing';
  if (!seen.move) return seen.gimmick ? 'a gimmick is not offered' : 'nothing is legal';
  const offered = active?.moves.find(({ id }) => publicMove(id) === seen.move);
  if (!offered) return active?.moves.length === 1 ? 'a locked Pokémon used another move' : 'a move is not offered';
  if (offered.disabled) return 'a disabled move was used';
  return seen.gimmick ? 'a gimmick is not offered' : 'a target is not legal';
}

// Infers the action that a seat chose from what was observed of its slots. The action is known if it is the only legal
// one that matches. Otherwise the matching ones are reported, unless all legal actions match.

import { LEAD, LONE_SWITCH, MOVES, OPTIONS, PASS, PICKS, SWITCH, TURNS, switchOption } from '../battle/actions.js';
import { hasBit, setBit } from '../battle/masks.js';
import { NO_TARGET, TARGETS } from '../battle/requests.js';
import { publicMove } from '../tracker/own.js';

/** @import { Request } from '../battle/requests.js' */

/** Flags of a decision: the request is uncertain; the server may have chosen because time ran out. */
export const READ = { request_unsure: 1, late: 2 };

/**
 * What was observed of one slot.
 * @typedef {object} Observation
 * @property {'' | 'move' | 'switch' | 'pass'} kind
 * @property {string} move id, or '' if unknown
 * @property {number[] | null} targets possible targets as places in TARGETS, null for any
 * @property {number} place in the request of the Pokémon that was switched in
 * @property {boolean | null} gimmick null if unknown
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
 * @property {Uint8Array | null} possible legal actions that match, if these are several but not all
 * @property {string} problem why no action matches, or ''
 */

/**
 * @param {string} [problem]
 * @returns {Reading} of a decision whose choice is unknown
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
  const tables = seen.map((observation, slot) => matchingOptions(space, request, slot, observation));
  const matching = matchingActions(space, bits, tables);
  if (!matching.length) {
    const any = Array(OPTIONS).fill(true);
    const slot = space.slots > 1 && matchingActions(space, bits, [tables[0], any]).length ? 1 : 0;
    return noReading(problemOf(request, slot, seen[slot]));
  }
  // With unknown moves, a single match is no proof.
  if (matching.length === 1 && seen.every(({ kind, open }) => kind || !open)) {
    return { action: matching[0], possible: null, problem: '' };
  }
  return { action: -1, possible: asBits(matching, bits), problem: '' };
}

/**
 * @param {{slots: number}} space
 * @param {Uint8Array} bits legal mask
 * @param {boolean[][]} tables for each slot, which of its options match
 * @returns {number[]} the legal actions of a turn that match
 */
function matchingActions({ slots }, bits, [first, second]) {
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
 * @returns {Uint8Array | null} their mask, or null if they are all legal actions
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
  const matching = []; // if all are brought, the order of those at the back is unknown
  for (let index = first; index < size; index++) {
    if (!hasBit(bits, index)) continue;
    const pick = slots === 1 ? [index - LEAD] : PICKS[index - TURNS];
    const back = pick.slice(slots);
    if (!leads.every((lead) => pick.indexOf(lead) >= 0 && pick.indexOf(lead) < slots)) continue;
    if (brought > pick.length || others.every((other) => back.includes(other))) matching.push(index);
  }
  const known = leads.length === slots && matching.length === 1;
  const problem = matching.length ? '' : 'the leads are not legal';
  const possible = known || !matching.length ? null : asBits(matching, bits);
  return { action: known ? matching[0] : -1, possible, problem };
}

/**
 * @param {{slots: number, brought: number}} space
 * @param {Request} request
 * @param {number} slot
 * @param {Observation} seen
 * @returns {boolean[]} which options of the slot match the observation
 */
function matchingOptions({ slots, brought }, request, slot, seen) {
  const lone = slots === 1;
  const [moves, end] = lone ? [LONE_SWITCH, LEAD] : [SWITCH, OPTIONS];
  const wanted = lone ? LONE_SWITCH + seen.place : switchOption(request, slot, seen.place, brought);
  const matches = Array(end).fill(false);
  for (let option = 0; option < end; option++) {
    if (option < moves) matches[option] = matchesMove(request, slot, seen, ...partsOf(option, lone));
    else if (!lone && option === PASS) matches[option] = seen.kind === 'pass' || seen.kind === '';
    else if (seen.kind === 'switch') matches[option] = option === wanted;
    else matches[option] = !seen.kind && !seen.stayed;
  }
  return matches;
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
function matchesMove(request, slot, seen, move, gimmick, target) {
  if (seen.kind === 'switch' || seen.kind === 'pass') return false;
  if (seen.gimmick !== null && seen.gimmick !== gimmick) return false;
  if (!seen.move) return true;
  const { id, guessed } = request.active?.[slot]?.moves[move] ?? {};
  if (guessed) return false; // a used move is never a guess
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
  if (seen.kind === 'pass') return 'a slot did not act';
  if (!seen.move) return seen.gimmick ? 'a gimmick is not available' : 'no action is legal';
  const offered = active?.moves.find(({ id }) => publicMove(id) === seen.move);
  if (!offered) return active?.moves.length === 1 ? 'a locked Pokémon used another move' : 'a move is not available';
  if (offered.disabled) return 'a disabled move was used';
  return seen.gimmick ? 'a gimmick is not available' : 'a target is not legal';
}

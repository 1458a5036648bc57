// Which actions are legal, from a request alone: request → legal mask, action index → Showdown choice, and back.
//
// Singles, 20 actions: 0–3 moves, 4–7 the same with the gimmick, 8–13 switch to place 1–6 of the request, 14–19 lead
// at team preview. Doubles, 45 · 45 + 90: the first slot's option · 45 + the second slot's, then the picks at team
// preview. An option is 10 · move + 5 · gimmick + target (−2, −1, none, +1, +2), or 40–43 a switch, or 44 a pass.
// `actions.py` defines the same spaces.
//
// Everything that the simulator accepts is legal, and each choice has one index. A move without a choice of target has
// the target "none" only. A target may have fainted: the request does not show which foes are left, and the simulator
// treats the choices as different.

import { moveText, plainTeam, plainTurn, teamText } from './choices.js';
import { hasBit, maskSize, setBit } from './masks.js';
import {
  AIMLESS, AIMS, MEGA, MEGA_X, MEGA_Y, NONE, NO_TARGET, TARGETS, aimOf, gimmickOf, hasFainted, isReviving, mustPass,
} from './requests.js';

/** @import { Active, Request } from './requests.js' */

/**
 * @typedef {object} ActionSpace
 * @property {number} size
 * @property {(request: Request, bits: Uint8Array) => void} mask sets the bits of legal actions
 * @property {(request: Request, index: number) => string} choice text of an action, refused if it is not legal
 * @property {(request: Request, choice: string) => number} index of a choice, or -1 if it is not legal
 */

const TEAM = 6;
export const MOVES = 4;

const LONE_GIMMICK = MOVES;
export const LONE_SWITCH = 2 * MOVES;
export const LEAD = LONE_SWITCH + TEAM;
const SINGLES = LEAD + TEAM;

export const SWITCH = 2 * TARGETS.length * MOVES;
const SWITCHES = 4;
export const PASS = SWITCH + SWITCHES;
export const OPTIONS = PASS + 1;
export const TURNS = OPTIONS * OPTIONS;

/** Two leads and two others out of six, each pair in ascending order, as places from 0. */
export const PICKS = pairs([0, 1, 2, 3, 4, 5]).flatMap((leads) =>
  pairs([0, 1, 2, 3, 4, 5].filter((place) => !leads.includes(place))).map((others) => [...leads, ...others]),
);

/**
 * @param {{slots: number, brought: number}} shape active places of a side, and Pokémon of a full team that take part
 * @returns {ActionSpace}
 */
export function actionSpace({ slots, brought }) {
  const [size, mask, choice] = slots === 1 ? singles(brought) : doubles(brought);
  const legal = new Uint8Array(maskSize(size));
  return {
    size,
    mask,
    choice,
    index(request, text) {
      const sought = request.teamPreview ? plainTeam(request, text, slots, brought) : plainTurn(request, text, slots);
      mask(request, legal.fill(0));
      for (let index = 0; index < size; index++) {
        if (hasBit(legal, index) && choice(request, index) === sought) return index;
      }
      return -1;
    },
  };
}

/**
 * @param {number} brought
 * @returns {[number, ActionSpace['mask'], ActionSpace['choice']]}
 */
function singles(brought) {
  /** @type {ActionSpace['mask']} */
  function mask(request, bits) {
    const { pokemon } = request.side;
    const members = Math.min(pokemon.length, TEAM);
    if (request.teamPreview) {
      for (let place = 0; place < members; place++) setBit(bits, LEAD + place);
      return;
    }
    const active = request.active?.[0];
    if (!active?.trapped) {
      const reviving = isReviving(request, 0);
      for (let place = reviving ? 0 : 1; place < members; place++) {
        if (hasFainted(pokemon[place]) === reviving) setBit(bits, LONE_SWITCH + place);
      }
    }
    if (!active) return;
    const gimmick = gimmickOf(active);
    for (let move = 0; move < MOVES; move++) {
      if (aimOf(active, move, NONE) !== undefined) setBit(bits, move);
      if (gimmick !== NONE && aimOf(active, move, gimmick) !== undefined) setBit(bits, LONE_GIMMICK + move);
    }
  }

  /** @type {ActionSpace['choice']} */
  function choice(request, index) {
    if (index >= LEAD) return teamText(request, [index - LEAD], brought);
    if (index >= LONE_SWITCH) return `switch ${index - LONE_SWITCH + 1}`;
    return moveText(request, 0, index % MOVES, index >= LONE_GIMMICK, NO_TARGET);
  }

  return [SINGLES, mask, choice];
}

/**
 * @param {number} brought
 * @returns {[number, ActionSpace['mask'], ActionSpace['choice']]}
 */
function doubles(brought) {
  const benchOnly = brought > SWITCHES;
  const legalPicks = [0, 1, 2, 3, 4, 5, 6].map(picksOf);
  const first = new OptionList();
  const second = new OptionList();

  /** @type {ActionSpace['mask']} */
  function mask(request, bits) {
    if (request.teamPreview) {
      for (const pick of legalPicks[Math.min(request.side.pokemon.length, TEAM)]) setBit(bits, TURNS + pick);
      return;
    }
    listOptions(request, 0, benchOnly, first);
    listOptions(request, 1, benchOnly, second);
    const { options, claims } = second;
    for (let one = 0; one < first.length; one++) {
      const row = first.options[one] * OPTIONS;
      const claim = first.claims[one];
      for (let other = 0; other < second.length; other++) {
        if (claim === NONE || claim !== claims[other]) setBit(bits, row + options[other]);
      }
    }
  }

  /** @type {ActionSpace['choice']} */
  function choice(request, index) {
    if (index >= TURNS) return teamText(request, PICKS[index - TURNS], brought);
    const [one, other] = [Math.floor(index / OPTIONS), index % OPTIONS];
    return `${optionText(request, 0, benchOnly, one)}, ${optionText(request, 1, benchOnly, other)}`;
  }

  return [TURNS + PICKS.length, mask, choice];
}

/** The options of one slot. Two slots cannot use options that claim the same Pokémon, gimmick or pass. */
class OptionList {
  options = new Uint8Array(OPTIONS);
  claims = new Uint8Array(OPTIONS);
  length = 0;

  /**
   * @param {number} option
   * @param {number} claim a gimmick, or an option beyond the moves, or NONE
   */
  add(option, claim) {
    this.options[this.length] = option;
    this.claims[this.length++] = claim;
  }
}

/**
 * @param {Request} request
 * @param {number} slot
 * @param {boolean} benchOnly whether the four switches exclude the active places
 * @param {OptionList} options is overwritten
 */
function listOptions(request, slot, benchOnly, options) {
  options.length = 0;
  if (mustPass(request, slot)) {
    options.add(PASS, NONE);
  } else if (request.forceSwitch) {
    listSwitches(request, slot, benchOnly, options);
    listPass(request, request.forceSwitch, options);
  } else if (request.active) {
    const active = request.active[slot];
    listMoves(active, slot, NONE, options);
    const gimmick = gimmickOf(active);
    if (gimmick !== NONE) listMoves(active, slot, gimmick, options);
    if (!active.trapped) listSwitches(request, slot, benchOnly, options);
  }
}

/** @type {(request: Request, slot: number, benchOnly: boolean, options: OptionList) => void} */
function listSwitches(request, slot, benchOnly, options) {
  const { pokemon } = request.side;
  const reviving = isReviving(request, slot);
  for (let number = 0; number < SWITCHES; number++) {
    const place = placeOf(request, slot, benchOnly, number);
    if (place >= pokemon.length || (place < 2 && !reviving)) continue;
    if (hasFainted(pokemon[place]) === reviving) options.add(SWITCH + number, SWITCH + number);
  }
}

/**
 * @param {Request} request
 * @param {number} slot
 * @param {boolean} benchOnly
 * @param {number} number of the switch, from 0
 * @returns {number} its place in the request
 */
function placeOf(request, slot, benchOnly, number) {
  if (!benchOnly) return number;
  if (!isReviving(request, slot)) return number + 2;
  const { pokemon } = request.side;
  let place = 0;
  for (let left = number; place < pokemon.length; place++) if (hasFainted(pokemon[place]) && left-- === 0) break;
  return place;
}

/** @type {(request: Request, slot: number, benchOnly: boolean, option: number) => string} */
function optionText(request, slot, benchOnly, option) {
  if (option === PASS) return 'pass';
  if (option >= SWITCH) return `switch ${placeOf(request, slot, benchOnly, option - SWITCH) + 1}`;
  const [move, aim] = [Math.floor(option / (2 * TARGETS.length)), option % (2 * TARGETS.length)];
  return moveText(request, slot, move, aim >= TARGETS.length, aim % TARGETS.length);
}

/**
 * @param {Active} active
 * @param {number} slot
 * @param {number} gimmick
 * @param {OptionList} options
 */
function listMoves(active, slot, gimmick, options) {
  const claim = gimmick === MEGA_X || gimmick === MEGA_Y ? MEGA : gimmick;
  for (let move = 0; move < MOVES; move++) {
    const aim = aimOf(active, move, gimmick);
    if (aim === undefined) continue;
    const start = TARGETS.length * (2 * move + (gimmick === NONE ? 0 : 1));
    for (const target of AIMS[slot].get(aim) ?? AIMLESS) options.add(start + target, claim);
  }
}

/**
 * A slot may stay empty if fewer Pokémon can come in than there are slots to fill.
 * @param {Request} request
 * @param {boolean[]} forced
 * @param {OptionList} options
 */
function listPass(request, forced, options) {
  const { pokemon } = request.side;
  const leaving = Number(forced[0]) + Number(forced[1]);
  let healthy = 0;
  for (let place = 2; place < pokemon.length; place++) if (!hasFainted(pokemon[place])) healthy++;
  if (healthy < leaving) options.add(PASS, leaving === 2 && healthy === 1 ? PASS : NONE);
}

/**
 * @param {Request} request
 * @param {number} slot
 * @param {number} place in the request
 * @param {number} brought
 * @returns {number} the option of doubles that names the place
 */
export function switchOption(request, slot, place, brought) {
  if (brought <= SWITCHES) return SWITCH + place;
  if (!isReviving(request, slot)) return SWITCH + place - 2;
  return SWITCH + request.side.pokemon.slice(0, place).filter(hasFainted).length;
}

/**
 * The distinct picks of a team. A small team leaves places empty, which stay at the back.
 * @param {number} members
 * @returns {number[]}
 */
function picksOf(members) {
  return [...PICKS.keys()].filter((pick) => {
    const [one, other, ...back] = PICKS[pick];
    return Math.max(one, other) < Math.max(members, 2) && Math.max(...back) < Math.max(members, 4);
  });
}

/**
 * @template T
 * @param {T[]} items
 * @returns {[T, T][]} all pairs in lexicographic order
 */
function pairs(items) {
  return items.flatMap((one, place) => items.slice(place + 1).map((other) => /** @type {[T, T]} */ ([one, other])));
}

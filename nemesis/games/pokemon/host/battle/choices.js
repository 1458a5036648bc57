// The text of a choice. It is written in one form, and read in any form that the simulator accepts.

import { AIMS, DYNAMAX, GIMMICKS, NO_TARGET, TARGETS, aimOf, gimmickOf, mustPass } from './requests.js';

/** @import { Active, Request } from './requests.js' */

const SYNONYMS = new Map([
  ['terastal', 'terastallize'],
  ['max', 'dynamax'],
  ['gigantamax', 'dynamax'],
]);

/**
 * @param {Request} request
 * @param {number} slot
 * @param {number} move from 0
 * @param {boolean} withGimmick
 * @param {number} target place in TARGETS
 */
export function moveText(request, slot, move, withGimmick, target) {
  const words = ['move', move + 1];
  if (target !== NO_TARGET) words.push(TARGETS[target]);
  if (withGimmick) {
    const active = request.active?.[slot];
    words.push((active && GIMMICKS[gimmickOf(active)]) || 'gimmick'); // none is available: the simulator must refuse it
  }
  return words.join(' ');
}

/**
 * @param {Request} request
 * @param {number[]} places the picked ones; the others follow in order
 * @param {number} brought
 */
export function teamText(request, places, brought) {
  const present = request.side.pokemon.map((_, place) => place);
  const order = new Set([...places.filter((place) => place < present.length), ...present]);
  return `team ${[...order].slice(0, brought).map((place) => place + 1).join('')}`;
}

/**
 * A team choice in the form that an action space writes. Leads and the rest are distinct groups, each in any order.
 * @param {Request} request
 * @param {string} text such as "team 3, 1, 2" or "team 312"
 * @param {number} slots
 * @param {number} brought
 */
export function plainTeam(request, text, slots, brought) {
  const named = (text.match(/\d/g) ?? []).map((digit) => Number(digit) - 1);
  const order = [...teamText(request, named, brought).slice('team '.length)];
  const ends = slots === 1 ? [1, brought] : [2, 4, brought];
  const groups = ends.map((end, group) => order.slice(ends[group - 1] ?? 0, end).sort());
  return `team ${groups.flat().join('')}`;
}

/**
 * A choice for a turn in the form that an action space writes.
 * @param {Request} request
 * @param {string} text such as "move tackle 1 terastal, switch 3"; a slot that can only pass may be left out
 * @param {number} slots
 */
export function plainTurn(request, text, slots) {
  const parts = text.split(',').map((part) => part.trim().replace(/\s+/g, ' '));
  const plain = [];
  for (let slot = 0; slot < slots; slot++) {
    const omitted = parts[0] !== 'pass' && mustPass(request, slot);
    plain.push(omitted ? 'pass' : plainPart(request.active?.[slot], slot, slots, parts.shift() ?? ''));
  }
  return [...plain, ...parts].join(', ');
}

/**
 * @param {Active | undefined} active
 * @param {number} slot
 * @param {number} slots
 * @param {string} text
 */
function plainPart(active, slot, slots, text) {
  const [verb, first, ...words] = text.split(' ');
  if (verb !== 'move' || !active) return text;
  let name = first ?? '';
  let target = '';
  let gimmick = '';
  for (const word of words) {
    const known = SYNONYMS.get(word) ?? word;
    if (/^[+-]?[12]$/.test(word)) target = word.replace(/^(?=\d)/, '+');
    else if (GIMMICKS.includes(known)) gimmick = known;
    else name += word;
  }
  const id = name.toLowerCase().replace(/[^a-z0-9]/g, '').replace(/^hiddenpower.*/, 'hiddenpower');
  const move = /^\d$/.test(name) ? Number(name) - 1 : active.moves.findIndex((option) => option.id === id);
  if (gimmick === GIMMICKS[DYNAMAX] && active.maxMoves && !active.canDynamax) gimmick = ''; // it is already active
  const aim = aimOf(active, move, GIMMICKS.indexOf(gimmick)) ?? '';
  if (slots === 1 || !AIMS[slot].has(aim)) target = '';
  return ['move', move + 1, target, gimmick].filter(Boolean).join(' ');
}

// Volatile conditions and temporary formes of Pokémon on the field.

import { startSideCondition } from './field.js';
import { copyCriticalChances } from './health.js';
import { noteAbility, noteCause } from './items.js';
import { MoveList } from './state.js';

/** @import { Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */
/** @typedef {(tracker: Tracker, slot: Slot, parts: string[]) => void} Special */

/** Volatiles that need nothing but their `-start` and `-end` lines. */
const PLAIN = new Set([
  'aquaring', 'attract', 'autotomize', 'bide', 'charge', 'curse', 'dragoncheer', 'embargo', 'flashfire', 'focusenergy',
  'foresight', 'healblock', 'imprison', 'ingrain', 'laserfocus', 'leechseed', 'lightscreen', 'magnetrise', 'miracleeye',
  'mist', 'mudsport', 'nightmare', 'noretreat', 'octolock', 'powershift', 'powertrick', 'reflect', 'saltcure',
  'slowstart', 'substitute', 'syrupbomb', 'tarshot', 'taunt', 'telekinesis', 'throatchop', 'torment', 'uproar',
  'watersport', 'yawn',
]);
/** Effects with a number or a stat at the end of their name. */
const LEVELLED = /^(perish|stockpile|fallen)(\d)$/;
const PARADOX = /^(protosynthesis|quarkdrive)(atk|def|spa|spd|spe)$/;
const FUTURE_MOVES = new Set(['futuresight', 'doomdesire']);

/** Volatiles of `-singleturn` lines. Others start on the side or are only announced. */
const SINGLE_TURN_VOLATILES = new Map([
  ['protect', 'protect'], ['maxguard', 'protect'], ['endure', 'endure'], ['followme', 'followme'],
  ['ragepowder', 'followme'], ['spotlight', 'spotlight'], ['helpinghand', 'helpinghand'], ['magiccoat', 'magiccoat'],
  ['snatch', 'snatch'], ['powder', 'powder'], ['electrify', 'electrify'], ['roost', 'roost'],
]);
export const GUARDS_SIDE = new Set(['quickguard', 'wideguard', 'craftyshield', 'matblock']);
const ANNOUNCED_MOVES = new Set(['focuspunch', 'beakblast', 'shelltrap']);
const STALLS = new Set(['protect', 'maxguard', 'endure', 'quickguard', 'wideguard']);

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function start(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const effect = tracker.lexicon.effect(parts[3]);
  tracker.readTags(parts, 4);
  noteCause(tracker, tracker.pokemonAt(tracker.of) ?? slot.pokemon);
  if (effect.kind === 'ability' && slot.pokemon) noteAbility(slot.pokemon, effect.id);
  const special = STARTS.get(effect.id);
  if (special) special(tracker, slot, parts);
  else if (PLAIN.has(effect.id)) slot.volatiles.set(effect.id, tracker.turn);
  else startLevelled(tracker, slot, effect.id);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {string} id
 */
function startLevelled(tracker, slot, id) {
  const levelled = LEVELLED.exec(id);
  const paradox = levelled ? null : PARADOX.exec(id);
  if (levelled) {
    slot.volatiles.set(levelled[1] === 'perish' ? 'perishsong' : levelled[1], Number(levelled[2]));
  } else if (paradox) {
    slot.volatiles.set(paradox[1], tracker.turn);
    slot.paradoxStat = paradox[2];
    if (slot.pokemon) noteAbility(slot.pokemon, paradox[1]);
  } else {
    tracker.countUnknown(`-start ${id}`);
  }
}

/** @type {Map<string, Special>} */
const STARTS = new Map([
  ['typechange', typeChange],
  ['typeadd', typeAdd],
  ['confusion', confuse],
  ['disable', (tracker, slot, parts) => {
    slot.volatiles.set('disable', tracker.turn);
    slot.disabledMove = tracker.lexicon.move(parts[4]).id;
    slot.moves.reveal(slot.disabledMove);
  }],
  ['encore', (tracker, slot) => {
    slot.volatiles.set('encore', tracker.turn);
    slot.encoredMove = slot.lastMove;
  }],
  ['dynamax', (tracker, slot) => {
    slot.volatiles.set('dynamax', tracker.turn);
    slot.side.gimmickUsed = true;
  }],
  ['gmaxchistrike', (_, slot) => {
    slot.volatiles.set('gmaxchistrike', Math.min(3, (slot.volatiles.get('gmaxchistrike') ?? 0) + 1));
  }],
  ['smackdown', (tracker, slot) => {
    endLevitation(slot);
    slot.volatiles.set('smackdown', tracker.turn);
  }],
  ['mimic', learnByMimic],
  ['futuresight', startFutureMove],
  ['doomdesire', startFutureMove],
]);

/** @type {Special} */
function typeChange(tracker, slot, parts) {
  const model = tracker.of ? tracker.slotAt(tracker.of) : null;
  if (parts[4] && !parts[4].startsWith('[')) slot.types = tracker.lexicon.types(parts[4]);
  else if (model) slot.types = typesOf(model);
  slot.addedType = '';
  slot.volatiles.set('typechange', tracker.turn);
  slot.volatiles.delete('typeadd');
}

/** @param {Slot} slot */
export function endLevitation({ volatiles }) {
  volatiles.delete('magnetrise');
  volatiles.delete('telekinesis');
}

/** @type {Special} */
function typeAdd(tracker, slot, parts) {
  slot.addedType = tracker.lexicon.id(parts[4]);
  slot.volatiles.set('typeadd', tracker.turn);
}

/**
 * @param {Slot} slot
 * @returns {string[] | null} shown types, without an added one
 */
function typesOf({ types, shownSpecies, pokemon }) {
  if (pokemon?.terastallized && pokemon.teraType !== 'stellar') return [pokemon.teraType];
  return types ?? shownSpecies?.types ?? null;
}

/** @type {Special} */
function confuse(tracker, slot, parts) {
  slot.volatiles.set('confusion', tracker.turn);
  const tired = parts.includes('[fatigue]', 4) || (tracker.lexicon.generation <= 2 && parts.includes('[silent]', 4));
  if (tired) slot.volatiles.delete('lockedmove');
}

/** @type {Special} */
export function learnByMimic(tracker, slot, parts) {
  slot.mimic = { id: tracker.lexicon.move(parts[4]).id, spent: 0 };
}

/** @type {Special} */
function startFutureMove(tracker, slot) {
  const { last } = slot;
  const aimed = last.turn === tracker.actionsOfTurn && last.side >= 0;
  const side = tracker.sides[aimed ? last.side : 1 - slot.side.index];
  side.futureMove[aimed ? last.slot : 0] = 3;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function end(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const { id, kind } = tracker.lexicon.effect(parts[3]);
  tracker.readTags(parts, 4);
  noteCause(tracker, slot.pokemon);
  if (FUTURE_MOVES.has(id)) slot.side.futureMove[slot.index] = 0;
  else if (id === 'typechange') slot.types = null;
  else if (id === 'bide') tracker.actor = slot; // it hits without a line for the move
  else if (id === 'disable') slot.disabledMove = '';
  else if (id === 'encore') slot.encoredMove = '';
  else if (id === 'protosynthesis' || id === 'quarkdrive') slot.paradoxStat = '';
  else if (kind === 'ability' && id === 'neutralizinggas' && slot.pokemon) noteAbility(slot.pokemon, id);
  if (slot.volatiles.delete(id)) return;
  if (parts.includes('[partiallytrapped]', 4)) slot.volatiles.delete('partiallytrapped');
  else if (id.startsWith('fallen')) slot.volatiles.delete('fallen');
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function singleTurn(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const { id } = tracker.lexicon.effect(parts[3]);
  const volatile = SINGLE_TURN_VOLATILES.get(id);
  if (volatile) {
    slot.volatiles.set(volatile, tracker.turn);
    slot.untilTurnEnds.push(volatile);
  } else if (GUARDS_SIDE.has(id)) {
    startSideCondition(tracker, slot.side, id);
  } else if (ANNOUNCED_MOVES.has(id)) {
    slot.moves.reveal(id);
  } else if (id !== 'instruct') {
    tracker.countUnknown(`-singleturn ${id}`);
  }
  if (STALLS.has(id)) {
    slot.volatiles.set('stall', (slot.volatiles.get('stall') ?? 0) + 1);
    slot.stallTurn = tracker.turn;
  }
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function singleMove(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const { id } = tracker.lexicon.effect(parts[3]);
  slot.volatiles.set(id, tracker.turn);
  slot.untilMove.push(id);
}

/**
 * A temporary forme.
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function formeChange(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  slot.changeForme(tracker.lexicon.species(parts[3]));
  tracker.readTags(parts, 4);
  noteCause(tracker, slot.pokemon);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function transform(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const model = tracker.slotAt(parts[3]);
  const { pokemon } = slot;
  tracker.readTags(parts, 4);
  noteCause(tracker, pokemon);
  if (!pokemon || !model.pokemon) return;
  const moves = new MoveList();
  for (const id of model.moves.ids) moves.reveal(id);
  slot.transform = { original: model.pokemon, moves };
  slot.species = model.shownSpecies ?? null;
  slot.types = model.types;
  slot.addedType = model.addedType;
  slot.boosts.set(model.boosts);
  slot.mimic = null;
  slot.volatiles.set('transform', tracker.turn);
  copyCriticalChances(tracker, slot, model);
  pokemon.ability = model.pokemon.ability;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function terastallize(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  pokemon.teraType = tracker.lexicon.id(parts[3]);
  pokemon.terastallized = true;
  pokemon.side.gimmickUsed = true;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function zPower(tracker, parts) {
  tracker.sideAt(parts[2]).gimmickUsed = true;
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const effectLines = [
  ['-start', start],
  ['-end', end],
  ['-singleturn', singleTurn],
  ['-singlemove', singleMove],
  ['-formechange', formeChange],
  ['-transform', transform],
  ['-terastallize', terastallize],
  ['-zpower', zPower],
];

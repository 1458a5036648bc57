// `-activate` and `-block` lines of abilities, items and moves.

import { endLevitation, GUARDS_SIDE, learnByMimic } from './effects.js';
import { changeAbility, gainItem, loseItem, noteAbility, noteItem } from './items.js';
import { noteOutcome, OUTCOME } from './outcomes.js';

/** @import { Effect } from './lexicon.js' */
/** @import { Pokemon, Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */

/** Effects that block an attack. */
const SHIELDS = new Set(['protect', 'maxguard', 'craftyshield', 'matblock', 'quickguard', 'wideguard']);
const COSTS_PP = new Set(['spite', 'eeriespell', 'gmaxdepletion']);
const RESTORES_PP = new Set(['leppaberry', 'mysteryberry']);

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function activate(tracker, parts) {
  if (!parts[2]) return;
  const slot = tracker.slotAt(parts[2]);
  const effect = tracker.lexicon.effect(parts[3]);
  const pokemon = tracker.pokemonAt(parts[2]);
  tracker.readTags(parts, 4);
  if (!pokemon) return;
  if (effect.kind === 'ability') activateAbility(tracker, pokemon, slot, effect, parts);
  else if (effect.kind === 'item') activateItem(tracker, pokemon, effect, parts);
  else activateMove(tracker, pokemon, slot, effect, parts);
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {Slot} slot
 * @param {Effect} effect
 * @param {string[]} parts
 */
function activateAbility(tracker, pokemon, slot, { id }, parts) {
  noteAbility(pokemon, id);
  const other = tracker.pokemonAt(tracker.of);
  if (id === 'commander' && tracker.of) {
    slot.volatiles.set('commanding', tracker.turn);
    tracker.slotAt(tracker.of).volatiles.set('commanded', tracker.turn);
  } else if (id === 'forewarn' && other && parts[4]) {
    other.moves.reveal(tracker.lexicon.move(parts[4]).id);
  } else if (id === 'symbiosis' && other) {
    const item = tracker.lexicon.id(parts[4]);
    loseItem(tracker, pokemon, item);
    gainItem(tracker, other, item);
  } else if (id === 'mummy' || id === 'lingeringaroma') {
    const target = tracker.pokemonAt(parts[4]);
    const old = parts.find((part) => part.startsWith('[ability] ')) ?? '';
    if (target) changeAbility(target, tracker.lexicon.id(old.slice('[ability] '.length)), id);
  } else if (id === 'cudchew') {
    tracker.cudChewUser = pokemon;
  }
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {Effect} effect
 * @param {string[]} parts
 */
function activateItem(tracker, pokemon, { id }, parts) {
  noteItem(tracker, pokemon, id);
  if (RESTORES_PP.has(id) && parts[4]) {
    const { moves } = pokemon;
    const place = moves.reveal(tracker.lexicon.move(parts[4]).id);
    moves.spent[place] = Math.max(0, moves.spent[place] - (id === 'leppaberry' ? 10 : 5));
  }
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {Slot} slot
 * @param {Effect} effect
 * @param {string[]} parts
 */
function activateMove(tracker, pokemon, slot, { id, kind }, parts) {
  const { lexicon } = tracker;
  const other = tracker.pokemonAt(tracker.of);
  if (SHIELDS.has(id)) noteOutcome(tracker, OUTCOME.protected);
  else if (id === 'feint' || parts.includes('[broken]', 4)) breakShield(tracker, slot);
  else if (COSTS_PP.has(id)) slot.moves.spent[slot.moves.reveal(lexicon.move(parts[4]).id)] += Number(parts[5]);
  else if (id === 'gravity') endLevitation(slot);
  else if (id === 'grudge') spendAllPp(tracker, slot, parts[4]);
  else if (id === 'trapped') trap(tracker, slot);
  else if (id === 'lockon' || id === 'mindreader') slot.volatiles.set('lockon', tracker.turn);
  else if (id === 'mimic') learnByMimic(tracker, slot, parts);
  else if (id === 'sketch') sketch(tracker, pokemon, parts[4]);
  else if (id === 'poltergeist') noteItem(tracker, pokemon, lexicon.id(parts[4]));
  else if (id === 'trick') tracker.trick = [pokemon, other];
  else if (id === 'skillswap' && other) swapAbilities(tracker, pokemon, other, parts);
  else if (id === 'healreplacement') slot.side.healingWish[slot.index] = true;
  else if (id === 'orichalcumpulse') noteAbility(pokemon, id);
  else if (kind === 'move' && other && lexicon.move(id).binds) slot.volatiles.set('partiallytrapped', tracker.turn);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function breakShield({ lexicon }, { volatiles, side }) {
  volatiles.delete('protect');
  if (lexicon.generation >= 6) volatiles.delete('stall');
  for (const id of GUARDS_SIDE) side.conditions.delete(id);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {string} name
 */
function spendAllPp(tracker, slot, name) {
  const facts = tracker.lexicon.move(name);
  slot.moves.spent[slot.moves.reveal(facts.id)] = facts.maxPp;
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function trap(tracker, slot) {
  const { actor } = tracker;
  slot.volatiles.set('trapped', tracker.turn);
  // Jaw Lock also traps its user, as long as its target stays.
  slot.trapper = actor === slot && actor.last.side >= 0 ? tracker.sides[actor.last.side].slots[actor.last.slot] : actor;
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {string} name
 */
function sketch(tracker, pokemon, name) {
  const place = pokemon.moves.reveal('sketch');
  pokemon.moves.ids[place] = tracker.lexicon.move(name).id;
  pokemon.moves.spent[place] = 0;
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {Pokemon} other
 * @param {string[]} parts include the new abilities if foes swap them
 */
function swapAbilities(tracker, pokemon, other, parts) {
  const named = parts[4] && !parts[4].startsWith('[');
  const gained = named ? tracker.lexicon.id(parts[4]) : other.ability;
  const given = named ? tracker.lexicon.id(parts[5]) : pokemon.ability;
  changeAbility(pokemon, given, gained);
  changeAbility(other, gained, given);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function block(tracker, parts) {
  const owner = tracker.pokemonAt(parts[2]);
  const { kind, id } = tracker.lexicon.effect(parts[3]);
  tracker.readTags(parts, 4);
  if (kind === 'item' && owner) noteItem(tracker, owner, id);
  const holder = tracker.pokemonAt(tracker.of) ?? owner;
  if (kind === 'ability' && holder) noteAbility(holder, id);
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const activationLines = [
  ['-activate', activate],
  ['-block', block],
];

// Items and abilities, from their own lines and from lines that name them as a cause.

import { closeDurations, learnDurations } from './durations.js';
import { HELD, NONE } from './state.js';

/** @import { Pokemon } from './state.js' */
/** @import { Tracker } from './tracker.js' */

/** Causes of an `-item` line: the Pokémon in `[of]` loses the item that the first one gains. */
const TAKEN_BY = new Set(['thief', 'covet', 'magician', 'pickpocket', 'bestow']);
const SWAPPED_BY = new Set(['trick', 'switcheroo']);
/** Causes of an `-ability` line after which both Pokémon have the ability. */
const COPIED_BY = new Set(['trace', 'roleplay', 'entrainment', 'doodle', 'receiver', 'powerofalchemy']);

/**
 * An item of a Pokémon is revealed.
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {string} item
 */
export function noteItem(tracker, pokemon, item) {
  if (pokemon.item === item) return;
  // A consumed item is named again after the line that it was consumed.
  if (pokemon.itemState === NONE && pokemon.lastItem === item) return;
  pokemon.item = item;
  pokemon.itemState = HELD;
  learnDurations(tracker, pokemon, item);
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {string} item that it no longer has; '' if unknown
 */
export function loseItem(tracker, pokemon, item) {
  if (item) learnDurations(tracker, pokemon, item);
  closeDurations(tracker, pokemon);
  if (item) pokemon.lastItem = item;
  pokemon.item = '';
  pokemon.itemState = NONE;
  const slot = pokemon.side.slots[pokemon.slot];
  if (slot && pokemon.ability === 'unburden') slot.volatiles.set('unburden', tracker.turn);
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {string} item
 */
export function gainItem(tracker, pokemon, item) {
  closeDurations(tracker, pokemon);
  pokemon.item = item;
  pokemon.itemState = HELD;
  const slot = pokemon.side.slots[pokemon.slot];
  if (!slot) return;
  slot.actedWithItem = false;
  slot.volatiles.delete('unburden');
}

/**
 * @param {Pokemon} pokemon
 * @param {string} ability that is revealed
 */
export function noteAbility(pokemon, ability) {
  // Calyrex announces the two parts of its double ability.
  if (pokemon.species.base === 'calyrex' && pokemon.species.onlyAbility.startsWith('asone')) return;
  const slot = pokemon.side.slots[pokemon.slot];
  if (!pokemon.ability && !pokemon.baseAbility && !slot?.transform) pokemon.baseAbility = ability;
  pokemon.ability = ability;
}

/**
 * @param {Pokemon} pokemon
 * @param {string} old '' if unknown
 * @param {string} ability
 */
export function changeAbility(pokemon, old, ability) {
  if (old) noteAbility(pokemon, old);
  pokemon.ability = ability;
}

/**
 * The `[from]` of a line reveals the owner's item or ability.
 * @param {Tracker} tracker
 * @param {Pokemon | null} owner
 */
export function noteCause(tracker, owner) {
  const { from } = tracker;
  if (!from || !owner) return;
  if (from.kind === 'item' && !tracker.lexicon.isUsedOnOthers(from.id)) noteItem(tracker, owner, from.id);
  else if (from.kind === 'ability') noteAbility(owner, from.id);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function item(tracker, parts) {
  tracker.readTags(parts, 4);
  const { from, lexicon } = tracker;
  const id = lexicon.id(parts[3]);
  const other = tracker.pokemonAt(tracker.of);
  if (from?.id === 'frisk') {
    if (other) noteAbility(other, 'frisk');
    const seen = parts[2] ? tracker.pokemonAt(parts[2]) : onlyFoe(tracker, other);
    if (seen) noteItem(tracker, seen, id);
    return;
  }
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  if (!from) {
    noteItem(tracker, pokemon, id); // Air Balloon
    return;
  }
  if (from.kind === 'ability') noteAbility(pokemon, from.id);
  if (other && TAKEN_BY.has(from.id)) loseItem(tracker, other, id);
  if (SWAPPED_BY.has(from.id)) swapped(tracker, pokemon, id);
  gainItem(tracker, pokemon, id);
}

/**
 * The item that one Pokémon gains by Trick was the other's.
 * @param {Tracker} tracker
 * @param {Pokemon} pokemon
 * @param {string} id
 */
function swapped({ trick }, pokemon, id) {
  const other = trick[0] === pokemon ? trick[1] : trick[0];
  if (!other) return;
  learnDurations(other.side.tracker, other, id);
  other.lastItem = id;
}

/**
 * @param {Tracker} tracker
 * @param {Pokemon | null} pokemon
 * @returns {Pokemon | null}
 */
function onlyFoe({ sides }, pokemon) {
  if (!pokemon) return null;
  const standing = sides[1 - pokemon.side.index].slots.filter((slot) => slot.pokemon && !slot.pokemon.fainted);
  return standing.length === 1 ? standing[0].pokemon : null;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function endItem(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  if (tracker.cudChewUser === pokemon) {
    tracker.cudChewUser = null; // Cud Chew eats a berry that is no longer held
    return;
  }
  const id = tracker.lexicon.id(parts[3]);
  if (pokemon.itemState === NONE && pokemon.lastItem === id) return;
  loseItem(tracker, pokemon, id);
}

/**
 * `|-ability|POKEMON|ABILITY|OLD ABILITY|[from] EFFECT|[of] SOURCE`, where all but the first two are optional.
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function ability(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  tracker.readTags(parts, 4);
  const { from, lexicon } = tracker;
  const id = lexicon.id(parts[3]);
  if (!from || parts.includes('[fail]', 4)) {
    noteAbility(pokemon, id);
    return;
  }
  const old = parts[4] && !parts[4].startsWith('[') ? lexicon.id(parts[4]) : from.kind === 'ability' ? from.id : '';
  changeAbility(pokemon, old, id);
  const other = tracker.pokemonAt(tracker.of);
  if (other && COPIED_BY.has(from.id)) noteAbility(other, id);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function endAbility(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  slot.volatiles.set('gastroacid', tracker.turn);
}

/**
 * Mega evolution, Ultra Burst and primal reversion name the required item.
 * @param {boolean} spends whether it uses the side's gimmick
 * @param {number} place of the item
 * @returns {(tracker: Tracker, parts: string[]) => void}
 */
function reversion(spends, place) {
  return (tracker, parts) => {
    const pokemon = tracker.pokemonAt(parts[2]);
    if (!pokemon) return;
    if (spends) pokemon.side.gimmickUsed = true;
    if (parts[place] && !parts[place].startsWith('[')) noteItem(tracker, pokemon, tracker.lexicon.id(parts[place]));
  };
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const itemLines = [
  ['-item', item],
  ['-enditem', endItem],
  ['-ability', ability],
  ['-endability', endAbility],
  ['-mega', reversion(true, 4)],
  ['-burst', reversion(true, 4)],
  ['-primal', reversion(false, 3)],
];

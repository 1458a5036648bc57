// Writes foe Pokémon into a view record: what is public about them, and nothing else.

import { publicMove } from '../tracker/own.js';
import { NONE } from '../tracker/state.js';
import { BROUGHT, NOT_BROUGHT } from './pokemon.js';

/** @import { Pokemon, Slot } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */
/** @import { PokemonColumns } from './pokemon.js' */

/**
 * @param {PokemonColumns} columns
 * @param {Int16Array} row
 * @param {Tracker} tracker
 * @param {number} seat
 */
export function writeFoes(columns, row, tracker, seat) {
  const { team, foeStart, width } = columns;
  const foes = tracker.sides[1 - seat].team;
  const count = Math.min(foes.length, team);
  for (let place = 0; place < count; place++) {
    writeFoe(columns, row, foeStart + place * width, foes[place], tracker, seat);
  }
}

/**
 * @param {PokemonColumns} columns
 * @param {Int16Array} row
 * @param {number} start
 * @param {Pokemon} pokemon
 * @param {Tracker} tracker
 * @param {number} seat
 */
function writeFoe(columns, row, start, pokemon, tracker, seat) {
  const { at } = columns;
  const slot = pokemon.slot >= 0 ? pokemon.side.slots[pokemon.slot] : null;
  const species = slot?.species ?? pokemon.species;
  row[start + at.species] = columns.speciesNumber(species);
  row[start + at.base_species] = columns.speciesNumber(pokemon.baseSpecies);
  row[start + at.level] = pokemon.level;
  row[start + at.gender] = columns.genders.get(pokemon.gender) ?? 0;
  row[start + at.hp] = pokemon.hp;
  row[start + at.max_hp] = pokemon.maxHp;
  if (pokemon.fainted) row[start + at.fainted] = 1;
  if (pokemon.status) {
    row[start + at.status] = columns.statuses.get(pokemon.status) ?? 0;
    row[start + at.status_turns] = pokemon.statusTurns;
  }
  columns.writeTypes(row, start, species, slot, pokemon.terastallized ? pokemon.teraType : '');
  if (pokemon.teraType) row[start + at.tera_type] = columns.types.get(pokemon.teraType) ?? 0;
  if (pokemon.terastallized) row[start + at.terastallized] = 1;
  if (pokemon.nature) row[start + at.nature] = columns.natures.get(pokemon.nature) ?? 0;
  writeItemAndAbility(columns, row, start, pokemon);
  writeMoves(columns, row, start, pokemon, slot, tracker, seat);
  row[start + at.brought] = brought(pokemon);
  if (pokemon.seen) row[start + at.seen] = 1;
  if (slot) columns.writeSlot(row, start, slot, tracker, pokemon.item);
}

/**
 * @param {PokemonColumns} columns
 * @param {Int16Array} row
 * @param {number} start
 * @param {Pokemon} pokemon
 */
function writeItemAndAbility({ at, items, abilities }, row, start, pokemon) {
  row[start + at.item_state] = pokemon.itemState;
  if (pokemon.item) row[start + at.item] = items.get(pokemon.item) ?? 0;
  if (pokemon.item || pokemon.itemState === NONE) row[start + at.item_revealed] = 1;
  if (pokemon.lastItem) row[start + at.last_item] = items.get(pokemon.lastItem) ?? 0;
  const { shownAbility } = pokemon;
  if (shownAbility) {
    row[start + at.ability] = abilities.get(shownAbility) ?? 0;
    row[start + at.ability_revealed] = 1;
  }
  const baseAbility = pokemon.baseAbility || pokemon.baseSpecies.onlyAbility;
  if (baseAbility) row[start + at.base_ability] = abilities.get(baseAbility) ?? 0;
}

/**
 * @param {PokemonColumns} columns
 * @param {Int16Array} row
 * @param {number} start
 * @param {Pokemon} pokemon
 * @param {Slot | null} slot
 * @param {Tracker} tracker
 * @param {number} seat
 */
function writeMoves(columns, row, start, pokemon, slot, tracker, seat) {
  const { at } = columns;
  const { ids, spent } = slot?.moves ?? pokemon.moves;
  const transform = slot?.transform;
  // A seat knows the moves of its own Pokémon, so it knows those of a foe that transformed into one of them.
  const model = transform && tracker.memories[seat].team.find((own) => own.known === transform.original);
  const shown = model ? model.moves : ids;
  const count = Math.min(shown.length, columns.room);
  for (let place = 0; place < count; place++) {
    const learned = slot?.mimic && shown[place] === 'mimic' ? slot.mimic : null;
    const id = learned ? learned.id : shown[place];
    row[start + at.moves + place] = columns.moves.get(id) ?? 0;
    row[start + at.move_revealed + place] = 1;
    if (slot && transform) {
      columns.writeTransformedPp(row, start, place, tracker, slot, publicMove(id));
      continue;
    }
    const { maxPp } = tracker.lexicon.move(id);
    row[start + at.pp + place] = Math.max(0, maxPp - (learned ? learned.spent : spent[place]));
    row[start + at.max_pp + place] = maxPp;
  }
}

/**
 * @param {Pokemon} pokemon
 * @returns {number} whether it takes part, as far as is known
 */
function brought({ seen, side }) {
  if (seen || side.broughtSize >= side.teamSize) return BROUGHT;
  let met = 0;
  for (const pokemon of side.team) if (pokemon.seen) met++;
  return met >= side.broughtSize ? NOT_BROUGHT : 0;
}

// The columns that own and foe Pokémon share in a view record.

import { offsets, places } from './layout.js';

/** @import { SpeciesFacts } from '../tracker/lexicon.js' */
/** @import { Slot } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */
/** @import { Block, Layout, Vocabulary } from './layout.js' */

const FIELDS = /** @type {const} */ ([
  'species', 'base_species', 'level', 'gender', 'hp', 'max_hp', 'fainted', 'status', 'status_turns', 'types',
  'tera_type', 'terastallized', 'item', 'item_state', 'last_item', 'ability', 'base_ability', 'nature', 'stats',
  'boosts', 'moves', 'pp', 'max_pp', 'move_disabled', 'move_revealed', 'item_revealed', 'ability_revealed', 'active',
  'brought', 'seen', 'turns_active', 'last_move', 'streak', 'disabled_move', 'encored_move', 'paradox_stat',
  'volatiles', 'counters',
]);
/** Volatiles that are counted by level, not by turns. */
const LEVELLED = new Set(['perishsong', 'stockpile', 'fallen', 'gmaxchistrike', 'stall']);
const TRANSFORMED_PP = 5;

export const BROUGHT = 1;
export const NOT_BROUGHT = 2;

export class PokemonColumns {
  /**
   * @param {Block} block
   * @param {Layout} layout
   * @param {Vocabulary} vocabulary
   */
  constructor(block, { names, moves, team }, vocabulary) {
    this.at = offsets('pokemon', block, FIELDS);
    this.width = block.width;
    this.ownStart = block.start;
    this.foeStart = block.start + team * block.width;
    this.team = team;
    this.room = moves;
    this.stats = names.stats;
    this.species = places(['', ...vocabulary.species]);
    this.moves = places(['', ...vocabulary.moves]);
    this.items = places(['', ...vocabulary.items]);
    this.abilities = places(['', ...vocabulary.abilities]);
    this.types = places(['', ...vocabulary.types]);
    this.statuses = places(names.statuses);
    this.genders = places(names.genders);
    this.natures = places(names.natures);
    this.volatiles = places(names.volatiles);
    this.counters = places(names.counted_volatiles);
  }

  /**
   * @param {SpeciesFacts} species
   * @returns {number}
   */
  speciesNumber({ id, base }) {
    return this.species.get(id) ?? this.species.get(base) ?? 0;
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {SpeciesFacts} species
   * @param {Slot | null} slot
   * @param {string} tera type, if it is terastallized
   */
  writeTypes(row, start, species, slot, tera) {
    const first = start + this.at.types;
    if (tera && tera !== 'stellar') {
      row[first] = this.types.get(tera) ?? 0;
      return;
    }
    const types = slot?.types ?? species.types;
    const grounded = slot !== null && slot.volatiles.has('roost');
    let place = first;
    for (const type of types) if (!grounded || type !== 'flying') row[place++] = this.types.get(type) ?? 0;
    if (place === first) row[place++] = this.types.get('normal') ?? 0;
    if (slot?.addedType) row[place] = this.types.get(slot.addedType) ?? 0;
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {number} place
   * @param {Tracker} tracker
   * @param {Slot} slot
   * @param {string} id
   */
  writeTransformedPp(row, start, place, { lexicon }, slot, id) {
    const { basePp, maxPp } = lexicon.move(id);
    const full = Math.min(TRANSFORMED_PP, basePp);
    row[start + this.at.pp + place] = Math.max(0, full - slot.moves.spentOn(id));
    row[start + this.at.max_pp + place] = lexicon.generation >= 5 ? full : maxPp;
  }

  /**
   * The state of a Pokémon while it is on the field.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Slot} slot
   * @param {Tracker} tracker
   * @param {string} item that it is known to hold
   */
  writeSlot(row, start, slot, tracker, item) {
    const { at } = this;
    const { volatiles, boosts } = slot;
    row[start + at.active] = slot.index + 1;
    row[start + at.turns_active] = tracker.turn - slot.since;
    for (let place = 0; place < boosts.length; place++) row[start + at.boosts + place] = boosts[place];
    if (slot.lastMove) {
      row[start + at.last_move] = this.moves.get(slot.lastMove) ?? 0;
      row[start + at.streak] = slot.streak;
      const bound = slot.actedWithItem && item.startsWith('choice') && !volatiles.has('dynamax');
      if (bound) this.writeVolatile(row, start, tracker, 'choicelock');
    }
    if (slot.disabledMove) row[start + at.disabled_move] = this.moves.get(slot.disabledMove) ?? 0;
    if (slot.encoredMove) row[start + at.encored_move] = this.moves.get(slot.encoredMove) ?? 0;
    if (slot.paradoxStat) row[start + at.paradox_stat] = this.stats.indexOf(slot.paradoxStat) + 1;
    if (slot.species?.id.endsWith('zen')) this.writeVolatile(row, start, tracker, 'zenmode');
    if (!volatiles.size) return;
    for (const [id, value] of volatiles) {
      this.writeVolatile(row, start, tracker, id);
      const counter = this.counters.get(id);
      if (counter !== undefined) row[start + at.counters + counter] = LEVELLED.has(id) ? value : tracker.turn - value;
    }
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Tracker} tracker
   * @param {string} id
   */
  writeVolatile(row, start, tracker, id) {
    const place = this.volatiles.get(id);
    if (place === undefined) tracker.countUnknown(`volatile ${id}`);
    else row[start + this.at.volatiles + (place >> 4)] |= 1 << (place & 15);
  }
}

// Writes own Pokémon into a view record: exact facts from the seat's request, and what is public about them.

import { UNKNOWN_ITEM, publicMove } from '../tracker/own.js';
import { HELD, NONE } from '../tracker/state.js';
import { BROUGHT, NOT_BROUGHT } from './pokemon.js';

/** @import { MoveFacts, SpeciesFacts } from '../tracker/lexicon.js' */
/** @import { Memory, Own } from '../tracker/own.js' */
/** @import { Pokemon, Slot } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */
/** @import { PokemonColumns } from './pokemon.js' */

/**
 * The columns of a Pokémon that rarely change between requests, written once.
 * @typedef {object} Template
 * @property {any} entry of the request that it is made from
 * @property {SpeciesFacts} species
 * @property {string[]} shownMoves as lines name them
 * @property {Int16Array} row
 */

export class OwnWriter {
  /** @param {PokemonColumns} columns */
  constructor(columns) {
    this.columns = columns;
    /** @type {WeakMap<Own, Template>} */
    this.templates = new WeakMap();
  }

  /**
   * @param {Int16Array} row
   * @param {Tracker} tracker
   * @param {Memory} memory
   * @param {any} request
   * @param {number} seat
   */
  write(row, tracker, memory, request, seat) {
    const { team, ownStart, width } = this.columns;
    const here = Math.min(memory.order.length, team);
    for (let place = 0; place < here; place++) {
      this.writePresent(row, ownStart + place * width, tracker, memory.order[place], request, seat, place);
    }
    if (memory.team.length === here) return;
    const absent = memory.team.filter((own) => !memory.order.includes(own)).slice(0, team - here);
    absent.forEach((own, place) => this.writeAbsent(row, ownStart + (here + place) * width, tracker, own));
  }

  /**
   * A Pokémon that takes part.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Tracker} tracker
   * @param {Own} own
   * @param {any} request
   * @param {number} seat
   * @param {number} place in the request
   */
  writePresent(row, start, tracker, own, request, seat, place) {
    const { at } = this.columns;
    const { entry } = own;
    const side = tracker.sides[seat];
    const template = this.template(own, tracker);
    row.set(template.row, start);
    const alive = this.writeCondition(row, start, own);
    const onField = alive && entry.active && place < tracker.activeSlots && !request.teamPreview;
    const slot = onField ? side.slots[place] : null;
    const undecided = request.teamPreview && side.broughtSize < request.side.pokemon.length;
    if (!undecided) row[start + at.brought] = BROUGHT;
    if (own.seen) row[start + at.seen] = 1;
    this.writeKnown(row, start, own, tracker);
    this.writeStatusTurns(row, start, own, slot?.pokemon ?? own.known);
    const offered = slot && request.active ? request.active[place].moves : null;
    this.writeMoves(row, start, own, tracker, template, slot, offered);
    const tera = entry.terastallized ? tracker.lexicon.id(entry.terastallized) : '';
    if (tera) row[start + at.terastallized] = 1;
    if (slot) this.writeOnField(row, start, own, tracker, template, slot, tera);
    else if (tera) this.columns.writeTypes(row, start, template.species, null, tera);
  }

  /**
   * A Pokémon that was not brought.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Tracker} tracker
   * @param {Own} own
   */
  writeAbsent(row, start, tracker, own) {
    const template = this.template(own, tracker);
    row.set(template.row, start);
    this.writeCondition(row, start, own);
    this.writeKnown(row, start, own, tracker);
    this.writeMoves(row, start, own, tracker, template, null, null);
    row[start + this.columns.at.brought] = NOT_BROUGHT;
  }

  /**
   * @param {Own} own
   * @param {Tracker} tracker
   * @returns {Template}
   */
  template(own, tracker) {
    const { entry } = own;
    const known = this.templates.get(own);
    if (known && (known.entry === entry || sameFacts(known.entry, entry))) return known;
    const made = this.makeTemplate(own, tracker);
    this.templates.set(own, made);
    return made;
  }

  /**
   * @param {Own} own
   * @param {Tracker} tracker
   * @returns {Template}
   */
  makeTemplate({ entry, details, baseAbility }, { lexicon }) {
    const { columns } = this;
    const { at, stats } = columns;
    const { species } = lexicon.details(entry.details);
    /** @type {MoveFacts[]} */
    const moves = entry.moves.map(lexicon.move).slice(0, columns.room);
    const shownMoves = moves.map(({ id }) => publicMove(id));
    const row = new Int16Array(columns.width);
    row[at.species] = columns.speciesNumber(species);
    row[at.base_species] = columns.speciesNumber(details.species);
    row[at.level] = details.level;
    row[at.gender] = columns.genders.get(details.gender) ?? 0;
    if (entry.teraType) row[at.tera_type] = columns.types.get(lexicon.id(entry.teraType)) ?? 0;
    row[at.item] = columns.items.get(entry.item) ?? 0;
    if (entry.item !== UNKNOWN_ITEM) row[at.item_state] = entry.item ? HELD : NONE;
    if (lexicon.generation >= 3) {
      row[at.ability] = columns.abilities.get(entry.ability ?? entry.baseAbility) ?? 0;
      row[at.base_ability] = columns.abilities.get(baseAbility) ?? 0;
    }
    stats.forEach((name, place) => (row[at.stats + place] = entry.stats[name]));
    moves.forEach(({ id, maxPp }, place) => {
      row[at.moves + place] = columns.moves.get(id) ?? columns.moves.get(shownMoves[place]) ?? 0;
      row[at.max_pp + place] = maxPp;
    });
    columns.writeTypes(row, 0, species, null, '');
    return { entry, species, shownMoves, row };
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @returns {boolean} whether it is alive
   */
  writeCondition(row, start, own) {
    const { at, statuses } = this.columns;
    const { condition } = own.entry; // such as `231/404 par` or `0 fnt`
    const slash = condition.indexOf('/');
    if (slash < 0) {
      row[start + at.max_hp] = own.maxHp;
      row[start + at.fainted] = 1;
      return false;
    }
    const space = condition.indexOf(' ', slash);
    own.maxHp = Number.parseInt(condition.slice(slash + 1), 10);
    row[start + at.hp] = Number.parseInt(condition, 10);
    row[start + at.max_hp] = own.maxHp;
    if (space >= 0) row[start + at.status] = statuses.get(condition.slice(space + 1)) ?? 0;
    return true;
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Pokemon | null} shown as the public sees it, with a counted status
   */
  writeStatusTurns(row, start, own, shown) {
    const counted = shown?.status && own.entry.condition.endsWith(shown.status);
    if (counted) row[start + this.columns.at.status_turns] = shown.statusTurns;
  }

  /**
   * What is public about it.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Tracker} tracker
   */
  writeKnown(row, start, { known, entry }, tracker) {
    const { at, items, natures } = this.columns;
    if (!known) return;
    if (known.lastItem) row[start + at.last_item] = items.get(known.lastItem) ?? 0;
    if (known.nature) row[start + at.nature] = natures.get(known.nature) ?? 0;
    const itemKnown = entry.item ? known.item === entry.item : known.itemState === NONE;
    if (itemKnown) row[start + at.item_revealed] = 1;
    if (tracker.lexicon.generation >= 3 && known.shownAbility) row[start + at.ability_revealed] = 1;
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Tracker} tracker
   * @param {Template} template
   * @param {Slot} slot
   * @param {string} tera
   */
  writeOnField(row, start, { entry, known }, tracker, template, slot, tera) {
    const { columns } = this;
    const { at } = columns;
    const species = slot.species ?? template.species;
    if (slot.species) row[start + at.species] = columns.speciesNumber(species);
    row[start + at.types] = row[start + at.types + 1] = 0;
    columns.writeTypes(row, start, species, slot, tera);
    // Before gen 7, requests do not show a changed ability.
    const changed = entry.ability === undefined && slot.pokemon === known && known !== null && known.ability;
    if (changed && tracker.lexicon.generation >= 3) row[start + at.ability] = columns.abilities.get(known.ability) ?? 0;
    columns.writeSlot(row, start, slot, tracker, entry.item);
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Tracker} tracker
   * @param {Template} template
   * @param {Slot | null} slot
   * @param {any[] | null} offered moves of the request; fewer if it is locked into one
   */
  writeMoves(row, start, own, tracker, { shownMoves }, slot, offered) {
    const { at } = this.columns;
    const exact = offered !== null && offered.length === own.entry.moves.length && offered[0].pp !== undefined;
    const transform = slot?.transform;
    for (let place = 0; place < shownMoves.length; place++) {
      if (exact) {
        row[start + at.pp + place] = offered[place].pp;
        row[start + at.max_pp + place] = offered[place].maxpp;
        if (offered[place].disabled) row[start + at.move_disabled + place] = 1;
      } else {
        if (slot && transform) this.columns.writeTransformedPp(row, start, place, tracker, slot, shownMoves[place]);
        else row[start + at.pp + place] = own.pp(place);
        if (offered && offered[0].id !== shownMoves[place]) row[start + at.move_disabled + place] = 1;
      }
      const known = own.known?.moves.ids.includes(shownMoves[place]);
      const revealed = transform ? transform.original.side !== slot.side : known;
      if (revealed) row[start + at.move_revealed + place] = 1;
    }
  }
}

/**
 * @param {any} one entry of a request
 * @param {any} other of the same Pokémon
 * @returns {boolean} whether they have the same template
 */
function sameFacts(one, other) {
  if (one.details !== other.details || one.item !== other.item || one.ability !== other.ability) return false;
  if (one.baseAbility !== other.baseAbility || one.teraType !== other.teraType) return false;
  if (one.moves.length !== other.moves.length) return false;
  for (let place = 0; place < one.moves.length; place++) if (one.moves[place] !== other.moves[place]) return false;
  // Entries of namesakes may be mistaken for each other.
  for (const name in one.stats) if (one.stats[name] !== other.stats[name]) return false;
  return true;
}

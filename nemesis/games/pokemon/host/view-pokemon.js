// Writes the Pokémon of a view record, own and foe.

import { publicMove } from './tracker-own.js';
import { HELD, NONE } from './tracker-state.js';
import { offsets, places } from './view-layout.js';

/** @import { SpeciesFacts } from './tracker-lexicon.js' */
/** @import { Own } from './tracker-own.js' */
/** @import { Pokemon, Slot } from './tracker-state.js' */
/** @import { Tracker } from './tracker.js' */
/** @import { Block, Layout, Vocabulary } from './view-layout.js' */

const FIELDS = /** @type {const} */ ([
  'species', 'base_species', 'level', 'gender', 'hp', 'max_hp', 'fainted', 'status', 'status_turns', 'types', 'tera_type',
  'terastallized', 'item', 'item_state', 'last_item', 'ability', 'base_ability', 'nature', 'stats', 'boosts', 'moves',
  'pp', 'max_pp', 'move_disabled', 'move_revealed', 'item_revealed', 'ability_revealed', 'active', 'brought', 'seen',
  'turns_active', 'last_move', 'streak', 'disabled_move', 'encored_move', 'paradox_stat', 'volatiles', 'counters',
]);
/** Volatiles that are counted by their level rather than by turns. */
const LEVELLED = new Set(['perishsong', 'stockpile', 'fallen', 'gmaxchistrike', 'stall']);
const TRANSFORMED_PP = 5;
const BROUGHT = 1;
const NOT_BROUGHT = 2;

export class PokemonWriter {
  /**
   * @param {Block} block
   * @param {Layout} layout
   * @param {Vocabulary} vocabulary
   */
  constructor(block, { names, moves }, vocabulary) {
    this.at = offsets('pokemon', block, FIELDS);
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
   * An own Pokémon that takes part.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Tracker} tracker
   * @param {any} request
   * @param {number} seat
   * @param {number} place in the request
   */
  own(row, start, tracker, request, seat, place) {
    const { at } = this;
    const own = tracker.memories[seat].order[place];
    const side = tracker.sides[seat];
    const { entry } = own;
    const alive = !entry.condition.endsWith(' fnt');
    const onField = alive && entry.active && place < tracker.activeSlots && !request.teamPreview;
    const slot = onField ? side.slots[place] : null;
    const species = slot?.species ?? tracker.lexicon.details(entry.details).species;
    const tera = entry.terastallized ? tracker.lexicon.id(entry.terastallized) : '';
    this.ownFacts(row, start, own, tracker, species);
    this.ownCondition(row, start, own, slot?.pokemon ?? own.known);
    this.typesNow(row, start, species, slot, tera);
    if (tera) row[start + at.terastallized] = 1;
    this.ownMoves(row, start, own, tracker, slot, slot && request.active ? request.active[place].moves : null);
    if (slot || own.seen) row[start + at.seen] = 1;
    const undecided = request.teamPreview && side.broughtSize < request.side.pokemon.length;
    if (!undecided) row[start + at.brought] = BROUGHT;
    if (!slot) return;
    if (tracker.lexicon.generation >= 3 && entry.ability === undefined && slot.pokemon === own.known && own.known?.ability) {
      row[start + at.ability] = this.abilities.get(own.known.ability) ?? 0;
    }
    this.onField(row, start, slot, tracker, entry.item);
  }

  /**
   * An own Pokémon that was left at home.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Tracker} tracker
   */
  absent(row, start, own, tracker) {
    this.ownFacts(row, start, own, tracker, own.details.species);
    this.ownCondition(row, start, own, null);
    this.typesNow(row, start, own.details.species, null, '');
    this.ownMoves(row, start, own, tracker, null, null);
    row[start + this.at.brought] = NOT_BROUGHT;
  }

  /**
   * A foe, as the public knows it.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Pokemon} pokemon
   * @param {Tracker} tracker
   * @param {number} seat
   */
  foe(row, start, pokemon, tracker, seat) {
    const { at } = this;
    const slot = pokemon.slot >= 0 ? pokemon.side.slots[pokemon.slot] : null;
    const species = slot?.species ?? pokemon.species;
    row[start + at.species] = this.speciesNumber(species);
    row[start + at.base_species] = this.speciesNumber(pokemon.baseSpecies);
    row[start + at.level] = pokemon.level;
    row[start + at.gender] = this.genders.get(pokemon.gender) ?? 0;
    row[start + at.hp] = pokemon.hp;
    row[start + at.max_hp] = pokemon.maxHp;
    if (pokemon.fainted) row[start + at.fainted] = 1;
    row[start + at.status] = this.statuses.get(pokemon.status) ?? 0;
    row[start + at.status_turns] = pokemon.statusTurns;
    this.typesNow(row, start, species, slot, pokemon.terastallized ? pokemon.teraType : '');
    row[start + at.tera_type] = this.types.get(pokemon.teraType) ?? 0;
    if (pokemon.terastallized) row[start + at.terastallized] = 1;
    row[start + at.item] = this.items.get(pokemon.item) ?? 0;
    row[start + at.item_state] = pokemon.itemState;
    row[start + at.last_item] = this.items.get(pokemon.lastItem) ?? 0;
    if (pokemon.item || pokemon.itemState === NONE) row[start + at.item_revealed] = 1;
    const ability = pokemon.shownAbility;
    row[start + at.ability] = this.abilities.get(ability) ?? 0;
    row[start + at.base_ability] = this.abilities.get(pokemon.baseAbility || pokemon.baseSpecies.onlyAbility) ?? 0;
    if (ability) row[start + at.ability_revealed] = 1;
    row[start + at.nature] = this.natures.get(pokemon.nature) ?? 0;
    this.foeMoves(row, start, pokemon, slot, tracker, seat);
    row[start + at.brought] = brought(pokemon);
    if (pokemon.seen) row[start + at.seen] = 1;
    if (slot) this.onField(row, start, slot, tracker, pokemon.item);
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Tracker} tracker
   * @param {SpeciesFacts} species as it stands now
   */
  ownFacts(row, start, own, tracker, species) {
    const { at, stats } = this;
    const { entry, known, details } = own;
    row[start + at.species] = this.speciesNumber(species);
    row[start + at.base_species] = this.speciesNumber(details.species);
    row[start + at.level] = details.level;
    row[start + at.gender] = this.genders.get(details.gender) ?? 0;
    if (entry.teraType) row[start + at.tera_type] = this.types.get(tracker.lexicon.id(entry.teraType)) ?? 0;
    row[start + at.item] = this.items.get(entry.item) ?? 0;
    row[start + at.item_state] = entry.item ? HELD : NONE;
    const hasAbility = tracker.lexicon.generation >= 3;
    if (hasAbility) {
      row[start + at.ability] = this.abilities.get(entry.ability ?? entry.baseAbility) ?? 0;
      row[start + at.base_ability] = this.abilities.get(own.baseAbility) ?? 0;
    }
    for (let place = 0; place < stats.length; place++) row[start + at.stats + place] = entry.stats[stats[place]];
    if (!known) return;
    row[start + at.last_item] = this.items.get(known.lastItem) ?? 0;
    row[start + at.nature] = this.natures.get(known.nature) ?? 0;
    const itemKnown = entry.item ? known.item === entry.item : known.itemState === NONE;
    if (itemKnown) row[start + at.item_revealed] = 1;
    if (hasAbility && known.shownAbility) row[start + at.ability_revealed] = 1;
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Pokemon | null} shown whose status the public counts
   */
  ownCondition(row, start, own, shown) {
    const { at } = this;
    const { condition } = own.entry; // such as `231/404 par` or `0 fnt`
    const slash = condition.indexOf('/');
    if (slash < 0) {
      row[start + at.max_hp] = own.maxHp;
      row[start + at.fainted] = 1;
      return;
    }
    const space = condition.indexOf(' ', slash);
    own.maxHp = Number.parseInt(condition.slice(slash + 1), 10);
    row[start + at.hp] = Number.parseInt(condition, 10);
    row[start + at.max_hp] = own.maxHp;
    if (space < 0) return;
    const status = condition.slice(space + 1);
    row[start + at.status] = this.statuses.get(status) ?? 0;
    if (shown && shown.status === status) row[start + at.status_turns] = shown.statusTurns;
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Own} own
   * @param {Tracker} tracker
   * @param {Slot | null} slot
   * @param {any[] | null} offered moves of the request, fewer if it is locked into one
   */
  ownMoves(row, start, own, tracker, slot, offered) {
    const { at } = this;
    const { entry, known } = own;
    const count = Math.min(entry.moves.length, this.room);
    const exact = offered !== null && offered.length === entry.moves.length && offered[0].pp !== undefined;
    for (let place = 0; place < count; place++) {
      const facts = tracker.lexicon.move(entry.moves[place]);
      const shownId = publicMove(facts.id);
      row[start + at.moves + place] = this.moves.get(facts.id) ?? this.moves.get(shownId) ?? 0;
      if (exact) {
        row[start + at.pp + place] = offered[place].pp;
        row[start + at.max_pp + place] = offered[place].maxpp;
        if (offered[place].disabled) row[start + at.move_disabled + place] = 1;
      } else if (slot?.transform) {
        this.transformedPp(row, start, place, tracker, slot, shownId);
      } else {
        row[start + at.pp + place] = own.pp(place);
        row[start + at.max_pp + place] = facts.maxPp;
        if (offered && offered[0].id !== shownId) row[start + at.move_disabled + place] = 1;
      }
      const revealed = slot?.transform ? slot.transform.original.side !== slot.side : known?.moves.ids.includes(shownId);
      if (revealed) row[start + at.move_revealed + place] = 1;
    }
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Pokemon} pokemon
   * @param {Slot | null} slot
   * @param {Tracker} tracker
   * @param {number} seat
   */
  foeMoves(row, start, pokemon, slot, tracker, seat) {
    const { at } = this;
    const transform = slot?.transform;
    const { ids, spent } = slot?.moves ?? pokemon.moves;
    // A seat knows the moves of its own Pokémon, so it knows those of a foe that turned into it.
    const model = transform && tracker.memories[seat].team.find((own) => own.known === transform.original);
    const shown = model ? model.moves : ids;
    const count = Math.min(shown.length, this.room);
    for (let place = 0; place < count; place++) {
      const id = slot?.mimic && shown[place] === 'mimic' ? slot.mimic.id : shown[place];
      const facts = tracker.lexicon.move(id);
      row[start + at.moves + place] = this.moves.get(id) ?? 0;
      row[start + at.move_revealed + place] = 1;
      if (transform) {
        this.transformedPp(row, start, place, tracker, /** @type {Slot} */ (slot), publicMove(id));
        continue;
      }
      row[start + at.pp + place] = Math.max(0, facts.maxPp - (id === shown[place] ? spent[place] : slot?.mimic?.spent ?? 0));
      row[start + at.max_pp + place] = facts.maxPp;
    }
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {number} place
   * @param {Tracker} tracker
   * @param {Slot} slot
   * @param {string} id
   */
  transformedPp(row, start, place, { lexicon }, slot, id) {
    const { basePp, maxPp } = lexicon.move(id);
    const full = Math.min(TRANSFORMED_PP, basePp);
    row[start + this.at.pp + place] = Math.max(0, full - slot.moves.spentOn(id));
    row[start + this.at.max_pp + place] = lexicon.generation >= 5 ? full : maxPp;
  }

  /**
   * What holds for a Pokémon while it is on the field.
   * @param {Int16Array} row
   * @param {number} start
   * @param {Slot} slot
   * @param {Tracker} tracker
   * @param {string} item that it is known to hold
   */
  onField(row, start, slot, tracker, item) {
    const { at } = this;
    const { volatiles, boosts } = slot;
    row[start + at.active] = slot.index + 1;
    row[start + at.turns_active] = tracker.turn - slot.since;
    for (let place = 0; place < boosts.length; place++) row[start + at.boosts + place] = boosts[place];
    if (slot.lastMove) {
      row[start + at.last_move] = this.moves.get(slot.lastMove) ?? 0;
      row[start + at.streak] = slot.streak;
      const bound = slot.actedWithItem && item.startsWith('choice') && !volatiles.has('dynamax');
      if (bound) this.volatile(row, start, tracker, 'choicelock');
    }
    row[start + at.disabled_move] = this.moves.get(slot.disabledMove) ?? 0;
    row[start + at.encored_move] = this.moves.get(slot.encoredMove) ?? 0;
    if (slot.paradoxStat) row[start + at.paradox_stat] = this.stats.indexOf(slot.paradoxStat) + 1;
    if (slot.shownSpecies?.id.endsWith('zen')) this.volatile(row, start, tracker, 'zenmode');
    for (const [id, value] of volatiles) {
      this.volatile(row, start, tracker, id);
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
  volatile(row, start, tracker, id) {
    const place = this.volatiles.get(id);
    if (place === undefined) tracker.countUnknown(`volatile ${id}`);
    else row[start + this.at.volatiles + (place >> 4)] |= 1 << (place & 15);
  }

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {SpeciesFacts} species
   * @param {Slot | null} slot
   * @param {string} tera type, if it is terastallized
   */
  typesNow(row, start, species, slot, tera) {
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
   * @param {SpeciesFacts} species
   * @returns {number}
   */
  speciesNumber({ id, base }) {
    return this.species.get(id) ?? this.species.get(base) ?? 0;
  }
}

/**
 * @param {Pokemon} pokemon a foe
 * @returns {number} whether it takes part, as far as that can be told
 */
function brought({ seen, side }) {
  if (seen || side.broughtSize >= side.teamSize) return BROUGHT;
  let met = 0;
  for (const pokemon of side.team) if (pokemon.seen) met++;
  return met >= side.broughtSize ? NOT_BROUGHT : 0;
}

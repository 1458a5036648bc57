// The public state: sides, their Pokémon, and the active slots.
//
// A Pokémon holds the state that it keeps on the bench, a slot the state that ends when its Pokémon leaves. This keeps
// Illusion simple: the state of the slot is correct for both seats, and only the identity of its Pokémon is wrong.

/** @import { Duration } from './durations.js' */
/** @import { Details, SpeciesFacts } from './lexicon.js' */

export const BOOSTS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];
export const NONE = 2; // item states: 0 unknown, 1 held, 2 none
export const HELD = 1;

/** Moves and the PP spent on each. */
export class MoveList {
  constructor() {
    /** @type {string[]} */
    this.ids = [];
    /** @type {number[]} */
    this.spent = [];
  }

  /**
   * @param {string} id
   * @returns {number} its place
   */
  reveal(id) {
    const place = this.ids.indexOf(id);
    if (place >= 0) return place;
    this.spent.push(0);
    return this.ids.push(id) - 1;
  }

  /**
   * @param {string} id
   * @returns {number}
   */
  spentOn(id) {
    const place = this.ids.indexOf(id);
    return place < 0 ? 0 : this.spent[place];
  }

  copy() {
    const list = new MoveList();
    list.ids = this.ids.slice();
    list.spent = this.spent.slice();
    return list;
  }
}

/** One Pokémon of a side, as far as is public. */
export class Pokemon {
  /**
   * @param {Side} side
   * @param {Details} details
   */
  constructor(side, details) {
    this.side = side;
    this.name = ''; // unknown until it is sent out
    this.species = details.species; // the permanent forme
    this.baseSpecies = details.species;
    this.level = details.level;
    this.gender = details.gender;
    this.hp = 0;
    this.maxHp = 0;
    this.fainted = false;
    this.status = '';
    this.statusTurns = 0;
    this.statusPhase = 0; // the phase in which it started
    this.item = '';
    this.itemState = 0;
    this.lastItem = '';
    this.ability = ''; // the current one
    this.baseAbility = '';
    this.nature = '';
    this.moves = new MoveList();
    this.teraType = '';
    this.terastallized = false;
    this.seen = false;
    this.slot = -1;
    /** @type {Partial<Pokemon> | null} the state before it was last sent out, in case it was an Illusion */
    this.before = null;
  }

  /** @param {string} status */
  setStatus(status) {
    if (status === this.status) return;
    this.status = status;
    this.statusTurns = 0;
    this.statusPhase = this.side.tracker.phase;
  }

  /** @param {string} text such as `75/100 par` */
  setCondition(text) {
    const slash = text.indexOf('/');
    if (slash < 0) {
      this.hp = 0; // `0 fnt`
      return;
    }
    const space = text.indexOf(' ', slash);
    this.hp = leadingNumber(text, 0);
    this.maxHp = leadingNumber(text, slash + 1);
    this.setStatus(space < 0 ? '' : text.slice(space + 1));
  }

  /** @returns {string} the ability that it regains when it leaves the field */
  get benchAbility() {
    return (this.species !== this.baseSpecies && this.species.onlyAbility) || this.baseAbility;
  }

  /** @returns {string} the current ability, if it is public: named by a line, or the only one of its species */
  get shownAbility() {
    if (this.ability || (this.slot >= 0 && this.side.slots[this.slot].transform)) return this.ability;
    return this.species.onlyAbility;
  }

  /** Save the state, so that `restoreState` can undo later changes. */
  saveState() {
    const { hp, maxHp, fainted, status, statusTurns, item, itemState, lastItem, ability, baseAbility } = this;
    const { teraType, terastallized, seen } = this;
    this.before = {
      hp, maxHp, fainted, status, statusTurns, item, itemState, lastItem, ability, baseAbility, teraType,
      terastallized, seen, moves: this.moves.copy(),
    };
  }

  restoreState() {
    Object.assign(this, this.before);
    this.before = null;
    this.slot = -1;
  }
}

/** One place on the field, and the state of its Pokémon until it leaves. */
export class Slot {
  /**
   * @param {Side} side
   * @param {number} index
   */
  constructor(side, index) {
    this.side = side;
    this.index = index;
    /** @type {Pokemon | null} */
    this.pokemon = null;
    this.since = 0; // turn in which it came in
    this.boosts = new Int8Array(BOOSTS.length);
    /** @type {Map<string, number>} volatile to the turn in which it started, or to its level */
    this.volatiles = new Map();
    /** @type {string[]} */
    this.untilTurnEnds = [];
    /** @type {string[]} */
    this.untilMove = [];
    /** @type {SpeciesFacts | null} a temporary forme, or what it transformed into */
    this.species = null;
    /** @type {string[] | null} types that replace those of the species */
    this.types = null;
    this.addedType = '';
    this.lastMove = '';
    this.streak = 0;
    this.regenerated = false; // whether a line showed it
    this.actedWithItem = false; // whether it used a move with its current item
    this.disabledMove = '';
    this.encoredMove = '';
    this.paradoxStat = '';
    this.stallTurn = -1; // when it last used a protecting move
    this.lockedTurn = -1; // when it last used a move
    /** @type {Slot | null} whose Pokémon traps this one */
    this.trapper = null;
    /** @type {{original: Pokemon, moves: MoveList} | null} */
    this.transform = null;
    /** @type {{id: string, spent: number} | null} the move learned by Mimic */
    this.mimic = null;
    /** The last recorded action, and the turn it belongs to. */
    this.last = { turn: -1, kind: '', move: '', side: -1, slot: -1, outcome: 0, order: 0 };
  }

  /** @param {number} turn in which another Pokémon comes in */
  reset(turn) {
    this.since = turn;
    this.boosts.fill(0);
    this.volatiles.clear();
    this.untilTurnEnds.length = 0;
    this.untilMove.length = 0;
    this.species = this.types = this.trapper = this.transform = this.mimic = null;
    this.addedType = this.lastMove = this.disabledMove = this.encoredMove = this.paradoxStat = '';
    this.streak = 0;
    this.actedWithItem = this.regenerated = false;
    this.stallTurn = this.lockedTurn = -1;
  }

  /**
   * @param {SpeciesFacts | null} species a temporary forme, or null for the permanent one
   */
  changeForme(species) {
    this.species = species;
    this.types = null;
    this.addedType = '';
    this.volatiles.delete('typechange');
    this.volatiles.delete('typeadd');
  }

  /** The Pokémon leaves, and its effects on others end. */
  leave() {
    const { pokemon } = this;
    if (!pokemon) return;
    if (!pokemon.fainted && !this.volatiles.has('gastroacid')) this.recover(pokemon);
    pokemon.slot = -1;
    pokemon.ability = pokemon.benchAbility;
    // A switch resets the count of toxic poison, and in gen 5 that of sleep.
    const { generation } = this.side.tracker.lexicon;
    if (pokemon.status === 'tox' || (pokemon.status === 'slp' && generation === 5)) pokemon.statusTurns = 0;
    for (const side of this.side.tracker.sides) {
      for (const slot of side.slots) {
        if (slot.trapper !== this) continue;
        slot.trapper = null;
        slot.volatiles.delete('trapped');
      }
    }
    if (this.volatiles.has('commanded')) for (const slot of this.side.slots) slot.volatiles.delete('commanding');
  }

  /**
   * Effects of abilities when their owner leaves, mostly without a line.
   * @param {Pokemon} pokemon
   */
  recover(pokemon) {
    const { shownAbility } = pokemon;
    const { sides } = this.side.tracker;
    if (sides.some((side) => side.slots.some((slot) => slot.hasNeutralizingGas))) return;
    if (shownAbility === 'naturalcure') pokemon.setStatus('');
    if (shownAbility !== 'regenerator' || this.regenerated) return;
    pokemon.hp = Math.min(pokemon.maxHp, pokemon.hp + Math.floor(pokemon.maxHp / 3));
  }

  /** @returns {boolean} whether its Pokémon suppresses all abilities */
  get hasNeutralizingGas() {
    return this.pokemon !== null && !this.pokemon.fainted && this.pokemon.shownAbility === 'neutralizinggas';
  }

  /** @returns {SpeciesFacts | undefined} */
  get shownSpecies() {
    return this.species ?? this.pokemon?.species;
  }

  /** @returns {MoveList} its current moves */
  get moves() {
    return this.transform?.moves ?? /** @type {Pokemon} */ (this.pokemon).moves;
  }
}

/** One side: its team, slots and side conditions. */
export class Side {
  /**
   * @param {import('./tracker.js').Tracker} tracker
   * @param {number} index
   */
  constructor(tracker, index) {
    this.tracker = tracker;
    this.index = index;
    this.playerName = '';
    /** @type {Pokemon[]} */
    this.team = [];
    this.slots = [new Slot(this, 0), new Slot(this, 1)];
    this.teamSize = 0;
    this.broughtSize = 0;
    this.faints = 0;
    this.gimmickUsed = false;
    /** @type {Map<string, Duration>} */
    this.conditions = new Map();
    this.wish = [0, 0];
    this.futureMove = [0, 0];
    this.healingWish = [false, false];
    this.identities = 0; // counts the changes of identities in the team
  }

  /**
   * @param {Details} details
   * @returns {Pokemon} the new member
   */
  add(details) {
    const pokemon = new Pokemon(this, details);
    this.team.push(pokemon);
    this.identities++;
    return pokemon;
  }
}

/**
 * @param {string} text
 * @param {number} from
 * @returns {number}
 */
function leadingNumber(text, from) {
  let value = 0;
  for (let place = from; place < text.length; place++) {
    const digit = text.charCodeAt(place) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  return value;
}

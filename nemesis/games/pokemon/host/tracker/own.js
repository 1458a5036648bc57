// What a seat knows about its own team beyond its current request: identities behind an Illusion, the PP of Pokémon on
// the bench, items that were held when a weather or screen started, and Pokémon that were not brought.

import { extendable } from './durations.js';
import { fits } from './identity.js';

/** @import { Details } from './lexicon.js' */
/** @import { Pokemon, Side } from './state.js' */
/** @import { Tracker } from './tracker.js' */

/** Stands for an own item that is unknown, which occurs only in replays. */
export const UNKNOWN_ITEM = '?';

/** One own Pokémon. */
export class Own {
  /**
   * @param {any} entry of a request
   * @param {Tracker} tracker
   */
  constructor(entry, { lexicon }) {
    this.ident = entry.ident;
    this.entry = entry;
    /** @type {Details} at the start of the battle */
    this.details = lexicon.details(entry.details);
    this.baseAbility = entry.baseAbility;
    this.item = itemOf(entry);
    this.itemBefore = ''; // the item at the previous decision
    this.maxHp = 0;
    this.seen = false;
    /** @type {Pokemon | null} its public state */
    this.known = null;
    /** @type {string[]} of its set, once a request has shown them */
    this.moves = [];
    /** @type {number[]} PP when last known exactly */
    this.left = [];
    /** @type {number[]} public PP costs up to then */
    this.spentBefore = [];
    this.onField = false;
    /** @type {Pokemon | null} what it looks like, if it has an Illusion */
    this.illusion = null;
  }

  /** @param {Tracker} tracker */
  learnMoves({ lexicon }) {
    for (const name of this.entry.moves) {
      const { id, maxPp } = lexicon.move(name);
      this.moves.push(id);
      this.left.push(maxPp);
      this.spentBefore.push(0);
    }
  }

  /**
   * @param {number} place of a move
   * @returns {number} PP left
   */
  pp(place) {
    if (place >= this.moves.length) return 0; // the request shows a namesake, which this one was taken for
    if (!this.onField) return this.left[place];
    return Math.max(0, this.left[place] - this.spentSince(place));
  }

  /**
   * @param {number} place of a move
   * @returns {number} public PP costs since its PP were last known exactly, including those during an Illusion
   */
  spentSince(place) {
    return this.spent(this.moves[place]) - this.spentBefore[place];
  }

  /**
   * @param {string} id of a move
   * @returns {number}
   */
  spent(id) {
    const shown = publicMove(id);
    return (this.known?.moves.spentOn(shown) ?? 0) + (this.illusion?.moves.spentOn(shown) ?? 0);
  }

  /**
   * @param {Pokemon} shownAs
   * @param {any[] | undefined} exact moves with PP, if the request has them
   */
  updateOnField(shownAs, exact) {
    this.seen = true;
    const illusion = shownAs === this.known ? null : shownAs;
    for (let place = 0; place < this.moves.length; place++) if (exact) this.left[place] = exact[place].pp;
    if (exact || illusion || !this.onField) this.illusion = illusion;
    this.onField = true;
    if (exact) this.spentBefore = this.moves.map((id) => this.spent(id));
  }

  leaveField() {
    this.left = this.moves.map((_, place) => this.pp(place));
    this.illusion = null;
    this.onField = false;
    this.spentBefore = this.moves.map((id) => this.spent(id));
  }
}

/** Everything that one seat remembers. */
export class Memory {
  constructor() {
    /** @type {Own[]} */
    this.team = [];
    /** @type {Map<string, Own>} */
    this.byIdent = new Map();
    /** @type {Own[]} those of the last request, in its order */
    this.order = [];
    /** @type {any} */
    this.request = null;
    this.identities = -1;
  }

  /**
   * @param {Own[]} team as in the first request
   */
  setTeam(team) {
    this.team = team;
    this.byIdent = new Map(team.map((own) => [own.ident, own]));
  }

  /**
   * @param {any} entry
   * @param {Tracker} tracker
   * @returns {Own} the matching one, among those that this request has not listed yet
   */
  find(entry, { lexicon }) {
    if (this.byIdent.size === this.team.length) return /** @type {Own} */ (this.byIdent.get(entry.ident));
    const moves = entry.moves.map(lexicon.move);
    const namesakes = this.team.filter((own) => own.ident === entry.ident && !this.order.includes(own));
    const same = namesakes.find((own) => own.moves.every((id, index) => id === moves[index]?.id));
    return same ?? namesakes[0];
  }
}

/**
 * @param {any} entry of a request
 * @returns {string} the item; in replays, a request may show a guess, from which nothing may be inferred
 */
function itemOf({ item, revealedItem }) {
  return revealedItem ?? item;
}

/**
 * @param {string} id
 * @returns {string} the move as lines name it: they omit the type of Hidden Power
 */
export function publicMove(id) {
  return id.startsWith('hiddenpower') ? 'hiddenpower' : id;
}

/**
 * Update a seat's memory with its request. Every request must be passed once, in order, after the tracker has read all
 * lines before it.
 * @param {Tracker} tracker
 * @param {any} request
 * @param {number} seat
 * @returns {Memory}
 */
export function updateMemory(tracker, request, seat) {
  const memory = tracker.memories[seat];
  if (memory.request === request) return memory;
  memory.request = request;
  const side = tracker.sides[seat];
  const entries = request.side.pokemon;
  if (!memory.team.length) memory.setTeam(entries.map((/** @type {any} */ entry) => new Own(entry, tracker)));
  memory.order.length = 0;
  for (const entry of entries) {
    const own = memory.find(entry, tracker);
    memory.order.push(own);
    own.entry = entry;
    own.itemBefore = own.item;
    own.item = itemOf(entry);
  }
  if (memory.identities !== side.identities) matchPublicPokemon(memory, side);
  memory.order.forEach((own, place) => updateOwn(tracker, side, own, request, place));
  learnOwnDurations(tracker, memory, seat);
  return memory;
}

/**
 * Find the public state of each own Pokémon.
 * @param {Memory} memory
 * @param {Side} side
 */
function matchPublicPokemon(memory, side) {
  memory.identities = side.identities;
  const open = side.team.slice();
  for (const own of memory.team) {
    const name = own.ident.slice(own.ident.indexOf(': ') + 2);
    const fitting = open.filter((pokemon) => fits(pokemon, own.details));
    const called = (/** @type {string} */ known) => fitting.find((pokemon) => pokemon.name === known);
    own.known = called(name) ?? called('') ?? null;
    if (own.known) open.splice(open.indexOf(own.known), 1);
  }
}

/**
 * @param {Tracker} tracker
 * @param {Side} side
 * @param {Own} own
 * @param {any} request
 * @param {number} place
 */
function updateOwn(tracker, side, own, request, place) {
  const onField = own.entry.active && place < tracker.activeSlots && !request.teamPreview;
  const slot = onField ? side.slots[place] : null;
  if (!own.moves.length && !slot?.transform) own.learnMoves(tracker);
  if (!slot?.pokemon) {
    if (own.onField) own.leaveField();
    return;
  }
  const moves = request.active?.[place]?.moves;
  const exact = moves?.length === own.moves.length && moves[0].pp !== undefined && !slot.transform && !slot.mimic;
  own.updateOnField(slot.pokemon, exact ? moves : undefined);
}

/**
 * @param {Tracker} tracker
 * @param {Memory} memory
 * @param {number} seat
 */
function learnOwnDurations(tracker, memory, seat) {
  for (const duration of extendable(tracker)) {
    if (duration.ownTurns || duration.setter?.side.index !== seat) continue;
    const setter = memory.team.find((own) => own.known === duration.setter);
    const item = setter && (setter.itemBefore || setter.item);
    if (item === undefined) continue;
    if (item === UNKNOWN_ITEM) duration.unsure = true;
    else if (duration.open || !duration.unsure) duration.learnAsOwner(item);
  }
}

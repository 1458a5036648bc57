// Forced switches and revivals: the decisions within and between turns, and the Pokémon that came in.

import { noObservation, readTurn } from './choices.js';

/** @import { Slot } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */
/** @import { Decision, Format } from './battle.js' */
/** @import { Observation } from './choices.js' */
/** @import { SeatReplay } from './requests.js' */

const LAST_GENERATION_TO_REPLACE_AT_ONCE = 3;
const REVIVES = '[from] move: Revival Blessing';
const LEAVING_ITEMS = new Set(['ejectbutton', 'ejectpack']);
const LEAVING_ABILITIES = new Set(['emergencyexit', 'wimpout']);
const ENDS_SWITCHING = new Set(['', 'move', 'cant', 'turn', 'upkeep', 'win', 'tie']);

/**
 * A choice of a replacement.
 * @typedef {object} Replacement
 * @property {Decision} decision
 * @property {number[]} places
 * @property {Observation[]} seen
 */

export class Replacements {
  /**
   * @param {Format} format
   * @param {Tracker} tracker
   * @param {SeatReplay[]} seats
   * @param {string[]} lines of the log
   * @param {(seat: number, request: any) => Decision} decide adds a decision of a seat
   */
  constructor(format, tracker, seats, lines, decide) {
    this.format = format;
    this.tracker = tracker;
    this.seats = seats;
    this.lines = lines;
    this.decide = decide;
    /** @type {(Replacement | null)[]} by seat, its last forced switch */
    this.asked = [null, null];
    this.upkept = false; // whether the turn reached its upkeep
    /** @type {Set<Slot>} whose Pokémon may leave by its own move or by an effect on it */
    this.leaving = new Set();
    /** @type {Slot | null} whose Pokémon revives another */
    this.reviver = null;
  }

  /**
   * Process a line before the tracker reads it.
   * @param {string} type
   * @param {string[]} parts
   */
  readLine(type, parts) {
    const { lexicon } = this.tracker;
    if (type === 'upkeep') this.upkept = true;
    else if (type === '-heal' && parts.includes(REVIVES)) this.revive(parts[2]);
    else if (type === 'move') {
      const slot = this.tracker.slotAt(parts[2]);
      const move = lexicon.dex.moves.get(parts[3]);
      if (move.selfSwitch) this.leaving.add(slot);
      if (move.id === 'revivalblessing') this.reviver = slot;
    } else if (type === '-enditem' && LEAVING_ITEMS.has(lexicon.id(parts[3]))) {
      this.leaving.add(this.tracker.slotAt(parts[2]));
    } else if (type === '-activate' && LEAVING_ABILITIES.has(lexicon.effect(parts[3]).id)) {
      this.leaving.add(this.tracker.slotAt(parts[2]));
    }
  }

  /**
   * A seat had to choose a replacement for a Pokémon that fainted or left, or a Pokémon to revive.
   * @param {number} at line
   * @returns {boolean} whether any seat had to
   */
  ask(at) {
    const { tracker } = this;
    const { arriving, revived } = this.nextArrivals(at);
    const fainted = this.upkept || tracker.lexicon.generation <= LAST_GENERATION_TO_REPLACE_AT_ONCE;
    for (const replay of this.seats) {
      const slots = replay.side.slots.slice(0, tracker.activeSlots);
      const reviving = slots.map((slot) => revived === replay.seat && slot === this.reviver);
      const forced = slots.map((slot, index) => {
        if (reviving[index]) return true;
        if (replay.bench === 0 || !slot.pokemon) return false;
        if (slot.pokemon.fainted) return fainted;
        return arriving[0] === slot || (arriving.includes(slot) && this.leaving.has(slot));
      });
      if (!forced.includes(true)) continue;
      const decision = this.decide(replay.seat, replay.forcedSwitch(forced, reviving));
      const seen = forced.map((leaves) => noObservation(leaves ? '' : 'pass'));
      this.asked[replay.seat] = { decision, places: replay.order.slice(), seen };
    }
    return this.asked.some(Boolean);
  }

  /** Clear the causes of switches, which have taken effect. */
  forget() {
    this.leaving.clear();
    this.reviver = null;
  }

  /**
   * @param {Slot} slot that a Pokémon was switched into
   * @param {number} number its number in the team
   * @returns {boolean} whether it replaces another
   */
  arrive(slot, number) {
    const replacement = this.asked[slot.side.index];
    const seen = replacement?.seen[slot.index];
    if (!replacement || seen?.kind !== '' || !replacement.decision.request.forceSwitch[slot.index]) return false;
    Object.assign(seen, { kind: 'switch', place: replacement.places.indexOf(number) });
    return true;
  }

  /** Infer the choices, which all have been made. */
  close() {
    for (const replacement of this.asked) {
      if (!replacement) continue;
      const { decision, seen } = replacement;
      const forced = decision.request.forceSwitch.filter(Boolean).length;
      const came = seen.filter(({ kind }) => kind === 'switch').length;
      for (const observation of seen) if (observation.kind === '' && came === forced - 1) observation.kind = 'pass';
      decision.reading = readTurn(this.format.space, decision.request, decision.mask, seen);
    }
    this.asked.fill(null);
  }

  endTurn() {
    this.close();
    this.upkept = false;
  }

  /** @param {string} ident of the revived Pokémon */
  revive(ident) {
    const pokemon = this.tracker.pokemonAt(ident);
    const replacement = pokemon && this.asked[pokemon.side.index];
    if (!replacement) return;
    const { pokemon: entries } = replacement.decision.request.side;
    const slot = entries.findIndex((/** @type {any} */ entry) => entry.reviving);
    if (slot < 0) return;
    const place = replacement.places.indexOf(this.seats[pokemon.side.index].numberOf(pokemon));
    Object.assign(replacement.seen[slot], { kind: 'switch', place });
  }

  /**
   * @param {number} at line
   * @returns {{arriving: Slot[], revived: number}} the next slots that Pokémon come into, and the seat of a revived one
   */
  nextArrivals(at) {
    const { lines } = this;
    /** @type {Slot[]} */
    const arriving = [];
    let revived = -1;
    for (let place = at + 1; place < lines.length; place++) {
      const [, type, ident = ''] = lines[place].split('|', 3);
      if (ENDS_SWITCHING.has(type)) break;
      if (type === '-heal' && lines[place].includes(REVIVES)) revived = ident.charCodeAt(1) - 49;
      if (type === 'switch' && /^p[12][ab]: /.test(ident)) arriving.push(this.tracker.slotAt(ident));
    }
    return { arriving, revived };
  }
}

// The public state of one battle, from its protocol lines alone.
//
// One tracker serves both seats: it holds what is public about each side, and a view adds the contents of the seat's
// request to the seat's own side. The tracker reads nothing of the simulator but its lines, so it works for live
// battles and replays, too.

import { actionLines } from './actions.js';
import { activationLines } from './activations.js';
import { effectLines } from './effects.js';
import { fieldLines } from './field.js';
import { healthLines } from './health.js';
import { itemLines } from './items.js';
import { lexiconOf } from './lexicon.js';
import { outcomeLines } from './outcomes.js';
import { Memory } from './own.js';
import { Side } from './state.js';
import { teamLines } from './team.js';
import { turnLines } from './turns.js';

/** @import { Duration } from './durations.js' */
/** @import { Dex, Effect } from './lexicon.js' */
/** @import { Pokemon, Slot } from './state.js' */
/** @typedef {(tracker: Tracker, parts: string[]) => void} Handler */

/** Line types that do not change the state. */
const IGNORED = [
  'start', 'win', 'tie', 't:', 'message', '-message', '-hint', 'error', 'bigerror', 'debug', 'html', 'uhtml',
  'uhtmlchange', 'chat', 'c', 'c:', 'j', 'J', 'l', 'L', 'n', 'N', 'inactive', 'inactiveoff', 'rated', 'tier', 'request',
  'title', 'init', 'deinit', 'seed', 'warning', 'askreg', 'tempnotify', 'tempnotifyoff', 'unlink', 'hidelines', '-ohko',
  '-hitcount', '-combine', '-waiting', '-nothing', '-center', '-zbroken', '-candynamax', 'b', 'B', 'join', 'leave',
  'name', 'expire', 'badge',
];

/** @type {[string, Handler][]} */
const setUpLines = [
  ['player', (tracker, parts) => {
    tracker.sideAt(parts[2]).playerName = parts[3];
  }],
  ['gametype', (tracker, parts) => {
    tracker.activeSlots = parts[2] === 'singles' ? 1 : 2;
  }],
  ['gen', (tracker, parts) => {
    if (Number(parts[2]) >= 7) tracker.hpScale = 100;
  }],
  ['rule', (tracker, parts) => {
    if (parts[2].startsWith('HP Percentage Mod')) tracker.hpScale = 100;
  }],
];

/** @type {Map<string, Handler | null>} */
const HANDLERS = new Map([
  ...IGNORED.map((type) => /** @type {[string, null]} */ ([type, null])),
  ...setUpLines, ...teamLines, ...turnLines, ...actionLines, ...outcomeLines, ...healthLines, ...effectLines,
  ...activationLines, ...itemLines, ...fieldLines,
]);

export class Tracker {
  /** @param {Dex} dex of the format */
  constructor(dex) {
    this.lexicon = lexiconOf(dex);
    this.activeSlots = 1;
    this.hpScale = 48; // the denominator of shown HP
    this.turn = 0;
    this.phase = 0; // counts the parts of turns, to tell earlier from later
    this.sides = [new Side(this, 0), new Side(this, 1)];
    this.memories = [new Memory(), new Memory()]; // private knowledge of each seat
    /** @type {Duration | null} */
    this.weather = null;
    /** @type {Duration | null} */
    this.terrain = null;
    /** @type {Map<string, Duration>} */
    this.rooms = new Map();
    /** @type {Slot | null} whose move is being executed */
    this.actor = null;
    /** @type {Slot | null} the same, if it is the recorded action of the turn */
    this.acting = null;
    this.isNewTurn = true;
    this.actionsOfTurn = 0; // counts turns with an action
    this.order = 0;
    /** @type {Effect | null} the `[from]` of the line that `readTags` read last */
    this.from = null;
    this.of = '';
    /** @type {(Pokemon | null)[]} the two that swap items */
    this.trick = [];
    /** @type {Pokemon | null} */
    this.cudChewUser = null;
    /** @type {Map<string, number>} unknown types of lines and effects, with their counts */
    this.unknown = new Map();
  }

  /**
   * Read lines as a spectator: of a split line, only the public half.
   * @param {string[]} lines
   * @param {number} from
   * @param {number} to
   */
  read(lines, from, to) {
    for (let place = from; place < to; place++) {
      const line = lines[place];
      if (line.charCodeAt(0) !== 124) continue; // 124 is |
      const end = line.indexOf('|', 1);
      const type = end < 0 ? line.slice(1) : line.slice(1, end);
      if (type === 'split') {
        place++;
        continue;
      }
      const handler = HANDLERS.get(type);
      if (handler) handler(this, line.split('|'));
      else if (handler === undefined) this.countUnknown(type);
    }
  }

  /**
   * Record what a slot does this turn: its first action, but a move replaces an earlier lost turn.
   * @param {Slot} slot
   * @param {'move' | 'switch' | 'cannot_move'} kind
   * @returns {boolean} whether this action is recorded
   */
  beginAction({ last }, kind) {
    if (this.isNewTurn) {
      this.isNewTurn = false;
      this.actionsOfTurn++;
      this.order = 0;
    }
    const again = last.turn === this.actionsOfTurn;
    if (again && !(last.kind === 'cannot_move' && kind === 'move')) return false;
    if (!again) last.order = ++this.order;
    last.turn = this.actionsOfTurn;
    last.kind = kind;
    last.move = '';
    last.side = last.slot = -1;
    last.outcome = 0;
    return true;
  }

  /** @param {string} what */
  countUnknown(what) {
    this.unknown.set(what, (this.unknown.get(what) ?? 0) + 1);
  }

  /**
   * @param {string} ident such as `p1a: Pikachu`
   * @returns {Side}
   */
  sideAt(ident) {
    return this.sides[ident.charCodeAt(1) - 49];
  }

  /**
   * @param {string} ident
   * @returns {Slot} the slot of its letter, or the first one if it has none
   */
  slotAt(ident) {
    return this.sides[ident.charCodeAt(1) - 49].slots[ident.charCodeAt(2) === 98 ? 1 : 0];
  }

  /**
   * @param {string} ident
   * @returns {string}
   */
  nameIn(ident) {
    return ident.slice(ident.indexOf(': ') + 2);
  }

  /**
   * @param {string} ident with or without the letter of a slot; a few lines have only a name
   * @returns {Pokemon | null}
   */
  pokemonAt(ident) {
    if (ident.charCodeAt(3) === 58) return this.slotAt(ident).pokemon; // 58 is :
    if (ident.charCodeAt(2) !== 58) return null;
    const name = this.nameIn(ident);
    return this.sideAt(ident).team.find((pokemon) => pokemon.name === name) ?? null;
  }

  /**
   * Find `[from] EFFECT` and `[of] POKEMON` in a line.
   * @param {string[]} parts
   * @param {number} first
   */
  readTags(parts, first) {
    this.from = null;
    this.of = '';
    for (let place = first; place < parts.length; place++) {
      const part = parts[place];
      if (part.charCodeAt(0) !== 91) continue; // 91 is [
      if (part.startsWith('[from]')) this.from = this.lexicon.effect(part.slice(6));
      else if (part.startsWith('[of]')) this.of = part.slice(part.charCodeAt(4) === 32 ? 5 : 4);
    }
  }
}

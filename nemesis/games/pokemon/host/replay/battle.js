// Reconstructs the decisions of both seats from one public log: each with its view record, its legal mask and, if the
// rest of the log determines it, the chosen action.

import { maskSize } from '../battle/masks.js';
import { Tracker } from '../tracker/tracker.js';
import { READ, noReading, readPreview, readTurn } from './choices.js';
import { GUESSED } from './completion.js';
import { ReplayError, guarded } from './log.js';
import { LogRandom } from './random.js';
import { Replacements } from './replacements.js';
import { SeatReplay } from './requests.js';
import { gatherTeams } from './teams.js';
import { TurnObserver, isOwn } from './turn-observer.js';

/** @import { ActionSpace } from '../battle/actions.js' */
/** @import { Slot } from '../tracker/state.js' */
/** @import { Write } from '../view/writer.js' */
/** @import { Reading } from './choices.js' */
/** @import { Complete } from './completion.js' */
/** @import { Head, Log, Stop } from './log.js' */
/** @import { Lookahead } from './requests.js' */

const MAX_UNKNOWN = 20;
const MAX_KIND_LENGTH = 60;

/**
 * What is common to all logs of a format.
 * @typedef {object} Format
 * @property {any} dex
 * @property {string} id
 * @property {ActionSpace & {slots: number, brought: number}} space
 * @property {Write} write
 * @property {number} viewSize
 * @property {Complete} complete
 * @property {number} autoChooseAfter seconds after which the server chooses for a player
 * @property {boolean} terastallizes whether Pokémon may terastallize
 */

/**
 * @typedef {object} Decision
 * @property {number} seat
 * @property {number} tick number of earlier decisions of both seats
 * @property {any} request
 * @property {Int16Array} view
 * @property {Uint8Array} mask
 * @property {Uint16Array} guessed
 * @property {number} flags of READ
 * @property {Reading | null} reading
 */

export class BattleReading {
  /**
   * @param {Format} format
   * @param {Log} log
   */
  constructor(format, log) {
    this.format = format;
    this.log = log;
    this.knowledge = gatherTeams(format.dex, this.log);
    this.tracker = new Tracker(format.dex);
    const teams = this.knowledge.map((known, seat) => format.complete(known, format.dex, log, seat));
    /** @type {SeatReplay[]} */
    this.seats = teams.map((team, seat) => {
      const arrivals = this.knowledge[seat].team.map((known) => known.arrivals);
      return new SeatReplay(this.tracker, seat, team, teams[1 - seat], arrivals, format.terastallizes);
    });
    /** @type {Decision[]} in the order of their requests */
    this.decisions = [];
    /** @type {(TurnObserver | null)[]} */
    this.observers = [null, null];
    /** @type {(Decision | null)[]} */
    this.turns = [null, null];
    /** @type {(Decision | null)[]} */
    this.previews = [null, null];
    const decide = this.decide.bind(this);
    this.replacements = new Replacements(format, this.tracker, this.seats, log.lines, decide);
    /** @type {number[][]} the leads of each seat */
    this.leads = [[], []];
    this.tick = 0; // decisions before the last stop
    /** @type {boolean[]} seats that may have run out of time at the last stop */
    this.late = [false, false];
    this.started = false; // whether all leads have come in
  }

  run() {
    const { lines } = this.log;
    const stops = new Map(this.log.stops.map((stop) => [stop.at, stop]));
    const hasPreview = this.log.stops.some(({ kind }) => kind === 'preview');
    if (!hasPreview) this.seats.forEach((_, seat) => this.assignBrought(seat));
    for (const place of lines.keys()) {
      guarded(lines, place, () => {
        const stop = stops.get(place);
        if (stop) this.stop(stop);
        this.read(place);
      });
    }
    guarded(lines, lines.length - 1, () => this.close());
  }

  /** @param {Stop} stop */
  stop({ kind, at, shortOnTime, waited }) {
    this.replacements.close();
    this.tick = this.decisions.length;
    this.late = this.log.players.map((player) => waited >= this.format.autoChooseAfter && shortOnTime.includes(player));
    if (kind !== 'preview') this.start();
    if (kind === 'preview') {
      for (const seat of [0, 1]) {
        this.previews[seat] = this.decide(seat, this.seats[seat].preview());
        this.assignBrought(seat);
      }
    } else if (kind === 'turn') {
      for (const seat of [0, 1]) {
        const request = this.seats[seat].turn(this.lookahead(seat, at));
        this.turns[seat] = this.decide(seat, request);
        this.observers[seat] = new TurnObserver(this.seats[seat], request);
      }
    } else if (!this.replacements.ask(at) && this.usable(0) && this.usable(1)) {
      throw new ReplayError('contradiction', 'No seat had to decide here.', at + 1);
    }
    this.replacements.forget();
  }

  /**
   * Set which Pokémon take part, as far as the log shows it, and their order in the request: the leads move to the
   * front as they come in, the others keep their order. The rest is sampled, because a fixed rule would mark the
   * Pokémon that break it as known. Without team preview the order of the team is unknown, and the order of appearance
   * would reveal the future, so the order is by species.
   * @param {number} seat
   */
  assignBrought(seat) {
    const { team, order } = this.seats[seat];
    const { team: known } = this.knowledge[seat];
    const brought = Math.min(this.format.space.brought, team.length);
    const seen = order.filter((number) => known[number].arrivals.length);
    if (seen.length > brought) {
      throw new ReplayError('contradiction', `Seat ${seat + 1} sent out more Pokémon than it brought.`);
    }
    const unseen = order.filter((number) => known[number].arrivals.length === 0);
    const undecided = brought < team.length && seen.length < brought;
    if (undecided) for (const number of unseen) team[number].guessed |= GUESSED.brought;
    const others = new LogRandom(this.log.text, `brought by ${seat}`).sample(unseen, brought - seen.length);
    const taken = [...seen, ...others].sort((one, other) => one - other);
    if (!this.previews[seat]) taken.sort((one, other) => bySpecies(team[one].species, team[other].species));
    this.seats[seat].order = taken;
  }

  /**
   * @param {number} seat
   * @param {any} request
   * @returns {Decision}
   */
  decide(seat, request) {
    const { space, viewSize, write } = this.format;
    const view = new Int16Array(viewSize);
    const mask = new Uint8Array(maskSize(space.size));
    write(view, this.tracker, request, seat, 0);
    space.mask(request, mask);
    /** @type {Decision} */
    const decision = {
      seat, tick: this.tick, request, view, mask, guessed: this.seats[seat].guessed(),
      flags: this.late[seat] ? READ.late : 0, reading: null,
    };
    this.decisions.push(decision);
    return decision;
  }

  /** @param {number} place of a line */
  read(place) {
    const { tracker } = this;
    const { lines } = this.log;
    const parts = lines[place].split('|');
    const type = parts[1];
    if (type === 'turn') this.endTurn();
    for (const observer of this.observers) observer?.readLine(parts, lines, place);
    if (type === 'move') this.noteMove(parts);
    this.replacements.readLine(type, parts);
    if (type !== 'switch' && type !== 'drag') {
      tracker.read(lines, place, place + 1);
      if (type === 'swap') this.seats[tracker.sideAt(parts[2]).index].swap();
      return;
    }
    const slot = tracker.slotAt(parts[2]);
    const left = slot.pokemon;
    const actor = this.observers[slot.side.index]?.waiting(left);
    const status = left?.status ?? '';
    tracker.read(lines, place, place + 1);
    if (left && left !== slot.pokemon && !left.fainted) this.seats[slot.side.index].rest(left, status, place);
    this.arrive(slot, type, actor);
  }

  /**
   * @param {Slot} slot that a Pokémon came into
   * @param {string} type of the line
   * @param {ReturnType<TurnObserver['waiting']>} actor the previous Pokémon, if it had not acted yet
   */
  arrive(slot, type, actor) {
    const seat = slot.side.index;
    const replay = this.seats[seat];
    const number = slot.pokemon ? replay.numberOf(slot.pokemon) : -1;
    if (!this.started) {
      replay.order = replay.order.filter((one) => one !== number);
      replay.order.splice(slot.index, 0, number);
      this.leads[seat].push(number);
      return;
    }
    if (type === 'switch' && this.replacements.arrive(slot, number)) {
      if (actor) this.observers[seat]?.leave(actor);
    } else if (type === 'switch' && actor) {
      this.observers[seat]?.switchTo(actor, number);
    }
    replay.arrive(slot);
  }

  /**
   * The next action of a Pokémon reveals parts of its request that are not public: whether Outrage continues, and
   * whether only Struggle was available.
   * @param {number} seat
   * @param {number} at line
   * @returns {Lookahead[]} by slot
   */
  lookahead(seat, at) {
    const { lines } = this.log;
    /** @type {Lookahead[]} */
    const found = ['', ''];
    const gone = [false, false]; // whether the Pokémon is no longer in the slot
    let asked = false; // whether a seat had to choose a replacement
    for (let place = at + 1; place < lines.length && !lines[place].startsWith('|turn|'); place++) {
      if (lines[place] === '|') asked = true;
      const [, type, ident = '', move = ''] = lines[place].split('|', 4);
      const slot = ident.charCodeAt(2) - 97;
      if (!ident.startsWith(`p${seat + 1}`) || found[slot] !== '' || gone[slot]) continue;
      if (type === 'faint' || type === 'drag' || (type === 'switch' && asked)) gone[slot] = true;
      else if (type === 'switch') found[slot] = 'chooses';
      else if (type === 'move') found[slot] = lookaheadOf(lines[place], move);
    }
    return found;
  }

  /** @param {string[]} parts of a line */
  noteMove(parts) {
    const slot = this.tracker.slotAt(parts[2]);
    const { used, chosen } = this.seats[slot.side.index];
    const { id } = this.tracker.lexicon.move(parts[3]);
    used.set(slot, id);
    if (id !== 'struggle' && isOwn(this.tracker, parts)) chosen.set(slot, id);
  }

  endTurn() {
    this.replacements.endTurn();
    for (const seat of [0, 1]) {
      const [decision, observer] = [this.turns[seat], this.observers[seat]];
      if (decision && observer) {
        const reading = readTurn(this.format.space, decision.request, decision.mask, observer.seen);
        decision.reading = observer.unsure ? noReading(reading.problem) : reading;
        if (observer.unsure) decision.flags |= READ.request_unsure;
      }
      this.turns[seat] = this.observers[seat] = null;
    }
  }

  /** All leads have come in. */
  start() {
    if (this.started) return;
    this.started = true;
    for (const seat of [0, 1]) {
      const decision = this.previews[seat];
      if (!decision) continue;
      const leads = this.leads[seat];
      const seen = this.knowledge[seat].team.flatMap(({ arrivals }, number) => {
        return arrivals.length && !leads.includes(number) ? [number] : [];
      });
      decision.reading = readPreview(this.format.space, decision.mask, leads, seen);
    }
  }

  close() {
    this.start();
    this.endTurn();
    for (const decision of this.decisions) {
      if (!decision.reading || decision.flags & READ.late) decision.reading = noReading();
    }
  }

  /**
   * The knowledge of a seat with an Illusion of its own cannot be reconstructed. If all brought Pokémon were seen,
   * there was no Illusion.
   * @param {number} seat
   * @returns {boolean}
   */
  usable(seat) {
    const { team, illusionShown, illusionPossible } = this.knowledge[seat];
    const seen = team.filter(({ arrivals }) => arrivals.length).length;
    return !illusionShown && (!illusionPossible || seen >= Math.min(this.format.space.brought, team.length));
  }

  /** @returns {Record<string, number>} unknown types of lines and effects, with their counts */
  get unknown() {
    const kinds = [...this.tracker.unknown].slice(0, MAX_UNKNOWN);
    return Object.fromEntries(kinds.map(([kind, count]) => [kind.slice(0, MAX_KIND_LENGTH), count]));
  }

  /** @returns {Record<string, number>} contradictions by cause */
  get problems() {
    /** @type {Map<string, number>} */
    const causes = new Map();
    for (const { seat, reading } of this.decisions) {
      if (!reading?.problem || !this.usable(seat)) continue;
      causes.set(reading.problem, (causes.get(reading.problem) ?? 0) + 1);
    }
    return Object.fromEntries(causes);
  }
}

/**
 * @param {string} line of a move
 * @param {string} move
 * @returns {Lookahead} what it reveals about its user's request; '' if another effect caused it
 */
function lookaheadOf(line, move) {
  if (move === 'Struggle') return 'struggles';
  if (line.includes('[from] lockedmove') || line.includes('[from]lockedmove')) return 'continues';
  return line.includes('[from]') ? '' : 'chooses';
}

/**
 * @param {Head} head
 * @param {Format} format
 * @returns {boolean} whether the battle has the format
 */
export function isOf({ format, slots, generation }, { id, dex, space }) {
  return (format === id || format === `${id}bo3`) && slots === space.slots && generation === dex.gen;
}

/**
 * @param {Log} log
 * @param {Format} format
 */
export function checkFormat(log, format) {
  if (isOf(log, format)) return;
  const other = log.format.slice(0, MAX_KIND_LENGTH) || '(none)';
  throw new ReplayError('wrong format', `The format of the battle is ${other}, not ${format.id}.`);
}

/**
 * @param {string} one
 * @param {string} other
 * @returns {number} the order of two species, unknown ones last
 */
function bySpecies(one, other) {
  if (!one || !other) return Number(!one) - Number(!other);
  return one < other ? -1 : Number(one > other);
}

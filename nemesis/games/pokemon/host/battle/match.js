// One battle between two seats: it is begun from a set-up, fed with choices, and remembers both, so that it can be played again.

import { Tracker } from '../tracker/tracker.js';

const MOST_REFUSALS = 3;
const SEATS = /** @type {const} */ (['p1', 'p2']);

/**
 * All that a match needs to begin.
 * @typedef {object} Setup
 * @property {string} seed of the battle, as the simulator's PRNG takes it
 * @property {[string, string]} teams packed, or the seeds of teams that the simulator draws
 */

/**
 * A match as far as it went: with it, the simulator plays the same battle again.
 * @typedef {object} Recording
 * @property {Setup} setup
 * @property {[number, string][]} choices seat and choice in the order in which they were made, refused ones included
 */

/**
 * What all matches of a host share.
 * @typedef {object} Rules
 * @property {any} simulator
 * @property {any} format
 * @property {any} dex
 * @property {boolean} generated
 * @property {boolean} sheets
 * @property {number} turnLimit
 * @property {Record<string, number>} reasons why a match ends, by name
 */

export class Match {
  /**
   * @param {Rules} rules
   * @param {Setup} setup
   */
  constructor(rules, setup) {
    this.rules = rules;
    /** @type {Recording} */
    this.recording = { setup, choices: [] };
    this.refusals = [0, 0];
    /** @type {any[]} the request that each seat answered last */
    this.answered = [null, null];
    /** @type {{winner: number, reason: number, problem: string} | null} */
    this.result = null;
    this.tracker = new Tracker(rules.dex);
    this.tracked = 0;
    this.guard(() => {
      this.battle = begin(rules, setup);
      if (rules.sheets && this.battle.requestState === 'teampreview') this.battle.showOpenTeamSheets();
    });
  }

  /**
   * @param {number} seat
   * @returns {any} the request that the seat has to answer, or null
   */
  request(seat) {
    if (this.result) return null;
    const request = this.battle.sides[seat].activeRequest;
    return request && !request.wait && request !== this.answered[seat] ? request : null;
  }

  /** @returns {number[]} the seats that have to answer */
  waiting() {
    return [0, 1].filter((seat) => this.request(seat));
  }

  /**
   * Answer a seat's request. Once both seats have answered, the battle goes on to the next requests or to its end.
   * @param {number} seat
   * @param {string} choice
   */
  choose(seat, choice) {
    if (this.result) return; // the other seat's choice has ended it
    this.recording.choices.push([seat, choice]);
    this.guard(() => {
      const side = this.battle.sides[seat];
      const request = side.activeRequest;
      if (this.battle.choose(SEATS[seat], choice)) {
        this.answered[seat] = request;
        this.refusals[seat] = 0;
        this.judge();
      } else if (++this.refusals[seat] >= MOST_REFUSALS) {
        this.end(-1, this.rules.reasons.REFUSED, `${choice}: ${side.choice.error}`);
      } else {
        side.clearChoice(); // what was accepted before the refusal must not bind the next try
      }
    });
  }

  /** Let the tracker read what happened since it last did. */
  track() {
    const { log } = this.battle;
    this.guard(() => {
      this.tracker.read(log, this.tracked, log.length);
      this.tracked = log.length;
    });
  }

  /** Forget the battle but for its recording. */
  close() {
    this.battle?.destroy();
    this.battle = null;
  }

  /**
   * A simulator that throws voids this match and no other.
   * @param {() => void} action
   */
  guard(action) {
    try {
      action();
    } catch (error) {
      this.end(-1, this.rules.reasons.SIMULATOR_FAILURE, error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }

  judge() {
    const { battle, rules } = this;
    if (battle.ended) {
      const winner = battle.sides.findIndex((/** @type {any} */ side) => side.name === battle.winner);
      this.end(winner, winner < 0 ? this.rules.reasons.TIE : this.rules.reasons.PLAYED, '');
    } else if (battle.turn > rules.turnLimit) {
      this.end(-1, this.rules.reasons.TURN_LIMIT, '');
    }
  }

  /**
   * @param {number} winner seat, or -1
   * @param {number} reason
   * @param {string} problem
   */
  end(winner, reason, problem) {
    this.result = { winner, reason, problem };
  }
}

/**
 * @param {Rules} rules
 * @param {Setup} setup
 */
function begin({ simulator, format, generated }, { seed, teams }) {
  const [one, other] = teams.map((team) => (generated ? { seed: team } : { team }));
  return new simulator.Battle({
    formatid: format.id,
    format,
    seed,
    p1: { name: 'Seat 1', ...one },
    p2: { name: 'Seat 2', ...other },
  });
}

/**
 * Play a recorded match again.
 * @param {Rules} rules
 * @param {Recording} recording
 * @param {(match: Match) => void} [look] is called before each round of choices, as it was when they were made
 * @returns {Match}
 */
export function replay(rules, { setup, choices }, look) {
  const match = new Match(rules, setup);
  for (let made = 0; made < choices.length && !match.result; ) {
    const asked = match.waiting().length;
    look?.(match);
    for (const [seat, choice] of choices.slice(made, made + asked)) match.choose(seat, choice);
    made += asked;
  }
  return match;
}

// One battle between two seats. It starts from a set-up, takes choices, and records both, so that it can be simulated again.

import { Tracker } from '../tracker/tracker.js';

const MAX_REFUSALS = 3;
const SEATS = /** @type {const} */ (['p1', 'p2']);

/**
 * Everything that a match needs to start.
 * @typedef {object} Setup
 * @property {string} seed of the battle, as the simulator's PRNG takes it
 * @property {[string, string]} teams packed, or the seeds of teams that the simulator generates
 */

/**
 * A match so far. The simulator reenacts the same battle from it.
 * @typedef {object} Recording
 * @property {Setup} setup
 * @property {[number, string][]} choices seat and choice, in the order they were made, including refused ones
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
 * @property {Record<string, number>} reasons end reasons by name
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
    /** @type {any[]} the last request that each seat answered */
    this.answered = [null, null];
    /** @type {{winner: number, reason: number, problem: string} | null} */
    this.result = null;
    this.tracker = new Tracker(rules.dex);
    this.tracked = 0;
    this.guard(() => {
      this.battle = startBattle(rules, setup);
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
   * Answer a seat's request. Once both seats have answered, the battle continues to the next requests or its end.
   * @param {number} seat
   * @param {string} choice
   */
  choose(seat, choice) {
    if (this.result) return; // the other seat's choice ended it
    this.recording.choices.push([seat, choice]);
    this.guard(() => {
      const side = this.battle.sides[seat];
      const request = side.activeRequest;
      if (this.battle.choose(SEATS[seat], choice)) {
        this.answered[seat] = request;
        this.refusals[seat] = 0;
        this.checkEnd();
      } else if (++this.refusals[seat] >= MAX_REFUSALS) {
        this.end(-1, this.rules.reasons.REFUSED, `${choice}: ${side.choice.error}`);
      } else {
        side.clearChoice(); // parts accepted before the refusal must not constrain the next try
      }
    });
  }

  /** Let the tracker read the new lines. */
  track() {
    const { log } = this.battle;
    this.guard(() => {
      this.tracker.read(log, this.tracked, log.length);
      this.tracked = log.length;
    });
  }

  /** Release the battle, but keep its recording. */
  close() {
    this.battle?.destroy();
    this.battle = null;
  }

  /**
   * An error of the simulator voids this match only.
   * @param {() => void} action
   */
  guard(action) {
    try {
      action();
    } catch (error) {
      const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.end(-1, this.rules.reasons.SIMULATOR_FAILURE, problem);
    }
  }

  checkEnd() {
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
function startBattle({ simulator, format, generated }, { seed, teams }) {
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
 * Simulate a recorded match again.
 * @param {Rules} rules
 * @param {Recording} recording
 * @param {(match: Match) => void} [look] is called before each round of choices, in the state in which they were made
 * @returns {Match}
 */
export function reenact(rules, { setup, choices }, look) {
  const match = new Match(rules, setup);
  for (let made = 0; made < choices.length && !match.result; ) {
    const asked = match.waiting().length;
    look?.(match);
    for (const [seat, choice] of choices.slice(made, made + asked)) match.choose(seat, choice);
    made += asked;
  }
  return match;
}

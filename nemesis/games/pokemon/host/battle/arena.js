// The matches of one host in numbered slots, and the arrays that hold their waiting decisions.

/** @import { Recording, Rules, Setup } from './match.js' */

import { createHash } from 'node:crypto';

import { viewWriter } from '../view/writer.js';
import { actionSpace } from './actions.js';
import { maskSize } from './masks.js';
import { Match, reenact } from './match.js';

const SEATS = 2;

/**
 * @typedef {object} Start
 * @property {any} layout of the view record
 * @property {any} vocabulary
 * @property {string} format
 * @property {{slots: 1 | 2, brought: number, generated: boolean}} facts of the format
 * @property {number} slots concurrent matches
 * @property {boolean} sheets
 * @property {number} turnLimit
 * @property {Record<string, number>} reasons end reasons by name
 */

export class Arena {
  /**
   * @param {any} simulator
   * @param {Start} start
   */
  constructor(simulator, start) {
    const format = simulator.Dex.formats.get(start.format, true);
    if (!format.exists) throw new Error(`The simulator has no format called ${start.format}.`);
    /** @type {Rules} */
    this.rules = {
      simulator,
      format,
      dex: simulator.Dex.forFormat(format),
      generated: start.facts.generated,
      sheets: start.sheets,
      turnLimit: start.turnLimit,
      reasons: start.reasons,
    };
    this.facts = { slots: start.facts.slots, brought: start.facts.brought };
    this.space = actionSpace(this.facts);
    this.write = viewWriter(start.layout, start.vocabulary);
    /** @type {(Match | null)[]} */
    this.matches = Array(start.slots).fill(null);
    this.viewSize = start.layout.size;
    this.maskSize = maskSize(this.space.size);
    this.views = new Int16Array(start.slots * SEATS * this.viewSize);
    this.masks = new Uint8Array(start.slots * SEATS * this.maskSize);
    this.places = new Int32Array(start.slots * SEATS * 2); // slot and seat of each waiting decision
    this.waiting = 0;
    this.costs = { simulate: 0, track: 0, encode: 0, transfer: 0, decisions: 0 };
  }

  /**
   * Answer all waiting decisions, start new matches and write the next decisions.
   * @param {Buffer} body number of actions, actions, new matches as JSON
   * @returns {Uint8Array[]} the parts of the reply
   */
  step(body) {
    const arrived = performance.now();
    const count = body.readInt32LE(0);
    if (count !== this.waiting) throw new Error(`There are ${this.waiting} decisions, but ${count} actions were sent.`);
    for (let row = 0; row < count; row++) {
      const [slot, seat] = [this.places[2 * row], this.places[2 * row + 1]];
      const match = /** @type {Match} */ (this.matches[slot]);
      const request = match.request(seat);
      if (request) match.choose(seat, this.space.choice(request, body.readInt16LE(4 + 2 * row)));
    }
    const setups = body.subarray(4 + 2 * count);
    if (setups.length) {
      for (const { slot, setup } of JSON.parse(setups.toString())) this.matches[slot] = new Match(this.rules, setup);
    }
    return this.reply(arrived);
  }

  /**
   * @param {{slot: number, recording: Recording}[]} matches
   * @returns {Uint8Array[]} the reply with their waiting decisions
   */
  restore(matches) {
    const started = performance.now();
    this.matches.fill(null);
    const view = new Int16Array(this.viewSize);
    for (const { slot, recording } of matches) {
      this.matches[slot] = reenact(this.rules, recording, (match) => {
        match.track();
        // Writing a view also updates what the seat remembers.
        for (const seat of match.waiting()) this.write(view, match.tracker, match.request(seat), seat, 0);
      });
    }
    return this.reply(started);
  }

  snapshot() {
    return this.matches.flatMap((match, slot) => (match ? [{ slot, recording: match.recording }] : []));
  }

  /**
   * @param {Recording} recording
   */
  reenact(recording) {
    const match = reenact(this.rules, recording);
    const log = simulatorLog(match, this.rules.simulator);
    match.close();
    return { log, result: match.result };
  }

  /**
   * What the seats saw in a recorded match, to compare another simulator with this one.
   * @param {Recording} recording
   * @returns {{rounds: string[], result: Match['result']}} a hash of the decisions of each round
   */
  digest(recording) {
    /** @type {string[]} */
    const rounds = [];
    const view = new Int16Array(this.viewSize);
    const mask = new Uint8Array(this.maskSize);
    const match = reenact(this.rules, recording, (match) => {
      match.track();
      const hash = createHash('sha256');
      for (const seat of match.waiting()) {
        this.write(view.fill(0), match.tracker, match.request(seat), seat, match.refusals[seat]);
        this.space.mask(match.request(seat), mask.fill(0));
        hash.update(Uint8Array.of(seat)).update(bytes(view)).update(mask);
      }
      rounds.push(hash.digest('hex').slice(0, 16));
    });
    match.close();
    return { rounds, result: match.result };
  }

  /**
   * Write the waiting decisions and the matches that ended.
   * @param {number} since time at which the simulator started
   */
  reply(since) {
    const simulated = performance.now();
    for (const match of this.matches) {
      if (match && !match.result) match.track();
    }
    const tracked = performance.now();
    this.encode();
    const results = this.clearEnded();
    const encoded = performance.now();
    this.costs.simulate += (simulated - since) / 1000;
    this.costs.track += (tracked - simulated) / 1000;
    this.costs.encode += (encoded - tracked) / 1000;
    this.costs.decisions += this.waiting;
    const rows = this.waiting;
    const records = Buffer.from(JSON.stringify(results));
    return [
      bytes(Int32Array.of(rows, records.length)),
      bytes(this.places.subarray(0, 2 * rows)),
      bytes(this.views.subarray(0, rows * this.viewSize)),
      this.masks.subarray(0, rows * this.maskSize),
      records,
    ];
  }

  encode() {
    this.views.fill(0, 0, this.matches.length * SEATS * this.viewSize);
    this.masks.fill(0);
    let row = 0;
    this.matches.forEach((match, slot) => {
      if (!match || match.result) return;
      const first = row;
      for (let seat = 0; seat < SEATS; seat++) {
        const request = match.request(seat);
        if (!request) continue;
        const view = this.views.subarray(row * this.viewSize, (row + 1) * this.viewSize);
        const mask = this.masks.subarray(row * this.maskSize, (row + 1) * this.maskSize);
        match.guard(() => {
          this.write(view, match.tracker, request, seat, match.refusals[seat]);
          this.space.mask(request, mask);
        });
        this.places[2 * row] = slot;
        this.places[2 * row + 1] = seat;
        row++;
      }
      if (match.result) {
        // Its view could not be written, so remove its rows.
        this.views.fill(0, first * this.viewSize, row * this.viewSize);
        this.masks.fill(0, first * this.maskSize, row * this.maskSize);
        row = first;
      }
    });
    this.waiting = row;
  }

  /** Remove the matches that have ended from their slots. */
  clearEnded() {
    /** @type {{slot: number, winner: number, reason: number, problem: string, recording: Recording}[]} */
    const results = [];
    this.matches.forEach((match, slot) => {
      if (!match?.result) return;
      results.push({ slot, ...match.result, recording: match.recording });
      match.close();
      this.matches[slot] = null;
    });
    return results;
  }
}

/**
 * @param {Match} match
 * @param {any} simulator
 * @returns {string[]} the battle as a spectator sees it
 */
function simulatorLog(match, simulator) {
  return simulator.extractChannelMessages(match.battle.log.join('\n'), [0])[0];
}

/**
 * @param {Int16Array | Int32Array} array
 */
function bytes(array) {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

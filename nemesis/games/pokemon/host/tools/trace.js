// Plays seeded battles and prints what each seat sees at each decision: protocol lines, request and view record.
//
// Reads one job per line from standard input and answers each with one line: a list with what happened in each battle.
// In addition to the view of the battle's own tracker, it can print the same view from other trackers: `followed` from
// one that reads only the lines and requests of that seat as text, `mirrored` from one that reads the same battle with
// the seats swapped. `known` is a fingerprint of everything that was sent to the seat so far.

import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

import { loadSimulator } from '../simulator.js';
import { Tracker } from '../tracker/tracker.js';
import { viewWriter } from '../view/writer.js';
import { randomChoice, seededRandom, startBattle } from './play.js';
import { generatedTeam, wildTeam } from './random-teams.js';

/**
 * @typedef {object} Job
 * @property {any} layout
 * @property {any} vocabulary
 * @property {string} format
 * @property {boolean} sheets whether team sheets are open
 * @property {number} turnLimit
 * @property {Plan[]} battles
 * @property {('lines' | 'request' | 'known' | 'followed' | 'mirrored')[]} print
 */

/**
 * @typedef {object} Plan
 * @property {number} seed
 * @property {[string, string] | 'generated' | 'wild'} teams as pastes, or how to generate them
 * @property {[string[], string[]]} [choices] of each seat in order; random ones are made after the last
 */

const MAX_TRIES = 8;
const SEATS = [0, 1];
// `p1a: Pikachu`, `p1: Pikachu`, `p1a` in a spread, and `p1` for a side.
const SEAT_IN_LINE = /(^|\||\[of\] ?|\[spread\] |,)p([12])(?=[ab]?(?::|,|\||$))/g;

const simulator = loadSimulator({ overlay: true });

/** A separate tracker and the lines that it reads. */
class Reader {
  /**
   * @param {any} dex
   * @param {any} write
   * @param {number} size of a view record
   */
  constructor(dex, write, size) {
    this.tracker = new Tracker(dex);
    this.write = write;
    this.size = size;
  }

  /**
   * @param {string[]} lines new ones
   * @param {any} request
   * @param {number} seat
   * @returns {string} the view record, in base64
   */
  view(lines, request, seat) {
    this.tracker.read(lines, 0, lines.length);
    const row = new Int16Array(this.size);
    this.write(row, this.tracker, request, seat, 0);
    return Buffer.from(row.buffer).toString('base64');
  }
}

/**
 * @param {Job} job
 */
function traces(job) {
  const format = simulator.Dex.formats.get(job.format, true);
  const dex = simulator.Dex.forFormat(format);
  const write = viewWriter(job.layout, job.vocabulary);
  return job.battles.map((plan) => trace(job, plan, format, () => new Reader(dex, write, job.layout.size)));
}

/**
 * @param {Job} job
 * @param {Plan} plan
 * @param {any} format
 * @param {() => Reader} newReader
 */
function trace(job, { seed, teams, choices }, format, newReader) {
  const random = seededRandom(seed);
  const drawn = SEATS.map((seat) => teamOf(format, teams, seat, random));
  const battle = /** @type {any} */ (startBattle(simulator, format, drawn, random));
  if (job.sheets && battle.requestState === 'teampreview') battle.showOpenTeamSheets();
  // Each seat has its own random numbers, so that the choices of one do not depend on the other.
  const players = SEATS.map((seat) => {
    return { random: seededRandom(2 * seed + seat), choices: [...(choices?.[seat] ?? [])] };
  });
  const spectator = newReader();
  const mirror = newReader();
  const followers = SEATS.map(newReader);
  /** @type {string[][]} lines of each seat since its last decision */
  const unread = [[], []];
  const known = ['', ''];
  const decisions = [];
  const prints = new Set(job.print);
  let read = 0;
  while (!battle.ended && battle.turn <= job.turnLimit) {
    let news = battle.log.slice(read);
    read = battle.log.length;
    const channels = simulator.extractChannelMessages(news.join('\n'), [1, 2]);
    unread[0].push(...channels[1]);
    unread[1].push(...channels[2]);
    const waiting = battle.sides.filter((/** @type {any} */ side) => side.requestState);
    for (const { n: seat, activeRequest: request } of waiting) {
      /** @type {Record<string, any>} */
      const decision = { seat, turn: battle.turn, view: spectator.view(news, request, seat) };
      if (prints.has('lines')) decision.lines = unread[seat];
      const copy = JSON.parse(JSON.stringify(request));
      if (prints.has('request')) decision.request = copy;
      if (prints.has('known')) decision.known = known[seat] = fingerprint(known[seat], unread[seat], request);
      if (prints.has('followed')) decision.followed = followers[seat].view(unread[seat], copy, seat);
      if (prints.has('mirrored')) {
        decision.mirrored = mirror.view(news.map(swapSeats), withSwappedSeats(request), 1 - seat);
      }
      decisions.push(decision);
      unread[seat] = [];
      news = [];
    }
    for (const side of waiting) answer(battle, side, players[side.n]);
  }
  const { turn } = battle;
  battle.destroy();
  return { seed, turn, decisions, unknown: Object.fromEntries(spectator.tracker.unknown) };
}

/**
 * @param {string} before
 * @param {string[]} lines
 * @param {any} request
 * @returns {string}
 */
function fingerprint(before, lines, request) {
  const sent = lines.filter((line) => !line.startsWith('|t:|')); // the time of day
  return createHash('sha1').update(JSON.stringify([before, sent, request])).digest('base64');
}

/**
 * @param {any} format
 * @param {Plan['teams']} teams
 * @param {number} seat
 * @param {import('./play.js').Random} random
 * @returns {string} packed
 */
function teamOf(format, teams, seat, random) {
  if (teams === 'generated') return generatedTeam(simulator, format, random);
  if (teams === 'wild') return wildTeam(simulator, format, random);
  const sets = simulator.Teams.import(teams[seat]);
  if (!sets) throw new Error(`The team of seat ${seat} cannot be parsed.`);
  return simulator.Teams.pack(sets);
}

/**
 * @param {any} request
 * @returns {any} the same with the seats swapped
 */
function withSwappedSeats(request) {
  return JSON.parse(JSON.stringify(request), (_, value) => (typeof value === 'string' ? swapSeats(value) : value));
}

/**
 * @param {string} line
 * @returns {string} the same with the seats swapped
 */
function swapSeats(line) {
  return line.replace(SEAT_IN_LINE, (_, before, number) => `${before}p${3 - number}`);
}

/**
 * @param {any} battle
 * @param {any} side
 * @param {{random: import('./play.js').Random, choices: string[]}} player
 */
function answer(battle, side, { random, choices }) {
  const scripted = choices.shift();
  if (scripted !== undefined) {
    if (!battle.choose(side.id, scripted)) throw new Error(`${scripted}: ${side.choice.error}`);
    return;
  }
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (battle.choose(side.id, tries < MAX_TRIES - 1 ? randomChoice(side.activeRequest, random) : 'default')) return;
    side.clearChoice();
  }
  throw new Error(`The simulator accepts no choice: ${side.choice.error}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(traces(JSON.parse(line)))}\n`);
}

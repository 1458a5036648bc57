// Plays Gen 1 battles with random choices and writes what a native tracker reads, and the view records that it has to
// write: the same lines, requests and records as in this host's own matches.
//
//   node tools/tracker-cases.js --format gen1ou --battles 20 --seed 1 [--wild] < START > CASES
//
// START is JSON: the layout and the vocabulary of views, and the packed teams to draw from. With --wild, teams have
// any moves of Gen 1 instead. CASES is a sequence of records, each with a header of four bytes, all integers
// little-endian: 0 start (two team sizes), 1 lines (count in two bytes, then the structs), 2 decision (seat, refusals;
// then the struct of the request and the view record).

import { parseArgs } from 'node:util';

import { actionSpace } from '../battle/actions.js';
import { maskSize, setIndices } from '../battle/masks.js';
import { Match } from '../battle/match.js';
import { loadSimulator } from '../simulator.js';
import { viewWriter } from '../view/writer.js';
import { LINE_SIZE, StructWriter } from './lines.js';
import { seededRandom } from './play.js';
import { wildTeam } from './wild-teams.js';

/** @import { Random } from './play.js' */

const TURN_LIMIT = 1000;
const REASONS = { PLAYED: 0, TIE: 1, TURN_LIMIT: 2, REFUSED: 3, SIMULATOR_FAILURE: 4 };
const [START, LINES, DECISION] = [0, 1, 2];
const FACTS = /** @type {const} */ ({ slots: 1, brought: 6 });
const SWITCHES = 8; // the first action that is a switch
const SEED_STEP = 7919;

const { values: options } = parseArgs({
  options: {
    format: { type: 'string', default: 'gen1ou' },
    battles: { type: 'string', default: '10' },
    seed: { type: 'string', default: '0' },
    wild: { type: 'boolean', default: false },
  },
});
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { layout, vocabulary, teams } = JSON.parse(Buffer.concat(chunks).toString());
const simulator = loadSimulator({ overlay: true });
const format = simulator.Dex.formats.get(options.format);
const dex = simulator.Dex.forFormat(format);
const space = actionSpace(FACTS);
const write = viewWriter(layout, vocabulary);

for (let battle = 0; battle < Number(options.battles); battle++) {
  const random = seededRandom(Number(options.seed) * SEED_STEP * SEED_STEP + battle * SEED_STEP);
  const out = play(random);
  if (!process.stdout.write(out)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}

/**
 * @param {Random} random
 * @returns {Buffer} the records of one battle
 */
function play(random) {
  const rules = {
    simulator, format, dex, generated: Boolean(format.team) && !options.wild, sheets: false, turnLimit: TURN_LIMIT,
    reasons: REASONS,
  };
  const seed = () => Array.from({ length: 4 }, () => random(65536)).join(',');
  const team = () => {
    if (options.wild) return wildTeam(simulator, dex, random);
    return rules.generated ? seed() : teams[random(teams.length)];
  };
  const match = new Match(rules, { seed: seed(), teams: [team(), team()] });
  const battle = /** @type {any} */ (match.battle);
  const writer = new StructWriter(dex, battle);
  const records = [Buffer.from([START, battle.sides[0].pokemon.length, battle.sides[1].pokemon.length, 0])];
  const boldness = 1 + random(8); // how rarely it switches
  while (!match.result) {
    const lines = writer.lines(battle.log, match.tracked);
    records.push(Buffer.from([LINES, 0, (lines.length / LINE_SIZE) & 255, (lines.length / LINE_SIZE) >> 8]), lines);
    match.track();
    const waiting = match.waiting();
    for (const seat of waiting) records.push(...decision(match, writer, seat));
    for (const seat of waiting) {
      const request = match.request(seat);
      if (request) match.choose(seat, space.choice(request, randomAction(request, random, boldness)));
    }
  }
  if (match.result.reason === REASONS.SIMULATOR_FAILURE) throw new Error(match.result.problem);
  match.close();
  return Buffer.concat(records);
}

/**
 * @param {Match} match
 * @param {StructWriter} writer
 * @param {number} seat
 * @returns {Uint8Array[]}
 */
function decision(match, writer, seat) {
  const row = new Int16Array(layout.size);
  const request = match.request(seat);
  write(row, match.tracker, request, seat, match.refusals[seat]);
  const header = Buffer.from([DECISION, seat, match.refusals[seat], 0]);
  return [header, writer.request(request, seat), new Uint8Array(row.buffer)];
}

/**
 * @param {any} request
 * @param {Random} random
 * @param {number} boldness
 * @returns {number} a legal action, more often a move than a switch
 */
function randomAction(request, random, boldness) {
  const bits = new Uint8Array(maskSize(space.size));
  space.mask(request, bits);
  const legal = setIndices(bits);
  const moves = legal.filter((action) => action < SWITCHES);
  const from = moves.length && random(boldness) ? moves : legal;
  return from[random(from.length)];
}

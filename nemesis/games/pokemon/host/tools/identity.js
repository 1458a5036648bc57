// Plays seeded random battles in the stock and the overlaid simulator and compares their output.
//
//   node tools/identity.js --battles 100 [--formats gen9ou,gen1ou] [--seed 0] [--overlay FILE]
//
// Compares every log line except time stamps, every request of both seats, the final state and the state of the PRNG.
// In every third battle, both teams are random sets from the whole dex. Prints JSON; exits with 1 on a difference.

import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { loadSimulator } from '../simulator.js';
import { playRandomly, seededRandom, startBattle } from './play.js';
import { generatedTeam, wildTeam } from './random-teams.js';

/** @import { Simulator } from '../simulator.js' */

const RANDOM_FORMATS = [
  ...Array.from({ length: 9 }, (_, index) => `gen${index + 1}randombattle`),
  'gen9randomdoublesbattle',
  'gen9championsrandombattle',
];
const MAX_TURNS = 200;
const SEED_STEP = 7919;
const EXCERPT = 120; // characters before and after a difference

/**
 * @typedef {object} Job
 * @property {string} format
 * @property {number} seed
 * @property {boolean} wild
 */

if (isMainThread) {
  await compare();
} else {
  await serve();
}

async function compare() {
  const { values: options } = parseArgs({
    options: {
      battles: { type: 'string', default: '100' },
      formats: { type: 'string' },
      seed: { type: 'string', default: '0' },
      overlay: { type: 'string' },
    },
  });
  const { Dex } = loadSimulator({ overlay: false });
  const formats = options.formats?.split(',') ?? defaultFormats(Dex);
  const unknown = formats.find((format) => !Dex.formats.get(format).exists);
  if (unknown) {
    console.error(`The simulator has no format ${unknown}.`);
    process.exit(2);
  }
  const jobs = jobsOf(formats, Number(options.battles), Number(options.seed));
  const overlay = options.overlay ? pathToFileURL(options.overlay).href : '../overlay/install.js';
  const [stock, overlaid] = [null, overlay].map(
    (path) => new Worker(new URL(import.meta.url), { workerData: { path } }),
  );
  const tally = Object.fromEntries(formats.map((format) => [format, { battles: 0, lines: 0, failures: 0 }]));
  let difference = null;
  for (const job of jobs) {
    const [expected, actual] = await Promise.all([ask(stock, job), ask(overlaid, job)]);
    difference = firstDifference(job, expected, actual);
    if (difference) break;
    tally[job.format].battles++;
    tally[job.format].lines += expected.length;
    if (expected.at(-1)?.startsWith('failure ')) tally[job.format].failures++;
  }
  await Promise.all([stock.terminate(), overlaid.terminate()]);
  console.log(JSON.stringify({ formats: tally, difference }));
  process.exitCode = difference ? 1 : 0;
}

/**
 * @param {any} Dex
 * @returns {string[]}
 */
function defaultFormats(Dex) {
  const vgc = Dex.formats.all().filter((/** @type {any} */ { id }) => /^gen9(champions)?vgc/.test(id));
  return ['gen1ou', 'gen9ou', ...RANDOM_FORMATS, ...vgc.map((/** @type {any} */ { id }) => id)];
}

/**
 * @param {string[]} formats
 * @param {number} battles
 * @param {number} seed
 * @returns {Job[]} the formats in rotation
 */
function jobsOf(formats, battles, seed) {
  return Array.from({ length: battles }, (_, index) => ({
    format: formats[index % formats.length],
    seed: seed * SEED_STEP + index,
    wild: (index + Math.floor(index / formats.length)) % 3 === 2, // rotates over the formats
  }));
}

/**
 * @param {Worker} worker
 * @param {Job} job
 * @returns {Promise<string[]>}
 */
function ask(worker, job) {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners().once('message', resolve).once('error', reject);
    worker.postMessage(job);
  });
}

/**
 * @param {Job} job
 * @param {string[]} expected
 * @param {string[]} actual
 */
function firstDifference(job, expected, actual) {
  const length = Math.max(expected.length, actual.length);
  for (let line = 0; line < length; line++) {
    const [stock, overlaid] = [expected[line] ?? '(nothing)', actual[line] ?? '(nothing)'];
    if (stock !== overlaid) return { ...job, line, ...excerpts(stock, overlaid) };
  }
  return null;
}

/**
 * States and requests are long, so show only where they start to differ.
 * @param {string} stock
 * @param {string} overlaid
 */
function excerpts(stock, overlaid) {
  let same = 0;
  while (stock[same] === overlaid[same]) same++;
  const from = Math.max(0, same - EXCERPT);
  return { stock: stock.slice(from, same + EXCERPT), overlaid: overlaid.slice(from, same + EXCERPT) };
}

async function serve() {
  const overlay = workerData.path ? (await import(workerData.path)).installOverlay : false;
  const simulator = loadSimulator({ overlay });
  parentPort?.on('message', (job) => parentPort?.postMessage(transcript(simulator, job)));
}

/**
 * The whole output of a simulator for one battle, in order.
 * @param {Simulator} simulator
 * @param {Job} job
 * @returns {string[]}
 */
function transcript(simulator, job) {
  const random = seededRandom(job.seed);
  const format = simulator.Dex.formats.get(job.format);
  const draw = job.wild ? wildTeam : generatedTeam;
  const teams = [draw(simulator, format, random), draw(simulator, format, random)];
  /** @type {string[]} */
  const output = [...teams];
  try {
    const battle = startBattle(simulator, format, teams, random);
    let read = 0;
    playRandomly(battle, random, MAX_TURNS, (choice) => {
      output.push(...battle.log.slice(read), ...battle.sides.map((side) => JSON.stringify(side.activeRequest)), choice);
      read = battle.log.length;
    });
    output.push(...battle.log.slice(read), stateOf(battle), battle.prng.getSeed());
  } catch (error) {
    output.push(`failure ${error}`);
  }
  return output.filter((line) => !line.startsWith('|t:|'));
}

/**
 * The whole state, without the log and regardless of the order of properties of Pokémon and moves.
 * @param {any} battle
 */
function stateOf(battle) {
  return JSON.stringify({ ...battle.toJSON(), log: null }, (_, value) =>
    value?.baseSpecies || 'hit' in Object(value) ? Object.fromEntries(Object.entries(value).sort()) : value,
  );
}

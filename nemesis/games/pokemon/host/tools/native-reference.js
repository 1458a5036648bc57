// Plays random Gen 1 battles in Showdown and writes, for each, its set-up and, at every decision, its state, its new
// log lines and the choices that follow, as one line of JSON. benchmarks/native_identity.py replays them in C.
//
//   node tools/native-reference.js --kind wild --battles 100 [--first 0] [--seed 0] [--overlay]
//   node tools/native-reference.js --replay     # reads set-ups with choices from standard input

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import { loadSimulator } from '../simulator.js';
import { LineReader } from './native-lines.js';
import { Describer, legalActions } from './native-state.js';
import { KINDS } from './native-teams.js';
import { seededRandom } from './play.js';

/** @import { Random } from './play.js' */

/**
 * @typedef {object} Setup
 * @property {string} seed 16 hexadecimal digits
 * @property {string[]} teams packed
 * @property {number[] | null} pp of all moves of both teams in order, if not full
 * @property {number} most turns
 * @property {number} switching one in how many choices is a switch, where there is a choice; 0 for any
 * @property {boolean} habit whether choices are often repeated, which keeps up locks and traps
 */

const SEED_STEP = 1000003;
const SWITCH = 8;
const HINT = 'This error is expected of battles that Showdown cannot continue.';

const { values: options } = parseArgs({
  options: {
    kind: { type: 'string', default: 'wild' },
    battles: { type: 'string', default: '10' },
    first: { type: 'string', default: '0' },
    seed: { type: 'string', default: '0' },
    sheets: { type: 'string' },
    overlay: { type: 'boolean', default: false },
    replay: { type: 'boolean', default: false },
  },
});
const simulator = loadSimulator({ overlay: options.overlay });
const format = simulator.Dex.formats.get('gen1ou');
const dex = simulator.Dex.forFormat(format);

if (options.replay) {
  for await (const line of createInterface({ input: process.stdin })) await write(play(JSON.parse(line), null));
} else {
  const kind = KINDS[options.kind];
  if (!kind) throw new Error(`There is no kind ${options.kind}, but ${Object.keys(KINDS).join(', ')}.`);
  const first = Number(options.first);
  for (let battle = first; battle < first + Number(options.battles); battle++) {
    const random = seededRandom(Number(options.seed) * SEED_STEP + battle);
    await write(play(kind(simulator, random, options.sheets ?? ''), random));
  }
}

/** @param {object} battle */
async function write(battle) {
  const taken = process.stdout.write(`${JSON.stringify(battle)}\n`);
  if (!taken) await new Promise((resolve) => process.stdout.once('drain', resolve));
}

/**
 * @param {Setup & {choices?: number[][]}} setup
 * @param {Random | null} random plays, or else the choices of the set-up
 */
function play(setup, random) {
  /** @type {[string, string, number[]][]} */
  const steps = [];
  const battle = start(setup);
  const describer = new Describer(dex, battle);
  const reader = new LineReader(dex, describer.teams.map((/** @type {any[]} */ team) => team.map(({ name }) => name)));
  let read = 0;
  let failure = '';
  /** @type {number[]} */
  let habits = [];
  while (!battle.ended && battle.turn <= setup.most) {
    const choices = random ? choose(battle, setup, random, habits) : legal(battle, setup.choices?.[steps.length]);
    steps.push([describer.state(), reader.read(battle.log, read), choices ?? []]);
    read = battle.log.length;
    if (!choices) break;
    if (setup.habit) habits = choices;
    failure = answer(battle, choices);
    if (failure) break;
  }
  const complete = battle.ended || battle.turn > setup.most;
  if (complete && !failure) steps.push([describer.state(), reader.read(battle.log, read), []]);
  return { ...setup, steps, failure };
}

/** @param {Setup} setup */
function start({ seed, teams, pp }) {
  const [p1, p2] = teams.map((team, seat) => ({ name: `Seat ${seat + 1}`, team }));
  const start = { formatid: format.id, format, seed: /** @type {any} */ (`gen5,${seed}`), p1, p2 };
  const battle = /** @type {any} */ (new simulator.Battle(start));
  if (!pp) return battle;
  const slots = battle.getAllPokemon().flatMap((/** @type {any} */ pokemon) => pokemon.moveSlots);
  slots.forEach((/** @type {any} */ slot, /** @type {number} */ place) => {
    slot.pp = pp[place];
  });
  battle.makeRequest('move');
  return battle;
}

/**
 * @param {any} battle
 * @param {Setup} setup
 * @param {Random} random
 * @param {number[]} habits the last choices
 * @returns {number[]} an action of each seat, -1 for one that is not asked
 */
function choose(battle, { switching }, random, habits) {
  return battle.sides.map((/** @type {any} */ { activeRequest: request }, /** @type {number} */ seat) => {
    if (!request || request.wait) return -1;
    const legal = legalActions(request);
    if (legal.includes(habits[seat]) && habits[seat] < SWITCH && random(3)) return habits[seat];
    const moves = legal.filter((action) => action < SWITCH);
    const switches = legal.filter((action) => action >= SWITCH);
    if (!switching || !moves.length || !switches.length) return legal[random(legal.length)];
    const group = random(switching) ? moves : switches;
    return group[random(group.length)];
  });
}

/**
 * Recorded choices, or others where they are not legal in a battle that was changed.
 * @param {any} battle
 * @param {number[] | undefined} choices
 * @returns {number[] | undefined}
 */
function legal(battle, choices) {
  return choices && battle.sides.map((/** @type {any} */ { activeRequest: request }, /** @type {number} */ seat) => {
    if (!request || request.wait) return -1;
    const actions = legalActions(request);
    return actions.includes(choices[seat]) ? choices[seat] : actions[0];
  });
}

/**
 * @param {any} battle
 * @param {number[]} choices
 * @returns {string} the error of Showdown, if it failed
 */
function answer(battle, choices) {
  try {
    choices.forEach((action, seat) => {
      if (action < 0) return;
      const text = action < SWITCH ? `move ${action + 1}` : `switch ${action - SWITCH + 1}`;
      if (battle.choose(`p${seat + 1}`, text)) return;
      throw new Error(`Showdown refused ${text}: ${battle.sides[seat].choice.error}`);
    });
    return '';
  } catch (error) {
    return `${error} ${HINT}`;
  }
}

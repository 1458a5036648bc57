// Measures the simulator alone on one core, with random play: decisions a second, a decision being one seat's answer.
//
//   node speed.js --format gen9ou --seconds 10 --overlay 1 [--teams FILE] [--seed N]

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { playRandomly, seededRandom, startBattle } from './play.js';
import { generatedTeam } from './random-teams.js';
import { loadSimulator } from './simulator.js';

const TEAMS = 200;
const WARM_UP = 0.5; // of the measured time
const TURN_LIMIT = 1000;

const { values: options } = parseArgs({
  options: {
    format: { type: 'string', default: 'gen9vgc2025regi' },
    seconds: { type: 'string', default: '10' },
    overlay: { type: 'string', default: '1' },
    teams: { type: 'string' },
    seed: { type: 'string', default: '0' },
  },
});

const simulator = loadSimulator({ overlay: options.overlay === '1' });
const format = simulator.Dex.formats.get(options.format);
if (!format.exists) {
  console.error(`The simulator has no format ${options.format}.`);
  process.exit(2);
}
const random = seededRandom(Number(options.seed));
const teams = options.teams
  ? readFileSync(options.teams, 'utf8').split('\n').filter(Boolean)
  : Array.from({ length: TEAMS }, () => generatedTeam(simulator, format, random));

measure(Number(options.seconds) * WARM_UP);
const figures = measure(Number(options.seconds));
console.log(JSON.stringify({ format: format.id, overlay: options.overlay === '1', ...figures }));

/** @param {number} seconds of the processor */
function measure(seconds) {
  const started = process.cpuUsage();
  let battles = 0;
  let decisions = 0;
  let elapsed = 0;
  while (elapsed < seconds) {
    decisions += playRandomly(startBattle(simulator, format, [anyTeam(), anyTeam()], random), random, TURN_LIMIT);
    battles++;
    const { user, system } = process.cpuUsage(started);
    elapsed = (user + system) / 1e6;
  }
  return { seconds: elapsed, battles, decisions, decisions_per_second: decisions / elapsed };
}

function anyTeam() {
  return teams[random(teams.length)];
}

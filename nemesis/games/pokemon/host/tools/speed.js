// Measures the simulator alone on one core, in decisions per second of its own CPU time. A decision is one answer of
// one seat. Actions are uniformly random legal ones; the time to list and sample them is not counted.
//
//   node tools/speed.js --format gen9ou --slots 1 --brought 6 --seconds 10 --overlay 1 [--teams FILE] [--seed N]

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { actionSpace } from '../battle/actions.js';
import { maskSize, setIndices } from '../battle/masks.js';
import { loadSimulator } from '../simulator.js';
import { seededRandom } from './play.js';

const WARM_UP = 0.5; // as a share of the measured time
const TURN_LIMIT = 1000;

const { values: options } = parseArgs({
  options: {
    format: { type: 'string', default: 'gen9vgc2025regi' },
    slots: { type: 'string', default: '2' },
    brought: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '10' },
    overlay: { type: 'string', default: '1' },
    teams: { type: 'string' },
    seed: { type: 'string', default: '0' },
  },
});

const { Battle, Dex } = loadSimulator({ overlay: options.overlay === '1' });
const format = Dex.formats.get(options.format);
if (!format.exists) {
  console.error(`The simulator has no format ${options.format}.`);
  process.exit(2);
}
const space = actionSpace({ slots: Number(options.slots), brought: Number(options.brought) });
const bits = new Uint8Array(maskSize(space.size));
const random = seededRandom(Number(options.seed));
const teams = options.teams ? readFileSync(options.teams, 'utf8').split('\n').filter(Boolean) : null;

measure(Number(options.seconds) * WARM_UP);
const figures = measure(Number(options.seconds));
console.log(JSON.stringify({ format: format.id, overlay: options.overlay === '1', ...figures }));

/** @param {number} limit CPU seconds of the simulator */
function measure(limit) {
  let battles = 0;
  let decisions = 0;
  let spent = 0;

  /**
   * @template T
   * @param {() => T} work
   */
  const timed = (work) => {
    const started = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(started);
    spent += (user + system) / 1e6;
    return result;
  };

  while (spent < limit) {
    const setup = { formatid: format.id, format, seed: /** @type {any} */ (anySeed()), p1: seat(1), p2: seat(2) };
    const battle = timed(() => new Battle(setup));
    while (!battle.ended && battle.turn <= TURN_LIMIT) {
      /** @type {[any, string][]} */
      const choices = battle.sides
        .filter((/** @type {any} */ side) => side.requestState && !side.isChoiceDone())
        .map((/** @type {any} */ side) => [side, anyChoice(side.activeRequest)]);
      decisions += choices.length;
      timed(() => {
        for (const [side, choice] of choices) {
          if (!battle.choose(side.id, choice)) side.clearChoice();
        }
      });
    }
    battles++;
  }
  return { seconds: spent, battles, decisions, decisions_per_second: decisions / spent };
}

/** @param {number} number */
function seat(number) {
  const name = `Seat ${number}`;
  return teams ? { name, team: teams[random(teams.length)] } : { name, seed: /** @type {any} */ (anySeed()) };
}

function anySeed() {
  return Array.from({ length: 4 }, () => random(2 ** 16)).join(',');
}

/** @param {any} request */
function anyChoice(request) {
  space.mask(request, bits.fill(0));
  const legal = setIndices(bits);
  return space.choice(request, legal[random(legal.length)]);
}

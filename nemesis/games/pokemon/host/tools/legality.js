// Plays random battles and checks the legal mask against the simulator: at every decision it tries legal and illegal
// actions. Reads one job per line of JSON and writes one line per job:
// `echo '{"format": "gen9ou", "slots": 1, "brought": 6, "battles": 3}' | node tools/legality.js`.
// For a job with requests instead of battles, it writes the mask of each request and, on demand, the choices of all
// actions and the actions of given choices.

/** @import { Random } from './play.js' */

import { createInterface } from 'node:readline';

import { actionSpace } from '../battle/actions.js';
import { maskSize, setIndices } from '../battle/masks.js';
import { loadSimulator } from '../simulator.js';
import { seededRandom, startBattle } from './play.js';
import { generatedTeam, wildTeam } from './random-teams.js';

const simulator = loadSimulator({ overlay: true });

const OPTIONS = 45;
const TURNS = OPTIONS * OPTIONS;
const GIMMICKS = ['terastallize', 'mega', 'megax', 'megay', 'ultra', 'zmove', 'dynamax'];
const PICKS = [...Array(6544).keys()].map(String).filter((pick) => {
  const [one, other, third, fourth] = pick;
  return /^[1-6]{4}$/.test(pick) && new Set(pick).size === 4 && one < other && third < fourth;
});
const MAX_PROBLEMS = 20;
const MAX_REFUSALS = 10;
const READ_ONE_IN = 8; // choices of doubles, because reading them is slow
const FLAGS = ['trapped', 'maybeTrapped', 'maybeDisabled', 'maybeLocked', 'switchFlag'];

/**
 * @typedef {object} Job
 * @property {string} format
 * @property {1 | 2} slots
 * @property {number} brought
 * @property {number} [battles]
 * @property {number} [turns] after which a battle is stopped
 * @property {number} [seed]
 * @property {number} [joint] random pairs of options to try at each decision
 * @property {'generated' | 'wild'} [source] of teams
 * @property {any[][]} [teams] sets of both seats instead of random ones
 * @property {any[]} [requests]
 * @property {string[]} [choices] to find the actions of
 * @property {boolean} [worded] whether to write the choices of all actions
 */

class LegalityCheck {
  /** @param {Job} job */
  constructor(job) {
    this.job = job;
    this.space = actionSpace(job);
    this.random = seededRandom(job.seed ?? 0);
    this.bits = new Uint8Array(maskSize(this.space.size));
    this.report = { decisions: 0, legal: 0, illegal: 0, refusals: 0, seen: /** @type {Record<string, number>} */ ({}) };
    /** @type {string[]} */
    this.problems = [];
  }

  run() {
    for (let battle = 0; battle < (this.job.battles ?? 1); battle++) this.play();
    return { ...this.report, problems: this.problems };
  }

  play() {
    const { job, random } = this;
    const format = simulator.Dex.formats.get(job.format);
    const draw = job.source === 'wild' ? wildTeam : generatedTeam;
    const teams = [0, 1].map((seat) =>
      job.teams ? simulator.Teams.pack(shuffled(job.teams[seat], random)) : draw(simulator, format, random),
    );
    this.battle = /** @type {any} */ (startBattle(simulator, format, teams, random));
    while (!this.battle.ended && this.battle.turn < (job.turns ?? 60)) {
      const waiting = this.battle.sides.filter((/** @type {any} */ side) => side.requestState);
      for (const side of waiting) {
        this.examine(side);
        this.answer(side);
      }
    }
    this.battle.destroy();
  }

  /**
   * Answer with a random legal action, and again if it is refused because of hidden information.
   * @param {any} side
   */
  answer(side) {
    for (let refusals = 0; refusals < MAX_REFUSALS; refusals++) {
      const legal = this.legal(side.activeRequest);
      const index = legal[this.random(legal.length)];
      if (this.battle.choose(side.id, this.space.choice(side.activeRequest, index))) return;
      side.clearChoice();
    }
    throw new Error(`${this.job.format}: ${MAX_REFUSALS} legal actions were refused in a row.`);
  }

  /** @param {any} side */
  examine(side) {
    const request = side.activeRequest;
    this.before = JSON.stringify(request);
    this.report.decisions++;
    for (const feature of featuresOf(request)) this.report.seen[feature] = (this.report.seen[feature] ?? 0) + 1;
    const legal = this.legal(request);
    if (!legal.length) this.addProblem(request, 'no action is legal');
    const choices = new Set(legal.map((index) => this.space.choice(request, index)));
    if (choices.size !== legal.length) this.addProblem(request, 'two legal actions are the same choice');
    const tried = this.job.slots === 1 || request.teamPreview ? legal : this.sample(legal);
    for (const index of tried) this.tryLegal(side, index);
    for (const text of this.illegalTexts(request, new Set(legal))) {
      if (!choices.has(text)) this.tryIllegal(side, text, legal);
    }
  }

  /**
   * One pair for every option of each slot, and some more.
   * @param {number[]} legal
   */
  sample(legal) {
    const { random } = this;
    /** @type {Map<string, number>} */
    const samples = new Map();
    for (const index of shuffled(legal, random)) {
      samples.set(`first ${Math.floor(index / OPTIONS)}`, index);
      samples.set(`second ${index % OPTIONS}`, index);
    }
    return [...new Set([...samples.values(), ...shuffled(legal, random).slice(0, this.job.joint ?? 20)])];
  }

  /**
   * @param {any} side
   * @param {number} index
   */
  tryLegal(side, index) {
    this.report.legal++;
    const request = side.activeRequest;
    const text = this.space.choice(request, index);
    const open = !request.active?.some(hidesMoves);
    const reads = this.job.slots === 1 || this.random(READ_ONE_IN) === 0;
    if (reads && this.space.index(request, text) !== index) this.addProblem(request, `${text}: not read as ${index}`);
    const outcome = this.attempt(side, text);
    if (reads && outcome.accepted && open && this.space.index(request, outcome.recorded) !== index) {
      this.addProblem(request, `${text}: recorded as ${outcome.recorded}`);
    }
    if (outcome.accepted) return;
    this.report.refusals++;
    const hides = /trapped/.test(outcome.error) ? hidesTrap : hidesMoves;
    if (!side.activeRequest.active?.some(hides)) this.addProblem(request, `${text}: legal, but ${outcome.error}`);
    const after = this.legal(outcome.request);
    const before = this.legal(side.activeRequest);
    if (!after.length || after.includes(index) || !after.every((left) => before.includes(left))) {
      this.addProblem(request, `${text}: refused, but the mask was not updated`);
    }
  }

  /**
   * @param {any} side
   * @param {string} text
   * @param {number[]} legal
   */
  tryIllegal(side, text, legal) {
    this.report.illegal++;
    const outcome = this.attempt(side, text);
    if (!outcome.accepted) return;
    const request = side.activeRequest;
    const same = legal.some((index) => this.attempt(side, this.space.choice(request, index)).stored === outcome.stored);
    if (!same) this.addProblem(request, `${text}: illegal, but accepted as ${outcome.recorded}`);
  }

  /**
   * Make a choice, then undo it and all changes that the simulator made for it.
   * @param {any} side
   * @param {string} text
   */
  attempt(side, text) {
    const flags = side.active.map((/** @type {any} */ pokemon) => FLAGS.map((flag) => pokemon?.[flag]));
    let accepted = false;
    let error = '';
    try {
      accepted = side.choose(text) && side.isChoiceDone();
      error = side.choice.error;
    } catch (thrown) {
      error = String(thrown);
    }
    const stored = JSON.stringify(side.choice.actions.map(storedAction));
    const recorded = accepted ? side.getChoice() : '';
    const request = side.activeRequest;
    if (request.update) side.activeRequest = JSON.parse(/** @type {string} */ (this.before));
    side.active.forEach((/** @type {any} */ pokemon, /** @type {number} */ slot) => {
      FLAGS.forEach((flag, place) => pokemon && (pokemon[flag] = flags[slot][place]));
    });
    side.clearChoice();
    return { accepted, error, stored, recorded, request };
  }

  /**
   * @param {any} request
   * @param {Set<number>} legal
   * @returns {Set<string>} texts of illegal actions, built independently of the request
   */
  illegalTexts(request, legal) {
    const { random, space, job } = this;
    /** @type {Set<number>} */
    const indices = new Set();
    if (job.slots === 1 || request.teamPreview) {
      for (let index = 0; index < space.size; index++) if (job.slots === 1 || index >= TURNS) indices.add(index);
      if (job.slots === 2) indices.add(random(TURNS));
    } else {
      const first = [...new Set([...legal].map((index) => Math.floor(index / OPTIONS)))];
      const second = [...new Set([...legal].map((index) => index % OPTIONS))];
      for (let option = 0; option < OPTIONS; option++) {
        indices.add(option * OPTIONS + second[random(second.length)]);
        indices.add(first[random(first.length)] * OPTIONS + option);
      }
      for (const one of first) for (const other of second) indices.add(one * OPTIONS + other);
      for (let pair = 0; pair < (job.joint ?? 20); pair++) indices.add(random(TURNS));
      indices.add(TURNS + random(space.size - TURNS));
    }
    /** @type {Set<string>} */
    const texts = new Set();
    for (const index of indices) {
      if (legal.has(index)) continue;
      texts.add(job.slots === 1 ? loneText(index, random) : pairText(index, request, job.brought, random));
    }
    return texts;
  }

  /**
   * @param {any} request
   * @returns {number[]}
   */
  legal(request) {
    this.space.mask(request, this.bits.fill(0));
    return setIndices(this.bits);
  }

  /**
   * @param {any} request
   * @param {string} what
   */
  addProblem(request, what) {
    if (this.problems.length === MAX_PROBLEMS) return;
    this.problems.push(`${this.job.format}: ${what} in ${JSON.stringify(request)}`);
  }
}

/** @param {any} active */
function hidesTrap(active) {
  return active.maybeTrapped;
}

/** @param {any} active */
function hidesMoves(active) {
  return active.maybeDisabled || active.maybeLocked;
}

/** @param {any} action */
function storedAction({ pokemon, target, ...rest }) {
  return { ...rest, pokemon: pokemon?.position, target: target?.position };
}

/**
 * @param {number} index
 * @param {Random} random
 */
function loneText(index, random) {
  if (index >= 14) return `team ${index - 13}`;
  if (index >= 8) return `switch ${index - 7}`;
  return `move ${(index % 4) + 1}${index < 4 ? '' : ` ${GIMMICKS[random(GIMMICKS.length)]}`}`;
}

/**
 * @param {number} index
 * @param {any} request
 * @param {number} brought
 * @param {Random} random
 */
function pairText(index, request, brought, random) {
  if (index >= TURNS) return `team ${PICKS[index - TURNS]}`;
  return [Math.floor(index / OPTIONS), index % OPTIONS]
    .map((option, slot) => {
      if (option === 44) return 'pass';
      if (option < 40) {
        const target = ['-2', '-1', '', '+1', '+2'][option % 5];
        const gimmick = option % 10 < 5 ? '' : GIMMICKS[random(GIMMICKS.length)];
        return `move ${Math.floor(option / 10) + 1} ${target} ${gimmick}`.trim().replace(/ +/g, ' ');
      }
      if (brought <= 4) return `switch ${option - 39}`;
      const { pokemon } = request.side;
      if (!pokemon[slot].reviving) return `switch ${option - 37}`;
      const fainted = [...pokemon.keys()].filter((place) => pokemon[place].condition === '0 fnt');
      return `switch ${(fainted[option - 40] ?? 98) + 1}`;
    })
    .join(', ');
}

/**
 * @param {any} request
 * @returns {Set<string>} names of its unusual features
 */
function featuresOf(request) {
  /** @type {Set<string>} */
  const seen = new Set();
  if (request.teamPreview) seen.add('preview').add(`preview of ${request.side.pokemon.length}`);
  const { pokemon } = request.side;
  if (request.forceSwitch) {
    seen.add('forced');
    const bench = pokemon.slice(request.forceSwitch.length);
    const healthy = bench.filter((/** @type {any} */ member) => member.condition !== '0 fnt').length;
    const leaving = request.forceSwitch.filter(Boolean).length;
    if (leaving === 2) seen.add(healthy === 1 ? 'two forced, one left' : 'two forced');
    const reviving = pokemon.some((/** @type {any} */ member) => member.reviving);
    if (reviving) seen.add(healthy ? 'reviving' : 'reviving the only one');
  }
  request.active?.forEach((/** @type {any} */ active, /** @type {number} */ slot) => {
    if (pokemon[slot].condition === '0 fnt') return seen.add('fainted slot');
    if (pokemon[slot].commanding) return seen.add('commanding');
    for (const [name, value] of Object.entries(active)) if (value && name !== 'moves') seen.add(name);
    if (active.maxMoves && !active.canDynamax) seen.add('dynamaxed');
    if (active.moves.length === 1) seen.add(active.moves[0].id);
    if (active.moves.length === 1 && active.trapped) seen.add('locked');
    for (const move of active.moves) seen.add(`aim ${move.target}`);
    return seen;
  });
  return seen;
}

/**
 * @template T
 * @param {T[]} items
 * @param {Random} random
 */
function shuffled(items, random) {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = random(last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}

/** @param {Job} job */
function read(job) {
  const space = actionSpace(job);
  return (job.requests ?? []).map((request) => {
    const bits = new Uint8Array(maskSize(space.size));
    space.mask(request, bits);
    return {
      packed: [...bits],
      choices: Array.from({ length: job.worded ? space.size : 0 }, (_, index) => space.choice(request, index)),
      indices: (job.choices ?? []).map((choice) => space.index(request, choice)),
    };
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(job.requests ? read(job) : new LegalityCheck(job).run())}\n`);
}

// A host: many battles in one process, driven by frames. Actions arrive on standard input. Decisions are written to the
// file descriptor given as the first argument. Standard output and error are left to the simulator's own messages.
//
// A step answers every waiting decision of the previous step, starts new matches, and replies with the next decisions:
// rows of the view record, legal masks, and the results of matches that ended. A host can also follow battles that are
// played elsewhere, and read the logs of finished battles.

import { Arena } from './battle/arena.js';
import { Observer } from './battle/observer.js';
import { checkTeams } from './battle/teams.js';
import { CONTROL, EndOfInput, STEP, readFrame, writeControl, writeFrame } from './frames.js';
import { READ } from './replay/choices.js';
import { GUESSED } from './replay/completion.js';
import { ReplayReader } from './replay/reader.js';
import { loadSimulator } from './simulator.js';

const PROTOCOL = 2;
const INPUT = 0;

class Host {
  /** @type {Arena | null} */
  #arena = null;
  /** @type {Observer | null} */
  #observer = null;
  /** @type {ReplayReader | null} */
  #reader = null;

  get arena() {
    if (!this.#arena) throw new Error('The host has not been started with a format yet.');
    return this.#arena;
  }

  get observer() {
    const { rules, write, space, viewSize } = this.arena;
    return (this.#observer ??= new Observer(rules.dex, write, space, viewSize));
  }

  get reader() {
    return (this.#reader ??= new ReplayReader(this.arena));
  }

  /** @param {any} question */
  start(question) {
    if (question.protocol !== PROTOCOL) {
      throw new Error(`This host uses protocol ${PROTOCOL}, but the request uses protocol ${question.protocol}.`);
    }
    this.#arena = new Arena(loadSimulator({ overlay: true }), question);
    this.#observer = this.#reader = null;
    return { layout: question.layout.version, actions: this.#arena.space.size };
  }

  codes() {
    void this.reader; // throws if replays of the format are not supported
    return { read: READ, guessed: GUESSED };
  }
}

/** @type {Record<string, (host: Host, question: any) => unknown>} answered in JSON */
const ANSWERS = {
  start: (host, question) => host.start(question),
  teams: (_, question) => checkTeams(question),
  snapshot: (host) => ({ matches: host.arena.snapshot() }),
  reenact: (host, question) => host.arena.reenact(question.recording),
  digest: (host, question) => host.arena.digest(question.recording),
  costs: (host) => host.arena.costs,
  observe: (host, question) => host.observer.observe(question.news),
  choices: (host, question) => host.observer.choices(question.actions),
  forget: (host, question) => host.observer.forget(question.battles),
  codes: (host) => host.codes(),
  usage: (host, question) => host.reader.usage(question.logs, question.played),
  complete: (host, question) => host.reader.complete(question.usual) ?? null,
};

/**
 * @param {Host} host
 * @param {any} question
 * @param {number} output
 */
function answer(host, question, output) {
  if (question.ask === 'restore') {
    writeFrame(output, STEP, host.arena.restore(question.matches));
    return;
  }
  try {
    if (question.ask === 'read') writeFrame(output, STEP, host.reader.read(question.logs, question.played));
    else writeControl(output, { answer: ANSWERS[question.ask](host, question) });
  } catch (error) {
    writeControl(output, { error: error instanceof Error ? error.message : String(error) });
  }
}

/** @param {number} output */
function serve(output) {
  const host = new Host();
  for (;;) {
    const { kind, body } = readFrame(INPUT);
    if (kind === STEP) {
      const { arena } = host;
      const reply = arena.step(body);
      const started = performance.now();
      writeFrame(output, STEP, reply);
      arena.costs.transfer += (performance.now() - started) / 1000;
    } else if (kind === CONTROL) {
      answer(host, JSON.parse(body.toString()), output);
    }
  }
}

try {
  serve(Number(process.argv[2]));
} catch (error) {
  if (!(error instanceof EndOfInput)) throw error;
}

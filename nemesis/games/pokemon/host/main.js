// A host: many battles in one process, driven by frames. Actions come in on standard input, decisions leave on the
// descriptor that the first argument names; standard output and error are free for whatever the simulator prints.
//
// A step answers every waiting decision of the step before, begins new matches, and replies with the next decisions:
// rows of the view record, legal masks, and the results of matches that ended. Besides, a host can follow battles that are
// played elsewhere, and read the logs of battles that are over.

import { CONTROL, EndOfInput, STEP, readFrame, writeControl, writeFrame } from './frames.js';
import { Arena } from './battle/arena.js';
import { Observer } from './battle/observer.js';
import { READ } from './replay/choices.js';
import { GUESSED } from './replay/completion.js';
import { ReplayReader } from './replay/reader.js';
import { checkTeams } from './battle/teams.js';
import { loadSimulator } from './simulator.js';

const PROTOCOL = 2;
const INPUT = 0;

/**
 * @param {number} output
 */
function serve(output) {
  /** @type {Arena | null} */
  let arena = null;
  /** @type {Observer | null} */
  let observer = null;
  /** @type {ReplayReader | null} */
  let reader = null;
  const open = () => {
    if (!arena) throw new Error('The host has not been told what to play.');
    return arena;
  };
  const watching = () => {
    const { rules, write, space, viewSize } = open();
    return (observer ??= new Observer(rules.dex, write, space, viewSize));
  };

  const reading = () => (reader ??= new ReplayReader(open()));

  /** @type {Record<string, (question: any) => unknown>} */
  const answers = {
    start(question) {
      if (question.protocol !== PROTOCOL) {
        throw new Error(`This host speaks protocol ${PROTOCOL}, but it was asked in protocol ${question.protocol}.`);
      }
      arena = new Arena(loadSimulator({ overlay: true }), question);
      observer = reader = null;
      return { layout: question.layout.version, actions: arena.space.size };
    },
    teams: (question) => checkTeams(question),
    snapshot: () => ({ matches: open().snapshot() }),
    replay: (question) => open().replay(question.recording),
    costs: () => open().costs,
    observe: (question) => watching().observe(question.news),
    choices: (question) => watching().choices(question.actions),
    forget: (question) => watching().forget(question.battles),
    codes: () => {
      reading(); // a format that is not read is refused before any log
      return { read: READ, guessed: GUESSED };
    },
    usage: (question) => reading().usage(question.logs, question.played),
    complete: (question) => reading().complete(question.usual) ?? null,
  };

  for (;;) {
    const { kind, body } = readFrame(INPUT);
    if (kind === STEP) {
      const reply = open().step(body);
      const begun = performance.now();
      writeFrame(output, STEP, reply);
      open().costs.transfer += (performance.now() - begun) / 1000;
    } else if (kind === CONTROL) {
      const question = JSON.parse(body.toString());
      if (question.ask === 'restore') {
        writeFrame(output, STEP, open().restore(question.matches));
        continue;
      }
      try {
        if (question.ask === 'read') writeFrame(output, STEP, reading().read(question.logs, question.played));
        else writeControl(output, { answer: answers[question.ask](question) });
      } catch (error) {
        writeControl(output, { error: error instanceof Error ? error.message : String(error) });
      }
    }
  }
}

try {
  serve(Number(process.argv[2]));
} catch (error) {
  if (!(error instanceof EndOfInput)) throw error;
}

// Plays recorded matches again and prints what each seat receives before each decision: `node received.mjs HOST < job`.
// One JSON object per decision, in the order in which the match pool gave them.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [folder] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const { Arena } = await load('battle/arena.js');
const { reenact } = await load('battle/match.js');
const { loadSimulator } = await load('simulator.js');

const job = JSON.parse(readFileSync(0, 'utf8'));
const simulator = loadSimulator({ overlay: true });
const { rules } = new Arena(simulator, job.start);

for (const { match, recording } of job.matches) {
  const unread = [[], []];
  let sent = 0;
  reenact(rules, recording, (played) => {
    const { log } = played.battle;
    const channels = simulator.extractChannelMessages(log.slice(sent).join('\n'), [1, 2]);
    sent = log.length;
    for (const seat of [0, 1]) unread[seat].push(...channels[seat + 1]);
    for (const seat of played.waiting()) {
      const decision = { match, seat, lines: unread[seat], request: played.request(seat), refusals: played.refusals[seat] };
      process.stdout.write(`${JSON.stringify(decision)}\n`);
      unread[seat] = [];
    }
  });
}

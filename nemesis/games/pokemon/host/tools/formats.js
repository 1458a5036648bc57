// Writes what the package knows about its singles and doubles formats, as JSON: `node tools/formats.js > ../formats.json`.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/**
 * @typedef {object} FormatFacts
 * @property {string} name
 * @property {string} mod
 * @property {number} generation
 * @property {1 | 2} slots active places of a side
 * @property {number} brought Pokémon of a full team that take part
 * @property {boolean} preview whether the battle opens with a team preview
 * @property {boolean} generated whether teams are drawn by the simulator
 * @property {'none' | 'offered' | 'forced'} sheets open team sheets
 */

const MOST_MEMBERS = 6;
const MOST_MOVES = 4;
const LEAST_OF_DOUBLES = 4; // the space of team previews picks two leads and two others

/** @returns {Record<string, FormatFacts>} the facts by format id */
export function formatFacts() {
  const { Dex } = require('pokemon-showdown');
  /** @type {Record<string, FormatFacts>} */
  const facts = {};
  for (const format of Dex.formats.all()) {
    if (format.gameType !== 'singles' && format.gameType !== 'doubles') continue;
    const rules = Dex.formats.getRuleTable(format);
    if (rules.maxTeamSize > MOST_MEMBERS || rules.maxMoveCount > MOST_MOVES) continue;
    const dex = Dex.forFormat(format);
    const brought = Math.min(rules.pickedTeamSize || MOST_MEMBERS, MOST_MEMBERS);
    if (format.gameType === 'doubles' && brought < LEAST_OF_DOUBLES) continue;
    facts[format.id] = {
      name: format.name,
      mod: dex.currentMod === 'base' ? `gen${dex.gen}` : dex.currentMod,
      generation: dex.gen,
      slots: format.gameType === 'doubles' ? 2 : 1,
      brought,
      preview: rules.has('teampreview') || rules.pickedTeamSize !== null,
      generated: Boolean(format.team),
      sheets: rules.has('forceopenteamsheets') ? 'forced' : rules.has('openteamsheets') ? 'offered' : 'none',
    };
  }
  return facts;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const lines = Object.entries(formatFacts()).map(([id, facts]) => `${JSON.stringify(id)}: ${JSON.stringify(facts)}`);
  process.stdout.write(`{\n${lines.join(',\n')}\n}\n`);
}

// Writes the facts of the package's singles and doubles formats as JSON: `node tools/formats.js > ../formats.json`.

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
 * @property {boolean} preview whether the battle starts with team preview
 * @property {boolean} generated whether the simulator generates the teams
 * @property {'none' | 'offered' | 'forced'} sheets open team sheets
 */

const MAX_MEMBERS = 6;
const MAX_MOVES = 4;
const MIN_BROUGHT_IN_DOUBLES = 4; // the action space of team preview has two leads and two others

/** @returns {Record<string, FormatFacts>} the facts by format id */
function formatFacts() {
  const { Dex } = require('pokemon-showdown');
  /** @type {Record<string, FormatFacts>} */
  const facts = {};
  for (const format of Dex.formats.all()) {
    if (format.gameType !== 'singles' && format.gameType !== 'doubles') continue;
    const rules = Dex.formats.getRuleTable(format);
    if (rules.maxTeamSize > MAX_MEMBERS || rules.maxMoveCount > MAX_MOVES) continue;
    const dex = Dex.forFormat(format);
    const brought = Math.min(rules.pickedTeamSize || MAX_MEMBERS, MAX_MEMBERS);
    if (format.gameType === 'doubles' && brought < MIN_BROUGHT_IN_DOUBLES) continue;
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

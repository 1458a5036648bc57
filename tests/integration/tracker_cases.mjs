// Plays random Gen 1 battles in a host's own matches and writes what the native tracker reads and the view records that
// it has to write: `node tracker_cases.mjs HOST < job > cases`.
//
// Cases are records with a header of four bytes: 0 the sizes of both teams; 1 lines (their number in the last two
// bytes), then structs of native/lines.h; 2 a decision (seat, refusals), then a struct of native/tracker/request.h and
// the view record. All integers are little-endian.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [folder] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const { actionSpace } = await load('battle/actions.js');
const { maskSize, setIndices } = await load('battle/masks.js');
const { Match } = await load('battle/match.js');
const { loadSimulator } = await load('simulator.js');
const { LineReader } = await load('tools/native-lines.js');
const { KINDS } = await load('tools/native-teams.js');
const { seededRandom } = await load('tools/play.js');
const { viewWriter } = await load('view/writer.js');

const [START, LINES, DECISION] = [0, 1, 2];
const [LINE_SIZE, NUMBER_IN_LINE] = [20, 18];
const [REQUEST_SIZE, TEAM_IN_REQUEST, MEMBER_SIZE] = [180, 24, 26];
const STATUSES = ['', 'brn', 'par', 'slp', 'frz', 'psn', 'tox'];
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
const GENDERS = ['', 'M', 'F', 'N'];
const PHASES = { turn: 2, forcedSwitch: 3 };
const NONE_OF_DEX = new Map([['fight', 168], ['recharge', 169]]);
const FIRST_SWITCH = 8;
const REASONS = { PLAYED: 0, TIE: 1, TURN_LIMIT: 2, REFUSED: 3, SIMULATOR_FAILURE: 4 };

const { layout, vocabulary, format: id, kind, sheets, battles, seed } = JSON.parse(readFileSync(0, 'utf8'));
const simulator = loadSimulator({ overlay: true });
const format = simulator.Dex.formats.get(id);
const dex = simulator.Dex.forFormat(format);
const rules = { simulator, format, dex, generated: false, sheets: false, turnLimit: 1000, reasons: REASONS };
const space = actionSpace({ slots: 1, brought: 6 });
const write = viewWriter(layout, vocabulary);

for (let battle = 0; battle < battles; battle++) {
  const cases = play(seededRandom(seed * 1000003 + battle));
  if (!process.stdout.write(cases)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}

function play(random) {
  const setup = kind === 'namesakes' ? namesakes(random) : KINDS[kind](simulator, random, sheets);
  const match = new Match(rules, { seed: `gen5,${setup.seed}`, teams: setup.teams });
  if (setup.pp) limitPp(match.battle, setup.pp);
  const teams = match.battle.sides.map(({ pokemon }) => pokemon.map(({ name }) => name));
  const reader = new LineReader(dex, teams);
  const records = [Buffer.from([START, teams[0].length, teams[1].length, 0])];
  while (!match.result) {
    records.push(lineStructs(reader.read(match.battle.log, match.tracked)));
    match.track();
    if (match.result) throw new Error(match.result.problem);
    const waiting = match.waiting();
    for (const seat of waiting) records.push(...decision(match, teams[seat], seat));
    for (const seat of waiting) {
      const request = match.request(seat);
      if (request) match.choose(seat, space.choice(request, randomAction(request, random, setup.switching)));
    }
  }
  match.close(); // Showdown cannot continue some battles of wild teams; what came before counts
  return Buffer.concat(records);
}

/** Teams in which Pokémon of the same species or nickname are hard to tell apart. */
function namesakes(random) {
  const setup = KINDS.wild(simulator, random);
  const teams = setup.teams.map((packed) => {
    const sets = simulator.Teams.unpack(packed);
    const species = sets.slice(0, 2).map((set) => set.species);
    for (const set of sets) {
      set.species = species[random(species.length)];
      set.name = ['Ada', 'Bob'][random(2)];
      set.level = random(2) ? 100 : set.level;
    }
    return simulator.Teams.pack(sets);
  });
  return { ...setup, teams };
}

function limitPp(battle, pp) {
  const slots = battle.sides.flatMap((side) => side.pokemon.flatMap((pokemon) => pokemon.moveSlots));
  slots.forEach((slot, place) => (slot.pp = pp[place]));
  battle.makeRequest('move');
}

function randomAction(request, random, switching) {
  const bits = new Uint8Array(maskSize(space.size));
  space.mask(request, bits);
  const legal = setIndices(bits);
  const moves = legal.filter((action) => action < FIRST_SWITCH);
  const from = moves.length && switching && random(switching) ? moves : legal;
  return from[random(from.length)];
}

/** The reader's text, such as ` 4,5=34,1=2,n=3`, has the place of each byte after the kind. */
function lineStructs(text) {
  const lines = text.split(' ').filter(Boolean);
  const bytes = Buffer.alloc(4 + lines.length * LINE_SIZE);
  bytes[0] = LINES;
  bytes.writeUInt16LE(lines.length, 2);
  for (const [index, line] of lines.entries()) {
    const start = 4 + index * LINE_SIZE;
    const [lineKind, ...fields] = line.split(',');
    bytes[start] = Number(lineKind);
    for (const [place, value] of fields.map((field) => field.split('='))) {
      if (place === 'n') bytes.writeUInt16LE(Number(value), start + NUMBER_IN_LINE);
      else bytes[start + 1 + Number(place)] = Number(value);
    }
  }
  return bytes;
}

function decision(match, names, seat) {
  const row = new Int16Array(layout.size);
  const request = match.request(seat);
  write(row, match.tracker, request, seat, match.refusals[seat]);
  const struct = requestStruct(request, names, match.battle.sides[seat].pokemon);
  return [Buffer.from([DECISION, seat, match.refusals[seat], 0]), struct, new Uint8Array(row.buffer)];
}

function requestStruct(request, names, team) {
  const bytes = Buffer.alloc(REQUEST_SIZE);
  const active = request.active?.[0];
  const moves = active?.moves ?? [];
  const shown = moves[0]?.pp !== undefined;
  const phase = request.forceSwitch ? PHASES.forcedSwitch : PHASES.turn;
  bytes.set([phase, team.length, Number(Boolean(active?.trapped)), moves.length, Number(shown)]);
  for (const [place, { id: move, pp, maxpp, disabled }] of moves.entries()) {
    bytes[5 + place] = numberOf(move);
    if (shown) [bytes[9 + place], bytes[13 + place], bytes[17 + place]] = [pp, maxpp, Number(Boolean(disabled))];
  }
  for (const [place, entry] of request.side.pokemon.entries()) {
    bytes.set(memberStruct(entry, names, team[place].maxhp), TEAM_IN_REQUEST + place * MEMBER_SIZE);
  }
  return bytes;
}

function memberStruct({ ident, details, condition, active, moves, stats }, names, maxHp) {
  const bytes = Buffer.alloc(MEMBER_SIZE);
  const [species, ...rest] = details.split(', ');
  const level = rest.find((part) => part.startsWith('L'))?.slice(1) ?? 100;
  const gender = rest.find((part) => GENDERS.includes(part)) ?? 'N';
  const [hp, status = ''] = condition.split(' ');
  bytes.set([names.indexOf(ident.slice('p1: '.length)), dex.species.get(species).num, Number(level)]);
  bytes.set([GENDERS.indexOf(gender), Math.max(0, STATUSES.indexOf(status)), Number(active), moves.length], 3);
  bytes.set(moves.map(numberOf), 7);
  bytes.writeUInt16LE(Number.parseInt(hp, 10), 12);
  bytes.writeUInt16LE(maxHp, 14);
  for (const [place, stat] of STATS.entries()) bytes.writeUInt16LE(stats[stat], 16 + 2 * place);
  return bytes;
}

function numberOf(move) {
  return NONE_OF_DEX.get(move) ?? dex.moves.get(move).num;
}

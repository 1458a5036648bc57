// Parses a public replay log: its header, its result, and the points at which its seats had to decide.
//
// A log is untrusted: any content leads to a result or to a `ReplayError` that names the line.

import { toId } from '../tracker/lexicon.js';

const MAX_CHARACTERS = 2_000_000;
const MAX_LINES = 20_000;
const MAX_LINE_LENGTH = 20_000;
const MAX_TURNS = 1_000;
const MAX_STOPS = 3_000;
const SEATS = ['p1', 'p2'];
const HEAD_TYPES = new Set([
  'player', 'tier', 'gametype', 'gen', 'rated', 'tie', 'win', '-message', 'message', 'turn', 'faint',
]);
const OUT_OF_TIME = / lost due to inactivity\.$|^All players are inactive\.$/;
/** The server counts down in steps of five seconds, then chooses or ends the battle. */
const LAST_SECONDS = /^\|inactive\|(.*) has [1-5] seconds left\b/;
const TURN_LIMIT = 'You have hit the turn limit!';
const EXACT_HP = /^(\d{1,4})\/(\d{2,4})(?= |$)/;
/** Percent, or pixels of an HP bar. */
const PUBLIC_WHOLES = ['100', '48'];
/** @type {Map<string, number>} the part of a line that shows HP */
const HP_PART = new Map([['switch', 4], ['drag', 4], ['-damage', 3], ['-heal', 3], ['-sethp', 3]]);

/** Why a battle cannot be read. */
export class ReplayError extends Error {
  /**
   * @param {string} reason one of a few names, for statistics
   * @param {string} message a sentence
   * @param {number} line from 1, or 0 for the log as a whole
   */
  constructor(reason, message, line = 0) {
    super(message);
    this.reason = reason;
    this.line = line;
  }
}

/**
 * Process a line, and report unexpected errors as errors of the line.
 * @param {string[]} lines
 * @param {number} place
 * @param {() => void} action
 */
export function guarded(lines, place, action) {
  try {
    action();
  } catch (error) {
    if (error instanceof ReplayError) throw error;
    const line = JSON.stringify(lines[place].slice(0, 80));
    throw new ReplayError('unreadable line', `The line cannot be processed here: ${line}.`, place + 1);
  }
}

/**
 * A point at which the battle waited for choices. All lines before it had been sent by then.
 * @typedef {object} Stop
 * @property {number} at line
 * @property {'preview' | 'turn' | 'switch'} kind of the request
 * @property {string[]} shortOnTime ids of players that were warned about their time
 * @property {number} waited seconds since the last choices, or infinity if unknown
 */

/**
 * The facts about the battle as a whole.
 * @typedef {object} Head
 * @property {string} format id, as the log names it
 * @property {number} slots active places of a side
 * @property {number} generation
 * @property {boolean} rated
 * @property {[string, string]} players ids of both
 * @property {[number, number]} ratings of both seats, or 0
 * @property {number} end line with the result, or -1 if there is none
 * @property {number} winner seat, -1 for a tie, or -2 if it had neither seat
 * @property {'played' | 'forfeit' | 'timer'} ending
 */

/** @typedef {Head & {text: string, lines: string[], stops: Stop[]}} Log */

/**
 * @param {string[]} lines of any log
 * @returns {Head}
 */
export function headOf(lines) {
  /** @type {[string, string]} */
  const names = ['', ''];
  /** @type {Head} */
  const head = {
    format: '', slots: 0, generation: 0, rated: false, players: ['', ''], ratings: [0, 0], end: -1, winner: -2,
    ending: 'played',
  };
  const fainted = [false, false]; // in this turn
  for (const [place, line] of lines.entries()) {
    const type = typeOf(line);
    if (!HEAD_TYPES.has(type)) continue;
    const [, , first = '', name = '', , rating = ''] = line.split('|', 6);
    const seat = SEATS.indexOf(first);
    if (type === 'player' && seat >= 0 && name) {
      names[seat] = name;
      head.players[seat] = toId(name);
      head.ratings[seat] ||= ratingIn(rating);
    } else if (type === 'tier') head.format = toId(first);
    else if (type === 'gametype') head.slots = first === 'singles' ? 1 : first === 'doubles' ? 2 : 0;
    else if (type === 'gen') head.generation = Number(first);
    else if (type === 'rated') head.rated = true;
    else if (type === 'turn') fainted.fill(false);
    else if (type === 'faint') fainted[SEATS.indexOf(first.slice(0, 2))] = true;
    else if (type === 'message' && first.endsWith(TURN_LIMIT)) fainted.fill(true);
    else if (type === 'tie') {
      Object.assign(head, { end: place, winner: -1 });
      if (!fainted.every(Boolean) && head.ending === 'played') head.ending = 'forfeit'; // by agreement
    } else if (type === 'win') Object.assign(head, { end: place, winner: winnerOf(names, first) });
    else if (type === '-message' && first.endsWith(' forfeited.')) head.ending = 'forfeit';
    else if (type === '-message' && OUT_OF_TIME.test(first)) head.ending = 'timer';
  }
  return head;
}

/**
 * @param {string} text
 * @param {string[]} lines of it
 * @param {Head} head of it
 * @returns {Log}
 */
export function readLog(text, lines, head) {
  makePublic(text, lines);
  const stops = stopsOf(lines);
  if (head.end < 0) throw new ReplayError('no winner', 'The log does not contain the result of the battle.');
  if (head.winner < -1) throw new ReplayError('no winner', 'The winner is neither player.', head.end + 1);
  return { ...head, text, lines, stops };
}

/**
 * @param {string} text
 * @returns {string[]} its lines
 */
export function split(text) {
  return text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

/**
 * @param {string} line
 * @returns {string} its type
 */
function typeOf(line) {
  const end = line.indexOf('|', 1);
  return end < 0 ? line.slice(1) : line.slice(1, end);
}

/**
 * Check that the log is public and of a reasonable size, and convert exact HP to what seats see.
 * @param {string} text
 * @param {string[]} lines of it
 */
function makePublic(text, lines) {
  if (!text.trim()) throw new ReplayError('empty log', 'The log is empty.');
  if (text.length > MAX_CHARACTERS) {
    throw new ReplayError('too long', `The log has more than ${MAX_CHARACTERS} characters.`);
  }
  if (lines.length > MAX_LINES) throw new ReplayError('too long', `The log has more than ${MAX_LINES} lines.`);
  for (const [place, line] of lines.entries()) {
    if (line.startsWith('|split|')) {
      throw new ReplayError('not public', 'The log contains lines that are private to one seat.', place + 1);
    }
    if (line.length > MAX_LINE_LENGTH) throw new ReplayError('too long', 'A line is too long.', place + 1);
    lines[place] = withPublicHp(line);
  }
}

/**
 * Old logs show exact HP; seats saw percentages.
 * @param {string} line
 * @returns {string}
 */
function withPublicHp(line) {
  const part = HP_PART.get(typeOf(line));
  if (!part) return line;
  const parts = line.split('|');
  if (!parts[part]) return line;
  parts[part] = parts[part].replace(EXACT_HP, toPercent);
  return parts.join('|');
}

/**
 * @param {string} text such as 231/404
 * @param {string} hp
 * @param {string} whole
 * @returns {string} as shown to the seats
 */
function toPercent(text, hp, whole) {
  if (PUBLIC_WHOLES.includes(whole) || Number(whole) === 0) return text;
  const percent = Math.ceil((100 * Number(hp)) / Number(whole));
  return `${percent === 100 && hp !== whole ? 99 : percent}/100`;
}

/**
 * @param {string} text
 * @returns {number}
 */
function ratingIn(text) {
  const rating = Number(text);
  return Number.isInteger(rating) && rating > 0 && rating < 10_000 ? rating : 0;
}

/**
 * @param {[string, string]} names
 * @param {string} name
 * @returns {number} seat, or -2
 */
function winnerOf(names, name) {
  const seat = names.indexOf(name);
  return seat < 0 || names[0] === names[1] ? -2 : seat;
}

/**
 * After choices, the simulator writes an empty line and, in newer logs, a time stamp. There is also an empty line
 * before the end of each turn.
 * @param {string[]} lines
 * @returns {Stop[]}
 */
function stopsOf(lines) {
  let marks = 0;
  for (const [place, line] of lines.entries()) if (line === '|' && lines[place + 1]?.startsWith('|t:|')) marks++;
  let turns = 0;
  for (const line of lines) if (line.startsWith('|turn|')) turns++;
  if (turns > MAX_TURNS) throw new ReplayError('too long', `The battle has more than ${MAX_TURNS} turns.`);
  const timed = marks >= turns - 1 && marks > 0;
  /** @type {Stop[]} */
  const stops = [];
  /** @type {Stop['kind'] | ''} */
  let kind = '';
  /** @type {string[]} */
  let shortOnTime = [];
  let before = -Infinity;
  for (const [place, line] of lines.entries()) {
    if (line.startsWith('|turn|')) kind = 'turn';
    else if (line.startsWith('|inactive|')) shortOnTime.push(...(LAST_SECONDS.exec(line)?.slice(1, 2).map(toId) ?? []));
    else if (line.startsWith('|teampreview')) kind = 'preview';
    else if (line === '|') {
      const next = lines[place + 1] ?? '';
      if (timed ? !next.startsWith('|t:|') : kind === 'switch' && !hasSwitchIn(lines, place)) continue;
      if (next.startsWith('|win|') || next.startsWith('|tie')) continue;
      const now = timed ? Number(next.slice('|t:|'.length)) || Infinity : Infinity;
      if (kind) stops.push({ at: place, kind, shortOnTime, waited: now - before });
      kind = 'switch';
      shortOnTime = [];
      before = now;
    }
  }
  if (stops.length > MAX_STOPS) throw new ReplayError('too long', `The battle stops more than ${MAX_STOPS} times.`);
  return stops;
}

/**
 * @param {string[]} lines
 * @param {number} place of an empty line
 * @returns {boolean} whether a Pokémon comes in before the next one; effects that end with a switch come first
 */
function hasSwitchIn(lines, place) {
  for (let at = place + 1; at < lines.length; at++) {
    if (lines[at].startsWith('|switch|')) return true;
    if (lines[at] === '|' || lines[at].startsWith('|upkeep') || lines[at].startsWith('|turn|')) return false;
  }
  return false;
}

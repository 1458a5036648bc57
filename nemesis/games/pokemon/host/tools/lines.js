// Turns the text of Gen 1 protocol lines and requests into the structs of native/lines.h and native/tracker/request.h,
// so that the native tracker can read battles of this simulator.

import { toId } from '../tracker/lexicon.js';

export const LINE_SIZE = 20;
export const REQUEST_SIZE = 180;
const TEAM_START = 24; // in a request
const MEMBER_SIZE = 26;
const NONE_OF_DEX = new Map([['fight', 168], ['recharge', 169]]);

const KINDS = [
  '', 'turn', 'empty', 'switch', 'move', 'cant', 'faint', '-damage', '-heal', '-status', '-curestatus', '-boost',
  '-unboost', '-clearallboost', '-start', '-end', '-prepare', '-mustrecharge', '-transform', '-miss', '-fail',
  '-notarget', '-immune', '-crit', '-supereffective', '-resisted',
];
const IGNORED = new Set([
  'upkeep', '-activate', '-hitcount', '-ohko', '-nothing', '-fieldactivate', '-message', '-hint', 't:', 'start', 'win',
  'tie', 'player', 'teamsize', 'gametype', 'gen', 'tier', 'rule', 'rated', 'debug', 'bigerror', 'message',
]);
const EFFECTS = [
  '', '(other)', 'slp', 'frz', 'par', 'psn', 'confusion', 'flinch', 'recharge', 'partiallytrapped', 'disable', 'bide',
  'focusenergy', 'leechseed', 'lightscreen', 'mimic', 'mist', 'reflect', 'substitute', 'typechange',
];
const OTHER = EFFECTS.indexOf('(other)');
const PARTIALLY_TRAPPED = EFFECTS.indexOf('partiallytrapped');
const STATUSES = ['', 'brn', 'par', 'slp', 'frz', 'psn', 'tox'];
const STATS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];
const GENDERS = ['', 'M', 'F', 'N'];
const TYPES = [
  '', 'normal', 'fighting', 'flying', 'poison', 'ground', 'rock', 'bug', 'ghost', 'fire', 'water', 'grass', 'electric',
  'psychic', 'ice', 'dragon',
];
const MISSED = 1;
const STILL = 2;
const SILENT = 4;

/**
 * @typedef {object} Dex
 * @property {{get: (name: string) => {num: number}}} moves
 * @property {{get: (name: string) => {num: number}}} species
 */

/** Writes the lines and requests of one battle. */
export class StructWriter {
  /**
   * @param {any} dex
   * @param {any} battle at its start, when the order of its teams is that of the sheets
   */
  constructor(dex, battle) {
    this.dex = dex;
    this.battle = battle;
    this.names = battle.sides.map(({ pokemon }) => pokemon.map((/** @type {any} */ { name }) => name));
  }

  /**
   * @param {string[]} lines
   * @param {number} from
   * @returns {Buffer} the structs of the lines from there on, as a spectator sees them
   */
  lines(lines, from) {
    const structs = [];
    for (let place = from; place < lines.length; place++) {
      if (!lines[place].startsWith('|')) continue;
      const parts = lines[place].split('|');
      if (parts[1] === 'split') place++;
      else if (!IGNORED.has(parts[1])) structs.push(this.line(parts));
    }
    return Buffer.concat(structs);
  }

  /**
   * @param {string[]} parts
   * @returns {Buffer}
   */
  line(parts) {
    const [, type, ident = '', third = ''] = parts;
    const kind = KINDS.indexOf(type || 'empty');
    if (kind < 0) throw new Error(`There is no struct for the line ${parts.join('|')}.`);
    const bytes = Buffer.alloc(LINE_SIZE);
    bytes[0] = kind;
    if (/^p[12]a: /.test(ident)) bytes[1] = seatOf(ident);
    else if (type !== '' && type !== 'turn' && type !== '-clearallboost' && type !== '-notarget') {
      throw new Error(`The line ${parts.join('|')} names no active Pokémon.`);
    }
    const tags = parts.slice(4);
    bytes[3] = (tags.includes('[miss]') && MISSED) | (tags.includes('[still]') && STILL);
    if (type === '-start') bytes[3] |= tags.includes('[silent]') && SILENT;
    if (type === 'turn') bytes.writeUInt16LE(Number(ident), 18);
    else if (type === 'switch') this.writeSwitch(bytes, parts);
    else if (type === 'move') this.writeMove(bytes, parts);
    else if (type === 'cant') [bytes[4], bytes[5]] = [effectOf(third), parts[4] ? this.move(parts[4]) : 0];
    else if (type === '-damage' || type === '-heal') this.writeHealth(bytes, parts);
    else if (type === '-status' || type === '-curestatus') bytes[7] = STATUSES.indexOf(third);
    else if (type === '-boost' || type === '-unboost') this.writeBoost(bytes, parts);
    else if (type === '-start') this.writeStart(bytes, parts);
    else if (type === '-end') bytes[4] = tags.includes('[partiallytrapped]') ? PARTIALLY_TRAPPED : effectOf(third);
    else if (type === '-prepare') bytes[5] = this.move(third);
    else if (type === '-transform') bytes[2] = 1 + seatOf(third);
    return bytes;
  }

  /** @type {(bytes: Buffer, parts: string[]) => void} */
  writeSwitch(bytes, [, , ident, details, condition]) {
    const [species, ...rest] = details.split(', ');
    const level = rest.find((part) => part.startsWith('L'));
    const gender = rest.find((part) => part === 'M' || part === 'F') ?? 'N';
    writeCondition(bytes, condition);
    bytes[10] = this.dex.species.get(species).num;
    bytes[11] = level ? Number(level.slice(1)) : 100;
    bytes[12] = GENDERS.indexOf(gender);
    bytes[13] = this.names[seatOf(ident)].indexOf(ident.slice(ident.indexOf(': ') + 2));
  }

  /** @type {(bytes: Buffer, parts: string[]) => void} */
  writeMove(bytes, [, , , move, target, ...tags]) {
    bytes[5] = this.move(move);
    if (/^p[12]/.test(target)) bytes[2] = 1 + seatOf(target);
    const from = tags.find((tag) => tag.startsWith('[from] '));
    if (from) bytes[6] = this.move(from.slice('[from] '.length));
  }

  /** @type {(bytes: Buffer, parts: string[]) => void} */
  writeHealth(bytes, [, , , condition, ...tags]) {
    const from = tags.find((tag) => tag.startsWith('[from] '));
    writeCondition(bytes, condition);
    if (from) bytes[4] = effectOf(from.slice('[from] '.length));
  }

  /** @type {(bytes: Buffer, parts: string[]) => void} */
  writeBoost(bytes, [, , , stat, stages]) {
    bytes[14] = STATS.indexOf(stat);
    bytes.writeUInt16LE(Number(stages), 18);
  }

  /** @type {(bytes: Buffer, parts: string[]) => void} */
  writeStart(bytes, [, , , effect, detail]) {
    bytes[4] = effectOf(effect);
    if (bytes[4] === OTHER) throw new Error(`There is no number for the effect ${effect}.`);
    const id = EFFECTS[bytes[4]];
    if (id === 'disable' || id === 'mimic') bytes[5] = this.move(detail);
    if (id !== 'typechange') return;
    for (const [place, type] of detail.split('/').entries()) bytes[15 + place] = TYPES.indexOf(toId(type));
  }

  /**
   * @param {string} name
   * @returns {number}
   */
  move(name) {
    const { num } = this.dex.moves.get(name);
    if (!(num > 0)) throw new Error(`Gen 1 has no move called ${name}.`);
    return num;
  }

  /**
   * @param {any} request
   * @param {number} seat
   * @returns {Buffer}
   */
  request(request, seat) {
    const bytes = Buffer.alloc(REQUEST_SIZE);
    const active = request.active?.[0];
    const moves = active?.moves ?? [];
    const hasPp = moves[0]?.pp !== undefined;
    const kind = request.forceSwitch ? 3 : active ? 2 : 0;
    bytes.set([kind, request.side.pokemon.length, Number(Boolean(active?.trapped)), moves.length, Number(hasPp)]);
    for (const [place, { id, pp, maxpp, disabled }] of moves.entries()) {
      bytes[5 + place] = NONE_OF_DEX.get(id) ?? this.move(id);
      if (hasPp) [bytes[9 + place], bytes[13 + place], bytes[17 + place]] = [pp, maxpp, Number(Boolean(disabled))];
    }
    for (const [place, entry] of request.side.pokemon.entries()) {
      const { maxhp } = this.battle.sides[seat].pokemon[place];
      this.writeMember(bytes.subarray(TEAM_START + place * MEMBER_SIZE), entry, seat, maxhp);
    }
    return bytes;
  }

  /**
   * @param {Buffer} bytes
   * @param {any} entry
   * @param {number} seat
   * @param {number} maxHp
   */
  writeMember(bytes, entry, seat, maxHp) {
    const [, hp, status = ''] = /^(\d+)\S*(?: (.*))?$/.exec(entry.condition) ?? [];
    const [species, ...rest] = entry.details.split(', ');
    const level = rest.find((/** @type {string} */ part) => part.startsWith('L'));
    const gender = rest.find((/** @type {string} */ part) => part === 'M' || part === 'F') ?? 'N';
    bytes[0] = this.names[seat].indexOf(entry.ident.slice(entry.ident.indexOf(': ') + 2));
    bytes[1] = this.dex.species.get(species).num;
    bytes[2] = level ? Number(level.slice(1)) : 100;
    bytes[3] = GENDERS.indexOf(gender);
    bytes[4] = Math.max(0, STATUSES.indexOf(status)); // fnt is none
    bytes[5] = Number(entry.active);
    bytes[6] = entry.moves.length;
    for (const [place, id] of entry.moves.entries()) bytes[7 + place] = this.move(id);
    bytes.writeUInt16LE(Number(hp), 12);
    bytes.writeUInt16LE(maxHp, 14);
    const stats = ['atk', 'def', 'spa', 'spd', 'spe'];
    for (const [place, stat] of stats.entries()) bytes.writeUInt16LE(entry.stats[stat], 16 + 2 * place);
  }
}

/** @type {(ident: string) => number} */
function seatOf(ident) {
  return ident.charCodeAt(1) - 49; // 49 is 1
}

/** @type {(text: string) => number} */
function effectOf(text) {
  const place = EFFECTS.indexOf(toId(text.replace(/^move: /, '')));
  return place < 0 ? OTHER : place;
}

/** @type {(bytes: Buffer, condition: string) => void} */
function writeCondition(bytes, condition) {
  const [, hp, max = '0', status = ''] = /^(\d+)(?:\/(\d+)\S*)?(?: (.*))?$/.exec(condition) ?? [];
  bytes[8] = Number(hp);
  bytes[9] = Number(max);
  bytes[7] = Math.max(0, STATUSES.indexOf(status));
}

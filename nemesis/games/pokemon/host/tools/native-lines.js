// Showdown's log lines as the native engine's lines (native/lines.h), in the text of native/engine/describe.c.

import { BOOSTS, STATUSES, TYPES } from './native-state.js';

const KINDS = [
  '', 'turn', '', 'switch', 'move', 'cant', 'faint', '-damage', '-heal', '-status', '-curestatus', '-boost', '-unboost',
  '-clearallboost', '-start', '-end', '-prepare', '-mustrecharge', '-transform', '-miss', '-fail', '-notarget',
  '-immune', '-crit', '-supereffective', '-resisted',
];
const EMPTY = 2;
/** Of LineEffect, by the names that Showdown writes. */
const EFFECTS = new Map(Object.entries({
  slp: 2, frz: 3, par: 4, psn: 5, confusion: 6, flinch: 7, recharge: 8, partiallytrapped: 9, Disable: 10, Bide: 11,
  'move: Focus Energy': 12, 'move: Leech Seed': 13, 'Light Screen': 14, Mimic: 15, Mist: 16, Reflect: 17,
  Substitute: 18, typechange: 19,
}));
const OTHER = 1;
const TRAPPED = 9;
const GENDERS = new Map([['M', 1], ['F', 2]]);
const GENDERLESS = 3;
const FLAGS = new Map([['[miss]', 1], ['[still]', 2], ['[silent]', 4]]);
const FIELDS = [
  'seat', 'target', 'flags', 'effect', 'move', 'from', 'status', 'hp', 'maxhp', 'species', 'level', 'gender', 'name',
  'stat', 'type', 'second',
];

/** @typedef {Record<string, number>} Line */

/** Reads lines of one battle. */
export class LineReader {
  /**
   * @param {any} dex
   * @param {string[][]} names of the teams
   */
  constructor(dex, names) {
    this.dex = dex;
    this.names = names;
  }

  /** @param {string[]} log @param {number} from @returns {string} the text of all lines that the engine writes */
  read(log, from) {
    let text = '';
    for (let place = from; place < log.length; place++) {
      if (log[place].startsWith('|split|')) place += 2; // the secret line is skipped
      const line = this.line(log[place]);
      if (line) text += ` ${line}`;
    }
    return text;
  }

  /** @param {string} text */
  line(text) {
    if (text === '|') return String(EMPTY);
    const parts = text.split('|').slice(1);
    const kind = KINDS.indexOf(parts[0], 1);
    if (kind < 0 || !parts[0]) return '';
    /** @type {Line} */
    const line = {};
    if (/^p[12]/.test(parts[1] ?? '')) line.seat = Number(parts[1][1]) - 1;
    this.fill(line, parts);
    const fields = FIELDS.flatMap((field, index) => (line[field] ? [`,${index}=${line[field]}`] : []));
    return kind + fields.join('') + (line.number ? `,n=${line.number}` : '');
  }

  /** @param {Line} line @param {string[]} parts */
  fill(line, parts) {
    const [kind, , third] = parts;
    const tags = parts.slice(2).filter((part) => part.startsWith('['));
    switch (kind) {
      case 'turn': line.number = Number(parts[1]); break;
      case 'switch': this.fillSwitch(line, parts); break;
      case 'move': this.fillMove(line, parts, tags); break;
      case 'cant':
        line.effect = EFFECTS.get(third) ?? OTHER;
        if (parts[3]) line.move = this.move(parts[3]);
        break;
      case '-damage':
      case '-heal':
        fillHealth(line, third);
        line.effect = causeOf(tags);
        break;
      case '-status': line.status = STATUSES.indexOf(third); break;
      case '-boost':
      case '-unboost':
        line.stat = BOOSTS.indexOf(third);
        line.number = Number(parts[3]);
        break;
      case '-start': this.fillStart(line, parts, tags); break;
      case '-end': line.effect = tags.includes('[partiallytrapped]') ? TRAPPED : (EFFECTS.get(third) ?? OTHER); break;
      case '-prepare': line.move = this.move(third); break;
      case '-transform': line.target = Number(third[1]); break;
      default: break;
    }
  }

  /** @param {Line} line @param {string[]} parts */
  fillSwitch(line, [, ident, details, condition]) {
    const [species, ...rest] = details.split(', ');
    line.species = this.dex.species.get(species).num;
    line.level = 100;
    line.gender = GENDERLESS;
    for (const part of rest) {
      if (part.startsWith('L')) line.level = Number(part.slice(1));
      else line.gender = GENDERS.get(part) ?? GENDERLESS;
    }
    line.name = this.names[line.seat].indexOf(ident.slice(5));
    fillHealth(line, condition);
  }

  /** @param {Line} line @param {string[]} parts @param {string[]} tags */
  fillMove(line, [, , name, target], tags) {
    line.move = this.move(name);
    if (/^p[12]/.test(target)) line.target = Number(target[1]);
    const from = tags.find((tag) => tag.startsWith('[from] '));
    if (from) line.from = this.move(from.slice(7));
    line.flags = flagsOf(tags);
  }

  /** @param {Line} line @param {string[]} parts @param {string[]} tags */
  fillStart(line, [, , effect, detail], tags) {
    line.effect = EFFECTS.get(effect) ?? OTHER;
    line.flags = flagsOf(tags) & 4;
    if (effect === 'Disable' || effect === 'Mimic') line.move = this.move(detail);
    if (effect === 'typechange') [line.type, line.second] = detail.split('/').map((type) => TYPES.indexOf(type));
  }

  /** @param {string} name */
  move(name) {
    if (name === 'nomove') return 166; // not a move, but its number
    return this.dex.moves.get(name.replace('move: ', '')).num;
  }
}

/** @param {Line} line @param {string} condition */
function fillHealth(line, condition) {
  const [, hp, maxhp, status] = /^(\d+)\/(\d+)(?: (\w+))?$/.exec(condition) ?? [];
  if (!hp) return; // 0 fnt
  line.hp = Number(hp);
  line.maxhp = Number(maxhp);
  line.status = status ? STATUSES.indexOf(status) : 0;
}

/** @param {string[]} tags */
function causeOf(tags) {
  const from = tags.find((tag) => tag.startsWith('[from] '))?.slice(7);
  if (!from) return 0;
  return from === 'psn' || from === 'confusion' ? (EFFECTS.get(from) ?? OTHER) : OTHER;
}

/** @param {string[]} tags */
function flagsOf(tags) {
  return tags.reduce((bits, tag) => bits | (FLAGS.get(tag) ?? 0), 0);
}

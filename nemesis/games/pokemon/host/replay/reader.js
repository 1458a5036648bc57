// Reads batches of public logs of one format into arrays.

/** @import { Format } from './battle.js' */
/** @import { Log } from './log.js' */
/** @import { SpeciesUsage } from './usage.js' */

import { maskSize } from '../battle/masks.js';
import { BattleReading, checkFormat, isOf } from './battle.js';
import { teamCompleter } from './completion.js';
import { ReplayError, headOf, readLog, split } from './log.js';
import { gatherTeams } from './teams.js';
import { Usage } from './usage.js';

const TEAM = 6;
const MAX_CAUSE_LENGTH = 100; // characters
const ROUNDING = 2; // seconds by which two times of a log may be apart from what passed
/** Generations whose gimmicks change what a move is called, which is not followed. */
const NOT_READ = [6, 7, 8];
const FIRST_GENERATION_WITH_ABILITIES = 3;
const FIRST_GENERATION_WITH_TERASTALLIZING = 9;

export class ReplayReader {
  /**
   * @param {import('../battle/arena.js').Arena} arena that knows the format
   */
  constructor({ rules, space, write, viewSize, facts }) {
    const { dex, format } = rules;
    const table = dex.formats.getRuleTable(format);
    const unsupported = unsupportedRule(dex, table);
    if (unsupported) throw new Error(`Replays of ${format.id} cannot be read: ${unsupported}.`);
    /** @type {Format} */
    this.format = {
      dex, id: format.id, space: { ...space, ...facts }, write, viewSize, complete: teamCompleter(null),
      autoChooseAfter: autoChooseTime(table),
      terastallizes: dex.gen >= FIRST_GENERATION_WITH_TERASTALLIZING && !table.has('terastalclause'),
    };
  }

  /**
   * From now on, fill in what logs do not tell.
   * @param {Record<string, SpeciesUsage>} usual by species, in an order that is always the same
   */
  complete(usual) {
    this.format.complete = teamCompleter(new Map(Object.entries(usual)));
  }

  /**
   * @param {string[]} logs
   * @param {boolean} played whether battles that ended by forfeit or timer are left out
   * @returns {Usage} what these logs tell of teams; those that cannot be read tell nothing
   */
  usage(logs, played) {
    const usage = new Usage(this.format.dex);
    for (const text of logs) {
      try {
        const lines = split(text);
        const log = readLog(text, lines, headOf(lines));
        this.check(log, played);
        for (const knowledge of gatherTeams(this.format.dex, log)) usage.add(knowledge);
      } catch {
        continue; // whoever reads it will hear why
      }
    }
    return usage;
  }

  /**
   * @param {string[]} logs
   * @param {boolean} played whether battles that ended by forfeit or timer are refused
   * @returns {Uint8Array[]} parts of a frame: counts, then by decision views, masks, masks of what is possible (empty
   *   where nothing is known of that), actions, ticks, flags, seats and guesses, then what is to be said of each battle as
   *   JSON
   */
  read(logs, played) {
    const rows = [];
    const battles = [];
    for (const text of logs) {
      const { battle, decisions } = this.readOne(text, played);
      battles.push({ ...battle, rows: decisions.length });
      rows.push(...decisions);
    }
    const nothing = new Uint8Array(maskSize(this.format.space.size));
    const told = Buffer.from(JSON.stringify(battles));
    const actions = Int16Array.from(rows, ({ reading }) => reading?.action ?? -1);
    const guesses = new Uint16Array(rows.length * TEAM);
    rows.forEach(({ guessed }, row) => guesses.set(guessed, row * TEAM));
    return [
      bytes(Int32Array.of(rows.length, told.length)),
      Buffer.concat(rows.map(({ view }) => bytes(view))), // one write is much cheaper than many
      Buffer.concat(rows.map(({ mask }) => mask)),
      Buffer.concat(rows.map(({ reading }) => reading?.possible ?? nothing)),
      bytes(actions),
      bytes(Int16Array.from(rows, ({ tick }) => tick)),
      Uint8Array.from(rows, ({ flags }) => flags),
      Uint8Array.from(rows, ({ seat }) => seat),
      bytes(guesses),
      told,
    ];
  }

  /**
   * @param {Log} log
   * @param {boolean} played
   */
  check(log, played) {
    checkFormat(log, this.format);
    if (!played || log.ending === 'played') return;
    throw new ReplayError(`ended by ${log.ending}`, 'The battle was not played to its end.');
  }

  /**
   * @param {string} text
   * @param {boolean} played
   */
  readOne(text, played) {
    const lines = split(text);
    const head = headOf(lines);
    const { winner, ending, rated, players, ratings, format } = head;
    const toEnd = head.end >= 0 && ending === 'played';
    const rated_to_end = rated && toEnd && isOf(head, this.format); // be it read or not
    const told = { winner, ending, rated, players, ratings, format, rated_to_end };
    try {
      const log = readLog(text, lines, head);
      this.check(log, played);
      const reading = new BattleReading(this.format, log);
      reading.run();
      const usable = [0, 1].map((seat) => reading.usable(seat));
      const { problems, unknown } = reading;
      return {
        battle: { ...told, usable, problems, unknown, reason: '', message: '', line: 0 },
        decisions: reading.decisions.filter(({ seat }) => usable[seat]),
      };
    } catch (error) {
      const { reason, message, line } = error instanceof ReplayError ? error : unexpected(error);
      return { battle: { ...told, reason, message, line }, decisions: [] };
    }
  }
}

/**
 * @param {any} error that nothing was prepared for
 * @returns {ReplayError}
 */
function unexpected(error) {
  const told = String(error?.message ?? error).split('\n', 1)[0].slice(0, MAX_CAUSE_LENGTH);
  return new ReplayError('reader failed', `The reader does not know what to make of it: ${told}`);
}

/**
 * @param {any} dex
 * @param {any} table of a format's rules
 * @returns {string} what of them is not followed, or ''
 */
function unsupportedRule({ gen, currentMod }, table) {
  if (NOT_READ.includes(gen) || currentMod.startsWith('champions')) {
    return 'mega evolutions, Z-moves and Dynamax are not followed';
  }
  if (table.has('natdexmod') || table.has('+tag:past')) {
    return 'it brings back mega evolutions and Z-moves, which are not followed';
  }
  if (gen >= FIRST_GENERATION_WITH_ABILITIES && !table.has('obtainableabilities')) {
    return 'Pokémon may have abilities there that their species has not, and nobody can tell which';
  }
  return '';
}

/**
 * @param {any} table of a format's rules
 * @returns {number} seconds that a player has at least before the server chooses; infinity if it never does
 */
function autoChooseTime(table) {
  const { timeoutAutoChoose, maxPerTurn } = table.timer?.[0] ?? {};
  return timeoutAutoChoose ? maxPerTurn - ROUNDING : Infinity;
}

/**
 * @param {Int8Array | Int16Array | Uint16Array | Int32Array} array
 */
function bytes(array) {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

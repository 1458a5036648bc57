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
const ROUNDING = 2; // seconds by which the difference of two time stamps may be off
/** Generations whose gimmicks rename moves, which is not supported. */
const NOT_READ = [6, 7, 8];
const FIRST_GENERATION_WITH_ABILITIES = 3;
const FIRST_GENERATION_WITH_TERASTALLIZING = 9;

export class ReplayReader {
  /**
   * @param {import('../battle/arena.js').Arena} arena of the format
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
   * From now on, guess what logs do not show.
   * @param {Record<string, SpeciesUsage>} usual by species, in a fixed order
   */
  complete(usual) {
    this.format.complete = teamCompleter(new Map(Object.entries(usual)));
  }

  /**
   * @param {string[]} logs
   * @param {boolean} played whether to skip battles that ended by forfeit or timer
   * @returns {Usage} usage statistics of the teams; logs that cannot be read are skipped
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
        continue; // `read` reports the reason
      }
    }
    return usage;
  }

  /**
   * @param {string[]} logs
   * @param {boolean} played whether to refuse battles that ended by forfeit or timer
   * @returns {Uint8Array[]} parts of a frame: counts, then for all decisions views, masks, masks of possible actions
   *   (empty if unknown), actions, ticks, flags, seats and guesses, then a summary of each battle as JSON
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
    const summaries = Buffer.from(JSON.stringify(battles));
    const actions = Int16Array.from(rows, ({ reading }) => reading?.action ?? -1);
    const guesses = new Uint16Array(rows.length * TEAM);
    rows.forEach(({ guessed }, row) => guesses.set(guessed, row * TEAM));
    return [
      bytes(Int32Array.of(rows.length, summaries.length)),
      Buffer.concat(rows.map(({ view }) => bytes(view))), // one write is much faster than many
      Buffer.concat(rows.map(({ mask }) => mask)),
      Buffer.concat(rows.map(({ reading }) => reading?.possible ?? nothing)),
      bytes(actions),
      bytes(Int16Array.from(rows, ({ tick }) => tick)),
      Uint8Array.from(rows, ({ flags }) => flags),
      Uint8Array.from(rows, ({ seat }) => seat),
      bytes(guesses),
      summaries,
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
    const rated_to_end = rated && toEnd && isOf(head, this.format); // whether or not it can be read
    const summary = { winner, ending, rated, players, ratings, format, rated_to_end };
    try {
      const log = readLog(text, lines, head);
      this.check(log, played);
      const reading = new BattleReading(this.format, log);
      reading.run();
      const usable = [0, 1].map((seat) => reading.usable(seat));
      const { problems, unknown } = reading;
      return {
        battle: { ...summary, usable, problems, unknown, reason: '', message: '', line: 0 },
        decisions: reading.decisions.filter(({ seat }) => usable[seat]),
      };
    } catch (error) {
      const { reason, message, line } = error instanceof ReplayError ? error : unexpected(error);
      return { battle: { ...summary, reason, message, line }, decisions: [] };
    }
  }
}

/**
 * @param {any} error of any kind
 * @returns {ReplayError}
 */
function unexpected(error) {
  const cause = String(error?.message ?? error).split('\n', 1)[0].slice(0, MAX_CAUSE_LENGTH);
  return new ReplayError('reader failed', `The reader failed: ${cause}`);
}

/**
 * @param {any} dex
 * @param {any} table of a format's rules
 * @returns {string} what is not supported in them, or ''
 */
function unsupportedRule({ gen, currentMod }, table) {
  if (NOT_READ.includes(gen) || currentMod.startsWith('champions')) {
    return 'mega evolutions, Z-moves and Dynamax are not supported';
  }
  if (table.has('natdexmod') || table.has('+tag:past')) {
    return 'it allows mega evolutions and Z-moves, which are not supported';
  }
  if (gen >= FIRST_GENERATION_WITH_ABILITIES && !table.has('obtainableabilities')) {
    return 'Pokémon may have abilities that their species lacks, which cannot be inferred';
  }
  return '';
}

/**
 * @param {any} table of a format's rules
 * @returns {number} minimum of seconds before the server chooses for a player; infinity if it never does
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

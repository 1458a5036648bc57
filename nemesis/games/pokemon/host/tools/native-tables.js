// Writes the tables of the native Gen 1 engine, from Showdown's dex, as C.
//
//   node tools/native-tables.js > ../native/engine/tables.c
//
// A move's own code is not exported: the engine has it by the move's number. What it knows how to play is checked here,
// so that a dex with other effects is refused.

import { createHash } from 'node:crypto';

import { loadSimulator } from '../simulator.js';
import { BOOSTS, CONDITIONS, STATUSES, TYPES } from './native-state.js';

const CATEGORIES = ['Physical', 'Special', 'Status'];
const SELF = ['self', 'all', 'allySide', 'allyTeam', 'adjacentAllyOrSelf'];
const FLAGS = { ignoresImmunity: 1, targetsSelf: 2, oneHitKo: 4, selfDestruct: 8, callable: 16, damageIsLevel: 32 };
const MOVES = 165;
const SPECIES = 151;
// What Showdown makes of a move that was never selected.
const NOTHING = {
  basePower: 102, ohko: false, flags: {}, type: '???', category: 'Special', accuracy: (100 * 81) / 256, pp: 10,
};

const { Dex } = loadSimulator({ overlay: false });
const dex = Dex.mod('gen1');

/** @param {string[]} names @param {string | undefined} name */
function place(names, name) {
  const found = names.indexOf(name ?? '');
  if (found < 0) throw new Error(`The native engine does not know ${name}.`);
  return found;
}

/** @param {any} boosts */
function boostList(boosts) {
  return BOOSTS.map((stat) => boosts?.[stat] ?? 0);
}

/** @param {any} move */
function flagsOf(move) {
  let flags = 0;
  if (move.ignoreImmunity === true) flags |= FLAGS.ignoresImmunity;
  if (SELF.includes(move.target)) flags |= FLAGS.targetsSelf;
  if (move.ohko) flags |= FLAGS.oneHitKo;
  if (move.selfdestruct) flags |= FLAGS.selfDestruct;
  if (move.flags.metronome) flags |= FLAGS.callable;
  if (move.damage === 'level') flags |= FLAGS.damageIsLevel;
  return flags;
}

/** @param {any} move */
function moveRow(move) {
  const secondary = move.secondary ?? {};
  const hits = Array.isArray(move.multihit) ? 255 : (move.multihit ?? 0);
  const numbers = [
    place(TYPES, move.type), place(CATEGORIES, move.category), move.basePower,
    move.accuracy === true ? 0 : Math.floor((move.accuracy * 255) / 100), move.pp, flagsOf(move), move.critRatio,
    move.priority, hits, typeof move.damage === 'number' ? move.damage : 0, move.recoil ?? [0, 0], move.drain ?? [0, 0],
    place(STATUSES, move.status), place(CONDITIONS, move.volatileStatus),
    place(CONDITIONS, move.self?.volatileStatus),
    boostList(move.boosts), secondary.chance ?? 0, place(STATUSES, secondary.status),
    place(CONDITIONS, secondary.volatileStatus), boostList(secondary.boosts), Number(Boolean(move.boosts)),
    Number(Boolean(secondary.boosts)),
  ];
  const text = JSON.stringify(numbers).replaceAll('[', '{').replaceAll(']', '}').replaceAll(',', ', ');
  return `  ${text}, // ${move.name}`;
}

/** @param {any} species */
function speciesRow({ baseStats, types, name }) {
  const { hp, atk, def, spa, spd, spe } = baseStats;
  const pair = [place(TYPES, types[0]), types[1] ? place(TYPES, types[1]) : 0];
  return `  {${hp}, {${[atk, def, spa, spd, spe].join(', ')}}, {${pair.join(', ')}}}, // ${name}`;
}

/** @param {(attack: string, defence: string) => number} value */
function typeTable(value) {
  const known = (/** @type {string} */ attack, /** @type {string} */ defence) =>
    attack === '???' || defence === '???' ? 0 : value(attack, defence);
  const rows = TYPES.map((attack) => TYPES.map((defence) => known(attack, defence)));
  return rows.map((row) => `  {${row.join(', ')}},`).join('\n');
}

/** @param {string} name @param {string} defence */
function taken(name, defence) {
  return defence === '???' ? 0 : (dex.types.get(defence).damageTaken[name] ?? 0);
}

/** @param {string} status */
function immuneRow(status) {
  const immune = TYPES.map((type) => Number(status !== '' && taken(status === 'tox' ? 'psn' : status, type) === 3));
  return `  {${immune.join(', ')}},`;
}

/** @param {any[]} entries @param {number} last */
function byNumber(entries, last) {
  const found = new Map();
  for (const entry of entries) {
    const present = !entry.forme && entry.isNonstandard !== 'Future';
    if (entry.num > 0 && entry.num <= last && present) found.set(entry.num, entry);
  }
  if (found.size !== last) throw new Error(`Expected ${last} entries, found ${found.size}.`);
  return Array.from({ length: last }, (_, index) => found.get(index + 1));
}

const moves = byNumber([...dex.moves.all()], MOVES);
const species = byNumber([...dex.species.all()], SPECIES);
const callable = [...dex.moves.all()]
  .filter((move) => (!move.isNonstandard || move.isNonstandard === 'Unobtainable') && move.flags.metronome)
  .sort((one, other) => one.num - other.num);
const nothing = { ...dex.moves.get('fissure'), ...NOTHING, name: 'no move' };

const body = `const MoveData nemesis_moves[MOVE_COUNT + 1] = {
  {0},
${[...moves, nothing].map(moveRow).join('\n')}
};

const SpeciesData nemesis_species[SPECIES_COUNT] = {
  {0, {0}, {0}},
${species.map(speciesRow).join('\n')}
};

const int8_t nemesis_effectiveness[TYPE_COUNT][TYPE_COUNT] = {
${typeTable((attack, defence) => [0, 1, -1, 0][taken(attack, defence)])}
};

const uint8_t nemesis_type_immune[TYPE_COUNT][TYPE_COUNT] = {
${typeTable((attack, defence) => Number(taken(attack, defence) === 3))}
};

const uint8_t nemesis_status_immune[STATUS_COUNT][TYPE_COUNT] = {
${STATUSES.slice(0, -1).map(immuneRow).join('\n')}
};

const uint8_t nemesis_callable_count = ${callable.length};

const uint8_t nemesis_callable[] = {
  ${callable.map(({ num }) => num).join(', ').replace(/(.{1,112})(, |$)/g, '$1,\n  ').trimEnd()}
};
`;
const hash = createHash('sha256').update(body).digest('hex');
console.log(`// Generated from Showdown's Gen 1 dex by host/tools/native-tables.js. SHA-256 of what follows the include:
// ${hash}

#include "tables.h"

${body.trimEnd()}`);

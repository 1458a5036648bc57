// Set-ups of Gen 1 battles to compare engines: sheets, generated teams, wild teams, mirrors, few PP, long battles.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { generatedTeam } from './random-teams.js';

/** @import { Simulator } from '../simulator.js' */
/** @import { Random } from './play.js' */
/** @import { Setup } from './native-reference.js' */

/** Moves with code of their own, and those that interact with them. */
const CODED = `bide bind clamp conversion counter dig disable firespin fly focusenergy haze highjumpkick jumpkick
  leechseed lightscreen metronome mimic minimize mirrormove mist psywave rage razorwind recover reflect rest skullbash
  skyattack solarbeam softboiled splash substitute superfang wrap toxic transform dreameater hyperbeam thrash petaldance
  doubleslap twineedle supersonic confuseray hypnosis sleeppowder icebeam fireblast explosion selfdestruct fissure
  guillotine thunderwave glare stomp psybeam megadrain doubleedge quickattack swift growl screech swordsdance amnesia
  agility sandattack doubleteam defensecurl roar teleport seismictoss nightshade dragonrage payday`.split(/\s+/);
/** Moves that keep a battle from ending. */
const PATIENT = `recover rest softboiled splash teleport haze mist reflect lightscreen transform substitute growl leer
  conversion`.split(/\s+/);
/** Moves that meet in rare ways. */
const THEMES = [
  'substitute confuseray',
  'transform spore sleeppowder',
  'substitute confuseray supersonic jumpkick highjumpkick psybeam',
  'transform mimic metronome icebeam thunderwave',
  'metronome mirrormove wrap hyperbeam thrash rage bide',
  'wrap clamp haze sleeppowder rest toxic agility',
  'counter substitute fissure bide seismictoss hyperbeam',
  'disable rage selfdestruct explosion substitute',
  'toxic leechseed haze rest wrap fireblast',
  'dig fly swift transform thunderwave confuseray metronome',
  'mimic transform metronome mirrormove',
  'hyperbeam sleeppowder spore stomp wrap haze',
  'petaldance thrash disable haze confuseray sandattack',
  'icebeam fireblast haze wrap bide metronome',
  'conversion reflect lightscreen amnesia growl screech haze',
  'metronome',
  'solarbeam skyattack metronome disable thunderwave confuseray',
].map((names) => names.split(' '));
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];
const TURNS = 1001;

/** @type {Record<string, (simulator: Simulator, random: Random, sheets: string) => Setup>} */
export const KINDS = {
  sheets: (simulator, random, sheets) => {
    const teams = sheetTeams(simulator, sheets);
    return setup(random, [teams[random(teams.length)], teams[random(teams.length)]], 6);
  },
  generated: (simulator, random) => {
    const format = simulator.Dex.formats.get('gen1randombattle');
    return setup(random, [0, 1].map(() => generatedTeam(simulator, format, random)), 6);
  },
  wild: (simulator, random) => setup(random, [0, 1].map(() => wild(simulator, random, {})), [0, 3, 6, 20][random(4)]),
  mirror: (simulator, random) => {
    const team = wild(simulator, random, {});
    return setup(random, [team, team], [0, 4, 10][random(3)]);
  },
  pp: (simulator, random) => {
    const limits = { small: true };
    const made = setup(random, [0, 1].map(() => wild(simulator, random, limits)), [0, 6, 20][random(3)]);
    return { ...made, pp: Array.from({ length: slotsOf(simulator, made.teams) }, () => random(4)) };
  },
  long: (simulator, random) => {
    const teams = [0, 1].map(() => wild(simulator, random, { pool: PATIENT }));
    return setup(random, teams, random(2) ? 2 : 0);
  },
  focused: (simulator, random) => {
    const pool = [...draw(THEMES, random), ...(random(2) ? draw(THEMES, random) : [])];
    const limits = { pool, equal: random(3) === 0 };
    const made = setup(random, [0, 1].map(() => wild(simulator, random, limits)), [0, 3, 8, 20][random(4)]);
    const few = random(4) === 0;
    return { ...made, pp: few ? Array.from({ length: slotsOf(simulator, made.teams) }, () => random(8)) : null };
  },
  // Every move alike, so that those without code of their own are used as well.
  even: (simulator, random) => setup(random, [0, 1].map(() => wild(simulator, random, { even: true })), 8),
};

/**
 * @param {Random} random
 * @param {string[]} teams
 * @param {number} switching
 * @returns {Setup}
 */
function setup(random, teams, switching) {
  const seed = Array.from({ length: 4 }, () => random(65536).toString(16).padStart(4, '0')).join('');
  return { seed, teams, pp: null, most: TURNS, switching, habit: random(3) === 0 };
}

/** @type {Map<string, string[]>} */
const knownSheets = new Map();

/** @param {Simulator} simulator @param {string} folder @returns {string[]} */
function sheetTeams({ Teams }, folder) {
  let teams = knownSheets.get(folder);
  if (!teams) {
    const files = readdirSync(folder).filter((name) => name.endsWith('.txt')).sort();
    teams = files.map((name) => Teams.pack(withSpreads(Teams.import(readFileSync(join(folder, name), 'utf8')))));
    knownSheets.set(folder, teams);
  }
  return teams;
}

/** @param {any} team Gen 1 teams need their EVs and abilities to be written. */
function withSpreads(team) {
  for (const set of team) {
    set.evs ??= Object.fromEntries(STATS.map((stat) => [stat, 252]));
    set.ability = 'No Ability';
  }
  return team;
}

/** @param {Simulator} simulator @param {string[]} teams */
function slotsOf({ Teams }, teams) {
  return teams.flatMap((team) => Teams.unpack(team) ?? []).reduce((sum, set) => sum + set.moves.length, 0);
}

/** @type {WeakMap<object, {species: any[], moves: string[]}>} */
const knownPools = new WeakMap();

/** @param {any} dex */
function poolsOf(dex) {
  let pools = knownPools.get(dex);
  if (!pools) {
    const present = (/** @type {any[]} */ entries, /** @type {number} */ last) =>
      entries.filter(({ num, isNonstandard, forme }) => num > 0 && num <= last && isNonstandard !== 'Future' && !forme);
    pools = { species: present(dex.species.all(), 151), moves: present(dex.moves.all(), 165).map(({ id }) => id) };
    knownPools.set(dex, pools);
  }
  return pools;
}

/**
 * @param {Simulator} simulator
 * @param {Random} random
 * @param {{small?: boolean, pool?: string[], even?: boolean, equal?: boolean}} limits equal: one species, speeds tie
 */
function wild({ Dex, Teams }, random, limits) {
  const pools = poolsOf(Dex.mod('gen1'));
  const most = limits.small ? 1 + random(3) : 6;
  const members = random(4) ? most : 1 + random(most);
  /** Sometimes the whole team uses the same moves. */
  const few = random(6) === 0 ? Array.from({ length: 3 }, () => draw(CODED, random)) : null;
  const ghosts = pools.species.filter(({ types }) => types.includes('Ghost'));
  const sets = Array.from({ length: members }, (_, index) => {
    if (limits.equal) return wildSet(pools.species[0], index, limits.pool ?? CODED, random);
    const species = limits.small && random(3) === 0 ? draw(ghosts, random) : draw(pools.species, random);
    const pool = limits.pool ?? (limits.even || random(4) === 0 ? pools.moves : (few ?? CODED));
    return wildSet(species, index, pool, random);
  });
  return Teams.pack(/** @type {any} */ (sets));
}

/**
 * @param {any} species
 * @param {number} index
 * @param {string[]} pool
 * @param {Random} random
 */
function wildSet(species, index, pool, random) {
  const slots = random(5) ? 4 : 1 + random(4);
  const moves = Array.from({ length: slots }, () => draw(pool, random)); // repeats are wanted, too
  const plain = random(2) === 0;
  return {
    name: random(8) ? `${species.name}${index}` : 'Same',
    species: species.name,
    item: '',
    ability: 'No Ability',
    nature: '',
    gender: random(12) ? '' : 'F',
    moves,
    evs: Object.fromEntries(STATS.map((stat) => [stat, plain ? 255 : random(256)])),
    ivs: Object.fromEntries(STATS.map((stat) => [stat, plain ? 30 : random(32)])),
    level: random(2) ? 100 : random(3) ? 50 + random(50) : 1 + random(100),
  };
}

/** @template T @param {T[]} items @param {Random} random @returns {T} */
function draw(items, random) {
  return items[random(items.length)];
}

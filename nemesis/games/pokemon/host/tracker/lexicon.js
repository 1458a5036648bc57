// Cached dex lookups of trackers. Each text of a protocol line is looked up once per process.

/**
 * The parts of Showdown's dex that are read. All of it is public.
 * @typedef {object} Dex
 * @property {number} gen
 * @property {any} species
 * @property {any} moves
 * @property {any} items
 * @property {any} abilities
 * @property {any} conditions
 * @property {any} data
 */

/**
 * @typedef {object} SpeciesFacts
 * @property {string} id
 * @property {string} base id of the base species of a forme
 * @property {string[]} types ids
 * @property {string} onlyAbility the one ability that it can have, or ''
 * @property {boolean} mayHaveIllusion whether it may have the ability Illusion
 */

/**
 * @typedef {object} MoveFacts
 * @property {string} id
 * @property {number} basePp without PP Ups
 * @property {number} maxPp
 * @property {'single' | 'foes' | 'none'} aim for Pressure: at a single target, all foes, or neither
 * @property {boolean} named whether the line names its target
 * @property {boolean} inMoveset whether it can be in a moveset: not Struggle, no Z-move and no Max move
 * @property {boolean} locks whether it locks its user, as Outrage does
 * @property {boolean} charges whether it charges for a turn
 * @property {boolean} binds whether it binds its target, as Wrap does
 * @property {boolean} stalls whether it fails more often when used in succession
 */

/**
 * `Pikachu, L59, F, shiny, tera:Water`, parsed.
 * @typedef {object} Details
 * @property {SpeciesFacts} species
 * @property {number} level
 * @property {string} gender M, F or N
 * @property {string} tera type id, if it is terastallized
 */

/**
 * `move: Leech Seed`, `[from] item: Leftovers` or `confusion`, parsed.
 * @typedef {object} Effect
 * @property {'' | 'move' | 'item' | 'ability'} kind
 * @property {string} id
 */

const NO_ID = /[^a-z0-9]+/g;
const POWER_AT_END = /^(hiddenpower[a-z]*|return|frustration)/;
const AIMS_AT_FOES = new Set(['allAdjacentFoes', 'allAdjacent', 'all']);
const AIMS_AT_ONE = new Set(['normal', 'any', 'adjacentFoe', 'randomNormal', 'scripted']);
const NAMES_ITS_TARGET = new Set([...AIMS_AT_ONE, 'adjacentAlly', 'adjacentAllyOrSelf']);

/**
 * @param {string} text
 * @returns {string}
 */
export function toId(text) {
  return text === '???' ? text : text.toLowerCase().replace(NO_ID, '');
}

export class Lexicon {
  /** @param {Dex} dex */
  constructor(dex) {
    this.dex = dex;
    this.generation = dex.gen;
    this.species = memoized((name) => this.speciesFacts(name));
    this.move = memoized((name) => this.moveFacts(name));
    this.details = memoized((text) => this.detailsOf(text));
    this.effect = memoized(effectOf);
    this.id = memoized(toId);
    this.types = memoized((text) => text.split('/').map(toId));
    /** Whether Baton Pass does not pass a volatile. */
    this.isNotPassed = memoized((id) => !!dex.conditions.get(id).noCopy);
    /** Turns that a condition lasts, or -1 for no limit. */
    this.duration = memoized((id) => dex.conditions.get(id).duration || -1);
    /** Whether an item may take effect on a Pokémon other than its holder. */
    this.isUsedOnOthers = memoized((id) => dex.items.get(id).isBerry || id === 'mentalherb');
    /** Whether an item is available in this dex. */
    this.existsInFormat = memoized((id) => dex.items.get(id).exists && !dex.items.get(id).isNonstandard);
  }

  /**
   * @param {string} name
   * @returns {SpeciesFacts}
   */
  speciesFacts(name) {
    const entry = this.dex.species.get(name);
    const abilities = this.generation >= 3 ? Object.values(entry.abilities ?? {}) : [];
    return {
      id: entry.id,
      base: toId(entry.baseSpecies),
      types: entry.types.map(toId),
      onlyAbility: abilities.length === 1 ? toId(abilities[0]) : '',
      mayHaveIllusion: abilities.includes('Illusion'),
    };
  }

  /**
   * @param {string} name as in a line or a request
   * @returns {MoveFacts}
   */
  moveFacts(name) {
    const written = toId(name.startsWith('Z-') ? name.slice(2) : name);
    // Requests append the power: `hiddenpowerfire70` is `hiddenpowerfire` in the dex, and `return102` is `return`.
    const plain = POWER_AT_END.exec(written)?.[1] ?? written;
    const entry = this.dex.moves.get(plain);
    const id = plain.startsWith('hiddenpower') ? plain : entry.id;
    return {
      id,
      basePp: entry.pp,
      maxPp: this.maxPp(entry),
      aim: aimOf(entry),
      named: NAMES_ITS_TARGET.has(entry.target),
      inMoveset: entry.exists && !entry.isZ && !entry.isMax && id !== 'struggle',
      locks: entry.self?.volatileStatus === 'lockedmove',
      charges: !!entry.flags.charge,
      binds: entry.volatileStatus === 'partiallytrapped' || entry.self?.volatileStatus === 'partialtrappinglock',
      stalls: !!entry.stallingMove,
    };
  }

  /**
   * @param {any} entry
   * @returns {number}
   */
  maxPp(entry) {
    const raised = entry.noPPBoosts || entry.id === 'trumpcard' ? 0 : 3;
    const special = this.dex.data.Scripts.calculatePP;
    if (special) return special(entry, raised);
    const pp = Math.floor((entry.pp * (5 + raised)) / 5);
    return this.generation <= 2 && entry.pp === 40 ? pp - raised : pp;
  }

  /**
   * @param {string} text
   * @returns {Details}
   */
  detailsOf(text) {
    const [name, ...rest] = text.split(', ');
    const details = { species: this.species(name), level: 100, gender: 'N', tera: '' };
    for (const part of rest) {
      if (part === 'M' || part === 'F') details.gender = part;
      else if (part.startsWith('tera:')) details.tera = toId(part.slice(5));
      else if (part.startsWith('L')) details.level = Number(part.slice(1));
    }
    return details;
  }
}

/**
 * @param {any} entry
 * @returns {MoveFacts['aim']}
 */
function aimOf({ target, flags }) {
  if (AIMS_AT_FOES.has(target) || flags.mustpressure) return 'foes';
  return AIMS_AT_ONE.has(target) ? 'single' : 'none';
}

/** @type {WeakMap<Dex, Lexicon>} */
const lexicons = new WeakMap();

/**
 * @param {Dex} dex
 * @returns {Lexicon} shared by all battles with this dex
 */
export function lexiconOf(dex) {
  let lexicon = lexicons.get(dex);
  if (!lexicon) lexicons.set(dex, (lexicon = new Lexicon(dex)));
  return lexicon;
}

/**
 * @param {string} text
 * @returns {Effect}
 */
function effectOf(text) {
  const [, kind = '', name = text] = /^(move|item|ability): (.*)$/.exec(text.trim()) ?? [];
  return { kind: /** @type {Effect['kind']} */ (kind), id: toId(name) };
}

/**
 * @template T
 * @param {(text: string) => T} compute
 * @returns {(text: string) => T}
 */
function memoized(compute) {
  /** @type {Map<string, T>} */
  const known = new Map();
  return (text) => {
    let value = known.get(text);
    if (value === undefined) known.set(text, (value = compute(text)));
    return value;
  };
}

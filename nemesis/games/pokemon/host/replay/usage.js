// Usage statistics of a format by species, counted over the teams that logs reveal.

import { lexiconOf } from '../tracker/lexicon.js';

/** @import { Knowledge, Known } from './teams.js' */

/** Items that restrict the holder's choices or extend a condition. A guess must not have such effects. */
const NEVER_GUESSED = new Set([
  'choiceband', 'choicescarf', 'choicespecs', 'assaultvest', 'damprock', 'heatrock', 'smoothrock', 'icyrock',
  'terrainextender', 'lightclay',
]);

/**
 * How often a species was seen with each value, by id.
 * @typedef {object} SpeciesUsage
 * @property {Record<string, number>} [moves]
 * @property {Record<string, number>} [item]
 * @property {Record<string, number>} [ability]
 * @property {Record<string, number>} [tera]
 * @property {Record<string, number>} [team] teammates, including itself
 */

const FIRST_GENERATION_WITH_PREVIEW = 5; // which reveals the whole team

/** Counts by species, kind (moves, item, ability, tera, team) and id. */
export class Usage {
  /** @param {any} dex */
  constructor(dex) {
    this.dex = dex;
    this.lexicon = lexiconOf(dex);
    /** @type {Map<string, Map<string, Map<string, number>>>} */
    this.counts = new Map();
  }

  /** @param {Knowledge} knowledge */
  add({ team }) {
    const exists = (/** @type {string} */ id) => this.dex.species.get(id).exists;
    const seen = team.flatMap(({ species }) => (species && exists(species.id) ? [species.id] : []));
    for (const known of team) if (seen.includes(known.species?.id ?? '')) this.count(known);
    if (this.dex.gen >= FIRST_GENERATION_WITH_PREVIEW) return;
    for (const one of seen) for (const other of seen) this.note(one, 'team', other);
  }

  /**
   * @param {string} species
   * @param {string} kind
   * @param {string} id
   */
  note(species, kind, id) {
    const kinds = entry(this.counts, species, () => new Map());
    const ids = entry(kinds, kind, () => new Map());
    ids.set(id, (ids.get(id) ?? 0) + 1);
  }

  /** @param {Known} known */
  count({ species, moves, item, ability, tera }) {
    const { dex, lexicon } = this;
    const note = (/** @type {string} */ kind, /** @type {string} */ id) => this.note(species?.id ?? '', kind, id);
    for (const id of moves) if (lexicon.move(id).inMoveset) note('moves', id);
    if (item && dex.items.get(item).exists && !NEVER_GUESSED.has(item)) note('item', item);
    if (ability && dex.abilities.get(ability).exists) note('ability', ability);
    if (tera && dex.types.get(tera).exists) note('tera', tera);
  }

  /** @returns {Record<string, Record<string, Record<string, number>>>} */
  toJSON() {
    return Object.fromEntries(
      [...this.counts].map(([species, kinds]) => {
        return [species, Object.fromEntries([...kinds].map(([kind, ids]) => [kind, Object.fromEntries(ids)]))];
      }),
    );
  }
}

/**
 * @template T
 * @param {Map<string, T>} map
 * @param {string} key
 * @param {() => T} make
 * @returns {T}
 */
function entry(map, key, make) {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

// What listens to which callback, known per dex, battle and Pokémon, so that "nobody" costs next to nothing.
//
// The stock simulator asks every ability, item, status and condition in sight for a property whose name, `on` + prefix +
// event, it builds anew each time; nine in ten events find no listener at all.

import { intern } from './overlay-dex.js';

const PREFIXLESS = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
const LISTENERS = Symbol('listeners');
const ON_FIELD = Symbol('on field');
const ON_POKEMON = Symbol('on Pokémon');

/**
 * A callback that some effect of a dex implements.
 * @typedef {object} Hook
 * @property {string} name such as "onFoeTrapPokemon"
 * @property {number} index of the hook among those of its dex
 */

/**
 * The callbacks that an event calls; null: nothing in the dex implements it.
 * @typedef {object} EventHooks
 * @property {string} name of the callback without a prefix
 * @property {Hook | null} own
 * @property {Hook | null} ally
 * @property {Hook | null} foe
 * @property {Hook | null} any
 * @property {Hook | null} source
 * @property {boolean} around whether ally, foe or any is implemented
 */

/** The hooks of a dex and who implements them. */
export class Listeners {
  /** @param {any} dex */
  constructor(dex) {
    this.dex = dex;
    const { Abilities, Items, Moves, Conditions, Rulesets, Pokedex, FormatsData } = dex.data;
    const tables = [Abilities, Items, Moves, Conditions, Rulesets, Pokedex, FormatsData].map(Object.values);
    const inner = tables.flat().map((entry) => entry?.condition);
    const names = [...new Set([...tables.flat(), ...inner].flatMap(callbackNames))];
    /** @type {Map<string, Hook>} */
    this.hooks = new Map(names.map((name, index) => [intern(name), { name: intern(name), index }]));
    /** @type {Map<string, EventHooks>} */
    this.events = new Map();
    /** @type {WeakMap<object, number[]>} */
    this.indices = new WeakMap();
  }

  /**
   * @param {string} event
   * @returns {EventHooks}
   */
  event(event) {
    const known = this.events.get(event);
    if (known !== undefined) return known;
    const hook = (/** @type {string} */ prefix) => this.hooks.get(`on${prefix}${event}`) ?? null;
    const [ally, foe, any, source] = ['Ally', 'Foe', 'Any', 'Source'].map((prefix) =>
      PREFIXLESS.has(event) ? null : hook(prefix),
    );
    const around = ally !== null || foe !== null || any !== null;
    const hooks = { name: intern(`on${event}`), own: hook(''), ally, foe, any, source, around };
    this.events.set(intern(event), hooks);
    return hooks;
  }

  /**
   * Mark the hooks that an effect implements.
   * @param {Uint8Array} listening
   * @param {any} effect
   */
  mark(listening, effect) {
    let indices = this.indices.get(effect);
    if (indices === undefined) {
      const names = callbackNames(effect);
      // in later generations, `onStart` of abilities and items serves as their `onSwitchIn`
      if (names.includes('onStart')) names.push('onSwitchIn');
      indices = names.flatMap((name) => this.hooks.get(name)?.index ?? []);
      this.indices.set(effect, indices);
    }
    for (const index of indices) listening[index] = 1;
  }
}

/** What the effects on a Pokémon listen to, as long as its ability, item, status and species stay and it does not leave. */
class OnPokemon {
  /**
   * @param {any} pokemon
   * @param {Listeners} listeners
   */
  constructor(pokemon, listeners) {
    this.ability = pokemon.ability;
    this.item = pokemon.item;
    this.status = pokemon.status;
    this.species = pokemon.baseSpecies;
    this.volatiles = pokemon.volatiles; // replaced as a whole when the Pokémon leaves
    this.listening = new Uint8Array(listeners.hooks.size);
    if (Object.hasOwn(pokemon, 'getAbility') || Object.hasOwn(pokemon, 'getItem')) {
      this.listening.fill(1); // the format decides for itself what the Pokémon carries
      return;
    }
    for (const effect of [pokemon.getAbility(), pokemon.getItem(), pokemon.getStatus(), pokemon.baseSpecies]) {
      listeners.mark(this.listening, effect);
    }
    for (const id in pokemon.volatiles) listeners.mark(this.listening, listeners.dex.conditions.getByID(id));
  }
}

/**
 * @param {any} dex
 * @returns {Listeners}
 */
export function listenersOf(dex) {
  return (dex[LISTENERS] ??= new Listeners(dex));
}

/**
 * @param {any} battle
 * @returns {Uint8Array} by hook: 1 when a condition that is or was on the field, a side or a slot listens
 */
export function heardOnField(battle) {
  return (battle[ON_FIELD] ??= new Uint8Array(listenersOf(battle.dex).hooks.size));
}

/**
 * @param {any} pokemon
 * @returns {Uint8Array} by hook: 1 when an effect that is or was on the Pokémon listens
 */
export function heardOnPokemon(pokemon) {
  let effects = pokemon[ON_POKEMON];
  if (
    effects === undefined ||
    effects.ability !== pokemon.ability ||
    effects.item !== pokemon.item ||
    effects.status !== pokemon.status ||
    effects.species !== pokemon.baseSpecies ||
    effects.volatiles !== pokemon.volatiles
  ) {
    effects = pokemon[ON_POKEMON] = new OnPokemon(pokemon, listenersOf(pokemon.battle.dex));
  }
  return effects.listening;
}

/**
 * @param {any} effect
 * @returns {string[]} the callbacks that it implements
 */
function callbackNames(effect) {
  const names = [];
  for (const key in effect) {
    if (key.startsWith('on') && effect[key] !== undefined) names.push(key);
  }
  return names;
}

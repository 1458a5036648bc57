// An index of the callbacks that effects implement, per dex, battle and Pokémon. It makes events without handlers
// cheap.
//
// The stock simulator looks up a property of every active ability, item, status and condition. It builds the property's
// name, `on` + prefix + event, each time. Nine in ten events have no handler at all.

import { intern } from './dex.js';

const WITHOUT_PREFIXES = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
const WORD = 30; // bits that fit in a V8 small integer on all platforms
const RANK = /(Order|SubOrder|Priority)$/;
/** @type {Record<string, number | undefined>} */
const SUB_ORDER = { Condition: 2, Weather: 5, Format: 5, Rule: 5, Ruleset: 5, Ability: 7, Item: 8 };
/** @type {Record<string, number | undefined>} */
const ABILITY_SUB_ORDER = { 'Poison Touch': 6, 'Perish Body': 6, Stall: 9 };
const ALL = 2 ** WORD - 1;
const HOOK_INDEX = Symbol('hookIndex');
const FIELD_MASK = Symbol('on field');
const POKEMON_MASK = Symbol('on Pokémon');

/**
 * A callback that effects of a dex implement.
 * @typedef {object} Hook
 * @property {string} name such as "onFoeTrapPokemon"
 * @property {number} index of the hook among those of its dex; -1: nothing implements it
 * @property {number} word of a mask that holds the hook's bit
 * @property {number} bit
 * @property {boolean} switchIn whether it is called when a Pokémon comes in
 * @property {boolean} ordersByAge whether the order in which effects started breaks ties
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

/**
 * An effect's callback for a hook, and its order among other handlers.
 * @typedef {object} HookEntry
 * @property {any} callback undefined: the effect only has an order, or only `onStart`
 * @property {boolean} isImplemented
 * @property {number | false} order
 * @property {number} priority
 * @property {number} subOrder
 * @property {boolean} placed whether its subOrder depends on what the effect is on
 */

/**
 * Which hooks a set of effects implements, one bit per hook.
 * @typedef {number[]} Mask
 */

/**
 * @typedef {object} Implementation
 * @property {Map<number, HookEntry>} entries by the index of a hook
 * @property {Mask} mask
 */

/** The hooks of a dex and the effects that implement them. */
class HookIndex {
  /** @param {any} dex */
  constructor(dex) {
    this.dex = dex;
    const { Abilities, Items, Moves, Conditions, Rulesets, Pokedex, FormatsData } = dex.data;
    const tables = [Abilities, Items, Moves, Conditions, Rulesets, Pokedex, FormatsData].map(Object.values);
    const inner = tables.flat().map((entry) => entry?.condition);
    const keys = [...tables.flat(), ...inner].flatMap(callbackNames);
    const names = [...new Set(['onSwitchIn', ...keys.flatMap((key) => [key, key.replace(RANK, '')])])];
    /** @type {Map<string, Hook>} */
    this.hooks = new Map(names.map((name, index) => [intern(name), newHook(intern(name), index)]));
    /** @type {Map<string, EventHooks>} */
    this.events = new Map();
    this.words = Math.ceil(names.length / WORD);
    /** @type {WeakMap<object, Implementation>} */
    this.cached = new WeakMap();
  }

  /**
   * @param {string} event
   * @returns {EventHooks}
   */
  event(event) {
    const cached = this.events.get(event);
    if (cached !== undefined) return cached;
    const hook = (/** @type {string} */ prefix) => this.hooks.get(`on${prefix}${event}`) ?? null;
    const [ally, foe, any, source] = ['Ally', 'Foe', 'Any', 'Source'].map((prefix) =>
      WITHOUT_PREFIXES.has(event) ? null : hook(prefix),
    );
    const around = ally !== null || foe !== null || any !== null;
    const hooks = { name: intern(`on${event}`), own: hook(''), ally, foe, any, source, around };
    this.events.set(intern(event), hooks);
    return hooks;
  }

  /**
   * @param {string} name
   * @returns {Hook} the hook; one with index -1 if nothing implements it
   */
  hook(name) {
    return this.hooks.get(name) ?? newHook(name, -1);
  }

  /**
   * @param {any} effect
   * @param {Hook} hook
   * @returns {HookEntry | undefined}
   */
  entry(effect, hook) {
    return this.implementation(effect).entries.get(hook.index);
  }

  /**
   * @param {any} effect that does not implement the hook
   * @param {Hook} hook
   * @returns {HookEntry} its order
   */
  rank(effect, hook) {
    const entry = newEntry(effect, hook.name);
    if (hook.index >= 0) this.implementation(effect).entries.set(hook.index, entry);
    return entry;
  }

  /** @returns {Mask} */
  newMask() {
    return new Array(this.words).fill(0);
  }

  /**
   * Add the hooks that an effect implements.
   * @param {Mask} mask
   * @param {any} effect
   */
  mark(mask, effect) {
    const own = this.implementation(effect).mask;
    for (let word = 0; word < own.length; word++) mask[word] |= own[word];
  }

  /**
   * @param {any} effect as it is in the dex, where effects are frozen
   * @returns {Implementation}
   */
  implementation(effect) {
    let cached = this.cached.get(effect);
    if (cached === undefined) {
      cached = this.read(effect);
      this.cached.set(effect, cached);
    }
    return cached;
  }

  /**
   * @param {any} effect
   * @returns {Implementation}
   */
  read(effect) {
    const entries = new Map();
    const mask = this.newMask();
    const keys = callbackNames(effect);
    if (effect.onStart) keys.push('onSwitchIn');
    for (const name of keys.flatMap((key) => [key, key.replace(RANK, '')])) {
      const hook = this.hooks.get(name);
      if (hook === undefined) throw new Error(`${effect.name} has ${name}, which is not in the data of its dex.`);
      const entry = newEntry(effect, name);
      entries.set(hook.index, entry);
      if (entry.isImplemented) mask[hook.word] |= hook.bit;
    }
    return { entries, mask };
  }
}

/**
 * @param {string} name
 * @param {number} index
 * @returns {Hook}
 */
function newHook(name, index) {
  const switchIn = name.endsWith('SwitchIn');
  const ordersByAge = switchIn || name.endsWith('RedirectTarget');
  return { name, index, word: Math.floor(index / WORD), bit: 1 << (index % WORD), switchIn, ordersByAge };
}

/**
 * @param {any} effect
 * @param {string} name of a callback
 * @returns {HookEntry}
 */
function newEntry(effect, name) {
  const { effectType } = effect;
  const callback = effect[name];
  const subOrder = effect[`${name}SubOrder`] || 0;
  return {
    callback,
    // In later generations, `onStart` of abilities and items also serves as `onSwitchIn`.
    isImplemented: callback !== undefined || (name === 'onSwitchIn' && effect.onStart !== undefined),
    order: effect[`${name}Order`] || false,
    priority: effect[`${name}Priority`] || 0,
    subOrder: subOrder || (effectType === 'Ability' && ABILITY_SUB_ORDER[effect.name]) || SUB_ORDER[effectType] || 0,
    placed: !subOrder && effectType === 'Condition',
  };
}

/** The hooks of the effects on a Pokémon, valid until it leaves or its ability, item, status or species changes. */
class PokemonHooks {
  /**
   * @param {any} pokemon
   * @param {HookIndex} hookIndex
   */
  constructor(pokemon, hookIndex) {
    this.ability = pokemon.ability;
    this.item = pokemon.item;
    this.status = pokemon.status;
    this.species = pokemon.baseSpecies;
    this.volatiles = pokemon.volatiles; // a new object when the Pokémon leaves
    this.mask = hookIndex.newMask();
    if (Object.hasOwn(pokemon, 'getAbility') || Object.hasOwn(pokemon, 'getItem')) {
      this.mask.fill(ALL); // the format overrides what the Pokémon has
      return;
    }
    hookIndex.mark(this.mask, pokemon.getAbility());
    hookIndex.mark(this.mask, pokemon.getItem());
    hookIndex.mark(this.mask, pokemon.getStatus());
    hookIndex.mark(this.mask, pokemon.baseSpecies);
    for (const id in pokemon.volatiles) hookIndex.mark(this.mask, hookIndex.dex.conditions.getByID(id));
  }
}

/**
 * @param {any} dex
 * @returns {HookIndex}
 */
export function hookIndexOf(dex) {
  return (dex[HOOK_INDEX] ??= new HookIndex(dex));
}

/**
 * @param {Mask} mask
 * @param {Hook | null} hook
 */
export function hasHook(mask, hook) {
  return hook !== null && (mask[hook.word] & hook.bit) !== 0;
}

/**
 * @param {any} battle
 * @returns {Mask} hooks of the format and of conditions that are or were on the field, a side or a slot
 */
export function fieldMask(battle) {
  let mask = battle[FIELD_MASK];
  if (mask === undefined) {
    const hookIndex = hookIndexOf(battle.dex);
    mask = battle[FIELD_MASK] = hookIndex.newMask();
    if (battle.deserialized) mask.fill(ALL); // its conditions were not added by `addCondition`
    hookIndex.mark(mask, battle.format);
  }
  return mask;
}

/**
 * @param {any} pokemon
 * @returns {Mask} hooks of effects that are or were on the Pokémon
 */
export function pokemonMask(pokemon) {
  let effects = pokemon[POKEMON_MASK];
  if (
    effects === undefined ||
    effects.ability !== pokemon.ability ||
    effects.item !== pokemon.item ||
    effects.status !== pokemon.status ||
    effects.species !== pokemon.baseSpecies ||
    effects.volatiles !== pokemon.volatiles
  ) {
    effects = pokemon[POKEMON_MASK] = new PokemonHooks(pokemon, hookIndexOf(pokemon.battle.dex));
  }
  return effects.mask;
}

/**
 * @param {any} battle
 * @param {string} id of a condition that starts on a Pokémon or, if that is null, elsewhere
 * @param {any} pokemon
 */
export function addCondition(battle, id, pokemon) {
  const mask = pokemon === null ? fieldMask(battle) : pokemon[POKEMON_MASK]?.mask;
  if (mask) hookIndexOf(battle.dex).mark(mask, battle.dex.conditions.getByID(id));
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

// What listens to which callback, known per dex, battle and Pokémon, so that "nobody" costs next to nothing.
//
// The stock simulator asks every ability, item, status and condition in sight for a property whose name, `on` + prefix +
// event, it builds anew each time; nine in ten events find no listener at all.

import { intern } from './overlay-dex.js';

const PREFIXLESS = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
const RANK = /(Order|SubOrder|Priority)$/;
/** @type {Record<string, number | undefined>} */
const SUB_ORDER = { Condition: 2, Weather: 5, Format: 5, Rule: 5, Ruleset: 5, Ability: 7, Item: 8 };
/** @type {Record<string, number | undefined>} */
const ABILITY_SUB_ORDER = { 'Poison Touch': 6, 'Perish Body': 6, Stall: 9 };
const LISTENERS = Symbol('listeners');
const ON_FIELD = Symbol('on field');
const ON_POKEMON = Symbol('on Pokémon');

/**
 * A callback that effects of a dex implement.
 * @typedef {object} Hook
 * @property {string} name such as "onFoeTrapPokemon"
 * @property {number} index of the hook among those of its dex
 * @property {boolean} switchIn whether it is called when a Pokémon comes in
 * @property {boolean} aged whether the order in which effects began decides ties
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
 * What an effect has to say about a hook, and when its turn is among others.
 * @typedef {object} Answer
 * @property {any} callback undefined: the effect has only a rank, or what it does when it starts
 * @property {boolean} listens
 * @property {number | false} order
 * @property {number} priority
 * @property {number} subOrder
 * @property {boolean} placed whether its subOrder depends on where the effect is
 */

/** The hooks of a dex and who implements them. */
export class Listeners {
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
    /** @type {WeakMap<object, Map<number, Answer>>} */
    this.known = new WeakMap();
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
   * @param {string} name
   * @returns {Hook} a hook that nothing implements, if need be
   */
  hook(name) {
    return this.hooks.get(name) ?? newHook(name, -1);
  }

  /**
   * @param {any} effect that says nothing about the hook
   * @param {Hook} hook
   * @returns {Answer} its rank nevertheless
   */
  rank(effect, hook) {
    const answer = newAnswer(effect, hook.name);
    if (hook.index >= 0) this.answers(effect).set(hook.index, answer);
    return answer;
  }

  /**
   * @param {any} effect frozen, as those of a dex are
   * @returns {Map<number, Answer>} by the index of a hook
   */
  answers(effect) {
    let answers = this.known.get(effect);
    if (answers === undefined) {
      answers = new Map();
      const keys = callbackNames(effect);
      if (effect.onStart) keys.push('onSwitchIn');
      for (const name of keys.flatMap((key) => [key, key.replace(RANK, '')])) {
        const hook = this.hooks.get(name);
        if (hook === undefined) throw new Error(`${effect.name} has ${name}, which nothing in the data of its dex has.`);
        answers.set(hook.index, newAnswer(effect, name));
      }
      this.known.set(effect, answers);
    }
    return answers;
  }

  /**
   * Mark the hooks that an effect implements.
   * @param {Uint8Array} heard
   * @param {any} effect
   */
  mark(heard, effect) {
    for (const [index, { listens }] of this.answers(effect)) {
      if (listens) heard[index] = 1;
    }
  }
}

/**
 * @param {string} name
 * @param {number} index
 * @returns {Hook}
 */
function newHook(name, index) {
  const switchIn = name.endsWith('SwitchIn');
  return { name, index, switchIn, aged: switchIn || name.endsWith('RedirectTarget') };
}

/**
 * @param {any} effect
 * @param {string} name of a callback
 * @returns {Answer}
 */
function newAnswer(effect, name) {
  const { effectType } = effect;
  const callback = effect[name];
  const subOrder = effect[`${name}SubOrder`] || 0;
  return {
    callback,
    // in later generations, `onStart` of abilities and items serves as their `onSwitchIn`
    listens: callback !== undefined || (name === 'onSwitchIn' && effect.onStart !== undefined),
    order: effect[`${name}Order`] || false,
    priority: effect[`${name}Priority`] || 0,
    subOrder: subOrder || (effectType === 'Ability' && ABILITY_SUB_ORDER[effect.name]) || SUB_ORDER[effectType] || 0,
    placed: !subOrder && effectType === 'Condition',
  };
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
    this.heard = new Uint8Array(listeners.hooks.size);
    if (Object.hasOwn(pokemon, 'getAbility') || Object.hasOwn(pokemon, 'getItem')) {
      this.heard.fill(1); // the format decides for itself what the Pokémon carries
      return;
    }
    for (const effect of [pokemon.getAbility(), pokemon.getItem(), pokemon.getStatus(), pokemon.baseSpecies]) {
      listeners.mark(this.heard, effect);
    }
    for (const id in pokemon.volatiles) listeners.mark(this.heard, listeners.dex.conditions.getByID(id));
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
 * @returns {Uint8Array} by hook: 1 when the format or a condition that is or was on the field, a side or a slot listens
 */
export function heardOnField(battle) {
  let heard = battle[ON_FIELD];
  if (heard === undefined) {
    const listeners = listenersOf(battle.dex);
    heard = battle[ON_FIELD] = new Uint8Array(listeners.hooks.size);
    if (battle.deserialized) heard.fill(1); // conditions were put there without notice
    listeners.mark(heard, battle.format);
  }
  return heard;
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
  return effects.heard;
}

/**
 * @param {any} battle
 * @param {string} id of a condition that is being put on a Pokémon or, if that is null, elsewhere
 * @param {any} pokemon
 */
export function noteCondition(battle, id, pokemon) {
  const heard = pokemon === null ? heardOnField(battle) : pokemon[ON_POKEMON]?.heard;
  if (heard) listenersOf(battle.dex).mark(heard, battle.dex.conditions.getByID(id));
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

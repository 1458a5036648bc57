// What listens to which callback, known per dex, battle and Pokémon, so that "nobody" costs next to nothing.
//
// The stock simulator asks every ability, item, status and condition in sight for a property whose name, `on` + prefix
// + event, it builds anew each time; nine in ten events find no listener at all.

import { intern } from './dex.js';

const PREFIXLESS = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
const WORD = 30; // bits that V8 keeps in a small integer everywhere
const RANK = /(Order|SubOrder|Priority)$/;
/** @type {Record<string, number | undefined>} */
const SUB_ORDER = { Condition: 2, Weather: 5, Format: 5, Rule: 5, Ruleset: 5, Ability: 7, Item: 8 };
/** @type {Record<string, number | undefined>} */
const ABILITY_SUB_ORDER = { 'Poison Touch': 6, 'Perish Body': 6, Stall: 9 };
const ALL = 2 ** WORD - 1;
const LISTENERS = Symbol('listeners');
const ON_FIELD = Symbol('on field');
const ON_POKEMON = Symbol('on Pokémon');

/**
 * A callback that effects of a dex implement.
 * @typedef {object} Hook
 * @property {string} name such as "onFoeTrapPokemon"
 * @property {number} index of the hook among those of its dex; -1: nothing implements it
 * @property {number} word of a mask that holds the hook's bit
 * @property {number} bit
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

/**
 * Which hooks something listens to, a bit for each.
 * @typedef {number[]} Mask
 */

/**
 * @typedef {object} Implementation
 * @property {Map<number, Answer>} answers by the index of a hook
 * @property {Mask} mask
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
    this.words = Math.ceil(names.length / WORD);
    /** @type {WeakMap<object, Implementation>} */
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
   * @param {any} effect
   * @param {Hook} hook
   * @returns {Answer | undefined}
   */
  answer(effect, hook) {
    return this.implementation(effect).answers.get(hook.index);
  }

  /**
   * @param {any} effect that says nothing about the hook
   * @param {Hook} hook
   * @returns {Answer} its rank nevertheless
   */
  rank(effect, hook) {
    const answer = newAnswer(effect, hook.name);
    if (hook.index >= 0) this.implementation(effect).answers.set(hook.index, answer);
    return answer;
  }

  /** @returns {Mask} */
  newMask() {
    return new Array(this.words).fill(0);
  }

  /**
   * Add what an effect listens to.
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
    let known = this.known.get(effect);
    if (known === undefined) {
      known = this.read(effect);
      this.known.set(effect, known);
    }
    return known;
  }

  /**
   * @param {any} effect
   * @returns {Implementation}
   */
  read(effect) {
    const answers = new Map();
    const mask = this.newMask();
    const keys = callbackNames(effect);
    if (effect.onStart) keys.push('onSwitchIn');
    for (const name of keys.flatMap((key) => [key, key.replace(RANK, '')])) {
      const hook = this.hooks.get(name);
      if (hook === undefined) throw new Error(`${effect.name} has ${name}, which nothing in the data of its dex has.`);
      const answer = newAnswer(effect, name);
      answers.set(hook.index, answer);
      if (answer.listens) mask[hook.word] |= hook.bit;
    }
    return { answers, mask };
  }
}

/**
 * @param {string} name
 * @param {number} index
 * @returns {Hook}
 */
function newHook(name, index) {
  const switchIn = name.endsWith('SwitchIn');
  const aged = switchIn || name.endsWith('RedirectTarget');
  return { name, index, word: Math.floor(index / WORD), bit: 1 << (index % WORD), switchIn, aged };
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

/** What the effects on a Pokémon listen to, as long as ability, item, status and species stay and it does not leave. */
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
    this.mask = listeners.newMask();
    if (Object.hasOwn(pokemon, 'getAbility') || Object.hasOwn(pokemon, 'getItem')) {
      this.mask.fill(ALL); // the format decides for itself what the Pokémon carries
      return;
    }
    listeners.mark(this.mask, pokemon.getAbility());
    listeners.mark(this.mask, pokemon.getItem());
    listeners.mark(this.mask, pokemon.getStatus());
    listeners.mark(this.mask, pokemon.baseSpecies);
    for (const id in pokemon.volatiles) listeners.mark(this.mask, listeners.dex.conditions.getByID(id));
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
 * @param {Mask} mask
 * @param {Hook | null} hook
 */
export function hears(mask, hook) {
  return hook !== null && (mask[hook.word] & hook.bit) !== 0;
}

/**
 * @param {any} battle
 * @returns {Mask} what the format and the conditions listen to that are or were on the field, a side or a slot
 */
export function onField(battle) {
  let mask = battle[ON_FIELD];
  if (mask === undefined) {
    const listeners = listenersOf(battle.dex);
    mask = battle[ON_FIELD] = listeners.newMask();
    if (battle.deserialized) mask.fill(ALL); // conditions were put there without notice
    listeners.mark(mask, battle.format);
  }
  return mask;
}

/**
 * @param {any} pokemon
 * @returns {Mask} what the effects listen to that are or were on the Pokémon
 */
export function onPokemon(pokemon) {
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
  return effects.mask;
}

/**
 * @param {any} battle
 * @param {string} id of a condition that is being put on a Pokémon or, if that is null, elsewhere
 * @param {any} pokemon
 */
export function noteCondition(battle, id, pokemon) {
  const mask = pokemon === null ? onField(battle) : pokemon[ON_POKEMON]?.mask;
  if (mask) listenersOf(battle.dex).mark(mask, battle.dex.conditions.getByID(id));
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

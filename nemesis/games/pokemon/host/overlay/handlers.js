// Finds the handlers of an event with the hook index, and orders them without building property names.

import { hasHook, hookIndexOf, fieldMask, pokemonMask } from './hooks.js';

/** @import { Hook, HookEntry } from './hooks.js' */

/** @type {any} */
let Field;
/** @type {any} */
let Pokemon;
/** @type {any} */
let Side;

/**
 * @param {(name: string) => any} load a module of the simulator
 * @returns {object} methods of Battle
 */
export function handlerFinders(load) {
  ({ Field } = load('field'));
  ({ Pokemon } = load('pokemon'));
  ({ Side } = load('side'));
  return { findEventHandlers, findPokemonEventHandlers, findSideEventHandlers, findFieldEventHandlers };
}

/**
 * @this {any}
 * @param {any} target
 * @param {string} eventName
 * @param {any} source
 * @returns {any[]}
 */
function findEventHandlers(target, eventName, source) {
  if (Array.isArray(target)) {
    return target.flatMap((pokemon, index) => {
      const handlers = this.findEventHandlers(pokemon, eventName, source);
      for (const handler of handlers) {
        handler.target = pokemon;
        handler.index = index;
      }
      return handlers;
    });
  }
  const hooks = hookIndexOf(this.dex).event(eventName);
  const { own, ally, foe, any } = hooks;
  /** @type {any[]} */
  const handlers = [];
  const bubblesDown = target instanceof Side;
  if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
    addFromPokemon(this, target, own, handlers);
    if (hooks.around) {
      for (const pokemon of target.alliesAndSelf()) {
        addFromPokemon(this, pokemon, ally, handlers);
        addFromPokemon(this, pokemon, any, handlers);
      }
      for (const pokemon of target.foes()) {
        addFromPokemon(this, pokemon, foe, handlers);
        addFromPokemon(this, pokemon, any, handlers);
      }
    }
    target = target.side;
  }
  if (source) addFromPokemon(this, source, hooks.source, handlers);
  if (target instanceof Side) {
    for (const side of this.sides) {
      const near = side === target || side === target.allySide ? own : foe;
      if (bubblesDown) {
        for (const pokemon of side.active) {
          addFromPokemon(this, pokemon, near, handlers);
          addFromPokemon(this, pokemon, any, handlers);
        }
      }
      if (side.n < 2 || !side.allySide) {
        addFromSide(this, side, near, handlers);
        addFromSide(this, side, any, handlers);
      }
    }
  }
  const fieldHandles = hasHook(fieldMask(this), own);
  if (fieldHandles) handlers.push(...this.findFieldEventHandlers(this.field, hooks.name));
  if (fieldHandles || this.events !== null) handlers.push(...this.findBattleEventHandlers(hooks.name));
  return handlers;
}

/**
 * @param {any} battle
 * @param {any} pokemon
 * @param {Hook | null} hook
 * @param {any[]} handlers
 */
function addFromPokemon(battle, pokemon, hook, handlers) {
  if (hook !== null && (hasHook(pokemonMask(pokemon), hook) || hasHook(fieldMask(battle), hook))) {
    handlers.push(...battle.findPokemonEventHandlers(pokemon, hook.name));
  }
}

/**
 * @param {any} battle
 * @param {any} side
 * @param {Hook | null} hook
 * @param {any[]} handlers
 */
function addFromSide(battle, side, hook, handlers) {
  if (hook !== null && hasHook(fieldMask(battle), hook)) {
    handlers.push(...battle.findSideEventHandlers(side, hook.name));
  }
}

/**
 * @this {any}
 * @param {any} pokemon
 * @param {string} callbackName
 * @param {string} [getKey]
 * @returns {any[]}
 */
function findPokemonEventHandlers(pokemon, callbackName, getKey) {
  const { conditions } = this.dex;
  const search = new HandlerSearch(this, callbackName, getKey, pokemon, pokemon);
  if (pokemon.status || getKey) search.add(pokemon.getStatus(), pokemon.statusState, pokemon.clearStatus);
  for (const id in pokemon.volatiles) {
    search.add(conditions.getByID(id), pokemon.volatiles[id], pokemon.removeVolatile);
  }
  search.add(pokemon.getAbility(), pokemon.abilityState, pokemon.clearAbility);
  search.add(pokemon.getItem(), pokemon.itemState, pokemon.clearItem);
  search.add(pokemon.baseSpecies, pokemon.speciesState, nothing, true);
  const { side } = pokemon;
  const slot = side.slotConditions[pokemon.position];
  for (const id in slot) {
    const condition = conditions.getByID(id);
    const handler = search.add(condition, slot[id], side.removeSlotCondition);
    if (handler) handler.endCallArgs = [side, pokemon, condition.id];
  }
  return search.handlers;
}

/**
 * @this {any}
 * @param {any} side
 * @param {string} callbackName
 * @param {string} [getKey]
 * @param {any} [customHolder]
 * @returns {any[]}
 */
function findSideEventHandlers(side, callbackName, getKey, customHolder) {
  const search = new HandlerSearch(this, callbackName, getKey, side, customHolder || side);
  const end = customHolder ? null : side.removeSideCondition;
  for (const id in side.sideConditions) {
    search.add(this.dex.conditions.getByID(id), side.sideConditions[id], end);
  }
  return search.handlers;
}

/**
 * @this {any}
 * @param {any} field
 * @param {string} callbackName
 * @param {string} [getKey]
 * @param {any} [customHolder]
 * @returns {any[]}
 */
function findFieldEventHandlers(field, callbackName, getKey, customHolder) {
  const search = new HandlerSearch(this, callbackName, getKey, field, customHolder || field);
  for (const id in field.pseudoWeather) {
    const end = customHolder ? null : field.removePseudoWeather;
    search.add(this.dex.conditions.getByID(id), field.pseudoWeather[id], end);
  }
  search.add(field.getWeather(), field.weatherState, customHolder ? null : field.clearWeather);
  search.add(field.getTerrain(), field.terrainState, customHolder ? null : field.clearTerrain);
  return search.handlers;
}

/** Collects the handlers of one callback from the effects on one Pokémon, side or field. */
class HandlerSearch {
  /**
   * @param {any} battle
   * @param {string} callbackName
   * @param {string | undefined} getKey effects whose state has this key get a handler even without the callback
   * @param {any} target what the effects are on
   * @param {any} holder what their callbacks receive
   */
  constructor(battle, callbackName, getKey, target, holder) {
    this.battle = battle;
    this.hookIndex = hookIndexOf(battle.dex);
    this.hook = this.hookIndex.hook(callbackName);
    this.getKey = getKey;
    this.target = target;
    this.holder = holder;
    /** @type {any[]} */
    this.handlers = [];
  }

  /**
   * @param {any} effect
   * @param {any} state
   * @param {any} end
   * @param {boolean} [endless]
   * @returns {any} the handler, if there is one
   */
  add(effect, state, end, endless = false) {
    const { hook, getKey } = this;
    let entry = this.hookIndex.entry(effect, hook);
    let callback = entry?.callback;
    if (hook.name === 'onSwitchIn') callback = this.battle.getCallback(this.target, effect, hook.name);
    if (callback === undefined && (endless || !getKey || !state[getKey])) return null;
    entry ??= this.hookIndex.rank(effect, hook);
    const handler = newHandler(this.battle, hook, entry, effect, callback, state, end, this.holder);
    this.handlers.push(handler);
    return handler;
  }
}

/**
 * @param {any} battle
 * @param {Hook} hook
 * @param {HookEntry} entry
 * @param {any} effect
 * @param {any} callback
 * @param {any} state
 * @param {any} end
 * @param {any} holder
 */
function newHandler(battle, hook, entry, effect, callback, state, end, holder) {
  const { order, priority, subOrder } = entry;
  const handler = {
    effect,
    callback,
    state,
    end,
    endCallArgs: undefined,
    effectHolder: holder,
    target: undefined,
    index: undefined,
    order,
    priority,
    subOrder: entry.placed ? placedSubOrder(state, subOrder) : subOrder,
    effectOrder: hook.ordersByAge ? state?.effectOrder : undefined,
    speed: undefined,
  };
  if (holder instanceof Pokemon) handler.speed = speedOf(battle, hook, effect, holder);
  return handler;
}

/**
 * @param {any} state
 * @param {number} subOrder of a condition on a Pokémon
 */
function placedSubOrder(state, subOrder) {
  const target = state?.target;
  if (target instanceof Side) return state.isSlotCondition ? 3 : 4;
  return target instanceof Field ? 5 : subOrder;
}

/**
 * @param {any} battle
 * @param {Hook} hook
 * @param {any} effect
 * @param {any} pokemon
 */
function speedOf(battle, hook, effect, pokemon) {
  if (hook.name === 'onAllyTryHitSide' && effect.effectType === 'Ability' && effect.name === 'Magic Bounce') {
    return pokemon.getStat('spe', true, true);
  }
  if (!hook.switchIn) return pokemon.speed;
  return pokemon.speed - battle.speedOrder.indexOf(pokemon.getFieldPositionValue()) / (battle.activePerHalf * 2);
}

function nothing() {}

// Finds the handlers of an event by what is known of effects, and ranks them without building property names.

import { hears, listenersOf, onField, onPokemon } from './hooks.js';

/** @import { Answer, Hook, Listeners } from './hooks.js' */

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
  const hooks = listenersOf(this.dex).event(eventName);
  const { own, ally, foe, any } = hooks;
  /** @type {any[]} */
  const handlers = [];
  const bubblesDown = target instanceof Side;
  if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
    askPokemon(this, target, own, handlers);
    if (hooks.around) {
      for (const pokemon of target.alliesAndSelf()) {
        askPokemon(this, pokemon, ally, handlers);
        askPokemon(this, pokemon, any, handlers);
      }
      for (const pokemon of target.foes()) {
        askPokemon(this, pokemon, foe, handlers);
        askPokemon(this, pokemon, any, handlers);
      }
    }
    target = target.side;
  }
  if (source) askPokemon(this, source, hooks.source, handlers);
  if (target instanceof Side) {
    for (const side of this.sides) {
      const near = side === target || side === target.allySide ? own : foe;
      if (bubblesDown) {
        for (const pokemon of side.active) {
          askPokemon(this, pokemon, near, handlers);
          askPokemon(this, pokemon, any, handlers);
        }
      }
      if (side.n < 2 || !side.allySide) {
        askSide(this, side, near, handlers);
        askSide(this, side, any, handlers);
      }
    }
  }
  const afield = hears(onField(this), own);
  if (afield) handlers.push(...this.findFieldEventHandlers(this.field, hooks.name));
  if (afield || this.events !== null) handlers.push(...this.findBattleEventHandlers(hooks.name));
  return handlers;
}

/**
 * @param {any} battle
 * @param {any} pokemon
 * @param {Hook | null} hook
 * @param {any[]} handlers
 */
function askPokemon(battle, pokemon, hook, handlers) {
  if (hook !== null && (hears(onPokemon(pokemon), hook) || hears(onField(battle), hook))) {
    handlers.push(...battle.findPokemonEventHandlers(pokemon, hook.name));
  }
}

/**
 * @param {any} battle
 * @param {any} side
 * @param {Hook | null} hook
 * @param {any[]} handlers
 */
function askSide(battle, side, hook, handlers) {
  if (hook !== null && hears(onField(battle), hook)) {
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
  const question = new Question(this, callbackName, getKey, pokemon, pokemon);
  if (pokemon.status || getKey) question.ask(pokemon.getStatus(), pokemon.statusState, pokemon.clearStatus);
  for (const id in pokemon.volatiles) {
    question.ask(conditions.getByID(id), pokemon.volatiles[id], pokemon.removeVolatile);
  }
  question.ask(pokemon.getAbility(), pokemon.abilityState, pokemon.clearAbility);
  question.ask(pokemon.getItem(), pokemon.itemState, pokemon.clearItem);
  question.ask(pokemon.baseSpecies, pokemon.speciesState, nothing, true);
  const { side } = pokemon;
  const slot = side.slotConditions[pokemon.position];
  for (const id in slot) {
    const condition = conditions.getByID(id);
    const handler = question.ask(condition, slot[id], side.removeSlotCondition);
    if (handler) handler.endCallArgs = [side, pokemon, condition.id];
  }
  return question.handlers;
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
  const question = new Question(this, callbackName, getKey, side, customHolder || side);
  const end = customHolder ? null : side.removeSideCondition;
  for (const id in side.sideConditions) {
    question.ask(this.dex.conditions.getByID(id), side.sideConditions[id], end);
  }
  return question.handlers;
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
  const question = new Question(this, callbackName, getKey, field, customHolder || field);
  for (const id in field.pseudoWeather) {
    const end = customHolder ? null : field.removePseudoWeather;
    question.ask(this.dex.conditions.getByID(id), field.pseudoWeather[id], end);
  }
  question.ask(field.getWeather(), field.weatherState, customHolder ? null : field.clearWeather);
  question.ask(field.getTerrain(), field.terrainState, customHolder ? null : field.clearTerrain);
  return question.handlers;
}

/** One callback, asked of the effects of one Pokémon, side or field. */
class Question {
  /**
   * @param {any} battle
   * @param {string} callbackName
   * @param {string | undefined} getKey effects whose state has it are heard although they do not listen
   * @param {any} target what the effects are on
   * @param {any} holder what their callbacks are told
   */
  constructor(battle, callbackName, getKey, target, holder) {
    this.battle = battle;
    this.listeners = listenersOf(battle.dex);
    this.hook = this.listeners.hook(callbackName);
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
  ask(effect, state, end, endless = false) {
    const { hook, getKey } = this;
    let answer = this.listeners.answer(effect, hook);
    let callback = answer?.callback;
    if (hook.name === 'onSwitchIn') callback = this.battle.getCallback(this.target, effect, hook.name);
    if (callback === undefined && (endless || !getKey || !state[getKey])) return null;
    answer ??= this.listeners.rank(effect, hook);
    const handler = newHandler(this.battle, hook, answer, effect, callback, state, end, this.holder);
    this.handlers.push(handler);
    return handler;
  }
}

/**
 * @param {any} battle
 * @param {Hook} hook
 * @param {Answer} answer
 * @param {any} effect
 * @param {any} callback
 * @param {any} state
 * @param {any} end
 * @param {any} holder
 */
function newHandler(battle, hook, answer, effect, callback, state, end, holder) {
  const { order, priority, subOrder } = answer;
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
    subOrder: answer.placed ? placedSubOrder(state, subOrder) : subOrder,
    effectOrder: hook.aged ? state?.effectOrder : undefined,
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

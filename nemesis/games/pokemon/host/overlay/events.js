// Events without handlers return at once, and other events search only the effects that may have a handler.

import { handlerFinders } from './handlers.js';
import { hasHook, hookIndexOf, addCondition, fieldMask, pokemonMask } from './hooks.js';

/** @import { Modules } from '../simulator.js' */
/** @import { EventHooks, Mask } from './hooks.js' */

export const MAX_DEPTH = 8; // of nested events; the stock simulator throws beyond it
const MAX_UNSENT_LINES = 1000;
// Below this, the simulator's 32-bit fixed-point product with a modifier of 1 changes nothing.
const EXACT = 2 ** 20;

/** @type {any} */
let Pokemon;
/** @type {any} */
let Side;
/** @type {any} */
let stock;

/** @param {Modules} modules */
export function installEvents({ load }) {
  ({ Pokemon } = load('pokemon'));
  ({ Side } = load('side'));
  const { prototype } = load('battle').Battle;
  const { runEvent, singleEvent, initEffectState } = prototype;
  const { allies } = Side.prototype;
  stock = { runEvent, singleEvent, initEffectState, allies };
  Object.assign(prototype, replacements, handlerFinders(load));
}

/**
 * Whether an event may have handlers; false is certain, true is not.
 * @param {any} battle
 * @param {EventHooks} hooks
 * @param {any} target
 * @param {any} source a Pokémon or null
 * @returns {boolean}
 */
export function mayHaveHandlers(battle, hooks, target, source) {
  if (battle.events !== null) return true;
  const field = fieldMask(battle);
  const { own, source: ofSource } = hooks;
  if (hasHook(field, own)) return true;
  if (source !== null && ofSource !== null) {
    if (hasHook(field, ofSource) || hasHook(pokemonMask(source), ofSource)) return true;
  }
  if (!(target instanceof Pokemon)) return target instanceof Side;
  if (!target.isActive && !source?.isActive) return false;
  if (own !== null && hasHook(pokemonMask(target), own)) return true;
  return hooks.around && othersMayHandle(battle, hooks, field);
}

/**
 * @param {any} battle
 * @param {EventHooks} hooks
 * @param {Mask} field
 */
function othersMayHandle(battle, { ally, foe, any }, field) {
  if (hasHook(field, ally) || hasHook(field, foe) || hasHook(field, any)) return true;
  for (const side of battle.sides) {
    if (side.allies !== stock.allies) return true; // the format overrides who is adjacent
    for (const pokemon of side.active) {
      if (!pokemon) continue;
      const mask = pokemonMask(pokemon);
      if (hasHook(mask, ally) || hasHook(mask, foe) || hasHook(mask, any)) return true;
    }
  }
  return false;
}

const replacements = {
  /**
   * Every condition gets its state here when it starts on a Pokémon, slot, side or field.
   * @this {any}
   * @param {any} state
   * @param {number} [effectOrder]
   */
  initEffectState(state, effectOrder) {
    const { id, target } = state;
    if (id) addCondition(this, id, target instanceof Pokemon ? target : null);
    return stock.initEffectState.call(this, state, effectOrder);
  },

  /**
   * @this {any}
   * @param {string} eventid
   * @param {any} [target]
   * @param {any} [source]
   * @param {any} [sourceEffect]
   * @param {any} [relayVar]
   * @param {boolean} [onEffect]
   * @param {boolean} [fastExit]
   */
  runEvent(eventid, target, source, sourceEffect, relayVar, onEffect, fastExit) {
    const hooks = hookIndexOf(this.dex).event(eventid);
    const origin = source instanceof Pokemon ? source : null;
    const many = Array.isArray(target);
    if (
      this.eventDepth >= MAX_DEPTH ||
      (onEffect && (!sourceEffect || sourceEffect[hooks.name] !== undefined)) ||
      (many
        ? target.some((each) => mayHaveHandlers(this, hooks, each, origin))
        : mayHaveHandlers(this, hooks, target, origin))
    ) {
      return stock.runEvent.call(this, eventid, target, source, sourceEffect, relayVar, onEffect, fastExit);
    }
    if (many) return Array.isArray(relayVar) ? relayVar : target.map(() => true);
    if (relayVar === undefined || relayVar === null) return true;
    if (typeof relayVar === 'number' && relayVar === Math.abs(Math.floor(relayVar))) {
      return relayVar < EXACT ? relayVar + 0 : this.modify(relayVar, 1);
    }
    return relayVar;
  },

  /**
   * @this {any}
   * @param {string} eventid
   * @param {any} effect
   * @param {any} state
   * @param {any} target
   * @param {any} [source]
   * @param {any} [sourceEffect]
   * @param {any} [relayVar]
   * @param {any} [customCallback]
   */
  singleEvent(eventid, effect, state, target, source, sourceEffect, relayVar, customCallback) {
    const { name } = hookIndexOf(this.dex).event(eventid);
    if (
      !customCallback &&
      effect[name] === undefined &&
      !this.debugMode &&
      this.eventDepth < MAX_DEPTH &&
      this.log.length - this.sentLogPos <= MAX_UNSENT_LINES
    ) {
      return relayVar === undefined ? true : relayVar;
    }
    const more = [source, sourceEffect, relayVar, customCallback];
    return stock.singleEvent.call(this, eventid, effect, state, target, ...more);
  },
};

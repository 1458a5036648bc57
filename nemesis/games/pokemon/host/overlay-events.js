// Events that nobody listens to end at once, and the others look only at effects that may listen.

import { heardOnField, heardOnPokemon, listenersOf } from './overlay-listeners.js';

/** @import { EventHooks, Hook } from './overlay-listeners.js' */
/** @import { Modules } from './simulator.js' */

const MOST_DEPTH = 8;
const MOST_UNSENT_LINES = 1000;
// below it, the simulator's 32-bit fixed-point product with a modifier of 1 changes nothing
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
  stock = { ...prototype };
  for (const name of Object.keys(replacements)) stock[name] = prototype[name];
  Object.assign(prototype, replacements);
}

/**
 * Whether anything may listen to an event; false is certain, true is not.
 * @param {any} battle
 * @param {EventHooks} hooks
 * @param {any} target
 * @param {any} source a Pokémon or null
 * @returns {boolean}
 */
export function mayBeHeard(battle, hooks, target, source) {
  if (battle.format[hooks.name] !== undefined || battle.events !== null || battle.deserialized) return true;
  const field = heardOnField(battle);
  const { own } = hooks;
  if (own !== null) {
    if (field[own.index] === 1) return true;
    if (target instanceof Pokemon && heardOnPokemon(target)[own.index] === 1) return true;
  }
  if (source !== null && hooks.source !== null && heardOnPokemon(source)[hooks.source.index] === 1) return true;
  if (target instanceof Pokemon) return hooks.around && aroundMayHear(battle, hooks, field);
  return target instanceof Side;
}

/**
 * @param {any} battle
 * @param {EventHooks} hooks
 * @param {Uint8Array} field
 */
function aroundMayHear(battle, { ally, foe, any }, field) {
  if (foe !== null && field[foe.index] === 1) return true;
  if (any !== null && field[any.index] === 1) return true;
  for (const side of battle.sides) {
    if (Object.hasOwn(side, 'allies')) return true; // the format decides for itself who is around
    for (const pokemon of side.active) {
      if (!pokemon) continue;
      const heard = heardOnPokemon(pokemon);
      if (ally !== null && heard[ally.index] === 1) return true;
      if (foe !== null && heard[foe.index] === 1) return true;
      if (any !== null && heard[any.index] === 1) return true;
    }
  }
  return false;
}

const replacements = {
  /**
   * Every condition gets its state here when it is put on a Pokémon, slot, side or field.
   * @this {any}
   * @param {any} state
   * @param {number} [effectOrder]
   */
  initEffectState(state, effectOrder) {
    const { id, target } = state;
    if (id) {
      const heard = target instanceof Pokemon ? heardOnPokemon(target) : heardOnField(this);
      listenersOf(this.dex).mark(heard, this.dex.conditions.getByID(id));
    }
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
    const hooks = listenersOf(this.dex).event(eventid);
    const origin = source instanceof Pokemon ? source : null;
    const many = Array.isArray(target);
    if (
      this.eventDepth >= MOST_DEPTH ||
      (onEffect && sourceEffect?.[hooks.name] !== undefined) ||
      (many ? target.some((each) => mayBeHeard(this, hooks, each, origin)) : mayBeHeard(this, hooks, target, origin))
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
    if (
      customCallback ||
      effect[listenersOf(this.dex).event(eventid).name] !== undefined ||
      this.debugMode ||
      this.eventDepth >= MOST_DEPTH ||
      this.log.length - this.sentLogPos > MOST_UNSENT_LINES
    ) {
      return stock.singleEvent.call(this, eventid, effect, state, target, source, sourceEffect, relayVar, customCallback);
    }
    return relayVar === undefined ? true : relayVar;
  },

  /**
   * @this {any}
   * @param {any} target
   * @param {string} eventName
   * @param {any} source
   */
  findEventHandlers(target, eventName, source) {
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
    const askPokemon = (/** @type {any} */ pokemon, /** @type {Hook | null} */ hook) => {
      if (hook !== null) handlers.push(...this.findPokemonEventHandlers(pokemon, hook.name));
    };
    const askSide = (/** @type {any} */ side, /** @type {Hook | null} */ hook) => {
      if (hook !== null) handlers.push(...this.findSideEventHandlers(side, hook.name));
    };
    const bubblesDown = target instanceof Side;
    if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
      askPokemon(target, own);
      if (hooks.around) {
        for (const pokemon of target.alliesAndSelf()) {
          askPokemon(pokemon, ally);
          askPokemon(pokemon, any);
        }
        for (const pokemon of target.foes()) {
          askPokemon(pokemon, foe);
          askPokemon(pokemon, any);
        }
      }
      target = target.side;
    }
    if (source) askPokemon(source, hooks.source);
    if (target instanceof Side) {
      for (const side of this.sides) {
        const near = side === target || side === target.allySide ? own : foe;
        if (bubblesDown) {
          for (const pokemon of side.active) {
            askPokemon(pokemon, near);
            askPokemon(pokemon, any);
          }
        }
        if (side.n < 2 || !side.allySide) {
          askSide(side, near);
          askSide(side, any);
        }
      }
    }
    handlers.push(...this.findFieldEventHandlers(this.field, hooks.name));
    handlers.push(...this.findBattleEventHandlers(hooks.name));
    return handlers;
  },

  /**
   * @this {any}
   * @param {any} pokemon
   * @param {string} callbackName
   * @param {string} [getKey]
   */
  findPokemonEventHandlers(pokemon, callbackName, getKey) {
    if (!getKey && !this.deserialized) {
      const hook = listenersOf(this.dex).hooks.get(callbackName);
      if (hook === undefined) return [];
      if (heardOnPokemon(pokemon)[hook.index] === 0 && heardOnField(this)[hook.index] === 0) return [];
    }
    return stock.findPokemonEventHandlers.call(this, pokemon, callbackName, getKey);
  },

  /**
   * @this {any}
   * @param {any} side
   * @param {string} callbackName
   * @param {string} [getKey]
   * @param {any} [customHolder]
   */
  findSideEventHandlers(side, callbackName, getKey, customHolder) {
    if (!getKey && !fieldMayHear(this, callbackName)) return [];
    return stock.findSideEventHandlers.call(this, side, callbackName, getKey, customHolder);
  },

  /**
   * @this {any}
   * @param {any} field
   * @param {string} callbackName
   * @param {string} [getKey]
   * @param {any} [customHolder]
   */
  findFieldEventHandlers(field, callbackName, getKey, customHolder) {
    if (!getKey && !fieldMayHear(this, callbackName)) return [];
    return stock.findFieldEventHandlers.call(this, field, callbackName, getKey, customHolder);
  },
};

/**
 * @param {any} battle
 * @param {string} callbackName
 */
function fieldMayHear(battle, callbackName) {
  if (battle.deserialized) return true;
  const hook = listenersOf(battle.dex).hooks.get(callbackName);
  return hook !== undefined && heardOnField(battle)[hook.index] === 1;
}

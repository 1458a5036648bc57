// Short methods that are called very often, with less work for the same result.

import { MAX_DEPTH, mayHaveHandlers } from './events.js';
import { hookIndexOf } from './hooks.js';

/** @import { Modules } from '../simulator.js' */

/** @type {Record<string, string | undefined>} */
const MODIFY = { atk: 'ModifyAtk', def: 'ModifyDef', spa: 'ModifySpA', spd: 'ModifySpD', spe: 'ModifySpe' };
const BOOST = [1, 1.5, 2, 2.5, 3, 3.5, 4];
const MAX_SPEED = 10_000;

/** @type {any} */
let stock;

/** @param {Modules} modules */
export function installMethods({ load }) {
  const { prototype: pokemon } = load('pokemon').Pokemon;
  const { prototype: battle } = load('battle').Battle;
  stock = { getStat: pokemon.getStat, add: battle.add };
  pokemon.getStat = getStat;
  battle.add = add;
  load('field').Field.prototype.suppressingWeather = suppressingWeather;
}

/**
 * @this {any}
 * @param {string} statName
 * @param {boolean} [unboosted]
 * @param {boolean} [unmodified]
 */
function getStat(statName, unboosted, unmodified) {
  const event = MODIFY[statName];
  if (unmodified || event === undefined) return stock.getStat.call(this, statName, unboosted, unmodified);
  const { battle } = this;
  let stat = this.storedStats[statName];
  if (!unboosted) {
    let { boosts } = this;
    const hooks = hookIndexOf(battle.dex).event('ModifyBoost');
    if (battle.eventDepth >= MAX_DEPTH || mayHaveHandlers(battle, hooks, this, null)) {
      boosts = battle.runEvent('ModifyBoost', this, null, null, { ...boosts });
    }
    const boost = Math.max(-6, Math.min(6, boosts[statName]));
    stat = Math.floor(boost >= 0 ? stat * BOOST[boost] : stat / BOOST[-boost]);
  }
  stat = battle.runEvent(event, this, null, null, stat);
  if (statName === 'spe' && stat > MAX_SPEED && !battle.format.battle?.trunc) stat = MAX_SPEED;
  return stat;
}

/**
 * @this {any}
 * @param {...any} parts of a line, or a function that returns what one side sees and what the others see
 */
function add(...parts) {
  const hidden = parts.findIndex(isFunction);
  if (hidden < 0) {
    this.log.push(`|${parts.join('|')}`);
    return;
  }
  if (parts.findLastIndex(isFunction) > hidden) return stock.add.apply(this, parts);
  const { side, secret, shared } = parts[hidden]();
  parts[hidden] = secret;
  const seenByOne = parts.join('|');
  parts[hidden] = shared;
  this.log.push(`|split|${side}`, `|${seenByOne}`, `|${parts.join('|')}`);
}

/** @param {any} part */
function isFunction(part) {
  return typeof part === 'function';
}

/**
 * Whether an ability suppresses the weather. Such abilities are rare, so whether the ability works is checked last.
 * @this {any}
 */
function suppressingWeather() {
  for (const side of this.battle.sides) {
    for (const pokemon of side.active) {
      if (!pokemon || pokemon.fainted || !pokemon.getAbility().suppressWeather) continue;
      if (!pokemon.ignoringAbility() && !pokemon.abilityState.ending) return true;
    }
  }
  return false;
}

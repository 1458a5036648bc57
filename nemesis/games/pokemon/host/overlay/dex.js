// Look-ups in the dex that are worked out once: ids and rules.

const MOST_IDS = 50_000;

/** @import { Modules } from '../simulator.js' */

/**
 * Must come before any other module of the simulator is loaded, for they all take `toID` from this one.
 * @param {Modules} modules
 */
export function installIds({ load, replace }) {
  const data = load('dex-data');
  const stock = data.toID;
  /** @type {Map<string, string>} */
  const ids = new Map();
  const toID = (/** @type {any} */ text) => {
    if (typeof text !== 'string') return stock(text);
    let id = ids.get(text);
    if (id === undefined) {
      id = intern(stock(text));
      if (ids.size < MOST_IDS) ids.set(text, id);
    }
    return id;
  };
  replace('dex-data', { __esModule: true, ...data, toID });
}

/** @param {Modules} modules */
export function installDex({ load }) {
  const { prototype } = load('dex-formats').DexFormats;
  const stock = prototype.get;
  /** @type {WeakMap<object, Map<string, any>>} */
  const known = new WeakMap();
  /**
   * Stock makes a rule anew whenever it is asked for, some eighty times in the course of a battle.
   * @this {any}
   * @param {any} name
   * @param {boolean} isTrusted
   */
  prototype.get = function (name, isTrusted) {
    if (typeof name !== 'string' || name.includes('@@@')) return stock.call(this, name, isTrusted);
    let rules = known.get(this);
    if (rules === undefined) known.set(this, (rules = new Map()));
    let rule = rules.get(name);
    if (rule === undefined) {
      rule = stock.call(this, name, isTrusted);
      if (rule.exists) rules.set(name, rule);
    }
    return rule;
  };
}

/**
 * A string put together at run time is slow as a key until V8 has made it unique, as names in source code are.
 * @param {string} name
 */
export function intern(name) {
  return Object.keys({ [name]: 0 })[0];
}

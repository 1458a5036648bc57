// Caches dex lookups: ids and rules.

const MAX_IDS = 50_000;

/** @import { Modules } from '../simulator.js' */

/**
 * Must run before any other simulator module is loaded, because they all import `toID` from this one.
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
      if (ids.size < MAX_IDS) ids.set(text, id);
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
  const cached = new WeakMap();
  /**
   * The stock method builds the rule again on every call, about eighty times per battle.
   * @this {any}
   * @param {any} name
   * @param {boolean} isTrusted
   */
  prototype.get = function (name, isTrusted) {
    if (typeof name !== 'string' || name.includes('@@@')) return stock.call(this, name, isTrusted);
    let rules = cached.get(this);
    if (rules === undefined) cached.set(this, (rules = new Map()));
    let rule = rules.get(name);
    if (rule === undefined) {
      rule = stock.call(this, name, isTrusted);
      if (rule.exists) rules.set(name, rule);
    }
    return rule;
  };
}

/**
 * V8 internalizes names in source code, but not strings built at run time, which makes them slow as keys.
 * @param {string} name
 */
export function intern(name) {
  return Object.keys({ [name]: 0 })[0];
}

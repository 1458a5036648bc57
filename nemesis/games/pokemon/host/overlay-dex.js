// Faster look-ups in the dex: ids and rules are worked out once, and a copy of a move copies only what can change.

const MOST_IDS = 50_000;

/** @import { Modules } from './simulator.js' */

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
  replace('dex-data', { ...data, toID });
}

/** @param {Modules} modules */
export function installDex({ load }) {
  const { Dex } = load('dex');
  Dex.ModdedDex.prototype.getActiveMove = getActiveMove;
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

/** @type {WeakMap<object, ActiveMoves>} */
const activeMoves = new WeakMap();

/**
 * @this {any}
 * @param {any} move
 */
function getActiveMove(move) {
  if (move && typeof move.hit === 'number') return move;
  let copies = activeMoves.get(this);
  if (copies === undefined) activeMoves.set(this, (copies = new ActiveMoves(this)));
  return copies.copy(this.moves.get(move));
}

// what battles add to the copies of moves, by and by
const ADDED = `hit lastHit totalDamage hitTargets moveHitData isExternal isZOrMaxPowered baseMove hasBounced hasSheerForce
  pranksterBoosted typeChangerBoosted stellarBoosted selfDropped infiltrates causedCrashDamage multihitType statusRoll
  magnitude allies auraBooster hasAuraBreak ruinedAtk ruinedDef ruinedSpA ruinedSpD`.split(/\s+/);

/** Copies of the moves of a dex, all of one shape: V8 compiles code well that meets few shapes of moves. */
class ActiveMoves {
  /** @param {any} dex */
  constructor(dex) {
    this.dex = dex;
    const sample = dex.moves.get('tackle');
    const keys = new Set([...Object.keys(sample), ...Object.values(dex.data.Moves).flatMap(Object.keys), ...ADDED]);
    this.keys = [...keys];
    this.Copy = new Function('move', this.keys.map((key) => `this.${key} = move.${key};`).join(''));
    this.Copy.prototype = Object.getPrototypeOf(sample);
    /** @type {WeakMap<object, {template: object, deep: string[]}>} */
    this.known = new WeakMap();
  }

  /** @param {any} move */
  copy(move) {
    let known = this.known.get(move);
    if (known === undefined) {
      const deep = Object.keys(move).filter((key) => typeof move[key] === 'object' && move[key] !== null);
      known = { template: new this.Copy(move), deep };
      this.known.set(move, known);
    }
    const copy = new this.Copy(known.template);
    for (const key of known.deep) copy[key] = this.dex.deepClone(move[key]);
    copy.hit = 0;
    return copy;
  }
}

/**
 * A string put together at run time is slow as a key until V8 has made it unique, as names in source code are.
 * @param {string} name
 */
export function intern(name) {
  return Object.keys({ [name]: 0 })[0];
}

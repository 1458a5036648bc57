// Keeps the number of hidden classes ("shapes") of Pokémon and moves low.
//
// Objects with the same properties in the same order share a shape. V8 optimizes property access at a call site for up
// to four shapes. The stock simulator adds properties to Pokémon in any order and deletes some, and nearly every move
// has a shape of its own.

/** @import { Modules } from '../simulator.js' */

/** @type {any} */
let stock;

/** @param {Modules} modules */
export function installShapes({ load }) {
  const { prototype: side } = load('side').Side;
  const { prototype: dex } = load('dex').Dex.ModdedDex;
  stock = { addPokemon: side.addPokemon, getActiveMove: dex.getActiveMove };
  side.addPokemon = addPokemon;
  load('battle').Battle.prototype.faintMessages = faintMessages;
  dex.getActiveMove = getActiveMove;
}

/**
 * Adds properties at construction that battles would add later, in varying order.
 * @this {any}
 * @param {any} set
 */
function addPokemon(set) {
  const pokemon = stock.addPokemon.call(this, set);
  if (pokemon) {
    pokemon.lastMoveTargetLoc = undefined;
    pokemon.pendingStaleness = undefined;
    pokemon.staleness = undefined;
    pokemon.terastallized = undefined;
  }
  return pokemon;
}

/**
 * Like the stock method, but `terastallized` is set to undefined where the stock method deletes it.
 * @this {any}
 * @param {boolean} [lastFirst]
 * @param {boolean} [forceCheck]
 * @param {boolean} [checkWin]
 * @returns {boolean | undefined}
 */
function faintMessages(lastFirst = false, forceCheck = false, checkWin = true) {
  if (this.ended) return;
  const { length } = this.faintQueue;
  if (!length) return Boolean(forceCheck && this.checkWin());
  if (lastFirst) this.faintQueue.unshift(this.faintQueue.pop());
  let faint;
  while (this.faintQueue.length) {
    const left = this.faintQueue.length;
    faint = this.faintQueue.shift();
    const pokemon = faint.target;
    if (pokemon.fainted || !this.runEvent('BeforeFaint', pokemon, faint.source, faint.effect)) continue;
    processFaint(this, pokemon, faint);
    if (this.faintQueue.length >= left) checkWin = true;
  }
  if (this.gen <= 1) {
    this.queue.clear();
  } else if (this.gen <= 3 && this.gameType === 'singles') {
    for (const pokemon of this.getAllActive()) {
      if (this.gen <= 2) {
        this.queue.cancelMove(pokemon);
      } else {
        this.queue.cancelAction(pokemon);
      }
    }
  }
  if (checkWin && this.checkWin(faint)) return true;
  this.runEvent('AfterFaint', faint.target, faint.source, faint.effect, length);
  return false;
}

/**
 * @param {any} battle
 * @param {any} pokemon that faints
 * @param {{source: any, effect: any}} faint
 */
function processFaint(battle, pokemon, { source, effect }) {
  const { side } = pokemon;
  battle.add('faint', pokemon);
  if (side.pokemonLeft) side.pokemonLeft--;
  if (side.totalFainted < 100) side.totalFainted++;
  battle.runEvent('Faint', pokemon, source, effect);
  battle.singleEvent('End', pokemon.getAbility(), pokemon.abilityState, pokemon);
  battle.singleEvent('End', pokemon.getItem(), pokemon.itemState, pokemon);
  if (pokemon.formeRegression && !pokemon.transformed) {
    pokemon.baseSpecies = battle.dex.species.get(pokemon.set.species || pokemon.set.name);
    pokemon.baseAbility = battle.toID(pokemon.set.ability);
  }
  pokemon.clearVolatile(false);
  pokemon.fainted = true;
  pokemon.illusion = null;
  pokemon.isActive = false;
  pokemon.isStarted = false;
  pokemon.terastallized = undefined;
  if (pokemon.formeRegression) {
    pokemon.details = pokemon.getUpdatedDetails();
    battle.add('detailschange', pokemon, pokemon.details, '[silent]');
    pokemon.updateMaxHp();
    pokemon.formeRegression = false;
  }
  side.faintedThisTurn = pokemon;
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
  return copies.copy(this.moves.get(move)) ?? stock.getActiveMove.call(this, move);
}

// properties that battles add to copies of moves
const ADDED = `hit lastHit totalDamage hitTargets moveHitData isExternal isZOrMaxPowered baseMove
  hasBounced hasSheerForce pranksterBoosted typeChangerBoosted stellarBoosted selfDropped infiltrates
  causedCrashDamage multihitType statusRoll magnitude allies auraBooster hasAuraBreak ruinedAtk ruinedDef
  ruinedSpA ruinedSpD`.split(/\s+/);
// objects that no battle changes; they are frozen, so an assignment would throw
const SHARED = new Set(['condition', 'zMove', 'maxMove', 'tags']);

/** Copies of the moves of a dex, all of one shape. */
class ActiveMoves {
  /** @param {any} dex */
  constructor(dex) {
    this.deepClone = dex.deepClone;
    const move = dex.moves.get('tackle');
    const keys = new Set([...Object.keys(move), ...Object.values(dex.data.Moves).flatMap(Object.keys), ...ADDED]);
    // Constant assignments in sequence give all copies one shape.
    const assignments = [...keys].map((key) => `this[${JSON.stringify(key)}] = move[${JSON.stringify(key)}];`);
    this.keys = keys;
    /** @type {any} */
    this.Copy = new Function('move', assignments.join(''));
    this.Copy.prototype = Object.getPrototypeOf(move);
    /** @type {WeakMap<object, Template | null>} */
    this.templates = new WeakMap();
  }

  /**
   * @param {any} move
   * @returns {any} null: the move has other properties than those of the dex
   */
  copy(move) {
    let template = this.templates.get(move);
    if (template === undefined) {
      template = this.newTemplate(move);
      this.templates.set(move, template);
    }
    if (template === null) return null;
    const copy = new this.Copy(template.move);
    for (const [key, value] of template.objects) copy[key] = this.deepClone(value);
    copy.hit = 0;
    return copy;
  }

  /**
   * @typedef {object} Template
   * @property {object} move in the shape of copies
   * @property {[string, object][]} objects of the move that battles may change
   */

  /**
   * @param {any} move
   * @returns {Template | null}
   */
  newTemplate(move) {
    if (Object.getPrototypeOf(move) !== this.Copy.prototype) return null;
    if (Object.keys(move).some((key) => !this.keys.has(key))) return null;
    const isCopied = (/** @type {[string, any]} */ [key, value]) =>
      typeof value === 'object' && value !== null && !SHARED.has(key);
    // The constructor reads templates only, so that it, too, sees a single shape.
    return { move: Object.assign(new this.Copy({}), move), objects: Object.entries(move).filter(isCopied) };
  }
}

// The end of a turn, without copying moves and without checking abilities that cannot trap.

/** @import { Modules } from '../simulator.js' */

// far below the number of unsent lines at which the stock simulator assumes an endless loop
const MANY_LINES = 500;

/** @type {() => void} */
let stock;

/** @param {Modules} modules */
export function installTurn({ load }) {
  const { prototype } = load('battle').Battle;
  stock = prototype.endTurn;
  prototype.endTurn = endTurn;
}

/** @this {any} */
function endTurn() {
  if (this.debugMode || this.log.length - this.sentLogPos > MANY_LINES) return stock.call(this);
  this.turn++;
  this.lastSuccessfulMoveThisTurn = null;
  endDynamax(this);
  if (this.gen === 1) releaseTrapped(this);
  const trapped = [];
  const staleness = [];
  for (const side of this.sides) {
    let sideTrapped = true;
    let sideStaleness;
    for (const pokemon of side.active) {
      if (!pokemon) continue;
      resetTurnState(this, pokemon);
      disableMoves(this, pokemon);
      if (pokemon.getLastAttackedBy() && this.gen >= 7) pokemon.knownType = true;
      updateAttackers(pokemon);
      if (this.gen >= 7 && !pokemon.terastallized) showTypes(this, pokemon);
      trap(this, pokemon);
      if (pokemon.fainted) continue;
      sideTrapped = sideTrapped && pokemon.trapped;
      const own = pokemon.volatileStaleness || pokemon.staleness;
      if (own) sideStaleness = sideStaleness === 'external' ? sideStaleness : own;
      pokemon.activeTurns++;
    }
    trapped.push(sideTrapped);
    staleness.push(sideStaleness);
    side.faintedLastTurn = side.faintedThisTurn;
    side.faintedThisTurn = null;
  }
  if (this.maybeTriggerEndlessBattleClause(trapped, staleness)) return;
  if (this.gameType === 'triples') moveToCenter(this);
  this.add('turn', this.turn);
  if (this.gameType === 'multi') announceDynamax(this);
  if (this.gen === 2) this.quickClawRoll = this.randomChance(60, 256);
  if (this.gen === 3) this.quickClawRoll = this.randomChance(1, 5);
  this.makeRequest('move');
}

/** @param {any} battle */
function endDynamax(battle) {
  const isLastTurn = (/** @type {any} */ pokemon) => pokemon.volatiles['dynamax']?.turns === 3;
  const ending = battle.getAllActive().filter(isLastTurn);
  if (ending.length > 1) {
    battle.updateSpeed();
    battle.speedSort(ending);
  }
  for (const pokemon of ending) pokemon.removeVolatile('dynamax');
}

/** @param {any} battle of the first generation */
function releaseTrapped(battle) {
  for (const { volatiles } of battle.getAllActive()) {
    if (volatiles['partialtrappinglock']) {
      const target = volatiles['partialtrappinglock'].locked;
      if (target.hp <= 0 || !target.volatiles['partiallytrapped']) delete volatiles['partialtrappinglock'];
    }
    if (volatiles['partiallytrapped']) {
      const { source } = volatiles['partiallytrapped'];
      if (source.hp <= 0 || !source.volatiles['partialtrappinglock']) delete volatiles['partiallytrapped'];
    }
    if (volatiles['fakepartiallytrapped']) {
      const { counterpart } = volatiles['fakepartiallytrapped'];
      const mutual = counterpart.hp > 0 && counterpart.volatiles['fakepartiallytrapped'];
      if (!mutual) delete volatiles['fakepartiallytrapped'];
    }
  }
}

/**
 * @param {any} battle
 * @param {any} pokemon
 */
function resetTurnState(battle, pokemon) {
  pokemon.moveThisTurn = '';
  pokemon.newlySwitched = false;
  pokemon.moveLastTurnResult = pokemon.moveThisTurnResult;
  pokemon.moveThisTurnResult = undefined;
  if (battle.turn !== 1) {
    pokemon.usedItemThisTurn = false;
    pokemon.statsRaisedThisTurn = false;
    pokemon.statsLoweredThisTurn = false;
    pokemon.hurtThisTurn = null;
  }
  pokemon.maybeDisabled = false;
  pokemon.maybeLocked = false;
  for (const slot of pokemon.moveSlots) {
    slot.disabled = false;
    slot.disabledSource = '';
  }
}

/**
 * @param {any} battle
 * @param {any} pokemon
 */
function disableMoves(battle, pokemon) {
  battle.runEvent('DisableMove', pokemon);
  for (const { id } of pokemon.moveSlots) {
    const move = battle.dex.moves.get(id);
    if (move.onDisableMove !== undefined) {
      battle.singleEvent('DisableMove', battle.dex.getActiveMove(id), null, pokemon);
    }
    if (move.flags['cantusetwice'] && pokemon.lastMove?.id === id) pokemon.disableMove(pokemon.lastMove.id);
  }
}

/** @param {any} pokemon */
function updateAttackers({ attackedBy }) {
  for (let place = attackedBy.length - 1; place >= 0; place--) {
    const attack = attackedBy[place];
    if (attack.source.isActive) {
      attack.thisTurn = false;
    } else {
      attackedBy.splice(attackedBy.indexOf(attack), 1);
    }
  }
}

/**
 * @param {any} battle
 * @param {any} pokemon
 */
function showTypes(battle, pokemon) {
  const seen = pokemon.illusion || pokemon;
  const types = seen.getTypes(true).join('/');
  if (types === seen.apparentType) return;
  battle.add('-start', pokemon, 'typechange', types, '[silent]');
  seen.apparentType = types;
  if (pokemon.addedType) battle.add('-start', pokemon, 'typeadd', pokemon.addedType, '[silent]');
}

/**
 * @param {any} battle
 * @param {any} pokemon
 */
function trap(battle, pokemon) {
  pokemon.trapped = pokemon.maybeTrapped = false;
  battle.runEvent('TrapPokemon', pokemon);
  if (!pokemon.knownType || battle.dex.getImmunity('trapped', pokemon)) battle.runEvent('MaybeTrapPokemon', pokemon);
  if (battle.gen <= 2) return;
  for (const foe of pokemon.foes()) {
    for (const [slot, ability] of trappingAbilities(battle.dex, (foe.illusion || foe).species)) {
      if (!mayHaveAbility(battle, foe, slot, ability)) continue;
      if (!pokemon.knownType || battle.dex.getImmunity('trapped', pokemon)) {
        battle.singleEvent('FoeMaybeTrapPokemon', ability, {}, pokemon, foe);
      }
    }
  }
}

/** @type {WeakMap<object, WeakMap<object, [string, any][]>>} */
const trapsByDex = new WeakMap();

/**
 * @param {any} dex
 * @param {any} species
 * @returns {[string, any][]} slots and abilities that a Pokémon of the species might have and trap its foes with
 */
function trappingAbilities(dex, species) {
  let bySpecies = trapsByDex.get(dex);
  if (bySpecies === undefined) trapsByDex.set(dex, (bySpecies = new WeakMap()));
  let traps = bySpecies.get(species);
  if (traps === undefined) {
    traps = Object.keys(species.abilities ?? {}).map((slot) => [slot, dex.abilities.get(species.abilities[slot])]);
    traps = traps.filter(([, ability]) => ability.onFoeMaybeTrapPokemon !== undefined);
    bySpecies.set(species, traps);
  }
  return traps;
}

/**
 * @param {any} battle
 * @param {any} foe
 * @param {string} slot
 * @param {any} ability
 */
function mayHaveAbility({ ruleTable, format }, foe, slot, ability) {
  const { species } = foe.illusion || foe;
  if (species.abilities[slot] === foe.ability) return false;
  if ((ruleTable.has('+hackmons') || !ruleTable.has('obtainableabilities')) && !format.team) return false;
  if (slot === 'H' && species.unreleasedHidden) return false;
  return !ruleTable.has(`-ability:${ability.id}`);
}

/** @param {any} battle */
function moveToCenter(battle) {
  if (!battle.sides.every((/** @type {any} */ side) => side.pokemonLeft === 1)) return;
  const actives = battle.getAllActive();
  if (actives.length > 1 && !actives[0].isAdjacent(actives[1])) {
    battle.swapPosition(actives[0], 1, '[silent]');
    battle.swapPosition(actives[1], 1, '[silent]');
    battle.add('-center');
  }
}

/** @param {any} battle */
function announceDynamax(battle) {
  for (const side of battle.sides) {
    if (!side.canDynamaxNow()) continue;
    if (battle.turn === 1) {
      battle.addSplit(side.id, ['-candynamax', side.id]);
    } else {
      battle.add('-candynamax', side.id);
    }
  }
}

// HP, status and stat stages.

import { loseTurn } from './actions.js';
import { noteCause } from './items.js';
import { BOOSTS } from './state.js';

/** @import { Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */

/** @type {Map<string, number>} */
const PLACE = new Map(BOOSTS.map((name, place) => [name, place]));
const MAX_STAGES = 6;
/** Moves that heal the next Pokémon in the slot. */
const HEALS_REPLACEMENT = new Set(['healingwish', 'lunardance']);
/** Abilities that heal another Pokémon. */
const HEALS_OTHERS = new Set(['hospitality']);
/** Volatiles for critical hits that are copied together with boosts. */
const COPIED_WITH_BOOSTS = ['focusenergy', 'dragoncheer', 'gmaxchistrike', 'laserfocus'];

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function damage(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  const { status } = pokemon;
  pokemon.setCondition(parts[3]);
  if (parts.length < 5) return;
  tracker.readTags(parts, 4);
  const { from } = tracker;
  if (!from) return;
  if (from.kind) noteCause(tracker, tracker.pokemonAt(tracker.of) ?? pokemon);
  else if (from.id === 'confusion') loseTurn(tracker, tracker.slotAt(parts[2]), from.id);
  else if (from.id === 'psn' && status === 'tox' && tracker.lexicon.generation <= 2) pokemon.statusTurns++;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function heal(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  pokemon.setCondition(parts[3]);
  if (pokemon.fainted && pokemon.hp) {
    pokemon.fainted = false;
    pokemon.side.faints--;
  }
  if (parts.length < 5) return;
  tracker.readTags(parts, 4);
  const { from } = tracker;
  if (!from) return;
  const owner = HEALS_OTHERS.has(from.id) ? tracker.pokemonAt(tracker.of) : pokemon;
  noteCause(tracker, owner);
  const replaced = HEALS_REPLACEMENT.has(from.id) || parts.includes('[zeffect]', 4);
  if (replaced && pokemon.slot >= 0) pokemon.side.healingWish[pokemon.slot] = false;
  if (from.id === 'regenerator') tracker.slotAt(parts[2]).regenerated = true;
  if (from.id === 'lunardance') pokemon.moves.spent.fill(0);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function setHp(tracker, parts) {
  tracker.pokemonAt(parts[2])?.setCondition(parts[3]);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function status(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  pokemon.status = ''; // Rest restarts sleep
  pokemon.setStatus(parts[3]);
  if (tracker.lexicon.generation === 1 && parts[3] === 'slp') tracker.slotAt(parts[2]).volatiles.delete('mustrecharge');
  tracker.readTags(parts, 4);
  noteCause(tracker, tracker.pokemonAt(tracker.of) ?? pokemon);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function cureStatus(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  pokemon.setStatus('');
  tracker.readTags(parts, 4);
  noteCause(tracker, pokemon);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function cureTeam(tracker, parts) {
  for (const pokemon of tracker.sideAt(parts[2]).team) pokemon.setStatus('');
}

/**
 * @param {Slot} slot
 * @param {string} stat
 * @param {number} stages
 */
function setBoost({ boosts }, stat, stages) {
  const place = PLACE.get(stat);
  if (place !== undefined) boosts[place] = Math.max(-MAX_STAGES, Math.min(MAX_STAGES, stages));
}

/**
 * @param {number} sign
 * @returns {(tracker: Tracker, parts: string[]) => void}
 */
function boost(sign) {
  return (tracker, parts) => {
    const slot = tracker.slotAt(parts[2]);
    setBoost(slot, parts[3], slot.boosts[PLACE.get(parts[3]) ?? 0] + sign * Number(parts[4]));
    if (parts.length < 6) return;
    tracker.readTags(parts, 5);
    noteCause(tracker, slot.pokemon);
  };
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function setTo(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  setBoost(slot, parts[3], Number(parts[4]));
  tracker.readTags(parts, 5);
  noteCause(tracker, slot.pokemon);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function swapBoost(tracker, parts) {
  const one = tracker.slotAt(parts[2]).boosts;
  const other = tracker.slotAt(parts[3]).boosts;
  const stats = parts[4] && !parts[4].startsWith('[') ? parts[4].split(', ') : BOOSTS;
  for (const stat of stats) {
    const place = PLACE.get(stat) ?? 0;
    [one[place], other[place]] = [other[place], one[place]];
  }
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function copyBoost(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const model = tracker.slotAt(parts[3]);
  slot.boosts.set(model.boosts);
  copyCriticalChances(tracker, slot, model);
  tracker.readTags(parts, 4);
  noteCause(tracker, slot.pokemon);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {Slot} model
 */
export function copyCriticalChances({ lexicon }, slot, model) {
  if (lexicon.generation < 6) return;
  for (const id of COPIED_WITH_BOOSTS) {
    const value = model.volatiles.get(id);
    if (value === undefined) slot.volatiles.delete(id);
    else slot.volatiles.set(id, value);
  }
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function clearBoost(tracker, parts) {
  tracker.slotAt(parts[2]).boosts.fill(0);
  tracker.readTags(parts, 3);
  noteCause(tracker, tracker.pokemonAt(tracker.of));
}

/** @param {Tracker} tracker */
function clearAllBoosts({ sides }) {
  for (const side of sides) for (const slot of side.slots) slot.boosts.fill(0);
}

/**
 * @param {(stages: number) => number} change
 * @returns {(tracker: Tracker, parts: string[]) => void}
 */
function each(change) {
  return (tracker, parts) => {
    const { boosts } = tracker.slotAt(parts[2]);
    for (let place = 0; place < boosts.length; place++) boosts[place] = change(boosts[place]);
  };
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const healthLines = [
  ['-damage', damage],
  ['-heal', heal],
  ['-sethp', setHp],
  ['-status', status],
  ['-curestatus', cureStatus],
  ['-cureteam', cureTeam],
  ['-boost', boost(1)],
  ['-unboost', boost(-1)],
  ['-setboost', setTo],
  ['-swapboost', swapBoost],
  ['-copyboost', copyBoost],
  ['-clearboost', clearBoost],
  ['-clearallboost', clearAllBoosts],
  ['-invertboost', each((stages) => -stages)],
  ['-clearpositiveboost', each((stages) => Math.min(stages, 0))],
  ['-clearnegativeboost', each((stages) => Math.max(stages, 0))],
];

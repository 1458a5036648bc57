// Which Pokémon of a team a line refers to, including Pokémon that appear as another one by the ability Illusion.

import { MoveList } from './state.js';

/** @import { Details } from './lexicon.js' */
/** @import { Pokemon, Side, Slot } from './state.js' */

const MOVES_OF_A_SET = 4;

/**
 * @param {Pokemon} pokemon
 * @param {Details} details
 * @returns {boolean} whether the details match the Pokémon in any of its formes
 */
export function fits(pokemon, details) {
  return (
    pokemon.baseSpecies.base === details.species.base &&
    pokemon.level === details.level &&
    pokemon.gender === details.gender
  );
}

/**
 * @param {Slot} slot
 * @param {string} name
 * @param {Details} details
 * @returns {Pokemon} the Pokémon that comes into the slot, as far as is known
 */
export function arriving({ side, index }, name, details) {
  const free = (/** @type {Pokemon} */ pokemon) => pokemon.slot < 0 || pokemon.slot === index;
  const alike = side.team.filter((pokemon) => pokemon.baseSpecies.base === details.species.base);
  const named = alike.filter((pokemon) => pokemon.name === name);
  const same = named.filter((pokemon) => free(pokemon) && !pokemon.fainted);
  const known = same.find((pokemon) => fits(pokemon, details));
  if (known) return known;
  if (same.length) return onlyIllusionCandidate(side) ?? same[0]; // an Illusion may show the level of its user
  const returned = named.find((pokemon) => free(pokemon));
  if (returned?.before) {
    correctFaintedIllusion(side, returned);
    return returned;
  }
  const namesake = named.find((pokemon) => !pokemon.fainted);
  if (namesake) return arrivingBesideNamesake(namesake, index, name, details);
  const hidden = alike.filter((pokemon) => pokemon.name === '');
  const fitting = hidden.filter((pokemon) => fits(pokemon, details));
  const previewed = fitting.find((pokemon) => pokemon.species === details.species) ?? fitting[0];
  if (!previewed && hidden.length) return onlyIllusionCandidate(side) ?? assignName(hidden[0], name);
  return assignName(previewed ?? side.add(details), name);
}

/**
 * Two active Pokémon have the same name, so one is an Illusion. An Illusion shows the last Pokémon of the party, so it
 * is the one that came in first, unless it comes into the first slot with no one left on the bench.
 * @param {Pokemon} namesake
 * @param {number} index of the slot that the second one comes into
 * @param {string} name
 * @param {Details} details
 * @returns {Pokemon}
 */
function arrivingBesideNamesake(namesake, index, name, details) {
  const { side } = namesake;
  const user = onlyIllusionCandidate(side);
  if (index === 0 && side.broughtSize - side.faints <= 2) return user ?? assignName(side.add(details), name);
  if (!user) return Object.assign(assignName(side.add(details), name), namesake.before);
  revealIllusion(side.slots[namesake.slot], user);
  return namesake;
}

/**
 * A fifth move reveals an Illusion, if only one Pokémon can be its user.
 * @param {Slot} slot
 * @param {string} move that its Pokémon chose
 */
export function revealIllusionByMove(slot, move) {
  const { pokemon, side } = slot;
  if (!pokemon || slot.transform || slot.mimic) return;
  const { ids } = pokemon.moves;
  const user = ids.length >= MOVES_OF_A_SET && !ids.includes(move) ? onlyIllusionCandidate(side) : undefined;
  if (user) revealIllusion(slot, user);
}

/**
 * @param {Slot} slot
 * @param {Pokemon} user that is in it and looks like another
 */
export function revealIllusion(slot, user) {
  if (slot.pokemon) transferObservations(user, slot.pokemon);
  slot.pokemon = user;
  slot.species = null;
  user.slot = slot.index;
  user.seen = true;
  user.ability = user.baseAbility = 'illusion';
}

/**
 * @param {Side} side
 * @returns {Pokemon | undefined} the only one on the bench that may have Illusion
 */
function onlyIllusionCandidate(side) {
  const candidates = side.team.filter(
    (pokemon) => pokemon.species.mayHaveIllusion && !pokemon.fainted && pokemon.slot < 0,
  );
  return candidates.length === 1 ? candidates[0] : undefined;
}

/**
 * @param {Pokemon} pokemon
 * @param {string} name
 * @returns {Pokemon}
 */
export function assignName(pokemon, name) {
  const { side } = pokemon;
  pokemon.name = name;
  if (!pokemon.maxHp) pokemon.hp = pokemon.maxHp = side.tracker.hpScale;
  side.identities++;
  return pokemon;
}

/**
 * @param {Side} side
 * @param {string} name
 * @param {Details} details
 * @returns {Pokemon}
 */
export function illusionUser(side, name, details) {
  const hidden = side.team.filter((pokemon) => pokemon.slot < 0 && !pokemon.fainted && fits(pokemon, details));
  const called = (/** @type {string} */ known) => hidden.find((pokemon) => pokemon.name === known);
  return called(name) ?? called('') ?? side.add(details);
}

/**
 * Move what was observed during an Illusion from the Pokémon that was shown to the user of Illusion.
 * @param {Pokemon} user
 * @param {Pokemon} copied
 */
function transferObservations(user, copied) {
  const before = copied.before ?? {};
  const earlier = before.moves ?? new MoveList();
  for (const [place, id] of copied.moves.ids.entries()) {
    const spent = copied.moves.spent[place] - earlier.spentOn(id);
    if (spent > 0 || !earlier.ids.includes(id)) user.moves.spent[user.moves.reveal(id)] += spent;
  }
  const { hp, maxHp, status, statusTurns, statusPhase } = copied;
  Object.assign(user, { hp, maxHp, status, statusTurns, statusPhase });
  if (copied.item !== before.item || copied.itemState !== before.itemState || copied.lastItem !== before.lastItem) {
    const { item, itemState, lastItem } = copied;
    Object.assign(user, { item, itemState, lastItem });
  }
  if (copied.terastallized && !before.terastallized) {
    Object.assign(user, { terastallized: true, teraType: copied.teraType });
  }
  if (copied.before) copied.restoreState();
}

/**
 * A fainted Pokémon comes in alive, so the one that fainted was an Illusion.
 * @param {Side} side
 * @param {Pokemon} returned
 */
function correctFaintedIllusion(side, returned) {
  const user = onlyIllusionCandidate(side);
  if (!user) {
    returned.restoreState();
    return;
  }
  transferObservations(user, returned);
  user.hp = 0;
  user.fainted = user.seen = true;
  side.identities++;
}

// Who is who: team preview, open team sheets, Pokémon that come and go, and disguises that fall.

import { HELD, MoveList, NONE } from './state.js';
import { toId } from './lexicon.js';

/** @import { Details } from './lexicon.js' */
/** @import { Pokemon, Side, Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */

const FIRST_GENERATION_WITH_ILLUSION = 5;
const LAST_GENERATION_TO_PREVIEW_ITEMS = 7;
const MOVES_OF_A_SET = 4;

/**
 * @param {Pokemon} pokemon
 * @param {Details} details
 * @returns {boolean} whether the details can be those of the Pokémon, now or in another forme
 */
export function fits(pokemon, details) {
  return (
    pokemon.baseSpecies.base === details.species.base &&
    pokemon.level === details.level &&
    pokemon.gender === details.gender
  );
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function poke(tracker, parts) {
  const side = tracker.sideAt(parts[2]);
  const pokemon = side.add(tracker.lexicon.details(parts[3]));
  pokemon.hp = pokemon.maxHp = tracker.hpScale;
  side.teamSize = side.broughtSize = side.team.length;
  if (tracker.lexicon.generation <= LAST_GENERATION_TO_PREVIEW_ITEMS) pokemon.itemState = parts[4] ? HELD : NONE;
}

/** @param {Tracker} tracker */
function clearPoke({ sides }) {
  for (const side of sides) side.team.length = 0;
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function teamPreview({ sides }, parts) {
  if (parts[2]) for (const side of sides) side.broughtSize = Math.min(side.teamSize, Number(parts[2]));
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function teamSize(tracker, parts) {
  const side = tracker.sideAt(parts[2]);
  side.broughtSize = Number(parts[3]);
  side.teamSize = Math.max(side.teamSize, side.broughtSize);
}

/**
 * An open team sheet, in the packed format: name|species|item|ability|moves|nature|…|level|…,tera], in preview order.
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function showTeam(tracker, parts) {
  const { lexicon } = tracker;
  const side = tracker.sideAt(parts[2]);
  const sets = parts.slice(3).join('|').split(']');
  for (let place = 0; place < sets.length && place < side.team.length; place++) {
    const [name, species, item, ability, moves, nature, , , , , , rest = ''] = sets[place].split('|');
    const pokemon = side.team[place];
    pokemon.species = pokemon.baseSpecies = lexicon.species(species || name);
    pokemon.item = toId(item);
    pokemon.itemState = item ? HELD : NONE;
    pokemon.ability = pokemon.baseAbility = toId(ability);
    pokemon.nature = toId(nature);
    pokemon.teraType = toId(rest.split(',')[5] ?? '');
    for (const move of moves.split(',')) pokemon.moves.reveal(lexicon.move(move).id);
  }
}

/**
 * Tera types at team preview come as a picture: `<psicon pokemon="…" /><psicon type="Water" />` in preview order.
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function raw(tracker, parts) {
  const [title, ...icons] = parts.slice(2).join('|').split('<psicon type="');
  const side = tracker.sides.find(({ playerName }) => playerName && title.startsWith(`${playerName}'s Tera Types:`));
  if (!side) return;
  for (const [place, icon] of icons.entries()) {
    if (side.team[place]) side.team[place].teraType = toId(icon.slice(0, icon.indexOf('"')));
  }
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function switchIn(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const details = tracker.lexicon.details(parts[3]);
  const pokemon = arriving(slot, tracker.nameIn(parts[2]), details);
  tracker.readTags(parts, 5);
  if (parts[1] === 'switch') tracker.beginAction(slot, 'switch');
  tracker.actor = tracker.acting = null;
  const passing = tracker.from?.id === 'batonpass' || tracker.from?.id === 'shedtail' ? tracker.from.id : '';
  const kept = passing ? batonPassed(tracker, slot, passing) : null;
  slot.leave();
  slot.reset(tracker.turn);
  if (kept) {
    slot.boosts.set(kept.boosts);
    slot.volatiles = kept.volatiles;
  }
  arrive(tracker, slot, pokemon, details, parts[4]);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {Pokemon} pokemon
 * @param {Details} details
 * @param {string} condition
 */
function arrive(tracker, slot, pokemon, details, condition) {
  if (tracker.lexicon.generation >= FIRST_GENERATION_WITH_ILLUSION) pokemon.saveState();
  slot.pokemon = pokemon;
  pokemon.slot = slot.index;
  if (fits(pokemon, details)) pokemon.species = details.species;
  if (!pokemon.seen) pokemon.baseSpecies = pokemon.species;
  pokemon.seen = true;
  if (details.tera) pokemon.teraType = details.tera;
  pokemon.terastallized = details.tera !== '';
  if (condition) pokemon.setCondition(condition);
  const loafs = tracker.lexicon.generation === 3 && tracker.turn > 0 && pokemon.shownAbility === 'truant';
  if (loafs) slot.volatiles.set('truant', tracker.turn);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {string} move
 * @returns {{boosts: Int8Array, volatiles: Map<string, number>}}
 */
function batonPassed({ lexicon }, slot, move) {
  const substituteOnly = move === 'shedtail';
  const passing = new Set([...slot.untilTurnEnds, ...slot.untilMove]);
  const kept = [...slot.volatiles].filter(([id]) =>
    substituteOnly ? id === 'substitute' : !passing.has(id) && !lexicon.isNotPassed(id),
  );
  const boosts = substituteOnly ? new Int8Array(slot.boosts.length) : slot.boosts.slice();
  return { boosts, volatiles: new Map(kept) };
}

/**
 * @param {Slot} slot
 * @param {string} name
 * @param {Details} details
 * @returns {Pokemon} the one that comes into the slot, as far as can be told
 */
function arriving({ side, index }, name, details) {
  const free = (/** @type {Pokemon} */ pokemon) => pokemon.slot < 0 || pokemon.slot === index;
  const alike = side.team.filter((pokemon) => pokemon.baseSpecies.base === details.species.base);
  const named = alike.filter((pokemon) => pokemon.name === name);
  const same = named.filter((pokemon) => free(pokemon) && !pokemon.fainted);
  const known = same.find((pokemon) => fits(pokemon, details));
  if (known) return known;
  if (same.length) return onlyIllusionCandidate(side) ?? same[0]; // a disguise may show the level of its user
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
 * Two of the same name stand side by side: one of them is disguised. It took the shape of the last in the party behind
 * it, so it is the one that came first, but where it comes into the first slot with nobody left on the bench.
 * @param {Pokemon} namesake
 * @param {number} index of the slot that the other comes into
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
 * A fifth move gives a disguise away, if there is but one who can have put it on.
 * @param {Slot} slot
 * @param {string} move that its Pokémon has chosen
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
 * @param {Pokemon} user who stands in it in the shape of another
 */
function revealIllusion(slot, user) {
  if (slot.pokemon) transferObservations(user, slot.pokemon);
  slot.pokemon = user;
  slot.species = null;
  user.slot = slot.index;
  user.seen = true;
  user.ability = user.baseAbility = 'illusion';
}

/**
 * @param {Side} side
 * @returns {Pokemon | undefined} the only one on the bench that can disguise itself
 */
function onlyIllusionCandidate(side) {
  const candidates = side.team.filter((pokemon) => pokemon.species.mayHaveIllusion && !pokemon.fainted && pokemon.slot < 0);
  return candidates.length === 1 ? candidates[0] : undefined;
}

/**
 * @param {Pokemon} pokemon
 * @param {string} name
 * @returns {Pokemon}
 */
function assignName(pokemon, name) {
  const { side } = pokemon;
  pokemon.name = name;
  if (!pokemon.maxHp) pokemon.hp = pokemon.maxHp = side.tracker.hpScale;
  side.identities++;
  return pokemon;
}

/**
 * A disguise has fallen: what its user did was not done by the Pokémon that it looked like.
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function replace(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const { side, pokemon: copied } = slot;
  if (!copied) return;
  const details = tracker.lexicon.details(parts[3]);
  const user = fits(copied, details) ? copied : illusionUser(side, tracker.nameIn(parts[2]), details);
  if (user !== copied) {
    revealIllusion(slot, user);
    // A second Pokémon of the same name was never there.
    const namesake = side.team.some((pokemon) => pokemon !== copied && pokemon.name === copied.name && pokemon.slot >= 0);
    if (namesake) side.team.splice(side.team.indexOf(copied), 1);
  }
  assignName(user, tracker.nameIn(parts[2]));
  user.species = details.species;
  user.ability = user.baseAbility = 'illusion';
}

/**
 * @param {Side} side
 * @param {string} name
 * @param {Details} details
 * @returns {Pokemon}
 */
function illusionUser(side, name, details) {
  const hidden = side.team.filter((pokemon) => pokemon.slot < 0 && !pokemon.fainted && fits(pokemon, details));
  const called = (/** @type {string} */ known) => hidden.find((pokemon) => pokemon.name === known);
  return called(name) ?? called('') ?? side.add(details);
}

/**
 * Move what was seen of a disguised Pokémon from the one that it looked like to itself.
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
 * A Pokémon that fainted comes in alive: it was another that fainted in its shape.
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

/**
 * A forme that lasts: mega evolution, Terapagos, Palafin, a broken Disguise.
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function detailsChange(tracker, parts) {
  const pokemon = tracker.pokemonAt(parts[2]);
  if (!pokemon) return;
  const { species } = tracker.lexicon.details(parts[3]);
  if (species === pokemon.species) return;
  pokemon.species = species;
  if (species.onlyAbility) pokemon.ability = species.onlyAbility;
  const slot = tracker.slotAt(parts[2]);
  if (slot.pokemon === pokemon) slot.changeForme(null);
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts
 */
function swap(tracker, parts) {
  const slot = tracker.slotAt(parts[2]);
  const { slots } = slot.side;
  const place = Number(parts[3]);
  if (slots[place] === slot) return;
  slots[slot.index] = slots[place];
  slots[place] = slot;
  for (const [index, moved] of slots.entries()) {
    moved.index = index;
    if (moved.pokemon && moved.pokemon.slot >= 0) moved.pokemon.slot = index;
  }
}

/** @type {[string, (tracker: Tracker, parts: string[]) => void][]} */
export const teamLines = [
  ['clearpoke', clearPoke],
  ['poke', poke],
  ['teampreview', teamPreview],
  ['teamsize', teamSize],
  ['showteam', showTeam],
  ['raw', raw],
  ['switch', switchIn],
  ['drag', switchIn],
  ['replace', replace],
  ['detailschange', detailsChange],
  ['updatepoke', detailsChange],
  ['swap', swap],
];

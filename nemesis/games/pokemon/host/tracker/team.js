// Teams: team preview, open team sheets, switches, permanent formes, and Illusions that end.

import { arriving, assignName, fits, illusionUser, revealIllusion } from './identity.js';
import { toId } from './lexicon.js';
import { HELD, NONE } from './state.js';

/** @import { Details } from './lexicon.js' */
/** @import { Pokemon, Slot } from './state.js' */
/** @import { Tracker } from './tracker.js' */

const FIRST_GENERATION_WITH_ILLUSION = 5;
const LAST_GENERATION_TO_PREVIEW_ITEMS = 7;

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
 * Tera types at team preview come as HTML: `<psicon pokemon="…" /><psicon type="Water" />` in preview order.
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
 * An Illusion ended: its actions were not those of the Pokémon that was shown.
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
    // The second Pokémon of the same name did not exist.
    const { name } = copied;
    const duplicate = side.team.some((pokemon) => pokemon !== copied && pokemon.name === name && pokemon.slot >= 0);
    if (duplicate) side.team.splice(side.team.indexOf(copied), 1);
  }
  assignName(user, tracker.nameIn(parts[2]));
  user.species = details.species;
  user.ability = user.baseAbility = 'illusion';
}

/**
 * A permanent forme: mega evolution, Terapagos, Palafin, a broken Disguise.
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

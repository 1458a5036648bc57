// What each seat knew about its own team from the start, as far as the whole log reveals it.
//
// A separate tracker reads the log to its end. Open team sheets reveal nearly everything; without them, a set consists
// of what was seen of it.

import { NONE } from '../tracker/state.js';
import { Tracker } from '../tracker/tracker.js';
import { ReplayError, guarded } from './log.js';

/** @import { SpeciesFacts } from '../tracker/lexicon.js' */
/** @import { Pokemon } from '../tracker/state.js' */
/** @import { Log } from './log.js' */

const MOVES = 4;
const TEAM = 6;
const HIDDEN_FORME = /^\|poke\|p[12]\|[^|]*-\*/;
/** Lines that give a Pokémon an item that it did not have at the start. */
const TRANSFERRING_MOVES = 'Trick|Switcheroo|Thief|Covet|Bestow|Recycle';
const TRANSFERRING_ABILITIES = 'Magician|Pickpocket|Harvest|Pickup|Symbiosis';
const TRANSFER = new RegExp(`\\[from\\] ?(move: (${TRANSFERRING_MOVES})|ability: (${TRANSFERRING_ABILITIES}))`);

/**
 * One Pokémon of a seat. Undefined values were never revealed.
 * @typedef {object} Known
 * @property {string} name
 * @property {SpeciesFacts | undefined} species at the start
 * @property {boolean} forme whether its forme is known
 * @property {number} level
 * @property {string} gender
 * @property {string[]} moves the known ones
 * @property {boolean} allMoves whether these are all
 * @property {string | undefined} item at the start; '' for none
 * @property {string | undefined} ability
 * @property {string | undefined} nature
 * @property {string | undefined} tera type
 * @property {Arrival[]} arrivals one for each time that it came in
 */

/**
 * A Pokémon comes in and reveals the state that it had on the bench.
 * @typedef {object} Arrival
 * @property {number} line
 * @property {number} hp
 * @property {string} status
 * @property {string} before its public status until then
 */

/**
 * What the whole log reveals about a seat.
 * @typedef {object} Knowledge
 * @property {Known[]} team in the order of the team preview, or of first appearance
 * @property {boolean} sheet whether the log shows the team's sheet
 * @property {boolean} illusionShown whether a Pokémon that may have Illusion took part, or might have without a sheet
 * @property {boolean} illusionPossible whether the team has such a Pokémon, which may have been active unseen
 */

/**
 * @param {any} dex
 * @param {Log} log
 * @returns {[Knowledge, Knowledge]}
 */
export function gatherTeams(dex, { lines }) {
  const tracker = new Tracker(dex);
  const sheets = [false, false];
  const items = new InitialItems();
  /** @type {Set<Pokemon>} whose forme the team preview did not show */
  const hiddenFormes = new Set();
  /** @type {Map<Pokemon, Arrival[]>} */
  const arrivals = new Map();
  for (const [place, line] of lines.entries()) {
    guarded(lines, place, () => {
      const arrives = line.startsWith('|switch|') || line.startsWith('|drag|');
      const before = arrives ? statuses(tracker) : null;
      tracker.read(lines, place, place + 1);
      items.readLine(tracker, line, place);
      if (tracker.sides.some(({ team }) => team.length > 2 * TEAM)) {
        throw new ReplayError('contradiction', 'A team has too many Pokémon.', place + 1);
      }
      if (line.startsWith('|showteam|')) sheets[line.charCodeAt(11) - 49] = true;
      else if (line.startsWith('|move|')) revealMoves(tracker, line);
      else if (HIDDEN_FORME.test(line)) hiddenFormes.add(tracker.sideAt(line.slice('|poke|'.length)).team.slice(-1)[0]);
      if (!before) return;
      const { pokemon } = tracker.slotAt(line.slice(line.indexOf('|', 1) + 1));
      if (!pokemon) return;
      const { hp, status } = pokemon;
      if (!arrivals.has(pokemon)) arrivals.set(pokemon, []);
      arrivals.get(pokemon)?.push({ line: place, hp, status, before: before.get(pokemon) ?? '' });
    });
  }
  const [one, other] = tracker.sides.map(({ team, teamSize }, seat) => {
    if (team.length > TEAM || team.length > Math.max(teamSize, 1)) {
      throw new ReplayError('contradiction', `Seat ${seat + 1} shows more Pokémon than its team has.`);
    }
    const known = team.map((pokemon) => {
      const forme = sheets[seat] || pokemon.seen || !hiddenFormes.has(pokemon);
      return { ...knownOf(pokemon, items.of(pokemon), sheets[seat], arrivals.get(pokemon) ?? []), forme };
    });
    const illusionUsers = team.filter(
      ({ species, baseSpecies }) => species.mayHaveIllusion || baseSpecies.mayHaveIllusion,
    );
    return {
      team: [...known, ...Array.from({ length: Math.min(teamSize, TEAM) - team.length }, unknownMember)],
      sheet: sheets[seat],
      illusionShown: illusionUsers.some(({ seen }) => seen || !sheets[seat]),
      illusionPossible: illusionUsers.length > 0,
    };
  });
  return [one, other];
}

/**
 * @param {Tracker} tracker
 * @returns {Map<Pokemon, string>} the public status of every Pokémon
 */
function statuses({ sides }) {
  return new Map(sides.flatMap(({ team }) => team.map((pokemon) => [pokemon, pokemon.status])));
}

/**
 * The moves that a transformed Pokémon uses are those of the original.
 * @param {Tracker} tracker
 * @param {string} line of a move
 */
function revealMoves(tracker, line) {
  const slot = tracker.slotAt(line.split('|')[2]);
  if (slot.transform) for (const id of slot.transform.moves.ids) slot.transform.original.moves.reveal(id);
}

/** The items that Pokémon had at the start. */
class InitialItems {
  /** @type {Map<Pokemon, string>} */
  items = new Map();
  /** @type {Map<Pokemon, number>} those that got another item before their own was seen, with the line */
  changed = new Map();

  /**
   * @param {Tracker} tracker that has just read a line
   * @param {string} line
   * @param {number} place of the line
   */
  readLine({ sides }, line, place) {
    const transfer = line.startsWith('|-item|') && TRANSFER.test(line);
    for (const { team } of sides) {
      for (const pokemon of team) {
        const { item, itemState, lastItem } = pokemon;
        if (!itemState || this.items.has(pokemon)) continue;
        const changed = this.changed.get(pokemon);
        if (changed !== undefined) {
          // The next line may show what was given in exchange.
          if (lastItem && place === changed + 1) this.items.set(pokemon, lastItem);
        } else if (lastItem) this.items.set(pokemon, lastItem);
        else if (transfer) this.changed.set(pokemon, place);
        else if (itemState === NONE || item) this.items.set(pokemon, item);
      }
    }
  }

  /** @param {Pokemon} pokemon */
  of(pokemon) {
    return this.items.get(pokemon);
  }
}

/**
 * @param {Pokemon} pokemon
 * @param {string | undefined} item
 * @param {boolean} sheet
 * @param {Arrival[]} arrivals
 * @returns {Omit<Known, 'forme'>}
 */
function knownOf(pokemon, item, sheet, arrivals) {
  const { name, baseSpecies, level, gender, moves, baseAbility, nature, teraType } = pokemon;
  const { generation } = pokemon.side.tracker.lexicon;
  if (moves.ids.length > MOVES) {
    throw new ReplayError('contradiction', `${baseSpecies.id} used more than four moves.`);
  }
  return {
    name: name || baseSpecies.id,
    species: baseSpecies,
    level,
    gender,
    moves: moves.ids,
    allMoves: sheet || moves.ids.length === MOVES,
    item: generation === 1 ? '' : hasStickyBarb(pokemon, item) ? undefined : item,
    ability: generation < 3 ? '' : baseAbility || baseSpecies.onlyAbility || undefined,
    nature: generation < 3 ? '' : nature || undefined,
    tera: generation < 9 ? '' : teraType || undefined,
    arrivals,
  };
}

/**
 * A Sticky Barb moves from one Pokémon to another without a line.
 * @param {Pokemon} pokemon
 * @param {string | undefined} initial
 * @returns {boolean}
 */
function hasStickyBarb({ item, lastItem }, initial) {
  return [item, lastItem, initial].includes('stickybarb');
}

/**
 * @param {unknown} _
 * @param {number} place
 * @returns {Known} one that never appeared
 */
function unknownMember(_, place) {
  return {
    name: `Unknown ${place + 1}`, species: undefined, forme: false, level: 100, gender: 'N', moves: [], allMoves: false,
    item: undefined, ability: undefined, nature: undefined, tera: undefined, arrivals: [],
  };
}

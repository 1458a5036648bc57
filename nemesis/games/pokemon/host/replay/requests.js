// Reconstructs the requests that the server sent to a seat, from the public state and the seat's knowledge of its team.

import { GUESSED } from './completion.js';
import { isDisabled, lockedMove, mayHaveEnded, semiLockedMove, trapOf } from './restrictions.js';

/** @import { Pokemon, Slot } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */
/** @import { Member } from './completion.js' */
/** @import { Standing } from './restrictions.js' */
/** @import { Arrival } from './teams.js' */

const SHOWN_HP = 100;
const TRANSFORMED_PP = 5;
/** What a transformed Pokémon has of the original. */
const COPIED = GUESSED.ability | GUESSED.moves | (GUESSED.move * 0b1111);
const UNKNOWN_TYPE = 'unknown'; // it can terastallize, into an unknown type

/** @typedef {'' | 'struggles' | 'continues' | 'chooses'} Lookahead what a Pokémon does next, according to the log */

/** One seat of a battle that is read from a replay. */
export class SeatReplay {
  /**
   * @param {Tracker} tracker
   * @param {number} seat
   * @param {Member[]} team in the order of the tracker's team
   * @param {Member[]} foes the other seat's team
   * @param {Arrival[][]} arrivals of each Pokémon of the team
   * @param {boolean} terastallizes whether the rules allow terastallizing
   */
  constructor(tracker, seat, team, foes, arrivals, terastallizes) {
    this.tracker = tracker;
    this.seat = seat;
    this.side = tracker.sides[seat];
    this.team = team;
    this.foes = foes;
    this.arrivals = arrivals;
    this.terastallizes = terastallizes;
    /** @type {Map<Pokemon, {hp: number, cured: boolean}>} what only the seat knows about its bench */
    this.benchState = new Map();
    this.dex = tracker.lexicon.dex;
    /** @type {Map<Slot, string>} the last used move of each slot, chosen or called by another */
    this.used = new Map();
    /** @type {Map<Slot, string>} the last chosen move of each slot, other than Struggle */
    this.chosen = new Map();
    /** @type {number[]} numbers of the Pokémon that take part, by their places in the request */
    this.order = team.map((_, number) => number);
  }

  /**
   * @param {Pokemon} pokemon
   * @returns {number} in the team
   */
  numberOf(pokemon) {
    return this.side.team.indexOf(pokemon);
  }

  /**
   * A Pokémon comes into a slot and swaps places with the one that was there.
   * @param {Slot} slot
   */
  arrive(slot) {
    const place = slot.pokemon ? this.order.indexOf(this.numberOf(slot.pokemon)) : -1;
    if (slot.pokemon) this.benchState.delete(slot.pokemon);
    this.chosen.delete(slot);
    if (place < 0) return;
    [this.order[slot.index], this.order[place]] = [this.order[place], this.order[slot.index]];
  }

  /**
   * A Pokémon left the field. Some abilities heal it then, which becomes public when it comes back. If a line showed a
   * cure before that, another effect caused it later.
   * @param {Pokemon} pokemon
   * @param {string} status before it left
   * @param {number} line
   */
  rest(pokemon, status, line) {
    const number = this.numberOf(pokemon);
    const next = this.arrivals[number]?.find((arrival) => arrival.line > line);
    const { ability } = this.team[number]?.revealed ?? {};
    const { hp, maxHp } = pokemon;
    const regenerates = !next && ability === 'regenerator' && pokemon.shownAbility !== ability;
    const regenerated = regenerates ? Math.min(maxHp, hp + Math.floor(maxHp / 3)) : hp;
    const natural = ability === 'naturalcure';
    const cured = status !== '' && (next ? next.status === '' && (next.before !== '' || natural) : natural);
    this.benchState.set(pokemon, { hp: next ? next.hp : regenerated, cured });
  }

  /** The two active Pokémon swap places. */
  swap() {
    [this.order[0], this.order[1]] = [this.order[1], this.order[0]];
  }

  /** @returns {Uint16Array} bits of `GUESSED` for each own Pokémon, in the order of the view */
  guessed() {
    const absent = this.team.map((_, number) => number).filter((number) => !this.order.includes(number));
    return Uint16Array.from([...this.order, ...absent], (number, place) => {
      const { guessed } = this.team[number];
      const model = this.side.slots[place]?.transform?.original;
      if (!model) return guessed;
      const own = guessed & ~(GUESSED.move * 0b1111);
      return own | ((this.memberOf(model)?.guessed ?? 0) & COPIED);
    });
  }

  /** @returns {any} */
  preview() {
    const side = this.sideData(null);
    side.pokemon.forEach((entry, number) => {
      const member = this.team[number];
      if (!member.uncrowned) return;
      const { species, moves } = member.uncrowned;
      Object.assign(entry, { details: detailsOf(species, member), moves });
    });
    return { teamPreview: true, side };
  }

  /**
   * @param {boolean[]} forced slots whose Pokémon must be replaced
   * @param {boolean[]} reviving slots that choose a fainted Pokémon to revive
   * @returns {any}
   */
  forcedSwitch(forced, reviving) {
    return { forceSwitch: forced, side: this.sideData(reviving) };
  }

  /**
   * @param {Lookahead[]} lookahead by slot
   * @returns {any}
   */
  turn(lookahead) {
    const { activeSlots } = this.tracker;
    const active = this.side.slots.slice(0, activeSlots).map((slot) => this.activeData(slot, lookahead[slot.index]));
    return { active, side: this.sideData(null) };
  }

  /** @returns {number} Pokémon on the bench that can come in */
  get bench() {
    const { activeSlots } = this.tracker;
    return this.order.slice(activeSlots).filter((number) => !this.side.team[number]?.fainted).length;
  }

  /**
   * @param {Slot} slot
   * @returns {boolean} whether all current moves of its Pokémon are known
   */
  knowsMoves(slot) {
    const model = slot.transform ? this.memberOf(slot.transform.original) : this.team[this.order[slot.index]];
    return model !== undefined && !(model.guessed & GUESSED.moves);
  }

  /**
   * @param {boolean[] | null} reviving
   */
  sideData(reviving) {
    return { pokemon: this.order.map((number, place) => this.entry(number, place, reviving?.[place] ?? false)) };
  }

  /**
   * @param {number} number
   * @param {number} place
   * @param {boolean} reviving
   */
  entry(number, place, reviving) {
    const { tracker, side } = this;
    const member = this.team[number];
    const shown = side.team[number];
    const active = place < tracker.activeSlots;
    const slot = active && shown?.slot === place ? side.slots[place] : null;
    const model = (slot?.transform && this.memberOf(slot.transform.original)) || member;
    const species = shown?.seen ? shown.species.id : member.species;
    const shownAbility = slot ? shown?.ability : abilityOfForme(shown);
    return {
      ident: `p${this.seat + 1}: ${member.name}`,
      details: detailsOf(species, member),
      condition: conditionOf(shown, member, shown && this.benchState.get(shown)),
      active,
      stats: member.stats,
      moves: this.moveIds(slot, member),
      baseAbility: abilityOfForme(shown) || member.ability,
      ability: shownAbility || model.ability,
      revealedAbility: shownAbility || model.revealed.ability,
      item: itemOf(shown, member.item),
      revealedItem: itemOf(shown, member.revealed.item),
      commanding: slot?.volatiles.has('commanding') ?? false,
      reviving,
      teraType: member.tera,
      terastallized: shown?.terastallized ? shown.teraType : '',
    };
  }

  /**
   * @param {Slot | null} slot
   * @param {Member} member
   * @returns {string[]}
   */
  moveIds(slot, member) {
    if (slot?.transform) return this.memberOf(slot.transform.original)?.moves ?? slot.transform.moves.ids;
    const { mimic } = slot ?? {};
    return mimic ? member.moves.map((id) => (id === 'mimic' ? mimic.id : id)) : member.moves;
  }

  /**
   * @param {Pokemon} pokemon of either side
   * @returns {Member | undefined}
   */
  memberOf(pokemon) {
    return (pokemon.side === this.side ? this.team : this.foes)[pokemon.side.team.indexOf(pokemon)];
  }

  /**
   * @param {Slot} slot
   * @param {Lookahead} lookahead
   */
  activeData(slot, lookahead) {
    const { tracker } = this;
    const number = this.order[slot.index];
    const member = this.team[number];
    const shown = slot.pokemon ?? this.side.team[number];
    if (!member || !shown) return { moves: [] };
    const { revealedAbility: ability, revealedItem: item } = this.entry(number, slot.index, false);
    /** @type {Standing} */
    const standing = {
      slot, shown, item, ability, moves: this.movesWithPp(slot, member, shown), used: this.used.get(slot) ?? '',
      chosen: this.chosen.get(slot) ?? '',
    };
    const bound = lockedMove(tracker, standing);
    const hard = lookahead === 'chooses' && mayHaveEnded(tracker, standing) ? '' : bound;
    const locked = hard || semiLockedMove(tracker, standing);
    /** @type {any[]} */
    let moves = locked ? [{ id: locked }] : this.offered(standing);
    const stuck = lookahead === 'struggles' || (!locked && moves.every(({ disabled }) => disabled));
    if (stuck) moves = [{ id: 'struggle', target: 'randomNormal', disabled: false }];
    const after = this.side.slots.slice(slot.index + 1, tracker.activeSlots);
    const last = after.every(({ pokemon }) => !pokemon || pokemon.fainted);
    const trap = this.bench > 0 ? trapOf(tracker, standing, (foe) => this.abilityOf(foe)) : '';
    const unsure = (hard && lookahead === '' && mayHaveEnded(tracker, standing)) || (trap === 'unknown' && !last);
    const free = !locked && !stuck && this.terastallizes && !this.side.gimmickUsed;
    return {
      moves,
      ...(unsure ? { unsure } : {}),
      // A request shows a hidden trap only as a possibility, and only to the last slot that chooses.
      ...(hard || trap === 'open' || (trap === 'hidden' && !last) ? { trapped: true } : {}),
      ...(!hard && last && trap && trap !== 'open' ? { maybeTrapped: true } : {}),
      ...(free ? { canTerastallize: member.tera || UNKNOWN_TYPE } : {}),
    };
  }

  /**
   * @param {Pokemon} foe
   * @returns {string}
   */
  abilityOf(foe) {
    return foe.ability || this.memberOf(foe)?.revealed.ability || foe.shownAbility;
  }

  /**
   * @param {Slot} slot
   * @param {Member} member
   * @param {Pokemon} shown
   * @returns {{id: string, pp: number, maxpp: number, guessed: boolean}[]}
   */
  movesWithPp(slot, member, shown) {
    const { lexicon } = this.tracker;
    const model = slot.transform ? this.memberOf(slot.transform.original) : member;
    return this.moveIds(slot, member).map((id, place) => {
      const guessed = ((model?.guessed ?? 0) & (GUESSED.move << place)) > 0;
      if (!id) return { id, pp: 0, maxpp: 0, guessed };
      const { basePp, maxPp } = lexicon.move(id);
      if (slot.transform) {
        const full = Math.min(TRANSFORMED_PP, basePp);
        const pp = Math.max(0, full - slot.moves.spentOn(id));
        return { id, pp, maxpp: lexicon.generation >= 5 ? full : maxPp, guessed };
      }
      const spent = slot.mimic?.id === id ? slot.mimic.spent : shown.moves.spentOn(id);
      return { id, pp: Math.max(0, maxPp - spent), maxpp: maxPp, guessed };
    });
  }

  /**
   * @param {Standing} standing
   * @returns {{id: string, pp: number, maxpp: number, target: string, disabled: boolean, guessed: boolean}[]}
   */
  offered(standing) {
    const moves = standing.moves.map(({ id, pp, maxpp, guessed }) => {
      const move = this.dex.moves.get(id);
      const disabled = (!guessed && pp <= 0) || isDisabled(this.tracker, standing, move);
      return { id, pp, maxpp, target: id ? aimOf(standing, move) : '', disabled, guessed };
    });
    if (!moves.every(({ disabled }) => disabled)) return moves;
    // A guessed move is disabled only by effects that allow a single move. Otherwise no move might be left.
    const nothing = this.dex.moves.get('');
    return moves.map((move) => {
      return move.guessed ? { ...move, disabled: isDisabled(this.tracker, standing, nothing) } : move;
    });
  }
}

/**
 * @param {Standing} standing
 * @param {any} move
 * @returns {string} its current target type
 */
function aimOf({ slot, shown }, move) {
  if (move.id === 'curse') {
    const tera = shown.terastallized ? shown.teraType : '';
    const types = tera && tera !== 'stellar' ? [tera] : (slot.types ?? (slot.shownSpecies ?? shown.species).types);
    return types.includes('ghost') ? move.target : move.nonGhostTarget;
  }
  if (move.id === 'pollenpuff' && slot.volatiles.has('healblock')) return 'adjacentFoe';
  if (move.id === 'terastarstorm' && slot.shownSpecies?.id === 'terapagosstellar') return 'allAdjacentFoes';
  return move.target;
}

/**
 * @param {string} species
 * @param {Member} member
 * @returns {string}
 */
function detailsOf(species, { level, gender }) {
  return [species, `L${level}`, ...(gender === 'N' ? [] : [gender])].join(', ');
}

/**
 * @param {Pokemon | undefined} shown
 * @returns {string} the ability of a changed forme, or ''
 */
function abilityOfForme(shown) {
  return shown && shown.species !== shown.baseSpecies ? shown.species.onlyAbility : '';
}

/**
 * @param {Pokemon | undefined} shown
 * @param {Member} member
 * @param {{hp: number, cured: boolean} | undefined} benchState
 * @returns {string}
 */
function conditionOf(shown, { maxHp }, benchState) {
  if (shown?.fainted) return '0 fnt';
  const whole = maxHp || SHOWN_HP;
  if (!shown?.maxHp) return `${whole}/${whole}`;
  const parts = benchState?.hp ?? shown.hp;
  // Shown HP are rounded up, except that 99 percent also stand for anything just below full HP.
  const exactly = whole === shown.maxHp || parts >= shown.maxHp - 1;
  const hp = exactly ? parts : parts - 0.5;
  const exact = Math.max(1, Math.round((hp * whole) / shown.maxHp));
  const status = benchState?.cured ? '' : shown.status;
  return `${exact}/${whole}${status ? ` ${status}` : ''}`;
}

/**
 * @param {Pokemon | undefined} shown
 * @param {string} initial at the start
 * @returns {string}
 */
function itemOf(shown, initial) {
  if (!shown?.itemState) return initial;
  return shown.item || (shown.lastItem || shown.itemState === 2 ? '' : initial);
}

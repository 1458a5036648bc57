// The state of a Gen 1 battle of Showdown, in the text in which the native engine describes its own
// (native/engine/describe.c), to compare the two; and the numbers that the engine has for Showdown's names.

/** In the order of the engine's enumerations (native/engine/tables.h). */
export const TYPES = [
  '???', 'Normal', 'Fighting', 'Flying', 'Poison', 'Ground', 'Rock', 'Bug', 'Ghost', 'Fire', 'Water', 'Grass',
  'Electric', 'Psychic', 'Ice', 'Dragon',
];
export const STATUSES = ['', 'brn', 'par', 'slp', 'frz', 'psn', 'tox', 'fnt'];
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
export const BOOSTS = [...STATS, 'accuracy', 'evasion'];
export const CONDITIONS = [
  '', 'bide', 'confusion', 'defensecurl', 'disable', 'fakepartiallytrapped', 'flinch', 'focusenergy',
  'invulnerability', 'leechseed', 'lightscreen', 'lockedmove', 'minimize', 'mist', 'mustrecharge',
  'partialtrappinglock', 'partiallytrapped', 'rage', 'reflect', 'residualdmg', 'substitute', 'twoturnmove',
];
const SPECIAL_MOVES = new Map([['nomove', 166], ['cannotmove', 167], ['fight', 168], ['recharge', 169]]);
const SWITCH = 8;

/** @typedef {any} Battle */
/** @typedef {any} Pokemon */
/** @typedef {any} Slot */

/** @param {any} dex @returns {(id: string | undefined) => number} */
export function moveNumbers(dex) {
  const known = new Map();
  return (id) => {
    if (!id) return 0;
    let number = known.get(id);
    if (number === undefined) known.set(id, (number = SPECIAL_MOVES.get(id) ?? dex.moves.get(id).num));
    return number;
  };
}

/**
 * The legal actions of a request, by the places of the action space for singles.
 * @param {any} request
 * @returns {number[]}
 */
export function legalActions(request) {
  const active = request.active?.[0];
  const moves = (active?.moves ?? []).flatMap((/** @type {any} */ move, /** @type {number} */ place) =>
    move.disabled ? [] : [place]);
  if (active?.trapped) return moves;
  const switches = request.side.pokemon.flatMap((/** @type {any} */ member, /** @type {number} */ place) =>
    place && member.condition !== '0 fnt' ? [SWITCH + place] : []);
  return [...moves, ...switches];
}

/** Describes battles of one dex. */
export class Describer {
  /**
   * @param {any} dex
   * @param {Battle} battle at its start
   */
  constructor(dex, battle) {
    this.dex = dex;
    this.battle = battle;
    this.number = moveNumbers(dex);
    /** @type {Map<Pokemon, number>} */
    this.places = new Map();
    this.teams = battle.sides.map((/** @type {any} */ side) => side.pokemon.slice());
    for (const team of this.teams) {
      for (const [place, pokemon] of team.entries()) this.places.set(pokemon, place);
    }
  }

  /** @returns {string} */
  state() {
    const { battle } = this;
    const words = battle.prng.getSeed().split(',');
    const seed = words.map((/** @type {string} */ word) => Number(word).toString(16).padStart(4, '0')).join('');
    const winner = battle.sides.findIndex((/** @type {any} */ side) => side.name === battle.winner);
    const end = `turn${battle.turn} ended${Number(battle.ended)}.${winner}.0 damage${battle.lastDamage}`;
    return `${seed} ${end}${this.side(0)}${this.side(1)}`;
  }

  /** @param {number} seat */
  side(seat) {
    const side = this.battle.sides[seat];
    const { number } = this;
    const selected = [side.lastSelectedMove, side.lastEnemySelectedMove].map(number);
    return [
      ` | n${side.pokemonLeft}`,
      `x${selected[0]}.${side.lastSelectedMoveSlot}.${selected[1]}`,
      `y${number(side.lastMove?.id)}.${number(side.lastEnemyMove?.id)}`,
      `w${side.pokemon.map((/** @type {Pokemon} */ pokemon) => this.places.get(pokemon)).join('.')}`,
      ...this.active(side.active[0]),
      ...this.request(side.activeRequest),
      ...this.teams[seat].flatMap((/** @type {Pokemon} */ pokemon) => this.member(pokemon)),
    ].join(' ');
  }

  /** @param {Pokemon} pokemon */
  member(pokemon) {
    const asleep = pokemon.status === 'slp';
    const numbers = [
      pokemon.hp,
      pokemon.maxhp,
      STATUSES.indexOf(pokemon.status),
      asleep ? pokemon.statusState.time : 0,
      Number(asleep && pokemon.statusState.source?.side !== pokemon.side),
      Number(pokemon.fainted),
      Number(Boolean(pokemon.subFainted)),
    ];
    const stats = STATS.map((stat) => pokemon.baseStoredStats[stat]);
    return [`h${numbers.join('.')}`, ...this.slots(pokemon.baseMoveSlots), `c${stats.join('.')}`];
  }

  /** @param {Slot[]} slots */
  slots(slots) {
    const moves = slots.map(({ id }) => this.number(id));
    return [`m${moves.join('.')}`, `p${slots.map(({ pp }) => pp).join('.')}`];
  }

  /** @param {Pokemon} pokemon */
  active(pokemon) {
    const types = pokemon.types.map((/** @type {string} */ type) => TYPES.indexOf(type));
    return [
      `a${this.places.get(pokemon)}.${Number(pokemon.isActive)}`,
      `s${pokemon.species.num}.${types[0]}.${types[1] ?? 0}`,
      `t${Number(pokemon.transformed)}`,
      ...this.slots(pokemon.moveSlots),
      `b${BOOSTS.map((stat) => pokemon.boosts[stat]).join('.')}`,
      `o${STATS.map((stat) => pokemon.storedStats[stat]).join('.')}`,
      `d${STATS.map((stat) => pokemon.modifiedStats[stat]).join('.')}`,
      `e${pokemon.speed}`,
      `l${this.number(pokemon.lastMove?.id)}`,
      ...Object.entries(pokemon.volatiles).map(([id, state]) => this.volatile(id, state)),
    ];
  }

  /** @param {string} id @param {any} state */
  volatile(id, state) {
    const numbers = this.volatileNumbers(id, state);
    return [`v${CONDITIONS.indexOf(id)}`, ...numbers].join(':');
  }

  /** @param {string} id @param {any} state @returns {number[]} */
  volatileNumbers(id, state) {
    const move = this.number(state.move);
    const place = (/** @type {Pokemon} */ pokemon) => this.places.get(pokemon) ?? -1;
    switch (id) {
      case 'bide': return [state.time, state.damage];
      case 'confusion': return [state.time];
      case 'disable': return [move, state.slotIndex, state.time];
      case 'fakepartiallytrapped': return [state.duration, place(state.counterpart)];
      case 'flinch': return [state.duration];
      case 'lockedmove': return [move, state.time, state.accuracy];
      case 'partialtrappinglock': return [move, state.duration, state.totalDuration, state.damage, place(state.locked)];
      case 'partiallytrapped': return [place(state.source), state.duration, Number(Boolean(state.maybeLocked))];
      case 'rage': return [state.accuracy];
      case 'residualdmg': return [state.counter];
      case 'substitute': return [state.hp];
      case 'twoturnmove': return [move];
      default: return [];
    }
  }

  /** @param {any} request */
  request(request) {
    if (!request || request.wait) return ['r0.0.0.0'];
    const active = request.active?.[0];
    const legal = legalActions(request).reduce((bits, action) => bits | (1 << action), 0);
    const flags = [active?.trapped, active?.maybeLocked].map((flag) => Number(Boolean(flag)));
    const moves = (active?.moves ?? []).map((/** @type {any} */ { id, pp, maxpp, disabled }) =>
      `q${this.number(id)}.${pp ?? 0}.${maxpp ?? 0}.${Number(Boolean(disabled))}`);
    return [`r${active ? 1 : 2}.${flags.join('.')}.${legal.toString(16)}`, ...moves];
  }
}

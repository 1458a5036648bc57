// The state of a Gen 1 battle of Showdown and its log lines, in the text in which the native engine describes its own
// (native/engine/describe.c), to compare the two.

const TYPES = ['???', 'Normal', 'Fighting', 'Flying', 'Poison', 'Ground', 'Rock', 'Bug', 'Ghost', 'Fire', 'Water', 'Grass',
  'Electric', 'Psychic', 'Ice', 'Dragon'];
const STATUSES = ['', 'brn', 'par', 'slp', 'frz', 'psn', 'tox', 'fnt'];
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
const BOOSTS = [...STATS, 'accuracy', 'evasion'];
const CONDITIONS = ['', 'bide', 'confusion', 'defensecurl', 'disable', 'fakepartiallytrapped', 'flinch', 'focusenergy',
  'invulnerability', 'leechseed', 'lightscreen', 'lockedmove', 'minimize', 'mist', 'mustrecharge', 'partialtrappinglock',
  'partiallytrapped', 'rage', 'reflect', 'residualdmg', 'substitute', 'twoturnmove'];
const SPECIAL_MOVES = new Map([['nomove', 166], ['cannotmove', 167], ['fight', 168], ['recharge', 169]]);
const SWITCH = 8;

/** @typedef {any} Battle */
/** @typedef {any} Pokemon */

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
    for (const team of this.teams) team.forEach((/** @type {Pokemon} */ pokemon, /** @type {number} */ place) => this.places.set(pokemon, place));
  }

  /** @returns {string} */
  state() {
    const { battle } = this;
    const seed = battle.prng.getSeed().split(',').map((/** @type {string} */ part) => Number(part).toString(16).padStart(4, '0'));
    const winner = battle.sides.findIndex((/** @type {any} */ side) => side.name === battle.winner);
    const head = `${seed.join('')} turn${battle.turn} ended${Number(battle.ended)}.${winner}.0 damage${battle.lastDamage}`;
    return head + battle.sides.map((/** @type {any} */ side, /** @type {number} */ seat) => this.side(side, seat)).join('');
  }

  /** @param {any} side @param {number} seat */
  side(side, seat) {
    const order = side.pokemon.map((/** @type {Pokemon} */ pokemon) => this.places.get(pokemon)).join('.');
    const { number } = this;
    const selected = [number(side.lastSelectedMove), side.lastSelectedMoveSlot, number(side.lastEnemySelectedMove)].join('.');
    const last = `${number(side.lastMove?.id)}.${number(side.lastEnemyMove?.id)}`;
    const members = this.teams[seat].map((/** @type {Pokemon} */ pokemon) => this.member(pokemon)).join('');
    return ` | n${side.pokemonLeft} x${selected} y${last} w${order}${this.active(side.active[0])}${this.request(side.activeRequest)}${members}`;
  }

  /** @param {Pokemon} pokemon */
  member(pokemon) {
    const asleep = pokemon.status === 'slp';
    const numbers = [pokemon.hp, pokemon.maxhp, STATUSES.indexOf(pokemon.status), asleep ? pokemon.statusState.time : 0,
      Number(asleep && pokemon.statusState.source?.side !== pokemon.side), Number(pokemon.fainted), Number(Boolean(pokemon.subFainted))];
    const slots = pokemon.baseMoveSlots;
    const moves = slots.map((/** @type {any} */ slot) => this.number(slot.id)).join('.');
    const points = slots.map((/** @type {any} */ slot) => slot.pp).join('.');
    return ` h${numbers.join('.')} m${moves} p${points} c${STATS.map((stat) => pokemon.baseStoredStats[stat]).join('.')}`;
  }

  /** @param {Pokemon} pokemon */
  active(pokemon) {
    const types = pokemon.types.map((/** @type {string} */ type) => TYPES.indexOf(type));
    const slots = pokemon.moveSlots;
    return [
      ` a${this.places.get(pokemon)}.${Number(pokemon.isActive)}`,
      `s${pokemon.species.num}.${types[0]}.${types[1] ?? 0}`,
      `t${Number(pokemon.transformed)}`,
      `m${slots.map((/** @type {any} */ slot) => this.number(slot.id)).join('.')}`,
      `p${slots.map((/** @type {any} */ slot) => slot.pp).join('.')}`,
      `b${BOOSTS.map((stat) => pokemon.boosts[stat]).join('.')}`,
      `o${STATS.map((stat) => pokemon.storedStats[stat]).join('.')}`,
      `d${STATS.map((stat) => pokemon.modifiedStats[stat]).join('.')}`,
      `e${pokemon.speed}`,
      `l${this.number(pokemon.lastMove?.id)}`,
      ...Object.entries(pokemon.volatiles).map(([id, state]) => this.volatile(id, state)),
    ].join(' ');
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
    if (!request || request.wait) return ' r0.0.0.0';
    const active = request.active?.[0];
    const legal = legalActions(request).reduce((bits, action) => bits | (1 << action), 0);
    const moves = (active?.moves ?? []).map((/** @type {any} */ move) =>
      ` q${this.number(move.id)}.${move.pp ?? 0}.${move.maxpp ?? 0}.${Number(Boolean(move.disabled))}`);
    const flags = [active ? 1 : 2, Number(Boolean(active?.trapped)), Number(Boolean(active?.maybeLocked)), legal.toString(16)];
    return ` r${flags.join('.')}${moves.join('')}`;
  }
}

// Writes view records: what one seat can know at one decision, as one row of small integers.
//
// The layout comes from Python. Facts about the foe come from the public lines that the tracker reads. Exact facts
// about the seat's own side come from its request.

import { OUTCOME } from '../tracker/outcomes.js';
import { updateMemory } from '../tracker/own.js';
import { writeFoes } from './foe.js';
import { offsets, places } from './layout.js';
import { OwnWriter } from './own.js';
import { PokemonColumns } from './pokemon.js';

/** @import { Side } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */

/** @import { Layout, Vocabulary } from './layout.js' */
/** @typedef {(row: Int16Array, tracker: Tracker, request: any, seat: number, refusals: number) => void} Write */

const POSITION = /** @type {const} */ ([
  'phase', 'turn', 'generation', 'slots', 'must_switch', 'reviving', 'trapped', 'maybe_trapped', 'only_move', 'gimmick',
  'refusals', 'weather', 'weather_least', 'weather_most', 'terrain', 'terrain_least', 'terrain_most', 'rooms',
]);
const SIDE = /** @type {const} */ ([
  'team_size', 'brought_size', 'left', 'gimmick_used', 'layers', 'turns_least', 'turns_most', 'wish', 'future_move',
  'healing_wish', 'last_kind', 'last_move', 'last_target', 'last_outcome', 'last_order',
]);

/**
 * @param {Layout} layout
 * @param {Vocabulary} vocabulary
 * @returns {Write}
 */
export function viewWriter(layout, vocabulary) {
  const { position, side, pokemon } = layout.blocks;
  checkOutcomes(layout.names.outcomes);
  const writePosition = positionWriter(offsets('position', position, POSITION), layout, vocabulary);
  const writeSide = sideWriter(offsets('side', side, SIDE), layout, vocabulary);
  const columns = new PokemonColumns(pokemon, layout, vocabulary);
  const own = new OwnWriter(columns);
  return (row, tracker, request, seat, refusals) => {
    const memory = updateMemory(tracker, request, seat);
    writePosition(row, position.start, tracker, request, seat, refusals);
    writeSide(row, side.start, tracker.sides[seat], tracker, seat);
    writeSide(row, side.start + side.width, tracker.sides[1 - seat], tracker, seat);
    own.write(row, tracker, memory, request, seat);
    writeFoes(columns, row, tracker, seat);
  };
}

/**
 * @param {string[]} names of the layout
 */
function checkOutcomes(names) {
  const ours = Object.entries(OUTCOME).every(([name, bit]) => 1 << names.indexOf(name) === bit);
  if (!ours || names.length !== Object.keys(OUTCOME).length) {
    const written = Object.keys(OUTCOME).join(', ');
    throw new Error(`The outcomes of the layout are ${names.join(', ')}, but the host writes ${written}.`);
  }
}

/**
 * @param {any} active one of a request's
 * @returns {string} the available gimmick
 */
function offeredGimmick(active) {
  if (active.canTerastallize) return 'terastallize';
  if (active.canMegaEvo || active.canMegaEvoX || active.canMegaEvoY) return 'mega';
  if (active.canUltraBurst) return 'ultra';
  if (active.canZMove) return 'zmove';
  return active.canDynamax ? 'dynamax' : '';
}

/**
 * @param {Record<typeof POSITION[number], number>} at
 * @param {Layout} layout
 * @param {Vocabulary} vocabulary
 */
function positionWriter(at, { names, slots }, vocabulary) {
  const moves = places(['', ...vocabulary.moves]);
  const phases = places(names.phases);
  const gimmicks = places(names.gimmicks);
  const weathers = places(names.weathers);
  const terrains = places(names.terrains);
  const rooms = places(names.rooms);
  const phaseOf = (/** @type {any} */ request) => {
    if (request.teamPreview) return phases.get('preview');
    if (request.forceSwitch) return phases.get('forced_switch');
    return phases.get(request.active ? 'turn' : '');
  };

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Tracker} tracker
   * @param {any} request
   * @param {number} seat
   * @param {number} refusals
   */
  return (row, start, tracker, request, seat, refusals) => {
    row[start + at.phase] = phaseOf(request) ?? 0;
    row[start + at.turn] = tracker.turn;
    row[start + at.generation] = tracker.lexicon.generation;
    row[start + at.slots] = tracker.activeSlots;
    row[start + at.refusals] = refusals;
    for (let slot = 0; slot < slots; slot++) {
      const forced = request.forceSwitch?.[slot];
      if (forced) row[start + at.must_switch + slot] = 1;
      if (forced && request.side.pokemon[slot].reviving) row[start + at.reviving + slot] = 1;
      const active = request.active?.[slot];
      if (!active) continue;
      if (active.trapped) row[start + at.trapped + slot] = 1;
      if (active.maybeTrapped) row[start + at.maybe_trapped + slot] = 1;
      if (active.moves[0].pp === undefined) row[start + at.only_move + slot] = moves.get(active.moves[0].id) ?? 0;
      row[start + at.gimmick + slot] = gimmicks.get(offeredGimmick(active)) ?? 0;
    }
    const { weather, terrain } = tracker;
    if (weather) {
      row[start + at.weather] = weathers.get(weather.id) ?? 0;
      row[start + at.weather_least] = weather.least(seat);
      row[start + at.weather_most] = weather.most(seat);
    }
    if (terrain) {
      row[start + at.terrain] = terrains.get(terrain.id) ?? 0;
      row[start + at.terrain_least] = terrain.least(seat);
      row[start + at.terrain_most] = terrain.most(seat);
    }
    for (const room of tracker.rooms.values()) {
      const place = rooms.get(room.id);
      if (place === undefined) tracker.countUnknown(`room ${room.id}`);
      else row[start + at.rooms + place] = room.least(seat);
    }
  };
}

/**
 * @param {Record<typeof SIDE[number], number>} at
 * @param {Layout} layout
 * @param {Vocabulary} vocabulary
 */
function sideWriter(at, { names, slots }, vocabulary) {
  const conditions = places(names.side_conditions);
  const kinds = places(names.action_kinds);
  const moves = places(['', ...vocabulary.moves]);

  /**
   * @param {Int16Array} row
   * @param {number} start
   * @param {Side} side
   * @param {Tracker} tracker
   * @param {number} seat
   */
  return (row, start, side, tracker, seat) => {
    row[start + at.team_size] = side.teamSize;
    row[start + at.brought_size] = side.broughtSize;
    row[start + at.left] = side.broughtSize - side.faints;
    if (side.gimmickUsed) row[start + at.gimmick_used] = 1;
    for (const condition of side.conditions.values()) {
      const place = conditions.get(condition.id);
      if (place === undefined) {
        tracker.countUnknown(`side condition ${condition.id}`);
        continue;
      }
      row[start + at.layers + place] = condition.layers;
      row[start + at.turns_least + place] = condition.least(seat);
      row[start + at.turns_most + place] = condition.most(seat);
    }
    for (let index = 0; index < slots; index++) {
      row[start + at.wish + index] = side.wish[index];
      row[start + at.future_move + index] = side.futureMove[index];
      if (side.healingWish[index]) row[start + at.healing_wish + index] = 1;
      const { last } = side.slots[index];
      if (last.turn !== tracker.actionsOfTurn) continue;
      row[start + at.last_kind + index] = kinds.get(last.kind) ?? 0;
      row[start + at.last_move + index] = moves.get(last.move) ?? 0;
      if (last.side >= 0) row[start + at.last_target + index] = last.slot + (last.side === seat ? 1 : 3);
      row[start + at.last_outcome + index] = last.outcome;
      row[start + at.last_order + index] = last.order;
    }
  };
}

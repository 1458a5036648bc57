// Writes view records: what one seat can know at one decision. A port of host/view/writer.js; views/layout.py says what
// the columns mean.

#include <string.h>

#include "state.h"

enum { TRANSFORMED_PP = 5, GENERATION = 1, ACTIVE_PLACES = 1, LAST_TARGET_OWN = 1, LAST_TARGET_FOE = 3 };

void tracker_write_types(int16_t *columns, int species, const TrackedSlot *slot) {
  int16_t *types = columns + POKEMON_TYPES;
  if (slot && slot->types[0]) {
    types[0] = tracker_types[slot->types[0]];
    types[1] = tracker_types[slot->types[1]];
  } else {
    types[0] = tracker_species[species].types[0];
    types[1] = tracker_species[species].types[1];
  }
}

void tracker_write_transformed_pp(int16_t *columns, int place, const TrackedSlot *slot, int id) {
  int left = TRANSFORMED_PP - spent_on_move(&slot->transform_moves, id);
  columns[POKEMON_PP + place] = (int16_t)(left > 0 ? left : 0);
  columns[POKEMON_MAX_PP + place] = tracker_moves[id].max_pp;
}

void tracker_write_slot(int16_t *columns, const TrackedSlot *slot, int turn) {
  columns[POKEMON_ACTIVE] = 1;
  columns[POKEMON_TURNS_ACTIVE] = (int16_t)(turn - slot->since);
  for (int stat = 0; stat < LINE_STATS; stat++) columns[POKEMON_BOOSTS + stat] = slot->boosts[stat];
  if (slot->last_move) {
    columns[POKEMON_LAST_MOVE] = (int16_t)tracker_moves[slot->last_move].number;
    columns[POKEMON_STREAK] = (int16_t)slot->streak;
  }
  columns[POKEMON_DISABLED_MOVE] = (int16_t)tracker_moves[slot->disabled_move].number;
  uint32_t left = slot->volatiles;
  for (int place = 0; left; place++, left >>= 1) {
    if (!(left & 1)) continue;
    const VolatileFacts *facts = &tracker_volatiles[place];
    int16_t *word = &columns[POKEMON_VOLATILES + facts->column];
    *word = (int16_t)(*word | facts->bit);
    if (facts->counter >= 0) columns[POKEMON_COUNTERS + facts->counter] = (int16_t)(turn - slot->started[place]);
  }
}

static void write_position(int16_t *row, const Tracker *tracker, const SeatRequest *request, int refusals) {
  row[POSITION_PHASE] = request->kind;
  row[POSITION_TURN] = (int16_t)tracker->turn;
  row[POSITION_GENERATION] = GENERATION;
  row[POSITION_SLOTS] = ACTIVE_PLACES;
  row[POSITION_REFUSALS] = (int16_t)refusals;
  row[POSITION_MUST_SWITCH] = request->kind == SEAT_REQUEST_FORCED_SWITCH;
  row[POSITION_TRAPPED] = request->trapped;
  bool bound = request->offered_count && !request->has_pp;
  if (bound) row[POSITION_ONLY_MOVE] = (int16_t)tracker_moves[request->offered[0]].number;
}

static void write_side(int16_t *columns, const Tracker *tracker, int shown, int seat) {
  const TrackedSide *side = &tracker->sides[shown];
  const TrackedAction *last = &side->slot.last;
  columns[SIDE_TEAM_SIZE] = columns[SIDE_BROUGHT_SIZE] = side->team_size;
  columns[SIDE_LEFT] = (int16_t)(side->team_size - side->faints);
  if (last->turn != tracker->turns_with_action) return;
  columns[SIDE_LAST_KIND] = last->kind;
  columns[SIDE_LAST_MOVE] = (int16_t)tracker_moves[last->move].number;
  if (last->target) columns[SIDE_LAST_TARGET] = last->target - 1 == seat ? LAST_TARGET_OWN : LAST_TARGET_FOE;
  columns[SIDE_LAST_OUTCOME] = last->outcome;
  columns[SIDE_LAST_ORDER] = last->order;
}

void nemesis_view_write(int16_t *row, Tracker *tracker, const SeatRequest *request, int seat, int refusals) {
  uint8_t order[SEAT_TEAM];
  tracker_update_memory(tracker, request, seat, order);
  memset(row, 0, VIEW_SIZE * sizeof *row);
  write_position(row, tracker, request, refusals);
  write_side(row + VIEW_SIDES, tracker, seat, seat);
  write_side(row + VIEW_SIDES + SIDE_WIDTH, tracker, 1 - seat, seat);
  tracker_write_own(row + VIEW_POKEMON, tracker, request, seat, order);
  tracker_write_foes(row + VIEW_POKEMON + SEAT_TEAM * POKEMON_WIDTH, tracker, seat);
}

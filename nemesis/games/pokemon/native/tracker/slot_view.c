// Writes what own and foe Pokémon share: the state of the active place, types, and PP of copied moves.

#include "state.h"

enum { TRANSFORMED_PP = 5 };

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

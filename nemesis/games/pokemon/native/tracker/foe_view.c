// Writes foe Pokémon into a view record: what is public about them, and nothing else.

#include "state.h"

enum { MIMIC = 102 };

// The own Pokémon whose public state a foe transformed into; the seat knows its moves. NULL if there is none.
static const OwnPokemon *model_of(const SeatMemory *memory, const TrackedSlot *slot) {
  if (!slot || slot->transform_model < 0) return 0;
  for (int place = 0; place < memory->members; place++) {
    if (memory->team[place].known == slot->transform_model) return &memory->team[place];
  }
  return 0;
}

static void write_moves(int16_t *columns, const SeatMemory *memory, const TrackedPokemon *pokemon,
                        const TrackedSlot *slot) {
  bool transformed = slot && slot->transform_model >= 0;
  const OwnPokemon *model = model_of(memory, slot);
  const TrackedMoves *moves = transformed ? &slot->transform_moves : &pokemon->moves;
  const uint8_t *ids = model ? model->moves : moves->ids;
  int count = model ? model->move_count : moves->count;
  if (count > SEAT_MOVES) count = SEAT_MOVES;
  for (int place = 0; place < count; place++) {
    bool learned = slot && slot->mimic_move && ids[place] == MIMIC;
    int id = learned ? slot->mimic_move : ids[place];
    columns[POKEMON_MOVES + place] = (int16_t)tracker_moves[id].number;
    columns[POKEMON_MOVE_REVEALED + place] = 1;
    if (transformed) {
      tracker_write_transformed_pp(columns, place, slot, id);
      continue;
    }
    int full = tracker_moves[id].max_pp, spent = learned ? slot->mimic_spent : moves->spent[place];
    columns[POKEMON_PP + place] = (int16_t)(spent < full ? full - spent : 0);
    columns[POKEMON_MAX_PP + place] = (int16_t)full;
  }
}

static void write_foe(int16_t *columns, const Tracker *tracker, int seat, const TrackedPokemon *pokemon) {
  const TrackedSlot *slot = pokemon->on_field ? &tracker->sides[1 - seat].slot : 0;
  int species = slot && slot->species ? slot->species : pokemon->species;
  columns[POKEMON_SPECIES] = (int16_t)tracker_species[species].number;
  columns[POKEMON_BASE_SPECIES] = (int16_t)tracker_species[pokemon->species].number;
  columns[POKEMON_LEVEL] = pokemon->level;
  columns[POKEMON_GENDER] = pokemon->gender;
  columns[POKEMON_HP] = pokemon->hp;
  columns[POKEMON_MAX_HP] = pokemon->max_hp;
  columns[POKEMON_FAINTED] = pokemon->fainted;
  columns[POKEMON_STATUS] = pokemon->status;
  if (pokemon->status) columns[POKEMON_STATUS_TURNS] = (int16_t)pokemon->status_turns;
  columns[POKEMON_BROUGHT] = BROUGHT_YES;
  columns[POKEMON_SEEN] = pokemon->seen;
  tracker_write_types(columns, species, slot);
  write_moves(columns, &tracker->memories[seat], pokemon, slot);
  if (slot) tracker_write_slot(columns, slot, tracker->turn);
}

void tracker_write_foes(int16_t *columns, const Tracker *tracker, int seat) {
  const TrackedSide *side = &tracker->sides[1 - seat];
  for (int place = 0; place < side->members; place++) {
    write_foe(columns, tracker, seat, &side->team[place]);
    columns += POKEMON_WIDTH;
  }
}

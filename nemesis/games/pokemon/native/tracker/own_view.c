// Writes own Pokémon into a view record: exact facts from the seat's request, and what is public about them.

#include "state.h"

static bool is_revealed(const Tracker *tracker, int seat, const OwnPokemon *own, int move) {
  return own->known >= 0 && place_of_move(&tracker->sides[seat].team[own->known].moves, move) >= 0;
}

// The PP of a Pokémon whose request shows them, or as far as they are known; and which moves it may not use.
static void write_moves(int16_t *columns, const Tracker *tracker, const SeatRequest *request, int seat,
                        const OwnPokemon *own, const SeatMember *entry, const TrackedSlot *slot) {
  bool offered = slot && request->offered_count;
  bool exact = offered && request->has_pp && request->offered_count == entry->move_count;
  bool transformed = slot && slot->transform_model >= 0;
  for (int place = 0; place < entry->move_count; place++) {
    int id = entry->moves[place];
    columns[POKEMON_MOVES + place] = (int16_t)tracker_moves[id].number;
    if (exact) {
      columns[POKEMON_PP + place] = request->pp[place];
      columns[POKEMON_MAX_PP + place] = request->max_pp[place];
      columns[POKEMON_MOVE_DISABLED + place] = request->disabled[place];
    } else {
      columns[POKEMON_MAX_PP + place] = tracker_moves[id].max_pp;
      if (transformed) tracker_write_transformed_pp(columns, place, slot, id);
      else columns[POKEMON_PP + place] = (int16_t)tracker_own_pp(tracker, seat, own, place);
      columns[POKEMON_MOVE_DISABLED + place] = offered && request->offered[0] != id;
    }
    columns[POKEMON_MOVE_REVEALED + place] = transformed || is_revealed(tracker, seat, own, id);
  }
}

static void write_own(int16_t *columns, const Tracker *tracker, const SeatRequest *request, int seat,
                      const OwnPokemon *own, const SeatMember *entry, bool first) {
  const TrackedSide *side = &tracker->sides[seat];
  const TrackedSlot *slot = first && entry->active && entry->hp ? &side->slot : 0;
  int shown = slot && slot->pokemon >= 0 ? slot->pokemon : own->known;
  int species = slot && slot->species ? slot->species : entry->species;
  columns[POKEMON_SPECIES] = (int16_t)tracker_species[species].number;
  columns[POKEMON_BASE_SPECIES] = (int16_t)tracker_species[own->species].number;
  columns[POKEMON_LEVEL] = own->level;
  columns[POKEMON_GENDER] = own->gender;
  columns[POKEMON_MAX_HP] = (int16_t)own->max_hp;
  columns[POKEMON_ITEM_STATE] = ITEM_NONE;
  columns[POKEMON_BROUGHT] = BROUGHT_YES;
  columns[POKEMON_SEEN] = own->seen;
  for (int stat = 0; stat < SEAT_STATS; stat++) columns[POKEMON_STATS + stat] = (int16_t)entry->stats[stat];
  tracker_write_types(columns, species, slot);
  if (entry->hp) {
    columns[POKEMON_HP] = (int16_t)entry->hp;
    columns[POKEMON_STATUS] = entry->status;
    bool counted = entry->status && shown >= 0 && side->team[shown].status == entry->status;
    if (counted) columns[POKEMON_STATUS_TURNS] = (int16_t)side->team[shown].status_turns;
  } else {
    columns[POKEMON_FAINTED] = 1;
  }
  write_moves(columns, tracker, request, seat, own, entry, slot);
  if (slot) tracker_write_slot(columns, slot, tracker->turn);
}

void tracker_write_own(int16_t *columns, const Tracker *tracker, const SeatRequest *request, int seat,
                       const uint8_t order[SEAT_TEAM]) {
  const SeatMemory *memory = &tracker->memories[seat];
  for (int place = 0; place < request->members; place++) {
    const OwnPokemon *own = &memory->team[order[place]];
    write_own(columns, tracker, request, seat, own, &request->team[place], !place);
    columns += POKEMON_WIDTH;
  }
}

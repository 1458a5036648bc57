// Writes own Pokémon into a view record: exact facts from the seat's request, and what is public about them.

#include <string.h>

#include "state.h"

// Columns of moves that are the same whether or not it is on the field.
static void write_set(int16_t *columns, const SeatMember *entry, const TrackedPokemon *known) {
  for (int place = 0; place < entry->move_count; place++) {
    const MoveFacts *facts = &tracker_moves[entry->moves[place]];
    columns[POKEMON_MOVES + place] = (int16_t)facts->number;
    columns[POKEMON_MAX_PP + place] = facts->max_pp;
  }
  if (!known) return;
  for (int shown = 0; shown < known->moves.count; shown++) {
    for (int place = 0; place < entry->move_count; place++) {
      columns[POKEMON_MOVE_REVEALED + place] |= entry->moves[place] == known->moves.ids[shown];
    }
  }
}

// What the request says of its moves; if it shows no PP, as far as they are known.
static void write_offered(int16_t *columns, const Tracker *tracker, const SeatRequest *request, int seat,
                          const OwnPokemon *own, const SeatMember *entry, const TrackedSlot *slot) {
  bool exact = request->has_pp && request->offered_count == entry->move_count;
  bool transformed = slot->transform_model >= 0;
  for (int place = 0; place < entry->move_count; place++) {
    int id = entry->moves[place];
    if (transformed) columns[POKEMON_MOVE_REVEALED + place] = 1;
    if (exact) {
      columns[POKEMON_PP + place] = request->pp[place];
      columns[POKEMON_MAX_PP + place] = request->max_pp[place];
      columns[POKEMON_MOVE_DISABLED + place] = request->disabled[place];
      continue;
    }
    if (transformed) tracker_write_transformed_pp(columns, place, slot, id);
    else columns[POKEMON_PP + place] = (int16_t)tracker_own_pp(tracker, seat, own, place);
    columns[POKEMON_MOVE_DISABLED + place] = request->offered_count && request->offered[0] != id;
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
  memcpy(columns + POKEMON_STATS, entry->stats, sizeof entry->stats);
  tracker_write_types(columns, species, slot);
  if (entry->hp) {
    columns[POKEMON_HP] = (int16_t)entry->hp;
    columns[POKEMON_STATUS] = entry->status;
    bool counted = entry->status && shown >= 0 && side->team[shown].status == entry->status;
    if (counted) columns[POKEMON_STATUS_TURNS] = (int16_t)side->team[shown].status_turns;
  } else {
    columns[POKEMON_FAINTED] = 1;
  }
  write_set(columns, entry, own->known < 0 ? 0 : &side->team[own->known]);
  if (slot) {
    write_offered(columns, tracker, request, seat, own, entry, slot);
    tracker_write_slot(columns, slot, tracker->turn);
    return;
  }
  for (int place = 0; place < entry->move_count; place++) {
    int pp = own->on_field ? tracker_own_pp(tracker, seat, own, place) : own->left[place];
    columns[POKEMON_PP + place] = (int16_t)pp;
  }
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

// Functions on the tracked state that several files of the tracker use.

#ifndef NEMESIS_TRACKER_STATE_H
#define NEMESIS_TRACKER_STATE_H

#include <stdbool.h>

#include "facts.h"
#include "layout.h"
#include "tracker.h"

// Bits of TrackedAction.outcome.
enum {
  MISSED = 1 << OUTCOME_MISSED,
  FAILED = 1 << OUTCOME_FAILED,
  IMMUNE = 1 << OUTCOME_IMMUNE,
  CRITICAL = 1 << OUTCOME_CRITICAL,
  SUPER_EFFECTIVE = 1 << OUTCOME_SUPER_EFFECTIVE,
  RESISTED = 1 << OUTCOME_RESISTED,
  KNOCKED_OUT = 1 << OUTCOME_KNOCKED_OUT
};

static inline bool has_volatile(const TrackedSlot *slot, enum Volatile place) {
  return slot->volatiles >> place & 1;
}

static inline void start_volatile(TrackedSlot *slot, enum Volatile place, int turn) {
  slot->volatiles |= UINT32_C(1) << place;
  slot->started[place] = (uint16_t)turn;
}

// Returns whether it was there.
static inline bool end_volatile(TrackedSlot *slot, enum Volatile place) {
  bool present = has_volatile(slot, place);
  slot->volatiles &= ~(UINT32_C(1) << place);
  return present;
}

// The Pokémon in the active place of a seat, or NULL.
static inline TrackedPokemon *active_pokemon(TrackedSide *side) {
  return side->slot.pokemon < 0 ? 0 : &side->team[side->slot.pokemon];
}

// Its current moves.
static inline TrackedMoves *active_moves(TrackedSide *side) {
  return side->slot.transform_model < 0 ? &side->team[side->slot.pokemon].moves : &side->slot.transform_moves;
}

// Returns the place of a move, or -1.
static inline int place_of_move(const TrackedMoves *moves, int id) {
  for (int place = 0; place < moves->count; place++) {
    if (moves->ids[place] == id) return place;
  }
  return -1;
}

static inline int spent_on_move(const TrackedMoves *moves, int id) {
  int place = place_of_move(moves, id);
  return place < 0 ? 0 : moves->spent[place];
}

static inline bool is_same_kind(const TrackedPokemon *pokemon, int species, int level, int gender) {
  return pokemon->species == species && pokemon->level == level && pokemon->gender == gender;
}

// team.c
void tracker_reset_slot(TrackedSlot *slot, int turn);
void tracker_leave(TrackedSide *side);
void tracker_switch_in(Tracker *tracker, const Line *line);

// actions.c
void tracker_reveal_move(TrackedMoves *moves, int id);
bool tracker_begin_action(Tracker *tracker, TrackedSlot *slot, int kind);
void tracker_lose_turn(Tracker *tracker, int seat, enum LineEffect reason);
void tracker_note_outcome(Tracker *tracker, int bits);
void tracker_move(Tracker *tracker, const Line *line);
void tracker_cant(Tracker *tracker, const Line *line);
void tracker_faint(Tracker *tracker, const Line *line);

// effects.c
void tracker_set_status(TrackedPokemon *pokemon, int status);
void tracker_set_condition(TrackedPokemon *pokemon, const Line *line);
void tracker_damage(Tracker *tracker, const Line *line);
void tracker_status(Tracker *tracker, const Line *line);
void tracker_boost(TrackedSlot *slot, int stat, int stages);
void tracker_start_effect(Tracker *tracker, const Line *line);
void tracker_end_effect(Tracker *tracker, const Line *line);
void tracker_transform(Tracker *tracker, const Line *line);

// memory.c: fills `order` with the places in the memory's team of the request's entries.
void tracker_update_memory(Tracker *tracker, const SeatRequest *request, int seat, uint8_t order[SEAT_TEAM]);
int tracker_own_pp(const Tracker *tracker, int seat, const OwnPokemon *own, int place);

// own_view.c and foe_view.c: write the Pokémon of a seat, and those that it faces.
void tracker_write_own(int16_t *columns, const Tracker *tracker, const SeatRequest *request, int seat,
                       const uint8_t order[SEAT_TEAM]);
void tracker_write_foes(int16_t *columns, const Tracker *tracker, int seat);

// view.c: columns that own and foe Pokémon share.
void tracker_write_slot(int16_t *columns, const TrackedSlot *slot, int turn);
void tracker_write_types(int16_t *columns, int species, const TrackedSlot *slot);
void tracker_write_transformed_pp(int16_t *columns, int place, const TrackedSlot *slot, int id);

#endif

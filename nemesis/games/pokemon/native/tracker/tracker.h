// The public state of one battle, from its lines alone, and what each seat remembers; both make the view records.
//
// A port of the host's tracker (host/tracker) for Gen 1 singles, with the same rules: what a seat knows is what was
// shown, not what is true. A tracker has no pointers, so memcpy clones it.
//
//   nemesis_tracker_start → nemesis_tracker_read(new lines) → nemesis_view_write(row of each seat that decides) → …

#ifndef NEMESIS_TRACKER_H
#define NEMESIS_TRACKER_H

#include <stdint.h>

#include "../lines.h"
#include "request.h"

// A Pokémon may show more than four moves: Pokémon of the same species and nickname are taken for one, up to six of four
// moves each, and Disable may name moves that were learned by Mimic. Any beyond these are left out.
#define TRACKED_MOVES 24
#define TRACKED_VOLATILES 18

// Moves that were shown, in that order, and the PP spent on each.
typedef struct {
  uint8_t count;
  uint8_t ids[TRACKED_MOVES];
  uint8_t spent[TRACKED_MOVES];
} TrackedMoves;

// One Pokémon of a side, as far as is public.
typedef struct {
  uint8_t name, species, level, gender;
  uint8_t hp, max_hp, fainted;
  uint8_t status;
  uint8_t on_field;
  uint8_t seen;
  uint16_t status_turns;
  TrackedMoves moves;
} TrackedPokemon;

// The last recorded action of a slot, and the turn it belongs to.
typedef struct {
  int16_t turn; // -1 before the first
  uint8_t kind, move;
  uint8_t target; // 1 + seat, or 0
  uint8_t outcome;
  uint8_t order;
} TrackedAction;

// The active place of a side, and the state of its Pokémon until it leaves.
typedef struct {
  int8_t pokemon;         // place in the team, or -1
  int8_t transform_model; // place in the other team of what it transformed into, or -1
  uint8_t species;        // what it transformed into, or 0
  uint8_t types[2];       // instead of those of the species, if the first is not 0
  uint8_t last_move, disabled_move;
  uint8_t mimic_move, mimic_spent; // the move learned by Mimic
  int8_t boosts[LINE_STATS];
  uint16_t streak;
  uint16_t since;                      // turn in which it came in
  uint32_t volatiles;                  // bits of enum Volatile
  uint16_t started[TRACKED_VOLATILES]; // the turns in which they started
  TrackedAction last;
  TrackedMoves transform_moves;
} TrackedSlot;

typedef struct {
  uint8_t team_size, faints;
  uint8_t members;    // of `team`
  uint8_t identities; // counts the members that were met
  TrackedSlot slot;
  TrackedPokemon team[SEAT_TEAM];
} TrackedSide;

// One own Pokémon, as its seat knows it beyond the current request.
typedef struct {
  uint8_t name, species, level, gender;
  uint8_t seen, on_field;
  int8_t known;    // place of its public state, or -1
  int8_t illusion; // place of the public state that it is taken for, or -1: a namesake's
  uint8_t move_count;
  uint8_t moves[SEAT_MOVES];        // of its set
  uint8_t left[SEAT_MOVES];         // PP when last known exactly
  uint16_t max_hp;                  // when it was last shown alive
  int16_t spent_before[SEAT_MOVES]; // public PP costs up to then
} OwnPokemon;

typedef struct {
  uint8_t members;
  uint8_t identities;
  uint8_t has_namesakes;
  OwnPokemon team[SEAT_TEAM];
} SeatMemory;

typedef struct Tracker {
  uint16_t turn;
  int16_t turns_with_action;
  uint8_t order;
  uint8_t is_new_turn;
  int8_t actor;  // seat whose move is being executed, or -1
  int8_t acting; // the same, if it is the recorded action of the turn
  TrackedSide sides[2];
  SeatMemory memories[2];
} Tracker;

// Begin a battle between teams of these sizes.
void nemesis_tracker_start(Tracker *tracker, int size, int other_size);

// Read new lines, in order.
void nemesis_tracker_read(Tracker *tracker, const Line *lines, int count);

// Write all columns of the row of a seat that decides. This also updates what the seat remembers, so it must be called
// for every request of the seat that it has to answer, after all lines before it.
void nemesis_view_write(int16_t *row, Tracker *tracker, const SeatRequest *request, int seat, int refusals);

#endif

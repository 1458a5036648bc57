// Many battles in numbered slots, stepped together: the C side of the native match pool. It does what the arena of the
// Node hosts does (host/battle/arena.js), in the same order. All memory belongs to the caller.

#ifndef NEMESIS_ARENA_ARENA_H
#define NEMESIS_ARENA_ARENA_H

#include "../tracker/layout.h"
#include "match.h"

#if defined(_WIN32)
#define NEMESIS_API __declspec(dllexport)
#else
#define NEMESIS_API __attribute__((visibility("default")))
#endif

enum { MOST_CHOICES = 4096, MASK_BYTES = 3, SEATS = 2 };
enum { COST_SIMULATE, COST_TRACK, COST_ENCODE, COSTS };

// Everything that a match needs to start.
typedef struct {
  uint64_t seed;
  uint64_t team_seeds[SEATS]; // of generated teams
  int32_t slot;
  uint8_t rules;
  uint8_t teams_from;         // TEAMS_…
  Team teams[SEATS];          // if they are given
} Setup;

typedef struct {
  Match *matches;         // (slot)
  uint8_t *live;          // (slot) whether a match is there
  uint8_t *choices;       // (slot, MOST_CHOICES) all choices of the match, including refused ones: 32 · seat + action
  int32_t *choice_count;  // (slot)
  int64_t *slot, *seat;   // (2 · slot) places of the waiting decisions
  double *costs;          // (COSTS) seconds in each part of the work
  int32_t slots, turn_limit, waiting;
} Arena;

// Where a step writes.
typedef struct {
  int16_t *views;   // (decision, VIEW_SIZE)
  uint8_t *masks;   // (decision, MASK_BYTES)
  int32_t *results; // (match, 4): slot, winner, reason, number of choices
} Output;

// Answer all waiting decisions, start matches and write the next decisions. Returns how many matches ended, or -1 if the
// number of actions is not that of the waiting decisions.
NEMESIS_API int32_t nemesis_arena_step(Arena *arena, const int64_t *actions, int32_t count, const Setup *setups,
                                       int32_t starting, const Output *output);

// Replay a recorded match in its slot. Returns 0 if the recording does not fit the battle.
NEMESIS_API int32_t nemesis_arena_restore(Arena *arena, const Setup *setup, const uint8_t *choices, int32_t count);

// Start a match, whatever its slot.
void start_match(Match *match, const Setup *setup);

// Start matches one after the other in memory, whose slots are not read.
NEMESIS_API void nemesis_matches_start(Match *matches, const Setup *setups, int32_t count);

// What is known of matches after a step; arrays may be NULL where nothing is to be written.
typedef struct {
  uint8_t *waits;  // (match, SEATS) whether the seat has to answer
  int8_t *reason;  // (match) REASON_…
  int8_t *winner;  // (match) seat, or -1
  uint8_t *masks;  // (match, SEATS, MASK_BYTES), 0 for a seat that does not have to answer
  int16_t *views;  // (match, SEATS, VIEW_SIZE) or, of one seat, (match, VIEW_SIZE)
  int32_t seats;   // whose views are written: 0, 1, both (2), none (3), or never again (4), so nothing is remembered
} Branches;

// Copy matches from[source[i]] to to[i], answer the seats that wait with actions (match, SEATS), and describe them. With
// no source, to[i] itself goes on; with no actions, nothing is answered.
NEMESIS_API void nemesis_matches_step(Match *to, const Match *from, const int64_t *source, const int8_t *actions,
                                      int32_t count, int32_t turn_limit, const Branches *branches);

// Draw the teams of both seats from their seeds, as a match with these `teams_from` does.
NEMESIS_API void nemesis_draw_teams(int32_t teams_from, const uint64_t seeds[SEATS], Team teams[SEATS]);

#endif

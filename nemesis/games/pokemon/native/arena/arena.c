// Steps of an arena: choices, new matches, tracking, rows, and results, in the order of the Node hosts.

#define _POSIX_C_SOURCE 199309L // clock_gettime

#include "arena.h"

#include <string.h>

#include "clock.h"
#include "random_teams.h"

enum { RESULT_COLUMNS = 4, SEAT_SHIFT = 5, ACTION_BITS = 31 };

void nemesis_draw_teams(int32_t teams_from, const uint64_t seeds[SEATS], Team teams[SEATS]) {
  TeamGenerator generator = {(uint8_t)teams_from, 0};
  for (int seat = 0; seat < SEATS; seat++) random_team(&generator, seeds[seat], &teams[seat]);
}

void start_match(Match *match, const Setup *setup) {
  if (setup->teams_from == TEAMS_GIVEN) {
    match_start(match, setup->teams, setup->seed, setup->rules);
    return;
  }
  Team teams[SEATS];
  nemesis_draw_teams(setup->teams_from, setup->team_seeds, teams);
  match_start(match, teams, setup->seed, setup->rules);
}

static void start(Arena *arena, const Setup *setup) {
  arena->live[setup->slot] = 1;
  arena->choice_count[setup->slot] = 0;
  start_match(&arena->matches[setup->slot], setup);
}

// Record a choice and make it. A battle that outgrows its recording has refused nearly all of its choices.
static void choose(Arena *arena, int64_t slot, int seat, int action) {
  Match *match = &arena->matches[slot];
  if (match->reason != REASON_NONE) return;
  if (arena->choice_count[slot] == MOST_CHOICES) {
    match->reason = REASON_REFUSED;
    return;
  }
  arena->choices[slot * MOST_CHOICES + arena->choice_count[slot]++] = (uint8_t)(seat << SEAT_SHIFT | action);
  match_choose(match, seat, action, arena->turn_limit);
}

static void track(Arena *arena) {
  for (int32_t slot = 0; slot < arena->slots; slot++)
    if (arena->live[slot] && arena->matches[slot].reason == REASON_NONE) match_track(&arena->matches[slot]);
}

static void encode(Arena *arena, const Output *output) {
  int32_t row = 0;
  for (int32_t slot = 0; slot < arena->slots; slot++) {
    Match *match = &arena->matches[slot];
    if (!arena->live[slot]) continue;
    for (int seat = 0; seat < SEATS; seat++) {
      if (!match_waits(match, seat)) continue;
      int16_t *view = output->views + (size_t)row * VIEW_SIZE;
      match_view(match, seat, match->refusals[seat], view);
      match_mask(match, seat, output->masks + (size_t)row * MASK_BYTES);
      arena->slot[row] = slot;
      arena->seat[row++] = seat;
    }
  }
  arena->waiting = row;
}

// Remove the matches that have ended from their slots.
static int32_t clear_ended(Arena *arena, int32_t *results) {
  int32_t ended = 0;
  for (int32_t slot = 0; slot < arena->slots; slot++) {
    const Match *match = &arena->matches[slot];
    if (!arena->live[slot] || match->reason == REASON_NONE) continue;
    int32_t *result = results + RESULT_COLUMNS * ended++;
    result[0] = slot;
    result[1] = match->winner;
    result[2] = match->reason;
    result[3] = arena->choice_count[slot];
    arena->live[slot] = 0;
  }
  return ended;
}

int32_t nemesis_arena_step(Arena *arena, const int64_t *actions, int32_t count, const Setup *setups, int32_t starting,
                           const Output *output) {
  if (count != arena->waiting) return -1;
  double started = seconds();
  for (int32_t row = 0; row < count; row++) {
    int64_t slot = arena->slot[row];
    if (arena->live[slot] && match_waits(&arena->matches[slot], (int)arena->seat[row]))
      choose(arena, slot, (int)arena->seat[row], (int)actions[row] & ACTION_BITS);
  }
  for (int32_t setup = 0; setup < starting; setup++) start(arena, &setups[setup]);
  double simulated = seconds();
  track(arena);
  double tracked = seconds();
  encode(arena, output);
  int32_t ended = clear_ended(arena, output->results);
  arena->costs[COST_SIMULATE] += simulated - started;
  arena->costs[COST_TRACK] += tracked - simulated;
  arena->costs[COST_ENCODE] += seconds() - tracked;
  return ended;
}

int32_t nemesis_arena_restore(Arena *arena, const Setup *setup, const uint8_t *choices, int32_t count) {
  int16_t view[VIEW_SIZE];
  start(arena, setup);
  Match *match = &arena->matches[setup->slot];
  for (int32_t made = 0; made < count && match->reason == REASON_NONE;) {
    int asked = 0;
    match_track(match);
    for (int seat = 0; seat < SEATS; seat++) {
      if (!match_waits(match, seat)) continue;
      match_view(match, seat, 0, view);
      asked++;
    }
    if (!asked) return 0;
    for (; asked && made < count; asked--, made++)
      choose(arena, setup->slot, choices[made] >> SEAT_SHIFT, choices[made] & ACTION_BITS);
  }
  return 1;
}

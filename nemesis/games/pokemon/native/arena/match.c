// A match: the engine, the tracker and the view writer in turn.

#include "match.h"

#include <stddef.h>
#include <string.h>

#include "../tracker/state.h"
#include "seat_request.h"

enum { ACTIONS = 20 };

void match_start(Match *match, const Team teams[2], uint64_t seed, int rules) {
  match->refusals[0] = match->refusals[1] = 0;
  match->reason = REASON_NONE;
  match->winner = -1;
  nemesis_tracker_start(&match->tracker, teams[0].size, teams[1].size);
  battle_start(&match->battle, teams, seed, rules);
  if (match->battle.failed) match->reason = REASON_SIMULATOR_FAILURE;
}

void match_copy(Match *to, const Match *from) {
  memcpy(to, from, offsetof(Match, battle) + offsetof(Battle, log));
  to->battle.log.count = 0;
}

void match_choose(Match *match, int seat, int action, int turn_limit) {
  Battle *battle = &match->battle;
  if (match->reason != REASON_NONE) return; // the other seat's choice ended it
  int accepted = battle_choose(battle, seat, action);
  if (battle->failed) {
    match->reason = REASON_SIMULATOR_FAILURE;
  } else if (!accepted) {
    if (++match->refusals[seat] >= MOST_REFUSALS) match->reason = REASON_REFUSED;
  } else {
    match->refusals[seat] = 0;
    if (battle->ended) {
      match->winner = battle->winner;
      match->reason = battle->winner < 0 ? REASON_TIE : REASON_PLAYED;
    } else if (battle->turn > turn_limit) {
      match->reason = REASON_TURN_LIMIT;
    }
  }
}

void match_track(Match *match) {
  Log *log = &match->battle.log;
  nemesis_tracker_read(&match->tracker, log->lines, log->count);
  log->count = 0;
}

void match_remember(Match *match, int seat) {
  SeatRequest request;
  uint8_t order[SEAT_TEAM];
  fill_seat_request(&match->battle, seat, &request);
  tracker_update_memory(&match->tracker, &request, seat, order);
}

void match_view(Match *match, int seat, int refusals, int16_t *view) {
  SeatRequest request;
  fill_seat_request(&match->battle, seat, &request);
  nemesis_view_write(view, &match->tracker, &request, seat, refusals);
}

void match_mask(const Match *match, int seat, uint8_t *mask) {
  uint32_t legal = match_waits(match, seat) ? match->battle.sides[seat].request.legal : 0;
  mask[0] = mask[1] = mask[2] = 0;
  for (int action = 0; action < ACTIONS; action++)
    mask[action >> 3] |= (uint8_t)((legal >> action & 1) << (7 - (action & 7)));
}

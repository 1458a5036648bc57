// One battle with what both seats know of it: all that a copy of a match needs.

#ifndef NEMESIS_ARENA_MATCH_H
#define NEMESIS_ARENA_MATCH_H

#include "../engine/battle.h"
#include "../tracker/tracker.h"

// The values of EndReason in core/game.py.
enum { REASON_PLAYED, REASON_SIMULATOR_FAILURE, REASON_TIE, REASON_TURN_LIMIT, REASON_REFUSED = 5, REASON_NONE = -1 };

enum { MOST_REFUSALS = 3 };

typedef struct {
  Tracker tracker;
  uint8_t refusals[2]; // of each seat since it last answered
  int8_t reason;       // REASON_…, once it has ended
  int8_t winner;       // seat, or -1
  Battle battle;       // last, because copies leave out its log
} Match;

void match_start(Match *match, const Team teams[2], uint64_t seed, int rules);

// Copy a match whose lines have been read.
void match_copy(Match *to, const Match *from);

// Whether a seat has to answer.
static inline int match_waits(const Match *match, int seat) {
  const Request *request = &match->battle.sides[seat].request;
  return match->reason == REASON_NONE && request->kind != REQUEST_NONE && !request->answered;
}

// Answer a seat's request, and end the match if that ends it.
void match_choose(Match *match, int seat, int action, int turn_limit);

// Let the tracker read the new lines.
void match_track(Match *match);

// Update what a seat remembers, where no view is written.
void match_remember(Match *match, int seat);

// Write the view record of a seat that has to answer. This also updates what the seat remembers.
void match_view(Match *match, int seat, int refusals, int16_t *view);

// Write the mask of a seat, whose highest bit is the first action; empty if it does not have to answer.
void match_mask(const Match *match, int seat, uint8_t *mask);

#endif

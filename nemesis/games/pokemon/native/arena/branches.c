// Matches outside of an arena: copies that are stepped apart, as search needs them.

#include <string.h>

#include "arena.h"

void nemesis_matches_start(Match *matches, const Setup *setups, int32_t count) {
  for (int32_t place = 0; place < count; place++) start_match(&matches[place], &setups[place]);
}

enum { VIEWS_NEVER = 4 };     // of Branches.seats
enum { MOST_ACTION = 31 }; // what is outside of the action space stays so

static void describe(Match *match, int32_t place, const Branches *branches) {
  uint8_t *masks = branches->masks ? branches->masks + (size_t)place * SEATS * MASK_BYTES : NULL;
  for (int seat = 0; seat < SEATS; seat++) {
    int waits = match_waits(match, seat), shown = branches->seats == SEATS || branches->seats == seat;
    int width = branches->seats == SEATS ? SEATS : 1, column = branches->seats == SEATS ? seat : 0;
    int16_t *view = branches->views && shown ? branches->views + ((size_t)place * width + column) * VIEW_SIZE : NULL;
    if (branches->waits) branches->waits[SEATS * place + seat] = (uint8_t)waits;
    if (waits && view) match_view(match, seat, match->refusals[seat], view);
    if (waits && !view && branches->seats != VIEWS_NEVER) match_remember(match, seat);
    if (!waits && view) memset(view, 0, VIEW_SIZE * sizeof *view);
    if (masks) match_mask(match, seat, masks + seat * MASK_BYTES);
  }
  if (branches->reason) branches->reason[place] = match->reason;
  if (branches->winner) branches->winner[place] = match->winner;
}

void nemesis_matches_step(Match *to, const Match *from, const int64_t *source, const int8_t *actions, int32_t count,
                          int32_t turn_limit, const Branches *branches) {
  for (int32_t place = 0; place < count; place++) {
    Match *match = &to[place];
    if (source) match_copy(match, &from[source[place]]);
    if (actions) {
      int waits[SEATS] = {match_waits(match, 0), match_waits(match, 1)};
      for (int seat = 0; seat < SEATS; seat++)
        if (waits[seat]) match_choose(match, seat, actions[SEATS * place + seat] & MOST_ACTION, turn_limit);
    }
    if (branches->seats == VIEWS_NEVER)
      match->battle.log.count = 0;
    else if (match->reason == REASON_NONE)
      match_track(match);
    describe(match, place, branches);
  }
}

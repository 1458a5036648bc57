// Reads lines: which part of the tracker each kind changes.

#include <string.h>

#include "state.h"

void nemesis_tracker_start(Tracker *tracker, int size, int other_size) {
  memset(tracker, 0, sizeof *tracker);
  tracker->is_new_turn = 1;
  tracker->actor = tracker->acting = -1;
  tracker->sides[0].team_size = (uint8_t)size;
  tracker->sides[1].team_size = (uint8_t)other_size;
  for (int seat = 0; seat < 2; seat++) {
    TrackedSlot *slot = &tracker->sides[seat].slot;
    slot->pokemon = slot->transform_model = -1;
    slot->last.turn = -1;
  }
}

static void next_turn(Tracker *tracker, int turn) {
  tracker->turn = (uint16_t)turn;
  tracker->is_new_turn = 1;
  tracker->actor = tracker->acting = -1;
}

static void clear_all_boosts(Tracker *tracker) {
  for (int seat = 0; seat < 2; seat++) memset(tracker->sides[seat].slot.boosts, 0, LINE_STATS);
}

static void read_line(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat & 1];
  TrackedSlot *slot = &side->slot;
  switch (line->kind) {
  case LINE_TURN: next_turn(tracker, line->number); break;
  case LINE_EMPTY: tracker->actor = tracker->acting = -1; break;
  case LINE_SWITCH: tracker_switch_in(tracker, line); break;
  case LINE_MOVE: tracker_move(tracker, line); break;
  case LINE_CANT: tracker_cant(tracker, line); break;
  case LINE_FAINT: tracker_faint(tracker, line); break;
  case LINE_DAMAGE: tracker_damage(tracker, line); break;
  case LINE_HEAL:
    if (slot->pokemon >= 0) tracker_set_condition(active_pokemon(side), line);
    break;
  case LINE_STATUS: tracker_status(tracker, line); break;
  case LINE_CURE_STATUS:
    if (slot->pokemon >= 0) tracker_set_status(active_pokemon(side), LINE_STATUS_NONE);
    break;
  case LINE_BOOST: tracker_boost(slot, line->stat, line->number); break;
  case LINE_UNBOOST: tracker_boost(slot, line->stat, -(int)line->number); break;
  case LINE_CLEAR_ALL_BOOSTS: clear_all_boosts(tracker); break;
  case LINE_START: tracker_start_effect(tracker, line); break;
  case LINE_END: tracker_end_effect(tracker, line); break;
  case LINE_PREPARE: start_volatile(slot, VOLATILE_TWO_TURN_MOVE, tracker->turn); break;
  case LINE_MUST_RECHARGE: start_volatile(slot, VOLATILE_MUST_RECHARGE, tracker->turn); break;
  case LINE_TRANSFORM: tracker_transform(tracker, line); break;
  case LINE_MISS: tracker_note_outcome(tracker, MISSED); break;
  case LINE_FAIL:
  case LINE_NO_TARGET: tracker_note_outcome(tracker, FAILED); break;
  case LINE_IMMUNE: tracker_note_outcome(tracker, IMMUNE); break;
  case LINE_CRITICAL: tracker_note_outcome(tracker, CRITICAL); break;
  case LINE_SUPER_EFFECTIVE: tracker_note_outcome(tracker, SUPER_EFFECTIVE); break;
  case LINE_RESISTED: tracker_note_outcome(tracker, RESISTED); break;
  default: break;
  }
}

void nemesis_tracker_read(Tracker *tracker, const Line *lines, int count) {
  for (int place = 0; place < count; place++) read_line(tracker, &lines[place]);
}

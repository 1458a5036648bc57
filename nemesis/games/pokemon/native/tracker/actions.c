// Actions: moves and their PP costs, their outcomes, lost turns, and faints.

#include "state.h"

enum { DID_NOT_SUCCEED = MISSED | FAILED | IMMUNE, MAX_SPENT = 255, MIMIC = 102, RAGE = 99 };
enum { MINIMIZE = 107, DEFENSE_CURL = 111 };

void tracker_reveal_move(TrackedMoves *moves, int id) {
  if (place_of_move(moves, id) >= 0 || moves->count == TRACKED_MOVES) return;
  moves->ids[moves->count] = (uint8_t)id;
  moves->spent[moves->count++] = 0;
}

static void spend(TrackedMoves *moves, int id, int cost) {
  tracker_reveal_move(moves, id);
  int place = place_of_move(moves, id);
  if (place >= 0 && moves->spent[place] + cost <= MAX_SPENT) moves->spent[place] += (uint8_t)cost;
}

// Record what a slot does this turn: its first action, but a move replaces an earlier lost turn. Returns whether this
// action is recorded.
bool tracker_begin_action(Tracker *tracker, TrackedSlot *slot, int kind) {
  TrackedAction *last = &slot->last;
  if (tracker->is_new_turn) {
    tracker->is_new_turn = 0;
    tracker->turns_with_action++;
    tracker->order = 0;
  }
  bool again = last->turn == tracker->turns_with_action;
  if (again && !(last->kind == ACTION_CANNOT_MOVE && kind == ACTION_MOVE)) return false;
  if (!again) last->order = ++tracker->order;
  last->turn = tracker->turns_with_action;
  last->kind = (uint8_t)kind;
  last->move = last->target = last->outcome = 0;
  return true;
}

// The volatile that a move leaves without a line, or VOLATILES.
static enum Volatile left_by(int move) {
  if (move == MINIMIZE) return VOLATILE_MINIMIZE;
  return move == DEFENSE_CURL ? VOLATILE_DEFENSE_CURL : VOLATILES;
}

void tracker_note_outcome(Tracker *tracker, int bits) {
  if (tracker->acting >= 0) tracker->sides[tracker->acting].slot.last.outcome |= (uint8_t)bits;
  if (tracker->actor < 0 || !(bits & DID_NOT_SUCCEED)) return;
  // A move that did not succeed has no silent effects.
  TrackedSlot *slot = &tracker->sides[tracker->actor].slot;
  enum Volatile left = left_by(slot->last_move);
  if (left != VOLATILES && has_volatile(slot, left) && slot->started[left] == tracker->turn) end_volatile(slot, left);
}

// Effects of a used move that have no line of their own.
static void apply_silent_effects(Tracker *tracker, const Line *line) {
  TrackedSlot *slot = &tracker->sides[line->seat].slot;
  TrackedSlot *foe = &tracker->sides[1 - line->seat].slot;
  int flags = tracker_moves[line->move].flags;
  int turn = tracker->turn;
  if (!(flags & MOVE_LOCKS)) end_volatile(slot, VOLATILE_LOCKED_MOVE);
  else if (!has_volatile(slot, VOLATILE_LOCKED_MOVE)) start_volatile(slot, VOLATILE_LOCKED_MOVE, turn);
  enum Volatile left = left_by(line->move);
  if (left != VOLATILES && !has_volatile(slot, left)) start_volatile(slot, left, turn);
  end_volatile(slot, VOLATILE_PARTIALLY_TRAPPED);
  if (line->move == RAGE) start_volatile(slot, VOLATILE_RAGE, turn);
  if (!(flags & MOVE_BINDS)) {
    end_volatile(foe, VOLATILE_PARTIALLY_TRAPPED);
    return;
  }
  end_volatile(foe, VOLATILE_MUST_RECHARGE);
  bool caught = !(line->flags & LINE_MISSED) && !has_volatile(foe, VOLATILE_PARTIALLY_TRAPPED);
  if (caught) start_volatile(foe, VOLATILE_PARTIALLY_TRAPPED, turn);
}

// A chosen move: it is revealed, costs PP, and becomes the last move.
static void use(Tracker *tracker, const Line *line, bool continued) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedSlot *slot = &side->slot;
  int id = line->move, flags = tracker_moves[id].flags;
  bool recorded = tracker_begin_action(tracker, slot, ACTION_MOVE);
  tracker->acting = recorded ? (int8_t)line->seat : -1;
  if (recorded) {
    slot->last.move = (uint8_t)id;
    if (flags & MOVE_NAMES_TARGET && !(line->flags & LINE_STILL)) slot->last.target = line->target;
  }
  slot->streak = slot->last_move == id ? slot->streak + 1 : 1;
  slot->last_move = (uint8_t)id;
  bool charged = end_volatile(slot, VOLATILE_TWO_TURN_MOVE);
  bool bound = continued || charged;
  bool free = flags & MOVE_CHARGES ? !charged : bound; // a charging move costs its PP in the second turn
  if (!(flags & MOVE_IN_MOVESET)) return;
  TrackedMoves *moves = active_moves(side);
  if (bound && place_of_move(moves, id) < 0) return; // it continues a move that was called by another one
  if (slot->mimic_move != id) {
    spend(moves, id, !free);
    return;
  }
  if (!free && slot->mimic_spent < MAX_SPENT) slot->mimic_spent++;
  spend(moves, MIMIC, !free); // the learned move uses the PP of Mimic
}

void tracker_move(Tracker *tracker, const Line *line) {
  if (tracker->sides[line->seat].slot.pokemon < 0) return;
  tracker->actor = (int8_t)line->seat;
  bool continued = line->from_move == line->move;
  if (!line->from_move || continued) use(tracker, line, continued);
  apply_silent_effects(tracker, line);
}

void tracker_lose_turn(Tracker *tracker, int seat, enum LineEffect reason) {
  TrackedSlot *slot = &tracker->sides[seat].slot;
  tracker->actor = tracker->acting = -1;
  slot->streak = 0;
  if (reason == EFFECT_PARALYSIS || reason == EFFECT_CONFUSION || reason == EFFECT_DISABLE) {
    end_volatile(slot, VOLATILE_TWO_TURN_MOVE);
    end_volatile(slot, VOLATILE_BIDE);
    end_volatile(slot, VOLATILE_LOCKED_MOVE);
  }
}

void tracker_cant(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedPokemon *pokemon = active_pokemon(side);
  if (!pokemon) return;
  enum LineEffect reason = (enum LineEffect)line->effect;
  tracker_lose_turn(tracker, line->seat, reason);
  bool recorded = tracker_begin_action(tracker, &side->slot, ACTION_CANNOT_MOVE);
  if (recorded) side->slot.last.move = line->move;
  bool reveals = tracker_moves[line->move].flags & MOVE_IN_MOVESET && side->slot.mimic_move != line->move;
  if (reveals) tracker_reveal_move(active_moves(side), line->move);
  if (reason == EFFECT_SLEEP || reason == EFFECT_FREEZE) pokemon->status_turns++;
  if (reason == EFFECT_RECHARGE || reason == EFFECT_FLINCH) end_volatile(&side->slot, VOLATILE_MUST_RECHARGE);
  if (reason != EFFECT_PARTIALLY_TRAPPED) {
    end_volatile(&tracker->sides[1 - line->seat].slot, VOLATILE_PARTIALLY_TRAPPED);
  }
}

void tracker_faint(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedPokemon *pokemon = active_pokemon(side);
  if (!pokemon || pokemon->fainted) return;
  if (tracker->acting >= 0 && tracker->acting != line->seat) {
    tracker->sides[tracker->acting].slot.last.outcome |= KNOCKED_OUT;
  }
  pokemon->hp = 0;
  pokemon->fainted = 1;
  tracker_set_status(pokemon, LINE_STATUS_NONE);
  side->faints++;
  tracker_leave(side);
  tracker_reset_slot(&side->slot, side->slot.since);
}

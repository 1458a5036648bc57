// Pokémon that leave and enter the field.

#include "engine.h"

static int place_of(const Side *side, int member) {
  int place = 0;
  while (side->order[place] != member) place++;
  return place;
}

// Put a member on the field. What its entry causes follows as an action of its own.
void switch_in(Battle *b, int seat, int member) {
  Side *side = side_of(b, seat);
  Active *active = &side->active;
  int place = place_of(side, member);
  if (active->present && hp_of(b, seat)) {
    queue_cancel(b, seat);
    side->switch_flag = 0;
  }
  if (b->turn || place) {
    Pokemon *old = pokemon_of(b, seat);
    if (old->fainted) old->status = STATUS_NONE;
    side->order[place] = side->order[0];
    side->order[0] = (uint8_t)member;
  }
  active->member = (uint8_t)member;
  active->present = 1;
  clear_active(b, seat);
  log_switch(b, seat);
  update_speed(b, seat);
  Action enter = {0};
  enter.kind = ACTION_ENTER;
  enter.seat = (uint8_t)seat;
  enter.speed = active->modified[STAT_SPEED];
  queue_insert(b, &enter);
}

// A foe that was trapping with a move that Metronome called goes back to Metronome.
static void release_metronome(Battle *b, int foe) {
  Side *side = side_of(b, foe);
  const Active *active = &side->active;
  if (!hp_of(b, foe) || !has(b, foe, V_TRAP_LOCK)) return;
  if (active->moves[side->last_selected_slot] != MOVE_METRONOME) return;
  side->last_selected_move = MOVE_METRONOME;
  side->last_enemy_selected_move = MOVE_METRONOME;
  change_to_move(b, foe, MOVE_METRONOME);
}

void run_switch(Battle *b, int seat) {
  Side *side = side_of(b, seat);
  Pokemon *pokemon = pokemon_of(b, seat);
  if (pokemon->status == STATUS_TOXIC) {
    pokemon->status = STATUS_POISON;
    log_status(b, LINE_STATUS, seat, STATUS_POISON);
  }
  for (int each = 0; each < 2; each++) {
    if (active_of(b, each)->present && !pokemon_of(b, each)->fainted) active_of(b, each)->last_move = MOVE_NONE;
  }
  side->last_selected_slot = 0;
  if (active_of(b, 1 - seat)->present) release_metronome(b, 1 - seat);
  if (!side->fainted_this_turn) after_switch_in(b, seat);
}

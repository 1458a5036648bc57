// What each seat is asked, as Showdown's requests say it, and the legal answers.

#include <string.h>

#include "engine.h"

#define SWITCH_ACTION 8

static void offer(Request *request, int move) {
  request->move_count = 1;
  request->moves[0] = (RequestMove){(uint8_t)move, 0, 0, 0, 0};
}

// Returns whether any move can be chosen.
static int offer_slots(Request *request, const Active *active) {
  int any = 0;
  request->move_count = active->move_count;
  for (int slot = 0; slot < active->move_count; slot++) {
    int disabled = !active->pp[slot] || active->disabled >> slot & 1;
    request->moves[slot] =
      (RequestMove){active->moves[slot], 1, active->pp[slot], active->max_pp[slot], (uint8_t)disabled};
    if (!disabled) any = 1;
  }
  return any;
}

static void offer_moves(Battle *b, int seat, Request *request) {
  Active *active = active_of(b, seat);
  int status = pokemon_of(b, seat)->status;
  int locked = locked_move(b, seat);
  if (locked) {
    active->trapped = 1;
    active->maybe_locked = 0;
    request->trapped = 1;
    offer(request, locked);
    return;
  }
  request->maybe_locked = active->maybe_locked;
  int semi_locked = active->maybe_locked ? MOVE_NONE : semi_locked_move(b, seat);
  if (semi_locked) offer(request, semi_locked);
  else if (status == STATUS_FREEZE || status == STATUS_SLEEP || (has(b, seat, V_TRAPPED) && !active->maybe_locked))
    offer(request, MOVE_FIGHT);
  else if (!offer_slots(request, active)) offer(request, MOVE_STRUGGLE);
}

static void set_legal(const Side *side, Request *request) {
  for (int slot = 0; slot < request->move_count; slot++) {
    if (!request->moves[slot].disabled) request->legal |= 1u << slot;
  }
  if (request->trapped) return;
  for (int place = 1; place < side->size; place++) {
    if (side->team[side->order[place]].hp) request->legal |= 1u << (SWITCH_ACTION + place);
  }
}

void make_requests(Battle *b, int kind) {
  for (int seat = 0; seat < 2; seat++) {
    Side *side = side_of(b, seat);
    Request *request = &side->request;
    memset(request, 0, sizeof *request);
    side->chosen = CHOICE_NONE;
    if (kind == REQUEST_SWITCH && !side->switch_flag) continue;
    request->kind = (uint8_t)kind;
    if (kind == REQUEST_TURN) offer_moves(b, seat, request);
    set_legal(side, request);
  }
}

// What a chosen move becomes: locked Pokémon move without choosing, even if the request did not tell.
static void choose_move(Battle *b, int seat, int slot) {
  Side *side = side_of(b, seat);
  const Active *active = &side->active;
  int status = pokemon_of(b, seat)->status;
  Request whole;
  side->chosen_slot = (uint8_t)slot;
  side->chosen_move = side->request.moves[slot].id;
  if (locked_move(b, seat) || semi_locked_move(b, seat)) side->chosen = CHOICE_LOCKED;
  else if (status == STATUS_FREEZE || status == STATUS_SLEEP || has(b, seat, V_TRAPPED)) side->chosen = CHOICE_FIGHT;
  else if (!offer_slots(&whole, active)) side->chosen = CHOICE_STRUGGLE;
  else side->chosen = side->chosen_move == MOVE_STRUGGLE ? CHOICE_STRUGGLE : CHOICE_MOVE;
}

// The slot that Showdown reads when it commits a choice. It throws an error if a transformed Pokémon lacks it.
static int selected_move(Battle *b, int seat) {
  const Side *side = side_of(b, seat);
  if (side->last_selected_slot < side->active.move_count) return side->active.moves[side->last_selected_slot];
  fail_battle(b);
  return MOVE_NONE;
}

static void commit_move(Battle *b, int seat) {
  Side *side = side_of(b, seat);
  int status = pokemon_of(b, seat)->status;
  if (side->chosen == CHOICE_STRUGGLE) {
    side->last_selected_move = side->last_enemy_selected_move = MOVE_STRUGGLE;
  } else if (side->chosen == CHOICE_FIGHT && status != STATUS_FREEZE && status != STATUS_SLEEP) {
    side->last_selected_move = side->last_enemy_selected_move = MOVE_CANNOT;
  } else {
    if (side->chosen == CHOICE_MOVE) {
      side->last_selected_move = side->chosen_move;
      side->last_selected_slot = side->chosen_slot;
      side->last_move = side->chosen_move;
    }
    side->last_enemy_selected_move = (uint8_t)selected_move(b, seat);
  }
  Action action = move_action(b, seat, side->last_selected_move);
  queue_push(b, &action);
}

static void commit_switch(Battle *b, int seat) {
  Side *side = side_of(b, seat);
  Action action = {0};
  action.kind = side->request.kind == REQUEST_SWITCH ? ACTION_REPLACE : ACTION_SWITCH;
  action.seat = (uint8_t)seat;
  action.target = side->order[side->chosen_slot];
  action.speed = side->active.modified[STAT_SPEED];
  side->switch_flag = 0;
  queue_push(b, &action);
}

static void commit_choices(Battle *b) {
  update_speeds(b);
  b->queue_length = 0;
  for (int seat = 0; seat < 2 && !b->failed; seat++) {
    Side *side = side_of(b, seat);
    if (side->request.kind == REQUEST_NONE) continue;
    if (side->chosen == CHOICE_SWITCH) commit_switch(b, seat);
    else commit_move(b, seat);
  }
  for (int seat = 0; seat < 2; seat++) memset(&side_of(b, seat)->request, 0, sizeof(Request));
  if (b->failed) return;
  queue_sort(b);
  turn_loop(b);
}

int battle_choose(Battle *b, int seat, int action) {
  Side *side = side_of(b, seat);
  Request *request = &side->request;
  if (b->ended || request->kind == REQUEST_NONE || request->answered) return 0;
  if (action < 0 || action >= 32 || !(request->legal >> action & 1)) return 0;
  if (action >= SWITCH_ACTION) {
    side->chosen = CHOICE_SWITCH;
    side->chosen_slot = (uint8_t)(action - SWITCH_ACTION);
  } else {
    choose_move(b, seat, action);
  }
  request->answered = 1;
  const Request *other = &side_of(b, 1 - seat)->request;
  if (other->kind == REQUEST_NONE || other->answered) commit_choices(b);
  return 1;
}

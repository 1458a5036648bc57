// Who acts first: Showdown's speed sort, which draws from the generator for ties, and the queue of actions.

#include <string.h>

#include "engine.h"

static const uint16_t ORDERS[] = {
  [ACTION_START] = 2, [ACTION_MOVE] = 200, [ACTION_SWITCH] = 103, [ACTION_REPLACE] = 3,
  [ACTION_ENTER] = 101, [ACTION_BEFORE_TURN] = 4, [ACTION_RESIDUAL] = 300,
};

// Append the conditions of a Pokémon that listen to an event, those whose priority is not 0. Returns the new count.
int add_listeners(const Active *active, const uint8_t priorities[V_COUNT], Listener *list, int count) {
  for (int i = 0; i < active->volatile_count; i++) {
    uint8_t condition = active->volatiles[i];
    if (priorities[condition]) list[count++] = (Listener){0, condition, priorities[condition]};
  }
  return count;
}

// Showdown's selection sort by speed. Its swaps decide in which order the tied ones are shuffled.
void sort_listeners(Battle *b, Listener *list, int count) {
  int tied[2 * V_COUNT];
  for (int sorted = 0; sorted + 1 < count;) {
    int ties = 1;
    tied[0] = sorted;
    for (int i = sorted + 1; i < count; i++) {
      int32_t delta = list[i].speed - list[tied[0]].speed;
      if (delta < 0) continue;
      if (delta > 0) ties = 0;
      tied[ties++] = i;
    }
    for (int i = 0; i < ties; i++) {
      Listener moved = list[sorted + i];
      list[sorted + i] = list[tied[i]];
      list[tied[i]] = moved;
    }
    for (int start = sorted; start < sorted + ties - 1; start++) {
      int other = (int)between(b, (uint32_t)start, (uint32_t)(sorted + ties));
      Listener moved = list[start];
      list[start] = list[other];
      list[other] = moved;
    }
    sorted += ties;
  }
}

// Negative if the first goes first, 0 for a tie.
int compare_actions(const Action *one, const Action *other) {
  if (one->order != other->order) return one->order < other->order ? -1 : 1;
  if (one->priority != other->priority) return one->priority > other->priority ? -1 : 1;
  if (one->speed != other->speed) return one->speed > other->speed ? -1 : 1;
  return 0;
}

// The queue is only sorted when it holds one choice of each seat.
void queue_sort(Battle *b) {
  if (b->queue_length < 2) return;
  int compared = compare_actions(&b->queue[0], &b->queue[1]);
  if (compared < 0 || (compared == 0 && !below(b, 2))) return;
  Action moved = b->queue[0];
  b->queue[0] = b->queue[1];
  b->queue[1] = moved;
}

void queue_push(Battle *b, const Action *action) {
  b->queue[b->queue_length] = *action;
  b->queue[b->queue_length++].order = ORDERS[action->kind];
}

void queue_insert(Battle *b, const Action *action) {
  Action inserted = *action;
  inserted.order = ORDERS[action->kind];
  int first = -1, last = -1;
  for (int i = 0; i < b->queue_length && last < 0; i++) {
    int compared = compare_actions(&inserted, &b->queue[i]);
    if (compared <= 0 && first < 0) first = i;
    if (compared < 0) last = i;
  }
  if (first < 0) {
    b->queue[b->queue_length++] = inserted;
    return;
  }
  if (last < 0) last = b->queue_length;
  int place = first == last ? first : (int)between(b, (uint32_t)first, (uint32_t)last + 1);
  memmove(&b->queue[place + 1], &b->queue[place], sizeof(Action) * (size_t)(b->queue_length - place));
  b->queue[place] = inserted;
  b->queue_length++;
}

int queue_shift(Battle *b, Action *action) {
  if (!b->queue_length) return 0;
  *action = b->queue[0];
  memmove(&b->queue[0], &b->queue[1], sizeof(Action) * (size_t)--b->queue_length);
  return 1;
}

void queue_cancel(Battle *b, int seat) {
  int kept = 0;
  for (int i = 0; i < b->queue_length; i++) {
    const Action *action = &b->queue[i];
    int general = action->kind == ACTION_BEFORE_TURN || action->kind == ACTION_RESIDUAL;
    if (general || action->seat != seat) b->queue[kept++] = *action;
  }
  b->queue_length = (uint8_t)kept;
}

Action move_action(Battle *b, int seat, int move) {
  Action action = {0};
  action.kind = ACTION_MOVE;
  action.seat = (uint8_t)seat;
  action.move = (uint8_t)move;
  action.priority = move < MOVE_COUNT ? nemesis_moves[move].priority : 0;
  action.speed = active_of(b, seat)->modified[STAT_SPEED];
  return action;
}

// Replace the move that a Pokémon is about to make this turn, if it still is.
void change_to_move(Battle *b, int seat, int move) {
  int will_move = 0;
  for (int i = 0; i < b->queue_length; i++) {
    if (b->queue[i].kind == ACTION_MOVE && b->queue[i].seat == seat) will_move = 1;
  }
  if (!will_move || pokemon_of(b, seat)->fainted) return;
  queue_cancel(b, seat);
  update_speed(b, seat);
  Action action = move_action(b, seat, move);
  queue_insert(b, &action);
}

void update_speed(Battle *b, int seat) {
  active_of(b, seat)->speed = active_of(b, seat)->modified[STAT_SPEED];
}

static int is_active(Battle *b, int seat) {
  return active_of(b, seat)->present && !pokemon_of(b, seat)->fainted;
}

void update_speeds(Battle *b) {
  for (int seat = 0; seat < 2; seat++) {
    if (is_active(b, seat)) update_speed(b, seat);
  }
}

// An event on both active Pokémon in order of speed. Nothing in Gen 1 listens, but a tie costs a draw.
void each_event(Battle *b) {
  if (active_of(b, 0)->speed == active_of(b, 1)->speed) below(b, 2);
}

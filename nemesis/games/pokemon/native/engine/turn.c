// The course of a battle: its start, the actions of a turn, and its end.

#include <string.h>

#include "engine.h"

#define LAST_TURN 1000

static void start_pokemon(Pokemon *pokemon, const TeamMember *sheet) {
  const SpeciesData *species = &nemesis_species[sheet->species];
  pokemon->species = sheet->species;
  pokemon->level = sheet->level;
  pokemon->move_count = sheet->move_count;
  for (int slot = 0; slot < sheet->move_count; slot++) {
    pokemon->moves[slot] = sheet->moves[slot];
    pokemon->pp[slot] = (uint8_t)pp_of(sheet->moves[slot], 1);
  }
  for (int stat = 0; stat < STAT_COUNT; stat++) {
    pokemon->stats[stat] = (int16_t)stat_value(species->stats[stat], sheet->ivs[1 + stat] & 30, sheet->evs[1 + stat],
                                               sheet->level, stat, sheet->nature_plus, sheet->nature_minus);
  }
  pokemon->hp = pokemon->max_hp =
    (int16_t)health_value(species->hp, sheet->ivs[0] & 30, sheet->evs[0], sheet->level);
  pokemon->speed_iv = sheet->ivs[1 + STAT_SPEED] & 30;
  pokemon->speed_ev = sheet->evs[1 + STAT_SPEED];
  pokemon->nature_plus = sheet->nature_plus;
  pokemon->nature_minus = sheet->nature_minus;
  pokemon->name = sheet->name;
  pokemon->gender = sheet->gender ? sheet->gender : LINE_GENDERLESS;
}

static void start_side(Side *side, const Team *team) {
  side->size = side->left = team->size;
  side->last_selected_move = side->last_enemy_selected_move = MOVE_NOTHING;
  for (int member = 0; member < team->size; member++) {
    side->order[member] = (uint8_t)member;
    start_pokemon(&side->team[member], &team->members[member]);
  }
}

void battle_start(Battle *b, const Team teams[2], uint64_t seed, int rules) {
  memset(b, 0, sizeof *b);
  b->seed = seed;
  b->rules = (uint8_t)rules;
  b->winner = -1;
  b->move_line = -1;
  for (int seat = 0; seat < 2; seat++) start_side(side_of(b, seat), &teams[seat]);
  Action action = {0};
  action.kind = ACTION_START;
  queue_push(b, &action);
  b->started_turn = 1;
  turn_loop(b);
}

void win(Battle *b, int seat) {
  if (b->ended) return;
  log_line(b, LINE_EMPTY, 0);
  b->ended = 1;
  b->winner = (int8_t)seat;
  for (int each = 0; each < 2; each++) memset(&side_of(b, each)->request, 0, sizeof(Request));
}

void fail_battle(Battle *b) {
  b->failed = 1;
  b->ended = 1;
  b->winner = -1;
}

static int knows_only_transform(const uint8_t *moves, int count) {
  for (int slot = 0; slot < count; slot++) {
    if (moves[slot] != MOVE_TRANSFORM) return 0;
  }
  return 1;
}

static int has_no_pp(const uint8_t *pp, int count) {
  for (int slot = 0; slot < count; slot++) {
    if (pp[slot]) return 0;
  }
  return 1;
}

// A member as it is now: what it copied counts while it is on the field.
typedef struct {
  const uint8_t *moves, *pp, *types;
  int count;
} Present;

static Present present_member(const Side *side, int member) {
  const Pokemon *pokemon = &side->team[member];
  const Active *active = &side->active;
  if (active->member == member) return (Present){active->moves, active->pp, active->types, active->move_count};
  return (Present){pokemon->moves, pokemon->pp, nemesis_species[pokemon->species].types, pokemon->move_count};
}

// Whether all that are left of a side are Ghosts, which Struggle cannot hit, or know only Transform.
static void judge_foes(const Side *side, int *all_ghosts, int *all_transform) {
  *all_ghosts = *all_transform = 1;
  for (int member = 0; member < side->size; member++) {
    if (side->team[member].fainted) continue;
    Present present = present_member(side, member);
    if (present.types[0] != TYPE_GHOST && present.types[1] != TYPE_GHOST) *all_ghosts = 0;
    if (!knows_only_transform(present.moves, present.count)) *all_transform = 0;
  }
}

static int cannot_progress(Battle *b, int seat) {
  const Side *side = side_of(b, seat);
  int all_ghosts, all_transform;
  judge_foes(side_of(b, 1 - seat), &all_ghosts, &all_transform);
  for (int member = 0; member < side->size; member++) {
    const Pokemon *pokemon = &side->team[member];
    if (pokemon->fainted || pokemon->status == STATUS_FREEZE) continue;
    Present present = present_member(side, member);
    if (all_transform && knows_only_transform(present.moves, present.count)) continue;
    if (all_ghosts && has_no_pp(present.pp, present.count)) continue;
    return 0;
  }
  return 1;
}

// Conditions of partial trapping end when the other Pokémon's half is gone.
static void end_traps(Battle *b, int seat) {
  Active *active = active_of(b, seat);
  int foe = 1 - seat;
  int other = active_of(b, foe)->member, lives = hp_of(b, foe) > 0;
  if (has(b, seat, V_TRAP_LOCK) && !(active->lock_target == other && lives && has(b, foe, V_TRAPPED)))
    delete_volatile(active, V_TRAP_LOCK);
  if (has(b, seat, V_TRAPPED) && !(active->trapped_by == other && lives && has(b, foe, V_TRAP_LOCK)))
    delete_volatile(active, V_TRAPPED);
  if (has(b, seat, V_FAKE_TRAPPED) && !(active->fake_counterpart == other && lives && has(b, foe, V_FAKE_TRAPPED)))
    delete_volatile(active, V_FAKE_TRAPPED);
}

static void end_turn(Battle *b) {
  b->turn++;
  for (int seat = 0; seat < 2; seat++) {
    if (!pokemon_of(b, seat)->fainted) end_traps(b, seat);
  }
  for (int seat = 0; seat < 2; seat++) {
    disable_moves(b, seat);
    active_of(b, seat)->trapped = 0;
    side_of(b, seat)->fainted_this_turn = 0;
  }
  if ((cannot_progress(b, 0) && cannot_progress(b, 1)) || b->turn > LAST_TURN) {
    win(b, -1);
    return;
  }
  log_number(b, LINE_TURN, 0, b->turn);
  make_requests(b, REQUEST_TURN);
}

static void start_field(Battle *b) {
  for (int seat = 0; seat < 2; seat++) switch_in(b, seat, 0);
}

static void act(Battle *b, const Action *action) {
  switch (action->kind) {
  case ACTION_START: start_field(b); break;
  case ACTION_MOVE:
    if (active_of(b, action->seat)->present && !pokemon_of(b, action->seat)->fainted)
      run_move(b, action->seat, action->move);
    break;
  case ACTION_SWITCH:
  case ACTION_REPLACE: switch_in(b, action->seat, action->target); break;
  case ACTION_ENTER: run_switch(b, action->seat); break;
  case ACTION_BEFORE_TURN: each_event(b); break;
  default:
    log_line(b, LINE_EMPTY, 0);
    update_speeds(b);
    residual(b);
  }
}

// Those that fainted must be replaced, at the next pause of the turn. Returns whether a seat is asked.
static int ask_for_replacements(Battle *b) {
  int asked = 0;
  const Action *next = b->queue_length ? &b->queue[0] : 0;
  if (next && next->kind != ACTION_MOVE && next->kind != ACTION_RESIDUAL) return 0;
  for (int seat = 0; seat < 2; seat++) {
    Pokemon *pokemon = pokemon_of(b, seat);
    if (!pokemon->fainted) continue;
    pokemon->status = STATUS_FAINTED;
    side_of(b, seat)->switch_flag = 1;
    asked = 1;
  }
  if (asked) make_requests(b, REQUEST_SWITCH);
  return asked;
}

// Take one action. Returns whether the turn pauses.
static int run_action(Battle *b, const Action *action) {
  act(b, action);
  faint_messages(b);
  if (b->ended || ask_for_replacements(b)) return 1;
  if (b->queue_length && b->queue[0].kind == ACTION_REPLACE) return 0;
  each_event(b);
  return 0;
}

void turn_loop(Battle *b) {
  Action action;
  log_line(b, LINE_EMPTY, 0);
  if (!b->started_turn) {
    Action general = {0};
    general.kind = ACTION_BEFORE_TURN;
    queue_insert(b, &general);
    general.kind = ACTION_RESIDUAL;
    queue_push(b, &general);
    b->started_turn = 1;
  }
  while (queue_shift(b, &action)) {
    if (run_action(b, &action)) return;
  }
  end_turn(b);
  b->started_turn = 0;
  b->queue_length = 0;
}

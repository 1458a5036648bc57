// Making a move: whether it can be made, the power points it costs, and what it becomes.

#include "../engine.h"

static int target_of(int seat, int move) {
  int self = move < MOVE_COUNT && nemesis_moves[move].flags & MOVE_TARGETS_SELF;
  return self ? seat : 1 - seat;
}

// Power points are a number of six bits that wraps around. A copied move costs its own slot's points.
static void deduct_pp(Battle *b, int seat, int amount) {
  Active *active = active_of(b, seat);
  int slot = side_of(b, seat)->last_selected_slot;
  if (slot >= active->move_count) return;
  active->pp[slot] = (uint8_t)((active->pp[slot] - amount) & 63);
  if (!active->transformed) pokemon_of(b, seat)->pp[slot] = active->pp[slot];
}

// A move that another one calls is not paid for by it.
static void repay(Battle *b, int seat, int move) {
  Pokemon *pokemon = pokemon_of(b, seat);
  int slot = side_of(b, seat)->last_selected_slot;
  if (is_two_turn(move)) deduct_pp(b, seat, -1);
  if (active_of(b, seat)->transformed && slot < pokemon->move_count)
    pokemon->pp[slot] = (uint8_t)((pokemon->pp[slot] + 1) % 64);
}

// The charging turn of a two-turn move, or the end of it. Returns whether the move goes on to hit.
static int is_charged(Battle *b, int seat, int move) {
  if (remove_volatile(b, seat, V_TWO_TURN)) {
    remove_volatile(b, seat, V_INVULNERABLE);
    return 1;
  }
  log_line(b, LINE_PREPARE, seat)->move = (uint8_t)move;
  add_volatile(b, seat, V_TWO_TURN, 1 - seat, move);
  if (move == MOVE_DIG || move == MOVE_FLY) add_volatile(b, seat, V_INVULNERABLE, 1 - seat, move);
  return 0;
}

// Moves that do not reset the damage which Counter and Bide remember.
static int keeps_last_damage(int move) {
  switch (move) {
  case 109: case 160: case 68: case 116: case 137: case 114: case 73: case 113: case 102: case 54: case 139: case 77:
  case 105: case 115: case 156: case 135: case 150: case 78: case 164: case 48: case 100: case 86: case 92: case 144:
    return 1;
  default: return 0;
  }
}

static void use_move_inner(Battle *b, int seat, UsedMove *used, int target, int from_move) {
  const MoveData *move = used->data;
  log_move(b, seat, used->id, target, from_move);
  if (move->own_condition == V_TRAP_LOCK) remove_volatile(b, target, V_MUST_RECHARGE);
  if (is_two_turn(used->id) && !is_charged(b, seat, used->id)) return;
  if (!keeps_last_damage(used->id)) b->last_damage = 0;
  int32_t damage = try_move_hit(b, target, seat, used);
  int angers = move->flags & MOVE_SELF_DESTRUCT || used->id == MOVE_DISABLE;
  if (angers && has(b, target, V_RAGE) && active_of(b, target)->boosts[STAT_ATTACK] < 6) boost_attack(b, target);
  int crashes = used->id == MOVE_JUMP_KICK || used->id == MOVE_HIGH_JUMP_KICK;
  if (damage == FAILED && crashes) direct_damage(b, seat, 1, 1, EFFECT_NONE);
}

// Use a move that may be made. `move` may be MOVE_NOTHING; from_move is the move in [from], or MOVE_NONE.
void use_move(Battle *b, int seat, int move, int target, int from_move) {
  Side *side = side_of(b, seat);
  UsedMove used = {(uint8_t)(move == MOVE_NOTHING ? MOVE_FISSURE : move), &nemesis_moves[move], 0, 0, NOTHING};
  if (b->depth >= 8) {
    fail_battle(b);
    return;
  }
  if (from_move == MOVE_METRONOME || from_move == MOVE_MIRROR_MOVE) repay(b, seat, used.id);
  side->last_move = used.id;
  side->last_enemy_move = used.id;
  if (!is_two_turn(used.id) || has(b, seat, V_TWO_TURN)) active_of(b, seat)->last_move = used.id;
  use_move_inner(b, seat, &used, target, from_move);
  int foe_move = active_of(b, 1 - seat)->last_move;
  if (move == MOVE_METRONOME) return;
  if (move == MOVE_MIRROR_MOVE && foe_move != MOVE_NONE && foe_move != MOVE_MIRROR_MOVE) return;
  after_move(b, seat, target);
  if (hp_of(b, target)) after_move_self(b, seat);
}

// A Pokémon's turn to move.
void run_move(Battle *b, int seat, int move) {
  int target = target_of(seat, move);
  if (move == MOVE_CANNOT) {
    after_move_self(b, seat);
    return;
  }
  pokemon_of(b, target)->substitute_broke = 0;
  if (!before_move(b, seat, target, move) || (move == MOVE_BIDE && has(b, seat, V_BIDE))) {
    after_move_self(b, seat);
    return;
  }
  int from_move = MOVE_NONE;
  if (move != MOVE_STRUGGLE) {
    int locked = locked_move(b, seat) || semi_locked_move(b, seat);
    if (locked) from_move = move;
    if ((!locked && !is_two_turn(move)) || has(b, seat, V_TWO_TURN)) deduct_pp(b, seat, 1);
  }
  use_move(b, seat, move, target, from_move);
}

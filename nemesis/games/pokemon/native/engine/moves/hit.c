// Whether a move hits, and what it does to the target and the user then.

#include <math.h>

#include "../engine.h"

static const int ACCURACY_STAGES[] = {25, 28, 33, 40, 50, 66, 100, 150, 200, 250, 300, 350, 400};
static const uint8_t HITS[] = {2, 2, 2, 3, 3, 3, 4, 5};

static int is_caught(Battle *b, int target, int seat) {
  return seat != target && has(b, target, V_TRAPPED) && active_of(b, target)->trapped_by == active_of(b, seat)->member;
}

// Draws whether the move is accurate, of 256.
static int is_accurate(Battle *b, int target, int seat, const MoveData *move) {
  Active *user = active_of(b, seat);
  int accuracy = move->accuracy;
  int sure = !accuracy;
  if (move->status == STATUS_SLEEP && has(b, target, V_MUST_RECHARGE)) sure = 1;
  if (!sure) {
    if (has(b, seat, V_LOCKED_MOVE)) accuracy = user->thrash_accuracy;
    if (has(b, seat, V_RAGE)) accuracy = user->rage_accuracy;
    accuracy = (int)floor(accuracy * (ACCURACY_STAGES[user->boosts[BOOST_ACCURACY] + 6] / 100.0));
    accuracy = (int)floor(accuracy * (ACCURACY_STAGES[6 - active_of(b, target)->boosts[BOOST_EVASION]] / 100.0));
    accuracy = clamp(accuracy, 1, 255);
    if (has(b, seat, V_LOCKED_MOVE)) user->thrash_accuracy = (uint8_t)accuracy;
    if (has(b, seat, V_RAGE)) user->rage_accuracy = (uint8_t)accuracy;
  }
  return sure || is_caught(b, target, seat) || chance(b, (uint32_t)accuracy);
}

// What a hit does: the whole move, its secondary effect, its effect on the user, or what Bide unleashes.
enum { WHOLE, SECOND, SELF, BIDE };

static int32_t move_hit(Battle *b, int target, int seat, UsedMove *used, int part);

static int32_t damage_of_part(Battle *b, int target, int seat, const UsedMove *used, int part) {
  if (part == WHOLE) return move_damage(b, seat, target, used);
  if (part == BIDE) return active_of(b, seat)->bide_damage * 2;
  return lock_damage(b, seat, target);
}

// The lasting effect of paralysis and burn is applied again whenever a stat is changed by a move.
static void weaken_again(Battle *b, int seat) {
  int status = pokemon_of(b, seat)->status;
  if (status == STATUS_PARALYSIS) modify_stat(active_of(b, seat), STAT_SPEED, 0.25);
  if (status == STATUS_BURN) modify_stat(active_of(b, seat), STAT_ATTACK, 0.5);
}

static void inflict(Battle *b, int target, int seat, const UsedMove *used, int status, int part) {
  Pokemon *pokemon = pokemon_of(b, target);
  if (status == STATUS_SLEEP && has(b, target, V_MUST_RECHARGE)) {
    if (set_status(b, target, status, seat, used->id)) remove_volatile(b, target, V_MUST_RECHARGE);
  } else if (!pokemon->status) {
    if (set_status(b, target, status, seat, used->id)) weaken_again(b, target);
  } else if (part == WHOLE) {
    log_line(b, LINE_FAIL, target);
  }
}

// Damage, boosts and conditions of a hit on a target without a substitute in the way. Returns 0 if the hit failed.
static int affect(Battle *b, int target, int seat, UsedMove *used, int part, int32_t *damage) {
  const MoveData *move = used->data;
  int whole = part == WHOLE, second = part == SECOND;
  int does_something = 0;
  *damage = damage_of_part(b, target, seat, used, part);
  if (*damage > hp_of(b, target)) *damage = hp_of(b, target);
  if (*damage >= 0 && !pokemon_of(b, target)->fainted) {
    *damage = deal_damage(b, target, *damage, CAUSE_MOVE, seat, used);
    if (*damage) apply_recoil(b, seat, *damage, used);
    does_something = 1;
  }
  if (*damage == FAILED) return 0;
  int boosts = whole ? move->has_boosts : second ? move->has_second_boosts : 0;
  if (boosts && hp_of(b, target)) {
    if (!boost(b, target, whole ? move->boosts : move->second_boosts, seat, move)) {
      log_line(b, LINE_FAIL, target);
      return 0;
    }
    does_something = 1;
    weaken_again(b, 1 - seat);
  }
  int status = whole ? move->status : second ? move->second_status : 0;
  if (status) {
    inflict(b, target, seat, used, status, part);
    does_something = 1;
  }
  int condition = whole ? move->condition : second ? move->second_condition : part == SELF ? move->own_condition : 0;
  if (condition && add_volatile(b, target, condition, seat, used->id)) does_something = 1;
  int result = whole ? hit_effect(b, target, seat, used->id) : 1;
  if ((whole || part == BIDE) && has(b, target, V_RAGE) && active_of(b, target)->boosts[STAT_ATTACK] < 6 &&
      move->category != CATEGORY_STATUS && !(move->flags & MOVE_SELF_DESTRUCT))
    boost_attack(b, target);
  if (result || does_something) return 1;
  log_line(b, LINE_FAIL, target);
  return 0;
}

static void try_second_effect(Battle *b, int target, int seat, UsedMove *used) {
  const MoveData *move = used->data;
  int status = move->second_status;
  if (!move->chance || !hp_of(b, target) || (move->hits && !used->last_hit)) return;
  int resists = status == STATUS_PARALYSIS || status == STATUS_BURN || status == STATUS_FREEZE;
  if (resists && has_type(active_of(b, target), move->type)) return;
  int rate = (move->chance * 256 + 99) / 100;
  if (move->second_condition == V_CONFUSION) rate--;
  if (chance(b, (uint32_t)rate)) move_hit(b, target, seat, used, SECOND);
}

// One hit. Returns its damage, NOTHING for none, or FAILED.
static int32_t move_hit(Battle *b, int target, int seat, UsedMove *used, int part) {
  const MoveData *move = used->data;
  int had_substitute = has(b, target, V_SUBSTITUTE);
  int blocked = 0;
  int32_t damage = 0;
  if (part == WHOLE || part == BIDE) {
    int result = part == WHOLE ? try_hit(b, target, used->id) : 1;
    if (result == 0) log_line(b, LINE_FAIL, target);
    if (result <= 0) return FAILED;
    int32_t taken = substitute_takes(b, target, seat, used);
    if (taken == FAILED) log_line(b, LINE_FAIL, target);
    if (taken == FAILED || taken == SILENT) return FAILED;
    blocked = taken == 0;
  }
  if (!blocked && !affect(b, target, seat, used, part, &damage)) return FAILED;
  int has_substitute = has(b, target, V_SUBSTITUTE);
  if (part != WHOLE) return damage;
  int own = move->own_condition;
  int self = (had_substitute && has_substitute) || !had_substitute || own == V_TRAP_LOCK;
  if (own && own != V_LOCKED_MOVE && self) move_hit(b, seat, seat, used, SELF);
  if (!blocked) try_second_effect(b, target, seat, used);
  return damage;
}

// What Bide has stored, on the foe.
int32_t unleash_bide(Battle *b, int target, int seat) {
  UsedMove used = {MOVE_BIDE, &nemesis_moves[MOVE_BIDE], 0, 0, NOTHING};
  return move_hit(b, target, seat, &used, BIDE);
}

// Thrash and Petal Dance begin, or go on until they confuse the user.
static void thrash(Battle *b, int seat, int move) {
  Active *active = active_of(b, seat);
  if (!has(b, seat, V_LOCKED_MOVE)) {
    add_volatile(b, seat, V_LOCKED_MOVE, seat, move);
  } else if (!--active->thrash_turns) {
    delete_volatile(active, V_CONFUSION);
    add_volatile(b, seat, V_CONFUSION, seat, MOVE_NONE);
  }
}

static int is_unreachable(Battle *b, int target, int seat, int move) {
  return has(b, target, V_INVULNERABLE) && target != seat && move != MOVE_SWIFT && move != MOVE_TRANSFORM;
}

static int is_immune(Battle *b, int target, int move) {
  if (move == MOVE_LEECH_SEED) return has_type(active_of(b, target), TYPE_GRASS);
  if (move != MOVE_DREAM_EATER) return 0;
  return pokemon_of(b, target)->status != STATUS_SLEEP || has(b, target, V_SUBSTITUTE);
}

// Whether the target can be hit at all, before accuracy.
static int is_in_reach(Battle *b, int target, int seat, const UsedMove *used) {
  const MoveData *move = used->data;
  if (is_unreachable(b, target, seat, used->id)) {
    log_tag_move(b, LINE_MISSED);
    log_line(b, LINE_MISS, seat);
  } else if (run_immunity(b, target, move)) {
    int slower = move->flags & MOVE_ONE_HIT_KO &&
                 active_of(b, target)->modified[STAT_SPEED] > active_of(b, seat)->modified[STAT_SPEED];
    if (!slower && !is_immune(b, target, used->id)) return 1;
    log_line(b, LINE_IMMUNE, target);
    return 0;
  }
  if (move->flags & MOVE_SELF_DESTRUCT) faint(b, seat);
  return 0;
}

// Returns the damage of the last hit.
static int32_t hit_several_times(Battle *b, int target, int seat, UsedMove *used) {
  int hits = used->data->hits == HITS_TWO_TO_FIVE ? HITS[below(b, 8)] : used->data->hits;
  int32_t damage = 0;
  int hit = 0;
  for (; hit < hits && hp_of(b, target) && hp_of(b, seat); hit++) {
    used->hit = (uint8_t)(hit + 1);
    used->last_hit = hit + 1 == hits;
    int32_t dealt = move_hit(b, target, seat, used, WHOLE);
    if (dealt == FAILED) break;
    damage = dealt > 0 ? dealt : 0;
    if (hit == 0) used->repeated = damage;
    if (pokemon_of(b, target)->substitute_broke) break;
  }
  return damage;
}

// Returns FAILED if the move missed or had no effect.
int32_t try_move_hit(Battle *b, int target, int seat, UsedMove *used) {
  const MoveData *move = used->data;
  int32_t damage;
  if (move->own_condition == V_LOCKED_MOVE) thrash(b, seat, used->id);
  if (!is_in_reach(b, target, seat, used)) return FAILED;
  if (!is_accurate(b, target, seat, move)) {
    log_tag_move(b, LINE_MISSED);
    log_line(b, LINE_MISS, seat);
    damage = FAILED;
    b->last_damage = 0;
  } else if (move->hits) {
    damage = hit_several_times(b, target, seat, used);
  } else {
    damage = move_hit(b, target, seat, used, WHOLE);
  }
  if (move->flags & MOVE_SELF_DESTRUCT && !pokemon_of(b, target)->substitute_broke) faint(b, seat);
  if (damage == FAILED) {
    delete_volatile(active_of(b, seat), V_TRAP_LOCK);
    return FAILED;
  }
  if (move->second_status == STATUS_BURN && pokemon_of(b, target)->status == STATUS_FREEZE) cure_status(b, target);
  return damage;
}

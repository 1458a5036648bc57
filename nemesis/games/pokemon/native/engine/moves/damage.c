// How much damage a move deals.

#include "../engine.h"

// Whether the type lets the move hit; tells if it does not.
int run_immunity(Battle *b, int target, const MoveData *move) {
  const Active *active = active_of(b, target);
  const uint8_t *immune = nemesis_type_immune[move->type];
  if (move->flags & MOVE_IGNORES_IMMUNITY) return 1;
  if (!immune[active->types[0]] && !immune[active->types[1]]) return 1;
  log_line(b, LINE_IMMUNE, target);
  return 0;
}

static int is_counterable(int move) {
  const MoveData *data = &nemesis_moves[move];
  return move != MOVE_NONE && (data->type == TYPE_NORMAL || data->type == TYPE_FIGHTING) && data->power > 0;
}

static int32_t counter_damage(Battle *b, int source, int target) {
  const Side *side = side_of(b, target);
  int succeeds = side->last_enemy_selected_move != MOVE_COUNTER && is_counterable(side->last_enemy_move);
  if (succeeds && b->last_damage > 0) return 2 * b->last_damage;
  log_line(b, LINE_FAIL, source);
  return FAILED;
}

static int32_t psywave_damage(Battle *b, int source) {
  int level = pokemon_of(b, source)->level;
  if (((level + (level >> 1)) & 255) < 2) return FAILED;
  return (int32_t)between(b, 1, (uint32_t)(3 * level / 2));
}

// The damage that a trapping move repeats while its lock lasts.
int32_t lock_damage(Battle *b, int source, int target) {
  const Active *active = active_of(b, source);
  int repeats = source != target && has(b, source, V_TRAP_LOCK) && active->lock_target == active_of(b, target)->member;
  return repeats ? active->lock_damage : NOTHING;
}

static int is_critical(Battle *b, int source, const MoveData *move) {
  int rate = nemesis_species[pokemon_of(b, source)->species].stats[STAT_SPEED] / 2;
  rate = has(b, source, V_FOCUS_ENERGY) ? rate / 2 : clamp(rate * 2, 1, 255);
  rate = move->critical_ratio == 2 ? clamp(rate * 4, 1, 255) : rate / 2;
  return chance(b, (uint32_t)rate);
}

// Attack and defence as the cartridge holds them, in one byte each.
static void find_stats(Battle *b, int source, int target, const MoveData *move, int critical, int *attack,
                       int *defense) {
  int physical = move->category == CATEGORY_PHYSICAL;
  int attacking = physical ? STAT_ATTACK : STAT_SPECIAL_ATTACK;
  int defending = physical ? STAT_DEFENSE : STAT_SPECIAL_DEFENSE;
  *attack = active_of(b, source)->modified[attacking];
  *defense = active_of(b, target)->modified[defending];
  if (has(b, target, physical ? V_REFLECT : V_LIGHT_SCREEN)) *defense *= 2;
  if (critical) {
    *attack = pokemon_of(b, source)->stats[attacking];
    *defense = pokemon_of(b, target)->stats[defending];
  }
  if (*attack >= 256 || *defense >= 256) {
    *attack = at_least_one(*attack / 4 & 255);
    *defense = at_least_one(*defense / 4 & 255);
  }
  if (move->flags & MOVE_SELF_DESTRUCT && physical) *defense = at_least_one(*defense / 2);
}

static int64_t apply_types(Battle *b, int source, int target, const MoveData *move, int64_t damage) {
  const Active *defender = active_of(b, target);
  const int8_t *effectiveness = nemesis_effectiveness[move->type];
  int total = 0;
  if (move->type != TYPE_NONE && has_type(active_of(b, source), move->type)) damage += damage / 2;
  for (int i = 0; i < 2; i++) {
    int effect = effectiveness[defender->types[i]];
    total += effect;
    if (effect > 0) damage *= 2;
    if (effect < 0) damage /= 2;
  }
  if (total > 0) log_line(b, LINE_SUPER_EFFECTIVE, target);
  if (total < 0) log_line(b, LINE_RESISTED, target);
  return damage;
}

static int32_t computed_damage(Battle *b, int source, int target, const MoveData *move) {
  int attack, defense;
  int critical = is_critical(b, source, move);
  int level = pokemon_of(b, source)->level;
  find_stats(b, source, target, move, critical, &attack, &defense);
  if (critical) {
    level *= 2;
    log_line(b, LINE_CRITICAL, target);
  }
  int64_t damage = (level & 255) * 2 / 5 + 2;
  damage = damage * move->power * attack / defense / 50;
  damage = (damage > 997 ? 997 : damage) + 2;
  damage = apply_types(b, source, target, move, damage);
  if (damage > 1) damage = damage * between(b, 217, 256) / 255;
  return (int32_t)damage;
}

// The damage of a move, FAILED if it has no effect, or NOTHING if it deals none.
int32_t move_damage(Battle *b, int source, int target, const UsedMove *used) {
  const MoveData *move = used->data;
  if (!run_immunity(b, target, move)) return FAILED;
  if (move->flags & MOVE_ONE_HIT_KO) return 65535;
  if (used->id == MOVE_COUNTER) return counter_damage(b, source, target);
  if (used->id == MOVE_PSYWAVE) return psywave_damage(b, source);
  if (used->id == MOVE_SUPER_FANG) return at_least_one(hp_of(b, target) / 2);
  if (move->flags & MOVE_DAMAGE_IS_LEVEL) return pokemon_of(b, source)->level;
  if (used->repeated != NOTHING) return used->repeated;
  if (move->damage) return move->damage;
  if (move->own_condition == V_TRAP_LOCK && move->type == TYPE_NORMAL && has_type(active_of(b, target), TYPE_GHOST))
    return 0;
  int32_t locked = lock_damage(b, source, target);
  if (locked != NOTHING) return locked;
  if (!move->power) return NOTHING;
  return computed_damage(b, source, target, move);
}

// A substitute takes the damage of a move.

#include "../engine.h"

// Effects of a hit that go on only while the substitute holds.
static void after_damage(Battle *b, int target, int source, const UsedMove *used, int32_t damage) {
  const MoveData *move = used->data;
  if (damage) apply_recoil(b, source, damage, used);
  if (move->drain[0]) {
    int32_t amount = at_least_one(damage * move->drain[0] / move->drain[1]);
    b->last_damage = amount;
    heal(b, source, amount, EFFECT_OTHER);
  }
  if (move->second_condition == V_CONFUSION && chance(b, (uint32_t)((move->chance * 256 + 99) / 100 - 1)))
    add_volatile(b, target, V_CONFUSION, source, used->id);
}

// Whether a status move cannot pass a substitute.
static int blocks_status_move(const MoveData *move, int target, int source) {
  return move->status == STATUS_POISON || move->status == STATUS_TOXIC || (move->has_boosts && target != source) ||
         move->condition == V_CONFUSION;
}

// Returns NOTHING if the move passes, FAILED or SILENT if it fails, and 0 if the substitute took it.
int32_t substitute_takes(Battle *b, int target, int source, const UsedMove *used) {
  const MoveData *move = used->data;
  Active *active = active_of(b, target);
  if (!has(b, target, V_SUBSTITUTE)) return NOTHING;
  if (move->category == CATEGORY_STATUS) return blocks_status_move(move, target, source) ? FAILED : NOTHING;
  if (move->condition && target == source) return NOTHING;
  int32_t damage = used->hit > 1 ? b->last_damage : move_damage(b, source, target, used);
  if (used->id == MOVE_BIDE) damage = active_of(b, source)->bide_damage * 2;
  if (damage < 0) return SILENT;
  b->last_damage = damage;
  active->substitute_hp = (int16_t)(damage > active->substitute_hp ? 0 : active->substitute_hp - damage);
  if (active->substitute_hp <= 0) {
    remove_volatile(b, target, V_SUBSTITUTE);
    pokemon_of(b, target)->substitute_broke = 1;
  }
  if (has(b, target, V_SUBSTITUTE)) after_damage(b, target, source, used, damage);
  return 0;
}

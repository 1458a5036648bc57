// Damage, recovery and fainting.

#include <string.h>

#include "engine.h"

void faint(Battle *b, int seat) {
  Pokemon *pokemon = pokemon_of(b, seat);
  if (pokemon->fainted || pokemon->faint_queued) return;
  pokemon->hp = 0;
  side_of(b, seat)->switch_flag = 0;
  pokemon->faint_queued = 1;
  b->faints[b->faint_count++] = (uint8_t)seat;
}

// Returns the damage that was really dealt.
static int32_t lose_health(Battle *b, int seat, int32_t damage) {
  Pokemon *pokemon = pokemon_of(b, seat);
  if (!pokemon->hp || damage <= 0) return 0;
  if (damage >= pokemon->hp) {
    damage = pokemon->hp;
    faint(b, seat);
  } else {
    pokemon->hp = (int16_t)(pokemon->hp - damage);
  }
  return damage;
}

static int effect_of_cause(int cause) {
  if (cause == CAUSE_MOVE) return EFFECT_NONE;
  return cause == CAUSE_POISON ? EFFECT_POISON : EFFECT_OTHER;
}

int32_t deal_damage(Battle *b, int target, int32_t damage, int cause, int source, const UsedMove *used) {
  if (!hp_of(b, target)) return 0;
  if (damage) damage = at_least_one(damage);
  if (cause == CAUSE_MOVE) b->last_damage = damage;
  damage = lose_health(b, target, damage);
  log_health(b, LINE_DAMAGE, target, effect_of_cause(cause));
  if (damage && cause == CAUSE_MOVE && used->data->drain[0]) {
    int32_t amount = at_least_one(damage * used->data->drain[0] / used->data->drain[1]);
    b->last_damage = amount;
    heal(b, source, amount, EFFECT_OTHER);
  }
  return damage;
}

// A Pokémon with a substitute that hurts itself hits the foe's substitute instead, if there is one.
static int32_t redirect_damage(Battle *b, int target, int32_t damage) {
  int foe = 1 - target;
  if (!has(b, foe, V_SUBSTITUTE)) return 0;
  active_of(b, foe)->substitute_hp = (int16_t)(active_of(b, foe)->substitute_hp - damage);
  if (active_of(b, foe)->substitute_hp <= 0) {
    remove_volatile(b, foe, V_SUBSTITUTE);
    pokemon_of(b, foe)->substitute_broke = 1;
  }
  return damage;
}

// Damage that no event changes: confusion, a crash, the price of a substitute.
int32_t direct_damage(Battle *b, int target, int32_t damage, int confusion_or_crash, int effect) {
  if (!hp_of(b, target) || !damage) return 0;
  damage = at_least_one(damage);
  if (confusion_or_crash) {
    b->last_damage = damage;
    if (has(b, target, V_SUBSTITUTE)) return redirect_damage(b, target, damage);
  }
  damage = lose_health(b, target, damage);
  log_health(b, LINE_DAMAGE, target, effect);
  return damage;
}

// Returns the recovered health, or FAILED.
int32_t heal(Battle *b, int target, int32_t amount, int effect) {
  Pokemon *pokemon = pokemon_of(b, target);
  if (!amount) return 0;
  if (!pokemon->hp || pokemon->hp >= pokemon->max_hp) return FAILED;
  if (amount > pokemon->max_hp - pokemon->hp) amount = pokemon->max_hp - pokemon->hp;
  pokemon->hp = (int16_t)(pokemon->hp + amount);
  log_health(b, LINE_HEAL, target, effect);
  return amount;
}

void apply_recoil(Battle *b, int seat, int32_t damage, const UsedMove *used) {
  const uint8_t *recoil = used->data->recoil;
  if (!recoil[0]) return;
  deal_damage(b, seat, at_least_one(damage * recoil[0] / recoil[1]), CAUSE_RECOIL, seat, used);
}

static int check_win(Battle *b) {
  int left[2] = {b->sides[0].left, b->sides[1].left};
  if (left[0] && left[1]) return 0;
  win(b, left[0] ? 0 : left[1] ? 1 : -1);
  return 1;
}

// Let those faint that lost their last health. In Gen 1 this ends the turn. Returns whether the battle ended.
int faint_messages(Battle *b) {
  if (b->ended || !b->faint_count) return 0;
  for (int i = 0; i < b->faint_count; i++) {
    int seat = b->faints[i];
    Side *side = side_of(b, seat);
    Pokemon *pokemon = pokemon_of(b, seat);
    if (pokemon->fainted) continue;
    log_line(b, LINE_FAINT, seat);
    if (side->left) side->left--;
    clear_active(b, seat);
    pokemon->fainted = 1;
    side->active.present = 0;
    side->fainted_this_turn = 1;
  }
  b->faint_count = 0;
  b->queue_length = 0;
  return check_win(b);
}

// What can keep a Pokémon from moving, from the highest priority to the lowest.

#include "../engine.h"

static int cannot(Battle *b, int seat, int effect) {
  log_effect(b, LINE_CANT, seat, effect);
  return 0;
}

static int sleeps(Battle *b, int seat) {
  Pokemon *pokemon = pokemon_of(b, seat);
  pokemon->sleep_turns--;
  if (pokemon->sleep_turns > 0) cannot(b, seat, EFFECT_SLEEP);
  active_of(b, seat)->last_move = MOVE_NONE;
  return 0;
}

// Returns whether the Pokémon may go on.
static int passes_disable(Battle *b, int seat, int move) {
  Active *active = active_of(b, seat);
  if (!--active->disable_turns) {
    remove_volatile(b, seat, V_DISABLE);
    return 1;
  }
  if (has(b, seat, V_BIDE)) move = MOVE_BIDE;
  if (move != active->disable_move) return 1;
  cannot(b, seat, EFFECT_DISABLE);
  b->log.lines[b->log.count - 1].move = (uint8_t)move;
  remove_volatile(b, seat, V_TWO_TURN);
  return 0;
}

static int confusion_damage(Battle *b, int seat) {
  const Active *active = active_of(b, seat);
  int level = 2 * pokemon_of(b, seat)->level / 5 + 2;
  return level * active->modified[STAT_ATTACK] * 40 / active->modified[STAT_DEFENSE] / 50 + 2;
}

static int passes_confusion(Battle *b, int seat) {
  if (!--active_of(b, seat)->confusion_turns) {
    remove_volatile(b, seat, V_CONFUSION);
    return 1;
  }
  if (chance(b, 128)) return 1;
  direct_damage(b, seat, confusion_damage(b, seat), 1, EFFECT_CONFUSION);
  remove_volatile(b, seat, V_BIDE);
  remove_volatile(b, seat, V_TWO_TURN);
  remove_volatile(b, seat, V_INVULNERABLE);
  remove_volatile(b, seat, V_TRAP_LOCK);
  remove_volatile(b, seat, V_LOCKED_MOVE);
  return 0;
}

static int passes_paralysis(Battle *b, int seat) {
  if (!chance(b, 63)) return 1;
  cannot(b, seat, EFFECT_PARALYSIS);
  remove_volatile(b, seat, V_BIDE);
  remove_volatile(b, seat, V_TWO_TURN);
  remove_volatile(b, seat, V_TRAP_LOCK);
  remove_volatile(b, seat, V_LOCKED_MOVE);
  return 0;
}

static int bides(Battle *b, int seat) {
  Active *active = active_of(b, seat);
  active->bide_damage += b->last_damage;
  if (--active->bide_turns) return 0;
  log_effect(b, LINE_END, seat, EFFECT_BIDE);
  if (active->bide_damage) unleash_bide(b, 1 - seat, seat);
  else log_line(b, LINE_FAIL, seat);
  remove_volatile(b, seat, V_BIDE);
  return 0;
}

static int recharges(Battle *b, int seat) {
  cannot(b, seat, EFFECT_RECHARGE);
  remove_volatile(b, seat, V_MUST_RECHARGE);
  return 0;
}

static int keeps_lock(Battle *b, int seat, int target) {
  int locked = target != seat && active_of(b, target)->member == active_of(b, seat)->lock_target;
  if (!locked) remove_volatile(b, seat, V_TRAP_LOCK);
  return 1;
}

static const uint8_t STATUS_PRIORITIES[STATUS_COUNT] = {
  [STATUS_FREEZE] = 13, [STATUS_SLEEP] = 11, [STATUS_PARALYSIS] = 3,
};
static const uint8_t PRIORITIES[V_COUNT] = { // 0 does not listen
  [V_TRAPPED] = 10, [V_FLINCH] = 9, [V_MUST_RECHARGE] = 8, [V_DISABLE] = 7, [V_CONFUSION] = 4, [V_BIDE] = 1,
  [V_TRAP_LOCK] = 1,
};

static int passes_status(Battle *b, int seat) {
  int status = pokemon_of(b, seat)->status;
  if (status == STATUS_SLEEP) return sleeps(b, seat);
  if (status == STATUS_PARALYSIS) return passes_paralysis(b, seat);
  active_of(b, seat)->last_move = MOVE_NONE;
  return cannot(b, seat, EFFECT_FREEZE);
}

static int passes(Battle *b, int seat, int target, int move, int condition) {
  switch (condition) {
  case V_NONE: return passes_status(b, seat);
  case V_TRAPPED: return cannot(b, seat, EFFECT_PARTIALLY_TRAPPED);
  case V_FLINCH: return cannot(b, seat, EFFECT_FLINCH);
  case V_MUST_RECHARGE: return recharges(b, seat);
  case V_DISABLE: return passes_disable(b, seat, move);
  case V_CONFUSION: return passes_confusion(b, seat);
  case V_BIDE: return bides(b, seat);
  default: return keeps_lock(b, seat, target);
  }
}

// Whether the Pokémon may make its move. Bide and the lock of a trapping move tie.
int before_move(Battle *b, int seat, int target, int move) {
  const Active *active = active_of(b, seat);
  int priority = STATUS_PRIORITIES[pokemon_of(b, seat)->status];
  Listener listening[1 + V_COUNT];
  int count = 0;
  if (priority) listening[count++] = (Listener){(uint8_t)seat, V_NONE, priority};
  count = add_listeners(active, PRIORITIES, listening, count);
  sort_listeners(b, listening, count);
  for (int i = 0; i < count; i++) {
    if (!passes(b, seat, target, move, listening[i].id)) return 0;
  }
  return 1;
}

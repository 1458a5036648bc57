// What happens to the user after its move, at the end of a turn, and on entering; and which moves conditions disable.

#include "../engine.h"

static void end_trap_turn(Battle *b, int seat, int target) {
  Active *active = active_of(b, seat);
  if (!hp_of(b, target)) {
    delete_volatile(active, V_TRAP_LOCK);
  } else if (active->lock_duration == 1) {
    if (active->lock_total == 5) return;
    // Showdown reads a condition that it cannot add to a Pokémon without health.
    if (!hp_of(b, seat) && !has(b, seat, V_FAKE_TRAPPED)) fail_battle(b);
    add_volatile(b, seat, V_FAKE_TRAPPED, target, active->lock_move);
    active->fake_counterpart = active_of(b, target)->member;
    add_volatile(b, target, V_FAKE_TRAPPED, seat, active->lock_move);
    active_of(b, target)->fake_counterpart = active->member;
  } else {
    add_volatile(b, target, V_TRAPPED, seat, active->lock_move);
    if (active->lock_total > active->lock_duration) active_of(b, target)->trapped_maybe_locked = 1;
  }
}

// After a move that was made, whether it hit or not.
void after_move(Battle *b, int seat, int target) {
  static const uint8_t PRIORITIES[V_COUNT] = {[V_TRAP_LOCK] = 1, [V_MUST_RECHARGE] = 1, [V_LOCKED_MOVE] = 1};
  Active *active = active_of(b, seat);
  Listener listening[V_COUNT];
  int count = add_listeners(active, PRIORITIES, listening, 0);
  sort_listeners(b, listening, count);
  for (int i = 0; i < count; i++) {
    if (listening[i].id == V_TRAP_LOCK) {
      end_trap_turn(b, seat, target);
    } else if (listening[i].id == V_LOCKED_MOVE) {
      if (!active->thrash_turns) remove_volatile(b, seat, V_LOCKED_MOVE);
    } else if (!hp_of(b, target)) {
      delete_volatile(active, V_MUST_RECHARGE);
    } else {
      log_line(b, LINE_MUST_RECHARGE, seat);
    }
  }
}

static int is_damaging(int status) {
  return status == STATUS_BURN || status == STATUS_POISON || status == STATUS_TOXIC;
}

static void suffer(Battle *b, int seat, int status) {
  int damage = at_least_one(pokemon_of(b, seat)->max_hp / 16);
  if (has(b, seat, V_TOXIC_COUNTER)) damage *= active_of(b, seat)->toxic_counter;
  deal_damage(b, seat, damage, status == STATUS_BURN ? CAUSE_BURN : CAUSE_POISON, seat, 0);
}

static void feed_leech(Battle *b, int seat) {
  Active *active = active_of(b, seat);
  int leecher = 1 - seat;
  int amount = at_least_one(pokemon_of(b, seat)->max_hp / 16);
  if (!hp_of(b, leecher)) return;
  if (has(b, seat, V_TOXIC_COUNTER)) amount *= ++active->toxic_counter;
  deal_damage(b, seat, amount, CAUSE_LEECH_SEED, leecher, 0);
  heal(b, leecher, amount, EFFECT_NONE);
}

// After the Pokémon had its turn, even if it could not move.
void after_move_self(Battle *b, int seat) {
  const Pokemon *pokemon = pokemon_of(b, seat);
  int status = pokemon->status;
  int seeded = has(b, seat, V_LEECH_SEED);
  if (has(b, seat, V_TOXIC_COUNTER) && is_damaging(status)) active_of(b, seat)->toxic_counter++;
  if (status == STATUS_SLEEP && pokemon->sleep_turns <= 0) cure_status(b, seat);
  if (is_damaging(status)) suffer(b, seat, status);
  if (seeded) feed_leech(b, seat);
}

// Poison and burn hurt on entering, too.
void after_switch_in(Battle *b, int seat) {
  int status = pokemon_of(b, seat)->status;
  if (!is_damaging(status)) return;
  int damage = at_least_one(pokemon_of(b, seat)->max_hp / 16);
  deal_damage(b, seat, damage, status == STATUS_BURN ? CAUSE_BURN : CAUSE_POISON, seat, 0);
}

static void disable_by(Active *active, int condition) {
  switch (condition) {
  case V_TRAPPED:
    if (active->trapped_maybe_locked) active->maybe_locked = 1;
    break;
  case V_FAKE_TRAPPED: active->maybe_locked = 1; break;
  case V_NONE: // asleep or frozen
  case V_BIDE: active->maybe_locked = 0; break;
  case V_TRAP_LOCK:
    if (active->lock_total - active->lock_duration > 1) active->maybe_locked = 1;
    break;
  default:
    if (active->disable_slot < active->move_count) active->disabled |= (uint8_t)(1 << active->disable_slot);
  }
}

// What the next request must not offer, and whether the Pokémon may be locked without its player knowing.
void disable_moves(Battle *b, int seat) {
  static const uint8_t PRIORITIES[V_COUNT] = { // 0 does not listen
    [V_TRAPPED] = 3, [V_FAKE_TRAPPED] = 3, [V_BIDE] = 1, [V_DISABLE] = 1, [V_TRAP_LOCK] = 1,
  };
  Active *active = active_of(b, seat);
  int status = pokemon_of(b, seat)->status;
  Listener listening[1 + V_COUNT];
  int count = 0;
  active->disabled = 0;
  active->maybe_locked = 0;
  if (status == STATUS_SLEEP || status == STATUS_FREEZE) listening[count++] = (Listener){(uint8_t)seat, V_NONE, 2};
  count = add_listeners(active, PRIORITIES, listening, count);
  sort_listeners(b, listening, count);
  for (int i = 0; i < count; i++) disable_by(active, listening[i].id);
}

static uint8_t *duration_of(Active *active, int condition) {
  switch (condition) {
  case V_FLINCH: return &active->flinch_duration;
  case V_TRAPPED: return &active->trapped_duration;
  case V_FAKE_TRAPPED: return &active->fake_duration;
  case V_TRAP_LOCK: return &active->lock_duration;
  default: return 0;
  }
}

// The end of a turn: conditions that last for a number of turns, in order of speed.
void residual(Battle *b) {
  Listener listening[2 * V_COUNT];
  int count = 0;
  for (int seat = 0; seat < 2; seat++) {
    Active *active = active_of(b, seat);
    for (int i = 0; i < active->volatile_count; i++) {
      if (!duration_of(active, active->volatiles[i])) continue;
      listening[count++] = (Listener){(uint8_t)seat, active->volatiles[i], active->speed};
    }
  }
  sort_listeners(b, listening, count);
  for (int i = 0; i < count; i++) {
    int seat = listening[i].seat;
    uint8_t *duration = duration_of(active_of(b, seat), listening[i].id);
    if (!--*duration) remove_volatile(b, seat, listening[i].id);
  }
}

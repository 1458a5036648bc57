// Statuses and volatile conditions: how they start, restart and end.

#include <string.h>

#include "engine.h"

static const uint8_t TRAP_TURNS[] = {2, 2, 2, 3, 3, 3, 4, 5};

void delete_volatile(Active *active, int condition) {
  if (!(active->volatile_bits >> condition & 1)) return;
  active->volatile_bits &= ~(1u << condition);
  int kept = 0;
  for (int i = 0; i < active->volatile_count; i++) {
    if (active->volatiles[i] != condition) active->volatiles[kept++] = active->volatiles[i];
  }
  active->volatile_count = (uint8_t)kept;
}

static void append_volatile(Active *active, int condition) {
  active->volatile_bits |= 1u << condition;
  active->volatiles[active->volatile_count++] = (uint8_t)condition;
}

int remove_volatile(Battle *b, int seat, int condition) {
  if (!hp_of(b, seat) || !has(b, seat, condition)) return 0;
  if (condition == V_CONFUSION) log_effect(b, LINE_END, seat, EFFECT_CONFUSION);
  if (condition == V_DISABLE) log_effect(b, LINE_END, seat, EFFECT_DISABLE);
  if (condition == V_SUBSTITUTE) log_effect(b, LINE_END, seat, EFFECT_SUBSTITUTE);
  delete_volatile(active_of(b, seat), condition);
  return 1;
}

// The move has checked that a slot has power points.
static void start_disable(Battle *b, int seat) {
  Active *active = active_of(b, seat);
  uint8_t slots[MOVE_SLOTS];
  uint32_t count = 0;
  for (int slot = 0; slot < active->move_count; slot++) {
    if (active->pp[slot]) slots[count++] = (uint8_t)slot;
  }
  int slot = slots[below(b, count)];
  log_effect(b, LINE_START, seat, EFFECT_DISABLE);
  b->log.lines[b->log.count - 1].move = active->moves[slot];
  active->disable_move = active->moves[slot];
  active->disable_slot = (uint8_t)slot;
  active->disable_turns = (uint8_t)between(b, 1, 9);
}

// The lock of a Pokémon that traps another. Its length was drawn before.
static int start_lock(Battle *b, int seat, int move) {
  Active *active = active_of(b, seat);
  int foe = 1 - seat;
  if (!hp_of(b, foe)) return 0;
  active->lock_move = (uint8_t)move;
  active->lock_total = active->lock_duration;
  active->lock_damage = b->last_damage;
  active->lock_target = active_of(b, foe)->member;
  add_volatile(b, foe, V_TRAPPED, seat, move);
  return 1;
}

static void start_confusion(Battle *b, int seat, int move) {
  log_effect(b, LINE_START, seat, EFFECT_CONFUSION);
  if (move == MOVE_NONE) b->log.lines[b->log.count - 1].flags = LINE_SILENT; // the fatigue of Thrash
  active_of(b, seat)->confusion_turns = (uint8_t)between(b, 2, 6);
}

// Returns 0 if the condition does not stay.
static int start_volatile(Battle *b, int seat, int condition, int move) {
  Active *active = active_of(b, seat);
  switch (condition) {
  case V_BIDE:
    active->bide_damage = 0;
    active->bide_turns = (uint8_t)between(b, 2, 4);
    log_effect(b, LINE_START, seat, EFFECT_BIDE);
    break;
  case V_CONFUSION: start_confusion(b, seat, move); break;
  case V_DISABLE: start_disable(b, seat); break;
  case V_FLINCH: remove_volatile(b, seat, V_MUST_RECHARGE); break;
  case V_FOCUS_ENERGY: log_effect(b, LINE_START, seat, EFFECT_FOCUS_ENERGY); break;
  case V_LEECH_SEED: log_effect(b, LINE_START, seat, EFFECT_LEECH_SEED); break;
  case V_LIGHT_SCREEN: log_effect(b, LINE_START, seat, EFFECT_LIGHT_SCREEN); break;
  case V_REFLECT: log_effect(b, LINE_START, seat, EFFECT_REFLECT); break;
  case V_MIST: log_effect(b, LINE_START, seat, EFFECT_MIST); break;
  case V_LOCKED_MOVE:
    active->thrash_move = (uint8_t)move;
    active->thrash_turns = (uint8_t)between(b, 2, 4);
    active->thrash_accuracy = 255;
    break;
  case V_RAGE: active->rage_accuracy = 255; break;
  case V_TRAP_LOCK: return start_lock(b, seat, move);
  case V_TOXIC_COUNTER: active->toxic_counter = 0; break;
  case V_SUBSTITUTE:
    log_effect(b, LINE_START, seat, EFFECT_SUBSTITUTE);
    active->substitute_hp = (int16_t)(pokemon_of(b, seat)->max_hp / 4 + 1);
    break;
  case V_TWO_TURN:
    active->two_turn_move = (uint8_t)move;
    log_tag_move(b, LINE_STILL);
    break;
  default: break;
  }
  return 1;
}

// `move` is what causes it, MOVE_NONE for the fatigue of Thrash. Returns whether it started or was restarted.
int add_volatile(Battle *b, int seat, int condition, int source, int move) {
  Active *active = active_of(b, seat);
  if (!hp_of(b, seat)) return 0;
  if (has(b, seat, condition)) {
    if (condition == V_TRAPPED) active->trapped_duration = 2;
    return condition == V_TRAPPED;
  }
  append_volatile(active, condition);
  if (condition == V_TRAPPED) {
    active->trapped_duration = 2;
    active->trapped_by = active_of(b, source)->member;
    active->trapped_maybe_locked = 0;
  }
  if (condition == V_FAKE_TRAPPED) active->fake_duration = 2;
  if (condition == V_FLINCH) active->flinch_duration = 1;
  if (condition == V_TRAP_LOCK) active->lock_duration = TRAP_TURNS[below(b, 8)];
  if (start_volatile(b, seat, condition, move)) return 1;
  delete_volatile(active, condition);
  return 0;
}

// What locks into a move without a choice, in the order in which it began.
int locked_move(Battle *b, int seat) {
  const Active *active = active_of(b, seat);
  for (int i = 0; i < active->volatile_count; i++) {
    switch (active->volatiles[i]) {
    case V_MUST_RECHARGE: return MOVE_RECHARGE;
    case V_LOCKED_MOVE: return active->thrash_move;
    case V_TWO_TURN: return active->two_turn_move;
    case V_RAGE: return 99;
    default: break;
    }
  }
  return MOVE_NONE;
}

// What locks into a move but lets the Pokémon switch.
int semi_locked_move(Battle *b, int seat) {
  const Active *active = active_of(b, seat);
  for (int i = 0; i < active->volatile_count; i++) {
    if (active->volatiles[i] == V_BIDE) return MOVE_BIDE;
    if (active->volatiles[i] == V_TRAP_LOCK) return active->lock_move;
  }
  return MOVE_NONE;
}

static int is_immune(Battle *b, int seat, int status) {
  const Active *active = active_of(b, seat);
  const uint8_t *immune = nemesis_status_immune[status];
  return pokemon_of(b, seat)->fainted || immune[active->types[0]] || immune[active->types[1]];
}

// The clauses that limit a side's sleeping or frozen Pokémon to one, unless it does it itself.
static int clause_forbids(Battle *b, int seat, int status, int source) {
  const Side *side = side_of(b, seat);
  if (source == seat) return 0;
  for (int member = 0; member < side->size; member++) {
    const Pokemon *other = &side->team[member];
    if (status == STATUS_SLEEP && b->rules & RULE_SLEEP_CLAUSE && other->hp && other->status == STATUS_SLEEP &&
        other->sleep_from_foe)
      return 1;
    if (status == STATUS_FREEZE && b->rules & RULE_FREEZE_CLAUSE && other->status == STATUS_FREEZE) return 1;
  }
  return 0;
}

static void start_status(Battle *b, int seat, int status) {
  Pokemon *pokemon = pokemon_of(b, seat);
  log_status(b, LINE_STATUS, seat, status);
  if (status == STATUS_SLEEP) pokemon->sleep_turns = (int8_t)between(b, 1, 8);
  if (status == STATUS_TOXIC) {
    if (!has(b, seat, V_TOXIC_COUNTER)) add_volatile(b, seat, V_TOXIC_COUNTER, seat, MOVE_NONE);
    active_of(b, seat)->toxic_counter = 0;
  }
}

// Give a Pokémon a status that it does not have. `move` is what causes it: immunity is told if that is its only effect.
// Haze passes MOVE_NONE, which ignores immunity.
int set_status(Battle *b, int seat, int status, int source, int move) {
  Pokemon *pokemon = pokemon_of(b, seat);
  if (!pokemon->hp) return 0;
  if (move != MOVE_NONE && is_immune(b, seat, status)) {
    if (nemesis_moves[move].status) log_line(b, LINE_IMMUNE, seat);
    return 0;
  }
  int clauses = RULE_SLEEP_CLAUSE | RULE_FREEZE_CLAUSE;
  int tie = (b->rules & clauses) == clauses;
  if (tie) below(b, 2); // both listen to the event
  if (clause_forbids(b, seat, status, source)) return 0;
  pokemon->status = (uint8_t)status;
  pokemon->sleep_from_foe = source != seat;
  start_status(b, seat, status);
  return 1;
}

int cure_status(Battle *b, int seat) {
  Pokemon *pokemon = pokemon_of(b, seat);
  if (!pokemon->hp || !pokemon->status) return 0;
  log_line(b, LINE_CURE_STATUS, seat);
  pokemon->status = STATUS_NONE;
  pokemon->sleep_turns = 0;
  pokemon->sleep_from_foe = 0;
  return 1;
}

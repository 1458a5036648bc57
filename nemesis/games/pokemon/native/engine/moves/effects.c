// Moves with effects of their own.

#include <string.h>

#include "../engine.h"

static int has_pp(Battle *b, int seat) {
  const Active *active = active_of(b, seat);
  for (int slot = 0; slot < active->move_count; slot++) {
    if (active->pp[slot]) return 1;
  }
  return 0;
}

static int can_make_substitute(Battle *b, int seat) {
  if (!has(b, seat, V_SUBSTITUTE) && 4 * hp_of(b, seat) >= pokemon_of(b, seat)->max_hp) return 1;
  log_line(b, LINE_FAIL, seat);
  return -1;
}

// Whether a move can have its effect: 1, 0 if it fails, or -1 if it fails and has told so.
int try_hit(Battle *b, int target, int move) {
  switch (move) {
  case MOVE_DISABLE: return has_pp(b, target);
  case MOVE_LIGHT_SCREEN: return !has(b, target, V_LIGHT_SCREEN);
  case MOVE_REFLECT: return !has(b, target, V_REFLECT);
  case MOVE_SUBSTITUTE: return can_make_substitute(b, target);
  default: return 1;
  }
}

// Recovery fails at some values of the missing health.
static int can_recover(const Pokemon *pokemon) {
  int missing = pokemon->max_hp - pokemon->hp;
  return missing && !((missing == 255 || missing == 511) && pokemon->hp % 256);
}

static int recover(Battle *b, int seat) {
  if (!can_recover(pokemon_of(b, seat))) return 0;
  heal(b, seat, pokemon_of(b, seat)->max_hp / 2, EFFECT_NONE);
  return 1;
}

static int rest(Battle *b, int seat) {
  Pokemon *pokemon = pokemon_of(b, seat);
  if (!can_recover(pokemon) || !set_status(b, seat, STATUS_SLEEP, seat, MOVE_REST)) return 0;
  pokemon->sleep_turns = 2;
  heal(b, seat, pokemon->max_hp, EFFECT_NONE);
  return 1;
}

static int convert(Battle *b, int target, int seat) {
  Active *active = active_of(b, seat);
  memcpy(active->types, active_of(b, target)->types, sizeof active->types);
  Line *line = log_line(b, LINE_START, seat);
  line->effect = EFFECT_TYPE_CHANGE;
  memcpy(line->types, active->types, sizeof line->types);
  return 1;
}

static int call_random_move(Battle *b, int seat) {
  Side *side = side_of(b, seat);
  int move = nemesis_callable[below(b, nemesis_callable_count)];
  side->last_selected_move = (uint8_t)move;
  side->last_enemy_selected_move = (uint8_t)move;
  int target = nemesis_moves[move].flags & MOVE_TARGETS_SELF ? seat : 1 - seat;
  b->depth++;
  use_move(b, seat, move, target, MOVE_METRONOME);
  b->depth--;
  return 1;
}

static int mirror_move(Battle *b, int seat) {
  Side *side = side_of(b, seat);
  int move = active_of(b, 1 - seat)->last_move;
  if (move == MOVE_NONE || move == MOVE_MIRROR_MOVE) return 0;
  side->last_selected_move = (uint8_t)move;
  side->last_enemy_selected_move = (uint8_t)move;
  int target = nemesis_moves[move].flags & MOVE_TARGETS_SELF ? seat : 1 - seat;
  b->depth++;
  use_move(b, seat, move, target, MOVE_MIRROR_MOVE);
  b->depth--;
  return 1;
}

static int mimic(Battle *b, int target, int seat) {
  Active *active = active_of(b, seat);
  const Active *foe = active_of(b, target);
  int slot = side_of(b, seat)->last_selected_slot;
  int move = foe->moves[below(b, foe->move_count)];
  const Pokemon *pokemon = pokemon_of(b, seat);
  int ups = slot < pokemon->move_count && pokemon->moves[slot] != MOVE_STRUGGLE;
  active->moves[slot] = (uint8_t)move;
  active->max_pp[slot] = (uint8_t)pp_of(move, ups);
  log_effect(b, LINE_START, seat, EFFECT_MIMIC);
  b->log.lines[b->log.count - 1].move = (uint8_t)move;
  return 1;
}

// The speed of its own that a Pokémon has in another species, which decides ties until speeds are updated.
static int16_t speed_as(const Pokemon *pokemon, int species) {
  int base = nemesis_species[species].stats[STAT_SPEED];
  return (int16_t)stat_value(base, pokemon->speed_iv, pokemon->speed_ev, pokemon->level, STAT_SPEED,
                             pokemon->nature_plus, pokemon->nature_minus);
}

static int transform(Battle *b, int target, int seat) {
  Active *active = active_of(b, seat);
  const Active *model = active_of(b, target);
  const Pokemon *pokemon = pokemon_of(b, seat);
  active->species = model->species;
  active->speed = speed_as(pokemon, model->species);
  active->transformed = 1;
  memcpy(active->types, model->types, sizeof active->types);
  memcpy(active->stored, model->stored, sizeof active->stored);
  memcpy(active->modified, model->modified, sizeof active->modified);
  memcpy(active->boosts, model->boosts, sizeof active->boosts);
  active->move_count = model->move_count;
  for (int slot = 0; slot < model->move_count; slot++) {
    int move = model->moves[slot];
    int ups = slot < pokemon->move_count && pokemon->moves[slot] != MOVE_STRUGGLE;
    active->moves[slot] = (uint8_t)move;
    active->pp[slot] = nemesis_moves[move].pp < 5 ? nemesis_moves[move].pp : 5;
    active->max_pp[slot] = (uint8_t)pp_of(move, ups);
  }
  log_line(b, LINE_TRANSFORM, seat)->target = (uint8_t)(1 + target);
  return 1;
}

// Whether the move's own effect did not fail.
int hit_effect(Battle *b, int target, int source, int move) {
  switch (move) {
  case MOVE_MIMIC: return mimic(b, target, source);
  case MOVE_RECOVER:
  case MOVE_SOFT_BOILED: return recover(b, target);
  case MOVE_HAZE: use_haze(b, source); return 1;
  case MOVE_METRONOME: return call_random_move(b, source);
  case MOVE_MIRROR_MOVE: return mirror_move(b, source);
  case MOVE_TRANSFORM: return transform(b, target, source);
  case MOVE_REST: return rest(b, target);
  case MOVE_CONVERSION: return convert(b, target, source);
  case MOVE_SUBSTITUTE:
    if (pokemon_of(b, target)->max_hp > 3) direct_damage(b, target, pokemon_of(b, target)->max_hp / 4, 0, EFFECT_NONE);
    return 1;
  default: return 1;
  }
}

// Haze ends conditions of both sides, and the foe's status.

#include "../engine.h"

static void thaw_foe(Battle *b, int seat) {
  int status = pokemon_of(b, seat)->status;
  if (status == STATUS_FREEZE || status == STATUS_SLEEP) {
    side_of(b, seat)->last_selected_move = MOVE_CANNOT;
    side_of(b, seat)->last_enemy_selected_move = MOVE_CANNOT;
    change_to_move(b, seat, MOVE_CANNOT);
  }
  cure_status(b, seat);
}

void use_haze(Battle *b, int seat) {
  static const struct { uint8_t condition, effect; } ENDING[] = {
    {V_DISABLE, 0}, {V_CONFUSION, 0}, {V_MIST, EFFECT_MIST}, {V_FOCUS_ENERGY, EFFECT_FOCUS_ENERGY},
    {V_LEECH_SEED, EFFECT_LEECH_SEED}, {V_LIGHT_SCREEN, EFFECT_LIGHT_SCREEN}, {V_REFLECT, EFFECT_REFLECT},
    {V_TOXIC_COUNTER, EFFECT_OTHER},
  };
  log_line(b, LINE_CLEAR_ALL_BOOSTS, 0);
  for (int each = 0; each < 2; each++) {
    if (pokemon_of(b, each)->fainted) continue;
    clear_boosts(active_of(b, each));
    if (each != seat) thaw_foe(b, each);
    if (pokemon_of(b, each)->status == STATUS_TOXIC) set_status(b, each, STATUS_POISON, each, MOVE_NONE);
    update_speed(b, each);
    for (int i = 0; i < (int)(sizeof ENDING / sizeof *ENDING); i++) {
      if (!remove_volatile(b, each, ENDING[i].condition) || !ENDING[i].effect) continue;
      log_effect(b, LINE_END, each, ENDING[i].effect);
    }
  }
}

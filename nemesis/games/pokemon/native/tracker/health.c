// HP, status and stat stages.

#include "state.h"

enum { MAX_STAGES = 6 };

void tracker_set_status(TrackedPokemon *pokemon, int status) {
  if (pokemon->status == status) return;
  pokemon->status = (uint8_t)status;
  pokemon->status_turns = 0;
}

void tracker_set_condition(TrackedPokemon *pokemon, const Line *line) {
  pokemon->hp = line->hp;
  if (!line->hp) return; // `0 fnt` shows nothing else
  pokemon->max_hp = line->max_hp;
  tracker_set_status(pokemon, line->status);
}

void tracker_damage(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedPokemon *pokemon = active_pokemon(side);
  if (!pokemon) return;
  bool badly_poisoned = pokemon->status == LINE_STATUS_TOXIC;
  tracker_set_condition(pokemon, line);
  if (line->effect == EFFECT_CONFUSION) {
    tracker_lose_turn(tracker, line->seat, EFFECT_CONFUSION);
    tracker_begin_action(tracker, &side->slot, ACTION_CANNOT_MOVE);
  } else if (line->effect == EFFECT_POISON && badly_poisoned) {
    pokemon->status_turns++;
  }
}

void tracker_status(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedPokemon *pokemon = active_pokemon(side);
  if (!pokemon) return;
  pokemon->status = LINE_STATUS_NONE; // Rest restarts sleep
  tracker_set_status(pokemon, line->status);
  if (line->status == LINE_STATUS_SLEEP) end_volatile(&side->slot, VOLATILE_MUST_RECHARGE);
}

void tracker_boost(TrackedSlot *slot, int stat, int stages) {
  int sum = slot->boosts[stat] + stages;
  slot->boosts[stat] = (int8_t)(sum > MAX_STAGES ? MAX_STAGES : sum < -MAX_STAGES ? -MAX_STAGES : sum);
}

// HP, status, stat stages and volatile conditions of the Pokémon on the field, and transformations.

#include <string.h>

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

// The volatile that lines of an effect start and end, or VOLATILES.
static enum Volatile volatile_of(int effect) {
  switch (effect) {
  case EFFECT_CONFUSION: return VOLATILE_CONFUSION;
  case EFFECT_PARTIALLY_TRAPPED: return VOLATILE_PARTIALLY_TRAPPED;
  case EFFECT_DISABLE: return VOLATILE_DISABLE;
  case EFFECT_BIDE: return VOLATILE_BIDE;
  case EFFECT_FOCUS_ENERGY: return VOLATILE_FOCUS_ENERGY;
  case EFFECT_LEECH_SEED: return VOLATILE_LEECH_SEED;
  case EFFECT_LIGHT_SCREEN: return VOLATILE_LIGHT_SCREEN;
  case EFFECT_MIST: return VOLATILE_MIST;
  case EFFECT_REFLECT: return VOLATILE_REFLECT;
  case EFFECT_SUBSTITUTE: return VOLATILE_SUBSTITUTE;
  case EFFECT_TYPE_CHANGE: return VOLATILE_TYPE_CHANGE;
  default: return VOLATILES;
  }
}

void tracker_start_effect(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedSlot *slot = &side->slot;
  if (slot->pokemon < 0) return;
  enum Volatile place = volatile_of(line->effect);
  if (place != VOLATILES) start_volatile(slot, place, tracker->turn);
  switch (line->effect) {
  case EFFECT_CONFUSION:
    if (line->flags & LINE_SILENT) end_volatile(slot, VOLATILE_LOCKED_MOVE); // Thrash has ended
    break;
  case EFFECT_DISABLE:
    slot->disabled_move = line->move;
    tracker_reveal_move(active_moves(side), line->move);
    break;
  case EFFECT_MIMIC:
    slot->mimic_move = line->move;
    slot->mimic_spent = 0;
    break;
  case EFFECT_TYPE_CHANGE:
    memcpy(slot->types, line->types, sizeof slot->types);
    break;
  default: break;
  }
}

void tracker_end_effect(Tracker *tracker, const Line *line) {
  TrackedSlot *slot = &tracker->sides[line->seat].slot;
  enum Volatile place = volatile_of(line->effect);
  if (line->effect == EFFECT_BIDE) tracker->actor = (int8_t)line->seat; // it hits without a line for the move
  if (line->effect == EFFECT_DISABLE) slot->disabled_move = 0;
  if (place != VOLATILES) end_volatile(slot, place);
}

void tracker_transform(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedSide *other = &tracker->sides[1 - line->seat];
  TrackedSlot *slot = &side->slot, *model = &other->slot;
  if (slot->pokemon < 0 || model->pokemon < 0) return;
  const TrackedMoves *shown = active_moves(other);
  TrackedMoves *moves = &slot->transform_moves;
  moves->count = shown->count;
  memcpy(moves->ids, shown->ids, sizeof moves->ids);
  memset(moves->spent, 0, sizeof moves->spent);
  slot->transform_model = model->pokemon;
  slot->species = model->species ? model->species : other->team[model->pokemon].species;
  memcpy(slot->types, model->types, sizeof slot->types);
  memcpy(slot->boosts, model->boosts, sizeof slot->boosts);
  slot->mimic_move = 0;
  start_volatile(slot, VOLATILE_TRANSFORM, tracker->turn);
}

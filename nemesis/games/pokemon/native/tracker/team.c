// Teams: which Pokémon comes in, and what ends when one leaves.

#include <string.h>

#include "state.h"

void tracker_reset_slot(TrackedSlot *slot, int turn) {
  slot->since = (uint16_t)turn;
  memset(slot->boosts, 0, sizeof slot->boosts);
  slot->volatiles = 0;
  slot->species = 0;
  slot->types[0] = slot->types[1] = 0;
  slot->transform_model = -1;
  slot->mimic_move = slot->last_move = slot->disabled_move = 0;
  slot->streak = 0;
}

void tracker_leave(TrackedSide *side) {
  TrackedPokemon *pokemon = active_pokemon(side);
  if (!pokemon) return;
  pokemon->on_field = 0;
  if (pokemon->status == LINE_STATUS_TOXIC) pokemon->status_turns = 0; // a switch resets the count
}

// The Pokémon of the team that a line refers to. Those of the same species and nickname are told apart only if one has
// fainted.
static TrackedPokemon *arriving(TrackedSide *side, const Line *line) {
  TrackedPokemon *same = 0;
  for (int place = 0; place < side->members; place++) {
    TrackedPokemon *pokemon = &side->team[place];
    if (pokemon->species != line->species || pokemon->name != line->name || pokemon->fainted) continue;
    if (is_same_kind(pokemon, line->species, line->level, line->gender)) return pokemon;
    if (!same) same = pokemon;
  }
  if (same || side->members == SEAT_TEAM) return same;
  TrackedPokemon *added = &side->team[side->members++];
  memset(added, 0, sizeof *added);
  added->name = line->name;
  added->species = line->species;
  added->level = line->level;
  added->gender = line->gender;
  side->identities++;
  return added;
}

void tracker_switch_in(Tracker *tracker, const Line *line) {
  TrackedSide *side = &tracker->sides[line->seat];
  TrackedPokemon *pokemon = arriving(side, line);
  if (!pokemon) return; // a team has no more than six
  tracker_begin_action(tracker, &side->slot, ACTION_SWITCH);
  tracker->actor = tracker->acting = -1;
  tracker_leave(side);
  tracker_reset_slot(&side->slot, tracker->turn);
  side->slot.pokemon = (int8_t)(pokemon - side->team);
  pokemon->on_field = 1;
  pokemon->seen = 1;
  tracker_set_condition(pokemon, line);
}

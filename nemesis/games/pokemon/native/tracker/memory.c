// What a seat knows of its own team beyond its current request: which public state belongs to whom, and the PP of
// Pokémon on the bench, which no request shows.

#include <string.h>

#include "state.h"

// Public PP costs of a move of an own Pokémon, including those while it was taken for a namesake.
static int spent_on(const Tracker *tracker, int seat, const OwnPokemon *own, int move) {
  const TrackedPokemon *team = tracker->sides[seat].team;
  int spent = own->known < 0 ? 0 : spent_on_move(&team[own->known].moves, move);
  return own->illusion < 0 ? spent : spent + spent_on_move(&team[own->illusion].moves, move);
}

int tracker_own_pp(const Tracker *tracker, int seat, const OwnPokemon *own, int place) {
  if (place >= own->move_count) return 0;
  if (!own->on_field) return own->left[place];
  int left = own->left[place] - (spent_on(tracker, seat, own, own->moves[place]) - own->spent_before[place]);
  return left > 0 ? left : 0;
}

static void set_team(SeatMemory *memory, const SeatRequest *request) {
  memory->members = request->members;
  for (int place = 0; place < request->members; place++) {
    const SeatMember *entry = &request->team[place];
    OwnPokemon *own = &memory->team[place];
    memset(own, 0, sizeof *own);
    own->name = entry->name;
    own->species = entry->species;
    own->level = entry->level;
    own->gender = entry->gender;
    own->known = own->illusion = -1;
    for (int other = 0; other < place; other++) memory->has_namesakes |= memory->team[other].name == own->name;
  }
}

static bool has_moves_of(const OwnPokemon *own, const SeatMember *entry) {
  return own->move_count <= entry->move_count && !memcmp(own->moves, entry->moves, own->move_count);
}

// The place of the own Pokémon that an entry of a request shows, among those that it has not shown yet.
static int find_own(const SeatMemory *memory, const SeatMember *entry, uint32_t found) {
  if (!memory->has_namesakes) return entry->name;
  int first = -1;
  for (int place = 0; place < memory->members; place++) {
    const OwnPokemon *own = &memory->team[place];
    if (own->name != entry->name || found >> place & 1) continue;
    if (has_moves_of(own, entry)) return place;
    if (first < 0) first = place;
  }
  return first < 0 ? 0 : first;
}

// Find the public state of each own Pokémon.
static void match_public(SeatMemory *memory, const TrackedSide *side) {
  uint32_t taken = 0;
  memory->identities = side->identities;
  for (int member = 0; member < memory->members; member++) {
    OwnPokemon *own = &memory->team[member];
    own->known = -1;
    for (int place = 0; place < side->members && own->known < 0; place++) {
      const TrackedPokemon *pokemon = &side->team[place];
      bool fits = is_same_kind(pokemon, own->species, own->level, own->gender) && pokemon->name == own->name;
      if (!fits || taken >> place & 1) continue;
      own->known = (int8_t)place;
      taken |= UINT32_C(1) << place;
    }
  }
}

static void learn_moves(OwnPokemon *own, const SeatMember *entry) {
  own->move_count = entry->move_count;
  memcpy(own->moves, entry->moves, sizeof own->moves);
  for (int place = 0; place < own->move_count; place++) {
    own->left[place] = tracker_moves[own->moves[place]].max_pp;
    own->spent_before[place] = 0;
  }
}

static void remember_spent(const Tracker *tracker, int seat, OwnPokemon *own) {
  for (int place = 0; place < own->move_count; place++) {
    own->spent_before[place] = (int16_t)spent_on(tracker, seat, own, own->moves[place]);
  }
}

static void leave_field(const Tracker *tracker, int seat, OwnPokemon *own) {
  for (int place = 0; place < own->move_count; place++) {
    own->left[place] = (uint8_t)tracker_own_pp(tracker, seat, own, place);
  }
  own->illusion = -1;
  own->on_field = 0;
  remember_spent(tracker, seat, own);
}

static void update_on_field(const Tracker *tracker, int seat, OwnPokemon *own, const SeatRequest *request) {
  const TrackedSlot *slot = &tracker->sides[seat].slot;
  bool plain = slot->transform_model < 0 && !slot->mimic_move;
  bool exact = plain && request->has_pp && request->offered_count == own->move_count;
  int8_t illusion = slot->pokemon == own->known ? -1 : slot->pokemon;
  if (exact) memcpy(own->left, request->pp, own->move_count);
  if (exact || illusion >= 0 || !own->on_field) own->illusion = illusion;
  own->seen = own->on_field = 1;
  if (exact) remember_spent(tracker, seat, own);
}

void tracker_update_memory(Tracker *tracker, const SeatRequest *request, int seat, uint8_t order[SEAT_TEAM]) {
  SeatMemory *memory = &tracker->memories[seat];
  const TrackedSide *side = &tracker->sides[seat];
  bool first = !memory->members;
  if (first) set_team(memory, request);
  uint32_t found = 0;
  for (int place = 0; place < request->members; place++) {
    order[place] = (uint8_t)find_own(memory, &request->team[place], found);
    found |= UINT32_C(1) << order[place];
  }
  if (first || memory->identities != side->identities) match_public(memory, side);
  for (int place = 0; place < request->members; place++) {
    OwnPokemon *own = &memory->team[order[place]];
    const SeatMember *entry = &request->team[place];
    bool on_field = entry->active && !place && side->slot.pokemon >= 0;
    if (!own->move_count && !(on_field && side->slot.transform_model >= 0)) learn_moves(own, entry);
    if (entry->hp) own->max_hp = entry->max_hp;
    if (on_field) update_on_field(tracker, seat, own, request);
    else if (own->on_field) leave_field(tracker, seat, own);
  }
}

// Stats of a Pokémon: from its sheet, as boosts change them on the field, and the types and moves that go with them.

#include <math.h>
#include <string.h>

#include "engine.h"

static const double RAISED[] = {1, 1.5, 2, 2.5, 3, 3.5, 4};
static const int LOWERED[] = {100, 66, 50, 40, 33, 28, 25};

int health_value(int base, int iv, int ev, int level) {
  return (2 * base + iv + ev / 4 + 100) * level / 100 + 10;
}

int stat_value(int base, int iv, int ev, int level, int stat, int plus, int minus) {
  int value = (2 * base + iv + ev / 4) * level / 100 + 5;
  if (plus == stat + 1) return value * 110 / 100;
  if (minus == stat + 1) return value * 90 / 100;
  return value;
}

int pp_of(int move, int has_ups) {
  int pp = nemesis_moves[move].pp;
  if (!has_ups || move == MOVE_STRUGGLE) return pp;
  return pp * 8 / 5 - (pp == 40 ? 3 : 0);
}

int has_type(const Active *active, int type) {
  return active->types[0] == type || active->types[1] == type;
}

// Change a stat until it is computed again.
void modify_stat(Active *active, int stat, double factor) {
  active->modified[stat] = (int16_t)at_least_one((int)floor(active->modified[stat] * factor));
}

void set_species(Active *active, const Pokemon *pokemon, int species, const int16_t stats[STAT_COUNT]) {
  active->species = (uint8_t)species;
  memcpy(active->types, nemesis_species[species].types, sizeof active->types);
  memcpy(active->stored, stats, sizeof active->stored);
  memcpy(active->modified, stats, sizeof active->modified);
  if (pokemon->status == STATUS_PARALYSIS) modify_stat(active, STAT_SPEED, 0.25);
  if (pokemon->status == STATUS_BURN) modify_stat(active, STAT_ATTACK, 0.5);
  active->speed = active->stored[STAT_SPEED];
}

// Forget what happened on the field, as on leaving it.
void clear_active(Battle *b, int seat) {
  Active *active = active_of(b, seat);
  const Pokemon *pokemon = pokemon_of(b, seat);
  Active fresh;
  memset(&fresh, 0, sizeof fresh);
  fresh.member = active->member;
  fresh.present = active->present;
  fresh.move_count = pokemon->move_count;
  for (int slot = 0; slot < pokemon->move_count; slot++) {
    fresh.moves[slot] = pokemon->moves[slot];
    fresh.pp[slot] = pokemon->pp[slot];
    fresh.max_pp[slot] = (uint8_t)pp_of(pokemon->moves[slot], 1);
  }
  set_species(&fresh, pokemon, pokemon->species, pokemon->stats);
  *active = fresh;
}

void clear_boosts(Active *active) {
  memset(active->boosts, 0, sizeof active->boosts);
  memcpy(active->modified, active->stored, sizeof active->modified);
}

// Returns 1 if the stat changed, 0 if not, and SILENT if the boost was taken back as the stat is at its limit.
static int boost_by(Active *active, int stat, int delta) {
  int8_t *stage = &active->boosts[stat];
  if ((delta > 0 && *stage >= 6) || (delta < 0 && *stage <= -6)) return 0;
  *stage = (int8_t)clamp(*stage + delta, -6, 6);
  if (stat >= STAT_COUNT) return 1;
  if (delta > 0 && active->modified[stat] == 999) {
    --*stage;
    return SILENT;
  }
  if (delta < 0 && active->modified[stat] == 1) {
    ++*stage;
    return SILENT;
  }
  active->modified[stat] = active->stored[stat];
  modify_stat(active, stat, *stage >= 0 ? RAISED[*stage] : LOWERED[-*stage] / 100.0);
  if (delta > 0 && active->modified[stat] > 999) active->modified[stat] = 999;
  return 1;
}

static void log_boost(Battle *b, int kind, int seat, int stat, int number) {
  Line *line = log_line(b, kind, seat);
  line->stat = (uint8_t)stat;
  line->number = (uint16_t)number;
}

// Whether any stat changed. `move` is null for an effect that is no move.
int boost(Battle *b, int target, const int8_t boosts[BOOST_COUNT], int source, const MoveData *move) {
  if (!hp_of(b, target)) return 0;
  int mist = has(b, target, V_MIST) && target != source && !(move && move->category != CATEGORY_STATUS);
  int success = 0;
  for (int stat = 0; stat < BOOST_COUNT; stat++) {
    int delta = boosts[stat];
    if (!delta || (mist && delta < 0)) continue;
    int changed = boost_by(active_of(b, target), stat, delta);
    int number = delta < 0 ? -delta : delta;
    if (changed) log_boost(b, delta < 0 ? LINE_UNBOOST : LINE_BOOST, target, stat, number);
    if (changed == SILENT) log_boost(b, delta < 0 ? LINE_BOOST : LINE_UNBOOST, target, stat, 1);
    if (changed == 1) success = 1;
  }
  return success;
}

// Rage builds.
int boost_attack(Battle *b, int target) {
  static const int8_t RAGE[BOOST_COUNT] = {[STAT_ATTACK] = 1};
  return boost(b, target, RAGE, target, 0);
}

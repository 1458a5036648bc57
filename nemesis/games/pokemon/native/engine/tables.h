// What the engine reads of Showdown's Gen 1 dex. The arrays are generated from the dex; nothing here is written in play.

#ifndef NEMESIS_ENGINE_TABLES_H
#define NEMESIS_ENGINE_TABLES_H

#include <stdint.h>

enum { TYPE_NONE, // no type, Showdown's "???"
       TYPE_NORMAL, TYPE_FIGHTING, TYPE_FLYING, TYPE_POISON, TYPE_GROUND, TYPE_ROCK, TYPE_BUG, TYPE_GHOST, TYPE_FIRE,
       TYPE_WATER, TYPE_GRASS, TYPE_ELECTRIC, TYPE_PSYCHIC, TYPE_ICE, TYPE_DRAGON, TYPE_COUNT };

enum { STATUS_NONE, STATUS_BURN, STATUS_PARALYSIS, STATUS_SLEEP, STATUS_FREEZE, STATUS_POISON, STATUS_TOXIC,
       STATUS_FAINTED, STATUS_COUNT };

// The order of Showdown's boosts object, which is the order of lines. The first five are also stats.
enum { STAT_ATTACK, STAT_DEFENSE, STAT_SPECIAL_ATTACK, STAT_SPECIAL_DEFENSE, STAT_SPEED, STAT_COUNT,
       BOOST_ACCURACY = STAT_COUNT, BOOST_EVASION, BOOST_COUNT };

// Showdown's volatile conditions. V_NONE is no condition.
enum { V_NONE, V_BIDE, V_CONFUSION, V_DEFENSE_CURL, V_DISABLE, V_FAKE_TRAPPED, V_FLINCH, V_FOCUS_ENERGY,
       V_INVULNERABLE, V_LEECH_SEED, V_LIGHT_SCREEN, V_LOCKED_MOVE, V_MINIMIZE, V_MIST, V_MUST_RECHARGE, V_TRAP_LOCK,
       V_TRAPPED, V_RAGE, V_REFLECT, V_TOXIC_COUNTER, V_SUBSTITUTE, V_TWO_TURN, V_COUNT };

enum { CATEGORY_PHYSICAL, CATEGORY_SPECIAL, CATEGORY_STATUS };

enum { MOVE_NONE = 0, MOVE_STRUGGLE = 165, MOVE_COUNT = 166,
       // Not moves, but what Showdown uses in place of one.
       MOVE_NOTHING = MOVE_COUNT, // "nomove": none was selected yet
       MOVE_CANNOT,               // "cannotmove"
       MOVE_FIGHT, MOVE_RECHARGE  // occur in requests only
};

enum { MOVE_IGNORES_IMMUNITY = 1, MOVE_TARGETS_SELF = 2, MOVE_ONE_HIT_KO = 4, MOVE_SELF_DESTRUCT = 8,
       MOVE_CALLABLE = 16, // by Metronome
       MOVE_DAMAGE_IS_LEVEL = 32 };

#define HITS_TWO_TO_FIVE 255

typedef struct {
  uint8_t type, category, power, accuracy /* of 256, 0 is sure */, pp, flags, critical_ratio;
  int8_t priority;
  uint8_t hits;            // 0 once
  uint8_t damage;          // fixed damage
  uint8_t recoil[2], drain[2];
  uint8_t status, condition /* volatile of the target */, own_condition /* volatile of the user */;
  int8_t boosts[BOOST_COUNT];
  // The secondary effect, and its chance of 100.
  uint8_t chance, second_status, second_condition;
  int8_t second_boosts[BOOST_COUNT];
  uint8_t has_boosts, has_second_boosts;
} MoveData;

typedef struct {
  uint8_t hp, stats[STAT_COUNT], types[2]; // a lone type is followed by TYPE_NONE
} SpeciesData;

#define SPECIES_COUNT 152

extern const MoveData nemesis_moves[MOVE_COUNT + 1]; // the last is the move of MOVE_NOTHING
extern const SpeciesData nemesis_species[SPECIES_COUNT];
extern const int8_t nemesis_effectiveness[TYPE_COUNT][TYPE_COUNT]; // attack, defence: 1, 0 or -1
extern const uint8_t nemesis_type_immune[TYPE_COUNT][TYPE_COUNT];  // attack, defence
extern const uint8_t nemesis_status_immune[STATUS_COUNT][TYPE_COUNT];
extern const uint8_t nemesis_callable[];                           // what Metronome draws from, in order
extern const uint8_t nemesis_callable_count;

#endif

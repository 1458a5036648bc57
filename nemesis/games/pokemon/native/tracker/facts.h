// What the tracker knows of the Gen 1 dex, by the numbers of lines. The arrays are in facts.c, which export.py writes.

#ifndef NEMESIS_TRACKER_FACTS_H
#define NEMESIS_TRACKER_FACTS_H

#include <stdint.h>

#include "../lines.h"

enum { SPECIES_FACTS = 152, MOVE_FACTS = 170 };

typedef struct SpeciesFacts {
  uint16_t number;  // of the vocabulary, as are the types
  uint8_t types[2]; // the second is 0 if there is one type
} SpeciesFacts;

// Bits of MoveFacts.flags, in the order of FLAGS in export.py.
enum {
  MOVE_NAMES_TARGET = 1, // its line names the target
  MOVE_IN_MOVESET = 2,   // all but Struggle
  MOVE_LOCKS = 4,        // Thrash, Petal Dance
  MOVE_CHARGES = 8,      // for a turn
  MOVE_BINDS = 16        // Wrap and similar moves
};

typedef struct MoveFacts {
  uint16_t number; // of the vocabulary
  uint8_t max_pp;
  uint8_t flags;
} MoveFacts;

// Places of volatiles in TrackedSlot, in the order of VOLATILES in export.py.
enum Volatile {
  VOLATILE_BIDE,
  VOLATILE_CONFUSION,
  VOLATILE_DEFENSE_CURL,
  VOLATILE_DISABLE,
  VOLATILE_FOCUS_ENERGY,
  VOLATILE_LEECH_SEED,
  VOLATILE_LIGHT_SCREEN,
  VOLATILE_LOCKED_MOVE,
  VOLATILE_MINIMIZE,
  VOLATILE_MIST,
  VOLATILE_MUST_RECHARGE,
  VOLATILE_PARTIALLY_TRAPPED,
  VOLATILE_RAGE,
  VOLATILE_REFLECT,
  VOLATILE_SUBSTITUTE,
  VOLATILE_TRANSFORM,
  VOLATILE_TWO_TURN_MOVE,
  VOLATILE_TYPE_CHANGE,
  VOLATILES
};

typedef struct VolatileFacts {
  int16_t column; // among the columns of volatiles
  uint16_t bit;
  int16_t counter; // among the counters, or -1
} VolatileFacts;

extern const SpeciesFacts tracker_species[SPECIES_FACTS];
extern const MoveFacts tracker_moves[MOVE_FACTS];
extern const uint8_t tracker_types[LINE_TYPES]; // numbers of the vocabulary by LineType
extern const VolatileFacts tracker_volatiles[VOLATILES];

#endif

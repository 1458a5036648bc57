// What the generators of Gen 1 random teams read, in the order of Showdown's data.

#ifndef NEMESIS_ARENA_RANDOM_SETS_H
#define NEMESIS_ARENA_RANDOM_SETS_H

#include <stdint.h>

enum { RANDOM_SETS = 146, CUP_SETS = 151, RANDOM_MOVES = 166, MOST_RANDOM_MOVES = 9, MOST_CUP_MOVES = 64 };
enum { RANDOM_WEAKNESSES = 6 };

// The lists of a set: moves to draw from, of which one is drawn, that are always there, and that come together.
enum { LIST_MOVES, LIST_EXCLUSIVE, LIST_ESSENTIAL, LIST_COMBO, LISTS };

typedef struct {
  uint8_t species, level;
  uint8_t weaknesses; // bits
  uint8_t counts[LISTS];
  uint8_t moves[MOST_RANDOM_MOVES], exclusive[MOST_RANDOM_MOVES], essential[4], combo[4];
} RandomSet;

typedef struct {
  uint8_t species, level, count;
  uint8_t moves[MOST_CUP_MOVES];
} CupSet;

extern const uint8_t nemesis_random_types; // the number of types, of which the generator draws one
extern const RandomSet nemesis_random_sets[RANDOM_SETS];
extern const CupSet nemesis_cup_sets[CUP_SETS];
extern const uint8_t nemesis_attack_stat_moves[RANDOM_MOVES]; // 1 for moves whose damage depends on the attack stat

#endif

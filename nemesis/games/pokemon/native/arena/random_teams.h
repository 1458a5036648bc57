// Teams of random battles, drawn as Showdown's generators draw them from the same seed.

#ifndef NEMESIS_ARENA_RANDOM_TEAMS_H
#define NEMESIS_ARENA_RANDOM_TEAMS_H

#include "../engine/battle.h"

enum { TEAMS_GIVEN, TEAMS_RANDOM_BATTLE, TEAMS_CHALLENGE_CUP };

// What one generator keeps between the teams of a battle.
typedef struct {
  uint8_t kind;      // TEAMS_RANDOM_BATTLE or TEAMS_CHALLENGE_CUP
  uint8_t has_ditto; // a battle has at most one
} TeamGenerator;

// Draw a team; returns the state of the generator of numbers afterwards.
uint64_t random_team(TeamGenerator *generator, uint64_t seed, Team *team);

#endif

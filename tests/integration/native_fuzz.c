// Plays random battles between random and wild teams, with illegal choices and copies, for a build with sanitizers.
//
//   fuzz BATTLES SEED → the number of decisions, and 0 unless something is wrong

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"
#include "arena/random_teams.h"
#include "engine/prng.h"

enum { TURN_LIMIT = 1000, WORST = 40000, ACTIONS = 20 };

// Any Pokémon of any level with any moves, which may be fewer than four or the same.
static void wild_team(uint64_t *seed, Team *team) {
  memset(team, 0, sizeof *team);
  team->size = (uint8_t)prng_between(seed, 1, TEAM_SIZE + 1);
  for (int place = 0; place < team->size; place++) {
    TeamMember *member = &team->members[place];
    member->species = (uint8_t)prng_between(seed, 1, SPECIES_COUNT);
    member->level = (uint8_t)prng_between(seed, 1, 101);
    member->move_count = (uint8_t)prng_between(seed, 1, MOVE_SLOTS + 1);
    for (int slot = 0; slot < member->move_count; slot++)
      member->moves[slot] = (uint8_t)prng_between(seed, 1, MOVE_COUNT);
    for (int stat = 0; stat <= STAT_COUNT; stat++) {
      member->ivs[stat] = (uint8_t)prng_below(seed, 32);
      member->evs[stat] = (uint8_t)prng_below(seed, 256);
    }
    member->nature_plus = (uint8_t)prng_below(seed, STAT_COUNT + 1);
    member->nature_minus = (uint8_t)prng_below(seed, STAT_COUNT + 1);
    member->name = (uint8_t)prng_below(seed, place + 1); // equal names, too
    member->gender = (uint8_t)prng_below(seed, 3);
  }
}

// A legal action, or in one of a hundred cases any.
static int any_action(const Match *match, int seat, uint64_t *seed) {
  uint32_t legal = match->battle.sides[seat].request.legal;
  if (prng_below(seed, 100) == 0 || !legal) return (int)prng_below(seed, 32);
  for (;;) {
    int action = (int)prng_below(seed, ACTIONS);
    if (legal >> action & 1) return action;
  }
}

static long play(const Team teams[2], uint64_t *seed) {
  static Match match, copy;
  static int16_t view[VIEW_SIZE];
  uint8_t mask[MASK_BYTES];
  long decisions = 0;
  match_start(&match, teams, *seed, RULE_SLEEP_CLAUSE | RULE_FREEZE_CLAUSE);
  while (match.reason == REASON_NONE) {
    match_track(&match);
    for (int seat = 0; seat < 2; seat++) {
      if (!match_waits(&match, seat)) continue;
      match_view(&match, seat, match.refusals[seat], view);
      match_mask(&match, seat, mask);
      decisions++;
    }
    match_copy(&copy, &match);
    match = copy;
    int waits[] = {match_waits(&match, 0), match_waits(&match, 1)};
    if (!waits[0] && !waits[1]) return -1;
    for (int seat = 0; seat < 2; seat++)
      if (waits[seat]) match_choose(&match, seat, any_action(&match, seat, seed), TURN_LIMIT);
    if (decisions > WORST) return -1;
  }
  return match.reason == REASON_SIMULATOR_FAILURE ? -1 : decisions;
}

int main(int count, char **arguments) {
  long battles = count > 1 ? atol(arguments[1]) : 1000, decisions = 0;
  uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
  for (long battle = 0; battle < battles; battle++) {
    Team teams[2];
    uint64_t started = seed;
    TeamGenerator generator = {(uint8_t)(battle % 4 == 1 ? TEAMS_CHALLENGE_CUP : TEAMS_RANDOM_BATTLE), 0};
    for (int seat = 0; seat < 2; seat++) {
      if (battle % 2)
        random_team(&generator, seed, &teams[seat]);
      else
        wild_team(&seed, &teams[seat]);
      prng_next(&seed);
    }
    long played = play(teams, &seed);
    if (played < 0) {
      printf("battle %ld, seed %llu: it cannot go on\n", battle, (unsigned long long)started);
      return 1;
    }
    decisions += played;
  }
  printf("%ld decisions\n", decisions);
  return 0;
}

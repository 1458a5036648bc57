// Port of Showdown's data/random-battles/gen1/teams.js, draw by draw.

#include "random_teams.h"

#include <string.h>

#include "../engine/prng.h"
#include "random_sets.h"

enum { MOST_OF_A_KIND = 2, MOST_AT_MAX_LEVEL = 1, MAX_LEVEL = 100, NUM_DITTO = 132 };
enum { NUM_MIMIC = 102, NUM_TRANSFORM = 144, NUM_SUBSTITUTE = 164 };
enum { FULL_EV = 255, FULL_IV = 30, NO_ATTACK_IV = 2, HP = 0, ATTACK = 1 };

// What limits the choice of the next member.
typedef struct {
  uint8_t types[TYPE_COUNT], weaknesses[RANDOM_WEAKNESSES], at_max_level;
} Counts;

typedef struct {
  uint8_t count, items[CUP_SETS];
} Pool;

// Remove a random item; the last one takes its place.
static uint8_t draw(Pool *pool, uint64_t *seed) {
  uint32_t place = prng_below(seed, pool->count);
  uint8_t item = pool->items[place];
  pool->items[place] = pool->items[--pool->count];
  return item;
}

static void add_move(TeamMember *member, uint8_t move) {
  for (int slot = 0; slot < member->move_count; slot++)
    if (member->moves[slot] == move) return;
  member->moves[member->move_count++] = move;
}

static int has_move(const TeamMember *member, uint8_t move) {
  return memchr(member->moves, move, member->move_count) != NULL;
}

static void choose_moves(const RandomSet *set, TeamMember *member, uint64_t *seed) {
  if (set->counts[LIST_COMBO] && prng_below(seed, 2) < 1)
    for (int place = 0; place < set->counts[LIST_COMBO]; place++) add_move(member, set->combo[place]);
  if (member->move_count < MOVE_SLOTS && set->counts[LIST_EXCLUSIVE])
    add_move(member, set->exclusive[prng_below(seed, set->counts[LIST_EXCLUSIVE])]);
  for (int place = 0; place < set->counts[LIST_ESSENTIAL] && member->move_count < MOVE_SLOTS; place++)
    add_move(member, set->essential[place]);
  Pool pool = {.count = set->counts[LIST_MOVES]};
  memcpy(pool.items, set->moves, pool.count);
  while (member->move_count < MOVE_SLOTS && pool.count) add_move(member, draw(&pool, seed));
}

// Four uses of Substitute must not take all HP.
static void lower_hp_for_substitute(TeamMember *member) {
  int base = nemesis_species[member->species].hp;
  while (member->evs[HP] > 3) {
    int hp = (2 * base + member->ivs[HP] + member->evs[HP] / 4 + 100) * member->level / 100 + 10;
    if (hp % 4 != 0) break;
    member->evs[HP] -= 4;
  }
}

static void random_set(const RandomSet *set, TeamMember *member, uint64_t *seed) {
  memset(member, 0, sizeof *member);
  member->species = set->species;
  member->level = set->level;
  memset(member->evs, FULL_EV, sizeof member->evs);
  memset(member->ivs, FULL_IV, sizeof member->ivs);
  choose_moves(set, member, seed);
  if (has_move(member, NUM_SUBSTITUTE)) lower_hp_for_substitute(member);
  int attacks = has_move(member, NUM_MIMIC) || has_move(member, NUM_TRANSFORM);
  for (int slot = 0; slot < member->move_count; slot++) attacks |= nemesis_attack_stat_moves[member->moves[slot]];
  if (!attacks) {
    member->evs[ATTACK] = 0;
    member->ivs[ATTACK] = NO_ATTACK_IV;
  }
  for (uint32_t slot = 0; slot + 1 < member->move_count; slot++) {
    uint32_t other = prng_between(seed, slot, member->move_count);
    uint8_t move = member->moves[slot];
    member->moves[slot] = member->moves[other];
    member->moves[other] = move;
  }
}

// Whether a species may join a team with these counts.
static int fits(const RandomSet *set, const Counts *counts) {
  const uint8_t *types = nemesis_species[set->species].types;
  for (int place = 0; place < 2; place++)
    if (types[place] != TYPE_NONE && counts->types[types[place]] >= MOST_OF_A_KIND) return 0;
  for (int type = 0; type < RANDOM_WEAKNESSES; type++)
    if (set->weaknesses >> type & 1 && counts->weaknesses[type] >= MOST_OF_A_KIND) return 0;
  return set->level != MAX_LEVEL || counts->at_max_level < MOST_AT_MAX_LEVEL;
}

static void count(const RandomSet *set, Counts *counts) {
  const uint8_t *types = nemesis_species[set->species].types;
  for (int place = 0; place < 2; place++) counts->types[types[place]]++;
  for (int type = 0; type < RANDOM_WEAKNESSES; type++) counts->weaknesses[type] += set->weaknesses >> type & 1;
  counts->at_max_level += set->level == MAX_LEVEL;
}

static void random_battle_team(TeamGenerator *generator, uint64_t *seed, Team *team) {
  Pool pool = {.count = RANDOM_SETS}, rejected = {.count = 0};
  Counts counts = {{0}, {0}, 0};
  for (int place = 0; place < RANDOM_SETS; place++) pool.items[place] = (uint8_t)place;
  prng_below(seed, nemesis_random_types); // the type of a monotype team, drawn for any
  while (pool.count && team->size < TEAM_SIZE) {
    uint8_t drawn = draw(&pool, seed);
    const RandomSet *set = &nemesis_random_sets[drawn];
    if (set->species == NUM_DITTO && generator->has_ditto) continue;
    if (!fits(set, &counts)) {
      rejected.items[rejected.count++] = drawn;
      continue;
    }
    random_set(set, &team->members[team->size++], seed);
    count(set, &counts);
    if (set->species == NUM_DITTO) generator->has_ditto = 1;
  }
  while (team->size < TEAM_SIZE && rejected.count)
    random_set(&nemesis_random_sets[draw(&rejected, seed)], &team->members[team->size++], seed);
}

static void cup_member(const CupSet *set, TeamMember *member, uint64_t *seed) {
  enum { DVS = 16 };
  uint8_t attack = (uint8_t)prng_below(seed, DVS), defense = (uint8_t)prng_below(seed, DVS);
  uint8_t special = (uint8_t)prng_below(seed, DVS), speed = (uint8_t)prng_below(seed, DVS);
  uint8_t hp = (uint8_t)(attack % 2 * 16 + defense % 2 * 8 + speed % 2 * 4 + special % 2 * 2);
  uint8_t ivs[] = {hp, 2 * attack, 2 * defense, 2 * special, 2 * special, 2 * speed};
  memset(member, 0, sizeof *member);
  member->species = set->species;
  member->level = set->level;
  memset(member->evs, FULL_EV, sizeof member->evs);
  memcpy(member->ivs, ivs, sizeof ivs);
  Pool pool = {.count = set->count};
  memcpy(pool.items, set->moves, set->count);
  while (member->move_count < MOVE_SLOTS && pool.count) member->moves[member->move_count++] = draw(&pool, seed);
}

static void challenge_cup_team(uint64_t *seed, Team *team) {
  Pool pool = {.count = CUP_SETS};
  uint8_t drawn[TEAM_SIZE];
  for (int place = 0; place < CUP_SETS; place++) pool.items[place] = (uint8_t)place;
  for (int place = 0; place < TEAM_SIZE; place++) drawn[place] = draw(&pool, seed);
  for (int place = 0; place < TEAM_SIZE; place++) prng_below(seed, 1); // one of the formes, of which there is one
  for (; team->size < TEAM_SIZE; team->size++)
    cup_member(&nemesis_cup_sets[drawn[team->size]], &team->members[team->size], seed);
}

uint64_t random_team(TeamGenerator *generator, uint64_t seed, Team *team) {
  memset(team, 0, sizeof *team);
  if (generator->kind == TEAMS_CHALLENGE_CUP)
    challenge_cup_team(&seed, team);
  else
    random_battle_team(generator, &seed, team);
  for (uint8_t place = 0; place < team->size; place++) team->members[place].name = place;
  return seed;
}

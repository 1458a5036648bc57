// One Gen 1 battle, played exactly as pokemon-showdown 0.11.11 plays it: the same choices and the same generator give
// the same state. The struct has no pointers, so memcpy clones a battle.
//
//   battle_start → while !ended: for each seat with a request, battle_choose → the lines of the step are in `log`
//
// Whoever reads the lines empties the log (log.count = 0) before the next choice.

#ifndef NEMESIS_ENGINE_BATTLE_H
#define NEMESIS_ENGINE_BATTLE_H

#include <stdint.h>

#include "../lines.h"
#include "tables.h"

#define TEAM_SIZE 6
#define MOVE_SLOTS 4

// Clauses that change play. A format with other rules is not for this engine.
enum { RULE_SLEEP_CLAUSE = 1, RULE_FREEZE_CLAUSE = 2 };

// A member of a team sheet.
typedef struct {
  uint8_t species, level;
  uint8_t move_count, moves[MOVE_SLOTS];
  uint8_t ivs[1 + STAT_COUNT], evs[1 + STAT_COUNT]; // hp, attack, defense, special attack, special defense, speed
  uint8_t nature_plus, nature_minus;                // 1 + STAT_…, or 0
  uint8_t name, gender; // as LINE_SWITCH shows them; gender 0 is none
} TeamMember;

typedef struct {
  uint8_t size;
  TeamMember members[TEAM_SIZE];
} Team;

// A member of a side. What is reset when it leaves the field is in Active.
typedef struct {
  uint8_t species, level;
  uint8_t move_count, moves[MOVE_SLOTS], pp[MOVE_SLOTS]; // its own, whatever it copied
  uint8_t status, sleep_from_foe;
  int8_t sleep_turns;
  uint8_t fainted;         // Showdown's flag, which follows the line; hp is 0 before it
  uint8_t faint_queued;
  uint8_t substitute_broke; // "subFainted"
  uint8_t speed_iv, speed_ev, nature_plus, nature_minus;
  uint8_t name, gender;
  int16_t hp, max_hp;
  int16_t stats[STAT_COUNT]; // as the sheet has them; what a request shows
} Pokemon;

// The Pokémon on the field: its stats, types and moves as changed there, and its volatile conditions.
typedef struct {
  uint8_t member;    // index in the team
  uint8_t present;   // "isActive"
  uint8_t species, types[2];
  uint8_t transformed;
  uint8_t move_count, moves[MOVE_SLOTS], pp[MOVE_SLOTS], max_pp[MOVE_SLOTS];
  uint8_t disabled;  // bits of slots, as of the last request
  uint8_t maybe_locked, trapped;
  uint8_t last_move;
  int8_t boosts[BOOST_COUNT];
  int16_t stored[STAT_COUNT], modified[STAT_COUNT];
  int16_t speed;     // as of Showdown's last update, for ties
  // Volatile conditions in the order in which they began, as that decides which comes first.
  uint8_t volatile_count, volatiles[V_COUNT];
  uint32_t volatile_bits;
  uint8_t bide_turns, confusion_turns, disable_move, disable_slot, disable_turns;
  uint8_t thrash_move, thrash_turns, thrash_accuracy, rage_accuracy, two_turn_move;
  uint8_t flinch_duration;
  uint8_t lock_move, lock_duration, lock_total, lock_target;       // partial trapping, by this Pokémon
  uint8_t trapped_by, trapped_duration, trapped_maybe_locked;      // partial trapping, of this Pokémon
  uint8_t fake_counterpart, fake_duration;
  int16_t substitute_hp;
  uint16_t toxic_counter;
  int32_t bide_damage, lock_damage;
} Active;

enum { REQUEST_NONE, REQUEST_TURN, REQUEST_SWITCH };

typedef struct {
  uint8_t id; // a move, or MOVE_STRUGGLE, MOVE_FIGHT or MOVE_RECHARGE
  uint8_t has_pp, pp, max_pp, disabled;
} RequestMove;

// What a seat is asked. The team that the request shows is read from the side: order, hp, status, stats, moves.
typedef struct {
  uint8_t kind;
  uint8_t answered;
  uint8_t trapped, maybe_locked; // as the request says
  uint8_t move_count;
  RequestMove moves[MOVE_SLOTS];
  uint32_t legal; // bits of actions: 0–3 moves of the request, 8–13 switch to place 1–6
} Request;

typedef struct {
  uint8_t kind, seat;
  uint8_t target; // of a switch: a member
  uint8_t move;
  uint16_t order;
  int8_t priority;
  int16_t speed;
} Action;

typedef struct {
  uint8_t size, left;
  uint8_t order[TEAM_SIZE];  // members by place, the active one first
  uint8_t last_selected_move, last_selected_slot, last_enemy_selected_move;
  uint8_t last_move, last_enemy_move;
  uint8_t fainted_this_turn, switch_flag;
  Pokemon team[TEAM_SIZE];
  Active active;
  Request request;
  uint8_t chosen, chosen_move, chosen_slot; // of CHOICE_…; a slot of the active Pokémon, or a place to switch to
} Side;

#define QUEUE_SIZE 8 // a turn has at most five: its start, two choices, an entry, its end

typedef struct {
  uint64_t seed; // of Showdown's gen5 generator
  int32_t last_damage;
  uint16_t turn;
  uint8_t rules;
  uint8_t started_turn; // "midTurn"
  uint8_t ended;
  int8_t winner;        // seat, or -1
  uint8_t failed;       // Showdown would have thrown an error; the match is void
  uint8_t depth;        // of moves that call others
  uint8_t queue_length, faint_count, faints[4];
  int16_t move_line;    // place in the log of the last `move` line, whose tags are added later, or -1
  Action queue[QUEUE_SIZE];
  Side sides[2];
  Log log; // the lines of the last step; comes last, as a clone need not copy it
} Battle;

// Start a battle and make the first requests. The seed is Showdown's "gen5,<16 hex digits>", read as one number.
void battle_start(Battle *battle, const Team teams[2], uint64_t seed, int rules);

// Answer the request of a seat. The battle continues once all requests are answered. Returns 0 if the choice is refused,
// as it is if its bit is not set in `legal` or the seat has nothing to answer.
int battle_choose(Battle *battle, int seat, int action);

#endif

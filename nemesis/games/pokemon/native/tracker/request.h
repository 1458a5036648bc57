// What a seat's own request shows, beside the lines: the seat's whole team, and what its active Pokémon may do.
//
// Numbers and enumerations are those of lines.h. The fields hold what Showdown's request holds at that decision.

#ifndef NEMESIS_TRACKER_REQUEST_H
#define NEMESIS_TRACKER_REQUEST_H

#include <stdint.h>

enum { SEAT_TEAM = 6, SEAT_MOVES = 4, SEAT_STATS = 5 };

// In the order of the view's PHASES.
enum SeatRequestKind { SEAT_REQUEST_NONE, SEAT_REQUEST_PREVIEW, SEAT_REQUEST_TURN, SEAT_REQUEST_FORCED_SWITCH };

// Offered moves that no dex has, with the numbers that they have in the engine.
enum { SEAT_MOVE_FIGHT = 168, SEAT_MOVE_RECHARGE = 169 };

typedef struct SeatMember {
  uint8_t name; // as in lines
  uint8_t species;
  uint8_t level;
  uint8_t gender;
  uint8_t status;
  uint8_t active; // the entry's `active`, which stays set when it faints
  uint8_t move_count;
  uint8_t moves[SEAT_MOVES]; // the current ones: Transform and Mimic change them
  uint8_t unused;
  uint16_t hp; // exact
  uint16_t max_hp; // not read if hp is 0, as a request does not show it then
  int16_t stats[SEAT_STATS]; // atk, def, spa, spd, spe, without changes in battle
} SeatMember;

typedef struct SeatRequest {
  uint8_t kind;
  uint8_t members;
  uint8_t trapped;       // `active.trapped`
  uint8_t offered_count; // number of `active.moves`; 0 without `active`
  uint8_t has_pp;        // whether the first of them shows PP; not if locked, recharging, or left with Struggle
  uint8_t offered[SEAT_MOVES];
  uint8_t pp[SEAT_MOVES];
  uint8_t max_pp[SEAT_MOVES];
  uint8_t disabled[SEAT_MOVES];
  uint8_t unused[3];
  SeatMember team[SEAT_TEAM]; // in the order of the request
} SeatRequest;

#endif

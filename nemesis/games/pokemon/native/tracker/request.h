/*
 * What a seat's own request shows, beside the lines: the seat's whole team, and what its active Pokémon may do.
 *
 * Numbers and enumerations are those of lines.h. The fields hold what Showdown's request JSON holds at that decision.
 */
#ifndef NEMESIS_TRACKER_REQUEST_H
#define NEMESIS_TRACKER_REQUEST_H

#include <stdint.h>

enum { REQUEST_TEAM = 6, REQUEST_MOVES = 4 };

/* In the order of the view's PHASES. */
enum RequestKind { REQUEST_NONE, REQUEST_PREVIEW, REQUEST_TURN, REQUEST_FORCED_SWITCH };

/* Moves of `active.moves` that are no moves of the dex. */
enum { REQUEST_FIGHT = 254, REQUEST_RECHARGE = 255 };

typedef struct RequestMember {
    uint8_t name; /* as in lines */
    uint8_t species;
    uint8_t level;
    uint8_t gender;
    uint8_t status;
    uint8_t active; /* the entry's `active`: the place is below the number of active slots, also once fainted */
    uint8_t move_count;
    uint8_t moves[REQUEST_MOVES]; /* the current ones: a Transform or Mimic changes them */
    uint8_t unused;
    uint16_t hp; /* exact */
    uint16_t max_hp;
    uint16_t stats[5]; /* atk, def, spa, spd, spe, without changes in battle */
} RequestMember;

typedef struct Request {
    uint8_t kind;
    uint8_t members;
    uint8_t trapped;  /* `active.trapped` */
    uint8_t has_pp;   /* whether `active.moves` have PP, so they are the current moves of the Pokémon */
    uint8_t offered;  /* number of `active.moves`; 0 without `active` */
    uint8_t moves[REQUEST_MOVES]; /* their ids; one, with has_pp 0, if locked, recharging, or Struggle or Fight only */
    uint8_t pp[REQUEST_MOVES];
    uint8_t max_pp[REQUEST_MOVES];
    uint8_t disabled[REQUEST_MOVES];
    uint8_t unused[3];
    RequestMember team[REQUEST_TEAM]; /* in the order of the request */
} Request;

#endif

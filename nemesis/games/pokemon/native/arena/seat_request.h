// The request of a seat as the view writer reads it, made from the state of a battle.

#ifndef NEMESIS_ARENA_SEAT_REQUEST_H
#define NEMESIS_ARENA_SEAT_REQUEST_H

#include "../engine/battle.h"
#include "../tracker/request.h"

void fill_seat_request(const Battle *battle, int seat, SeatRequest *request);

#endif

// What a seat is shown of its own team and of its moves, from the state of the battle.

#include "seat_request.h"

#include <string.h>

static void fill_member(const Side *side, int place, SeatMember *shown) {
  const Active *active = &side->active;
  uint8_t member = side->order[place];
  const Pokemon *pokemon = &side->team[member];
  int on_field = place == 0 && active->present && active->member == member;
  shown->name = pokemon->name;
  shown->species = pokemon->species;
  shown->level = pokemon->level;
  shown->gender = pokemon->gender ? pokemon->gender : LINE_GENDERLESS;
  shown->status = pokemon->status == STATUS_FAINTED ? STATUS_NONE : pokemon->status;
  shown->active = place == 0;
  shown->move_count = on_field ? active->move_count : pokemon->move_count;
  memcpy(shown->moves, on_field ? active->moves : pokemon->moves, MOVE_SLOTS);
  shown->hp = (uint16_t)pokemon->hp;
  shown->max_hp = (uint16_t)pokemon->max_hp;
  for (int stat = 0; stat < STAT_COUNT; stat++) shown->stats[stat] = (uint16_t)pokemon->stats[stat];
}

void fill_seat_request(const Battle *battle, int seat, SeatRequest *request) {
  const Side *side = &battle->sides[seat];
  const Request *asked = &side->request;
  memset(request, 0, sizeof *request);
  request->kind = asked->kind == REQUEST_TURN ? SEAT_REQUEST_TURN : SEAT_REQUEST_FORCED_SWITCH;
  request->members = side->size;
  request->trapped = asked->trapped;
  if (asked->kind == REQUEST_TURN) {
    request->offered_count = asked->move_count;
    request->has_pp = asked->move_count && asked->moves[0].has_pp;
    for (int slot = 0; slot < asked->move_count; slot++) {
      request->offered[slot] = asked->moves[slot].id;
      request->pp[slot] = asked->moves[slot].pp;
      request->max_pp[slot] = asked->moves[slot].max_pp;
      request->disabled[slot] = asked->moves[slot].disabled;
    }
  }
  for (int place = 0; place < side->size; place++) fill_member(side, place, &request->team[place]);
}

// A battle's whole state as text, and the engine's functions, for the proof that it plays as Showdown does.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef struct {
  char *text;
  int size, used;
} Writer;

static void put(Writer *writer, const char *format, ...) {
  va_list arguments;
  int room = writer->size - writer->used;
  va_start(arguments, format);
  int needed = vsnprintf(writer->text + writer->used, (size_t)room, format, arguments);
  va_end(arguments);
  writer->used += needed < room ? needed : room - 1;
}

static void put_bytes(Writer *writer, const uint8_t *values, int count) {
  for (int i = 0; i < count; i++) put(writer, i ? ".%d" : "%d", values[i]);
}

static void put_stats(Writer *writer, const int16_t *values) {
  for (int i = 0; i < STAT_COUNT; i++) put(writer, i ? ".%d" : "%d", values[i]);
}

static void put_volatile(Writer *writer, const Active *active, int condition) {
  put(writer, " v%d", condition);
  switch (condition) {
  case V_BIDE: put(writer, ":%d:%d", active->bide_turns, active->bide_damage); break;
  case V_CONFUSION: put(writer, ":%d", active->confusion_turns); break;
  case V_DISABLE: put(writer, ":%d:%d:%d", active->disable_move, active->disable_slot, active->disable_turns); break;
  case V_FAKE_TRAPPED: put(writer, ":%d:%d", active->fake_duration, active->fake_counterpart); break;
  case V_FLINCH: put(writer, ":%d", active->flinch_duration); break;
  case V_LOCKED_MOVE:
    put(writer, ":%d:%d:%d", active->thrash_move, active->thrash_turns, active->thrash_accuracy);
    break;
  case V_TRAP_LOCK:
    put(writer, ":%d:%d:%d:%d:%d", active->lock_move, active->lock_duration, active->lock_total, active->lock_damage,
        active->lock_target);
    break;
  case V_TRAPPED:
    put(writer, ":%d:%d:%d", active->trapped_by, active->trapped_duration, active->trapped_maybe_locked);
    break;
  case V_RAGE: put(writer, ":%d", active->rage_accuracy); break;
  case V_TOXIC_COUNTER: put(writer, ":%d", active->toxic_counter); break;
  case V_SUBSTITUTE: put(writer, ":%d", active->substitute_hp); break;
  case V_TWO_TURN: put(writer, ":%d", active->two_turn_move); break;
  default: break;
  }
}

static void put_active(Writer *writer, const Active *active) {
  put(writer, " a%d.%d s%d.%d.%d t%d m", active->member, active->present, active->species, active->types[0],
      active->types[1], active->transformed);
  put_bytes(writer, active->moves, active->move_count);
  put(writer, " p");
  put_bytes(writer, active->pp, active->move_count);
  put(writer, " b");
  for (int i = 0; i < BOOST_COUNT; i++) put(writer, i ? ".%d" : "%d", active->boosts[i]);
  put(writer, " o");
  put_stats(writer, active->stored);
  put(writer, " d");
  put_stats(writer, active->modified);
  put(writer, " e%d l%d", active->speed, active->last_move);
  for (int i = 0; i < active->volatile_count; i++) put_volatile(writer, active, active->volatiles[i]);
}

static void put_request(Writer *writer, const Request *request) {
  put(writer, " r%d.%d.%d.%x", request->kind, request->trapped, request->maybe_locked, request->legal);
  for (int slot = 0; slot < request->move_count; slot++) {
    const RequestMove *move = &request->moves[slot];
    put(writer, " q%d.%d.%d.%d", move->id, move->pp, move->max_pp, move->disabled);
  }
}

static void put_member(Writer *writer, const Pokemon *pokemon) {
  int asleep = pokemon->status == STATUS_SLEEP;
  put(writer, " h%d.%d.%d.%d.%d.%d.%d m", pokemon->hp, pokemon->max_hp, pokemon->status,
      asleep ? pokemon->sleep_turns : 0, asleep && pokemon->sleep_from_foe, pokemon->fainted,
      pokemon->substitute_broke);
  put_bytes(writer, pokemon->moves, pokemon->move_count);
  put(writer, " p");
  put_bytes(writer, pokemon->pp, pokemon->move_count);
  put(writer, " c");
  put_stats(writer, pokemon->stats);
}

static void put_side(Writer *writer, const Side *side) {
  put(writer, " | n%d x%d.%d.%d y%d.%d w", side->left, side->last_selected_move, side->last_selected_slot,
      side->last_enemy_selected_move, side->last_move, side->last_enemy_move);
  put_bytes(writer, side->order, side->size);
  put_active(writer, &side->active);
  put_request(writer, &side->request);
  for (int member = 0; member < side->size; member++) put_member(writer, &side->team[member]);
}

static void put_line(Writer *writer, const Line *line) {
  put(writer, " %d", line->kind);
  const uint8_t fields[] = {line->seat,   line->target, line->flags,   line->effect, line->move, line->from_move,
                            line->status, line->hp,     line->max_hp,  line->species, line->level, line->gender,
                            line->name,   line->stat,   line->types[0], line->types[1]};
  for (int i = 0; i < (int)sizeof fields; i++) {
    if (fields[i]) put(writer, ",%d=%d", i, fields[i]);
  }
  if (line->number) put(writer, ",n=%d", line->number);
}

EXPORTED int32_t nemesis_battle_size(void) { return (int32_t)sizeof(Battle); }

EXPORTED void nemesis_battle_start(Battle *battle, const Team *teams, uint64_t seed, int32_t rules) {
  battle_start(battle, teams, seed, rules);
}

// Give all moves of both teams, in order, other power points than full ones, and ask again.
EXPORTED void nemesis_battle_set_pp(Battle *battle, const uint8_t *pp) {
  for (int seat = 0; seat < 2; seat++) {
    Side *side = &battle->sides[seat];
    for (int member = 0; member < side->size; member++) {
      Pokemon *pokemon = &side->team[member];
      for (int slot = 0; slot < MOVE_SLOTS && slot < pokemon->move_count; slot++) {
        pokemon->pp[slot] = *pp++;
        if (side->active.member == member) side->active.pp[slot] = pokemon->pp[slot];
      }
    }
  }
  make_requests(battle, REQUEST_TURN);
}

// Empties the log first.
EXPORTED int32_t nemesis_battle_choose(Battle *battle, int32_t seat, int32_t action) {
  battle->log.count = 0;
  return battle_choose(battle, seat, action);
}

// The state of the generator and of the battle, as much of it as Showdown has, too.
EXPORTED int32_t nemesis_battle_describe(const Battle *battle, char *text, int32_t size) {
  Writer writer = {text, size, 0};
  put(&writer, "%016llx turn%d ended%d.%d.%d damage%d", (unsigned long long)battle->seed, battle->turn, battle->ended,
      battle->winner, battle->failed, battle->last_damage);
  for (int seat = 0; seat < 2; seat++) put_side(&writer, &battle->sides[seat]);
  return writer.used;
}

EXPORTED int32_t nemesis_battle_lines(const Battle *battle, char *text, int32_t size) {
  Writer writer = {text, size, 0};
  text[0] = 0;
  for (int i = 0; i < battle->log.count; i++) put_line(&writer, &battle->log.lines[i]);
  return writer.used;
}

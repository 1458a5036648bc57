// Writes the lines of a step into the battle's log.

#include <string.h>

#include "engine.h"

Line *log_line(Battle *b, int kind, int seat) {
  Log *log = &b->log;
  if (log->count >= LOG_SIZE) {
    fail_battle(b);
    log->count = LOG_SIZE - 1;
  }
  Line *line = &log->lines[log->count++];
  memset(line, 0, sizeof *line);
  line->kind = (uint8_t)kind;
  line->seat = (uint8_t)seat;
  return line;
}

void log_effect(Battle *b, int kind, int seat, int effect) {
  log_line(b, kind, seat)->effect = (uint8_t)effect;
}

void log_status(Battle *b, int kind, int seat, int status) {
  log_line(b, kind, seat)->status = (uint8_t)status;
}

void log_number(Battle *b, int kind, int seat, int number) {
  log_line(b, kind, seat)->number = (uint16_t)number;
}

// Per cent, rounded up, but 100 only at full health.
static void show_health(const Pokemon *pokemon, Line *line) {
  if (!pokemon->hp) return;
  int percent = (100 * pokemon->hp + pokemon->max_hp - 1) / pokemon->max_hp;
  if (percent == 100 && pokemon->hp < pokemon->max_hp) percent = 99;
  line->hp = (uint8_t)percent;
  line->max_hp = 100;
  line->status = pokemon->status;
}

void log_health(Battle *b, int kind, int seat, int effect) {
  Line *line = log_line(b, kind, seat);
  line->effect = (uint8_t)effect;
  show_health(pokemon_of(b, seat), line);
}

void log_move(Battle *b, int seat, int move, int target, int from_move) {
  b->move_line = (int16_t)b->log.count;
  Line *line = log_line(b, LINE_MOVE, seat);
  line->move = (uint8_t)move;
  line->target = (uint8_t)(1 + target);
  line->from_move = (uint8_t)from_move;
}

// Showdown adds some tags to the line of a move after it has written others.
void log_tag_move(Battle *b, int flag) {
  if (b->move_line < 0 || b->move_line >= b->log.count) return;
  Line *line = &b->log.lines[b->move_line];
  line->flags |= (uint8_t)flag;
  if (flag & LINE_STILL) line->target = 0;
}

void log_switch(Battle *b, int seat) {
  const Pokemon *pokemon = pokemon_of(b, seat);
  Line *line = log_line(b, LINE_SWITCH, seat);
  line->name = pokemon->name;
  line->species = pokemon->species;
  line->level = pokemon->level;
  line->gender = pokemon->gender;
  show_health(pokemon, line);
}

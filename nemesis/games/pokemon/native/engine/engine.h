// What the engine's files share. A seat stands for its active Pokémon.

#ifndef NEMESIS_ENGINE_ENGINE_H
#define NEMESIS_ENGINE_ENGINE_H

#include "battle.h"
#include "prng.h"

// Results of Showdown's functions that are not numbers. Damage is never negative.
enum { FAILED = -1 /* false */, NOTHING = -2 /* undefined */, SILENT = -3 /* null */ };

enum { CHOICE_NONE, CHOICE_MOVE, CHOICE_LOCKED, CHOICE_FIGHT, CHOICE_STRUGGLE, CHOICE_SWITCH };

enum { ACTION_START, ACTION_MOVE, ACTION_SWITCH, ACTION_REPLACE, ACTION_ENTER, ACTION_BEFORE_TURN, ACTION_RESIDUAL };

// What deals damage. Only a move's damage is what Counter and Bide remember.
enum { CAUSE_MOVE, CAUSE_RECOIL, CAUSE_BURN, CAUSE_POISON, CAUSE_LEECH_SEED };

// A move in use.
typedef struct {
  uint8_t id;
  const MoveData *data;
  uint8_t hit, last_hit; // of a move that hits several times, from 1
  int32_t repeated;      // damage of the first hit, or NOTHING
} UsedMove;

static inline Side *side_of(Battle *b, int seat) { return &b->sides[seat]; }
static inline Active *active_of(Battle *b, int seat) { return &b->sides[seat].active; }
static inline Pokemon *pokemon_of(Battle *b, int seat) { return &b->sides[seat].team[b->sides[seat].active.member]; }
static inline int hp_of(Battle *b, int seat) { return pokemon_of(b, seat)->hp; }
static inline uint32_t below(Battle *b, uint32_t bound) { return prng_below(&b->seed, bound); }
static inline uint32_t between(Battle *b, uint32_t from, uint32_t to) { return prng_between(&b->seed, from, to); }
static inline int chance(Battle *b, uint32_t numerator) { return below(b, 256) < numerator; }
static inline int has(Battle *b, int seat, int condition) { return active_of(b, seat)->volatile_bits >> condition & 1; }
static inline int clamp(int value, int low, int high) { return value < low ? low : value > high ? high : value; }
static inline int at_least_one(int value) { return value < 1 ? 1 : value; }
static inline int is_two_turn(int move) {
  return move == 13 || move == 19 || move == 76 || move == 91 || move == 130 || move == 143;
}

enum { MOVE_DISABLE = 50, MOVE_COUNTER = 68, MOVE_LEECH_SEED = 73, MOVE_FISSURE = 90, MOVE_DIG = 91, MOVE_FLY = 19,
       MOVE_BIDE = 117, MOVE_METRONOME = 118, MOVE_MIRROR_MOVE = 119, MOVE_DREAM_EATER = 138, MOVE_TRANSFORM = 144,
       MOVE_PSYWAVE = 149, MOVE_SUPER_FANG = 162, MOVE_SUBSTITUTE = 164, MOVE_HAZE = 114, MOVE_MIMIC = 102,
       MOVE_RECOVER = 105, MOVE_SOFT_BOILED = 135, MOVE_REST = 156, MOVE_CONVERSION = 160, MOVE_LIGHT_SCREEN = 113,
       MOVE_REFLECT = 115, MOVE_JUMP_KICK = 26, MOVE_HIGH_JUMP_KICK = 136, MOVE_SWIFT = 129 };

// log.c
Line *log_line(Battle *b, int kind, int seat);
void log_effect(Battle *b, int kind, int seat, int effect);
void log_status(Battle *b, int kind, int seat, int status);
void log_health(Battle *b, int kind, int seat, int effect);
void log_number(Battle *b, int kind, int seat, int number);
void log_move(Battle *b, int seat, int move, int target, int from_move);
void log_tag_move(Battle *b, int flag);
void log_switch(Battle *b, int seat);

// order.c
typedef struct {
  uint8_t seat, id;
  int32_t speed; // or another measure of who comes first
} Listener;
int add_listeners(const Active *active, const uint8_t priorities[V_COUNT], Listener *list, int count);
void sort_listeners(Battle *b, Listener *list, int count);
int compare_actions(const Action *one, const Action *other);
void queue_sort(Battle *b);
void queue_push(Battle *b, const Action *action);
void queue_insert(Battle *b, const Action *action);
int queue_shift(Battle *b, Action *action);
void queue_cancel(Battle *b, int seat);
void change_to_move(Battle *b, int seat, int move);
Action move_action(Battle *b, int seat, int move);
void each_event(Battle *b);
void update_speed(Battle *b, int seat);
void update_speeds(Battle *b);

// stats.c
int stat_value(int base, int iv, int ev, int level, int stat, int plus, int minus);
int health_value(int base, int iv, int ev, int level);
void set_species(Active *active, const Pokemon *pokemon, int species, const int16_t stats[STAT_COUNT]);
void modify_stat(Active *active, int stat, double factor);
void clear_boosts(Active *active);
int boost(Battle *b, int target, const int8_t boosts[BOOST_COUNT], int source, const MoveData *move);
int boost_attack(Battle *b, int target);
void clear_active(Battle *b, int seat);
int has_type(const Active *active, int type);
int pp_of(int move, int has_ups);

// conditions.c
int add_volatile(Battle *b, int seat, int condition, int source, int move);
int remove_volatile(Battle *b, int seat, int condition);
void delete_volatile(Active *active, int condition);
int locked_move(Battle *b, int seat);
int semi_locked_move(Battle *b, int seat);
int set_status(Battle *b, int seat, int status, int source, int move);
int cure_status(Battle *b, int seat);

// moves/damage.c
int run_immunity(Battle *b, int target, const MoveData *move);
int32_t move_damage(Battle *b, int source, int target, const UsedMove *used);
int32_t lock_damage(Battle *b, int source, int target);

// health.c
int32_t deal_damage(Battle *b, int target, int32_t damage, int cause, int source, const UsedMove *used);
int32_t direct_damage(Battle *b, int target, int32_t damage, int confusion_or_crash, int effect);
int32_t heal(Battle *b, int target, int32_t amount, int effect);
void apply_recoil(Battle *b, int seat, int32_t damage, const UsedMove *used);
void faint(Battle *b, int seat);
int faint_messages(Battle *b);

// moves/before_move.c
int before_move(Battle *b, int seat, int target, int move);

// moves/after_move.c
void after_move(Battle *b, int seat, int target);
void after_move_self(Battle *b, int seat);
void disable_moves(Battle *b, int seat);
void residual(Battle *b);
void after_switch_in(Battle *b, int seat);

// moves/use.c
void run_move(Battle *b, int seat, int move);
void use_move(Battle *b, int seat, int move, int target, int from_move);

// moves/hit.c
int32_t try_move_hit(Battle *b, int target, int seat, UsedMove *used);
int32_t unleash_bide(Battle *b, int target, int seat);

// moves/effects.c
int try_hit(Battle *b, int target, int move);
int hit_effect(Battle *b, int target, int source, int move);

// moves/substitute.c
int32_t substitute_takes(Battle *b, int target, int source, const UsedMove *used);

// moves/haze.c
void use_haze(Battle *b, int seat);

// switching.c
void switch_in(Battle *b, int seat, int member);
void run_switch(Battle *b, int seat);

// request.c
void make_requests(Battle *b, int kind);

// turn.c
void turn_loop(Battle *b);
void win(Battle *b, int seat);
void fail_battle(Battle *b);

#endif

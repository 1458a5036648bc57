// The lines of a battle's log: the only thing that the engine tells the tracker about what was shown.
//
// A `Line` mirrors one line of Showdown's protocol as a player sees it: of a split line, the public half. The engine
// writes lines in the order of Showdown's log. Fields that a kind does not name below are 0.
//
// Numbers: species and moves are Showdown's `num` (1–151 and 1–165), 0 for none. A name is the place (0–5) in the team
// of the first member with the same nickname, as the team was at the start of the battle, so that equal names have
// equal numbers. Types, statuses, stats and effects are the enumerations below; statuses, types and stats have the
// numbers that they have in the engine.
//
// In Gen 1 every line names Pokémon of the active slots, so a seat (0 or 1) identifies one.

#ifndef NEMESIS_LINES_H
#define NEMESIS_LINES_H

#include <stdint.h>

enum LineKind {
  LINE_NONE,

  LINE_TURN,  // number
  LINE_EMPTY, // the empty line `|` between the actions of a turn and its end, and before the next turn

  LINE_SWITCH, // seat, name, species, level, gender, hp, max_hp, status
  LINE_MOVE,   // seat, move, target, from_move, flags MISSED and STILL
  LINE_CANT,   // seat, effect: the reason; move, if the line has one (Disable)
  LINE_FAINT,  // seat

  LINE_DAMAGE,      // seat, hp, max_hp, status, effect: [from]
  LINE_HEAL,        // the same
  LINE_STATUS,      // seat, status
  LINE_CURE_STATUS, // seat

  LINE_BOOST,            // seat, stat, number: stages as written, not limited
  LINE_UNBOOST,          // the same
  LINE_CLEAR_ALL_BOOSTS, // of both seats

  LINE_START,         // seat, effect, flag SILENT; move for Disable and Mimic; types for a type change
  LINE_END,           // seat, effect
  LINE_PREPARE,       // seat, move
  LINE_MUST_RECHARGE, // seat
  LINE_TRANSFORM,     // seat, target

  // Outcomes of moves.
  LINE_MISS,            // seat
  LINE_FAIL,            // seat
  LINE_NO_TARGET,       // `-notarget`
  LINE_IMMUNE,          // seat
  LINE_CRITICAL,        // seat
  LINE_SUPER_EFFECTIVE, // seat
  LINE_RESISTED,        // seat

  // The tracker reads no others: `upkeep`, `-activate`, `-hitcount`, `-ohko`, `-nothing`, `-fieldactivate` (Pay Day),
  // `-message`, `-hint`, `t:`, `start`, `win` and `tie` change no view. An engine need not write them.
  LINE_KINDS
};

// Reasons of LINE_CANT, causes of LINE_DAMAGE, and effects that start and end.
enum LineEffect {
  EFFECT_NONE,
  EFFECT_OTHER, // any that has no name here: [from] Recoil, brn, drain, Leech Seed; the end of `Toxic counter`
  EFFECT_SLEEP,
  EFFECT_FREEZE,
  EFFECT_PARALYSIS,
  EFFECT_POISON, // `[from] psn`, also of toxic poison
  EFFECT_CONFUSION,
  EFFECT_FLINCH,
  EFFECT_RECHARGE,
  EFFECT_PARTIALLY_TRAPPED, // also at the end with [partiallytrapped], which a Substitute brings about
  EFFECT_DISABLE,
  EFFECT_BIDE,
  EFFECT_FOCUS_ENERGY,
  EFFECT_LEECH_SEED,
  EFFECT_LIGHT_SCREEN,
  EFFECT_MIMIC,
  EFFECT_MIST,
  EFFECT_REFLECT,
  EFFECT_SUBSTITUTE,
  EFFECT_TYPE_CHANGE
};

// In the order of the view's STATUSES.
enum LineStatus {
  LINE_STATUS_NONE,
  LINE_STATUS_BURN,
  LINE_STATUS_PARALYSIS,
  LINE_STATUS_SLEEP,
  LINE_STATUS_FREEZE,
  LINE_STATUS_POISON,
  LINE_STATUS_TOXIC
};

// In the order of the view's BOOSTS. Showdown names Special as both spa and spd, with one line each.
enum LineStat {
  LINE_ATTACK,
  LINE_DEFENSE,
  LINE_SPECIAL_ATTACK,
  LINE_SPECIAL_DEFENSE,
  LINE_SPEED,
  LINE_ACCURACY,
  LINE_EVASION,
  LINE_STATS
};

// In the order of the view's GENDERS. A Gen 1 Pokémon without a gender on its sheet shows none.
enum LineGender { LINE_MALE = 1, LINE_FEMALE = 2, LINE_GENDERLESS = 3 };

enum LineType {
  LINE_TYPE_NONE,
  LINE_NORMAL,
  LINE_FIGHTING,
  LINE_FLYING,
  LINE_POISON,
  LINE_GROUND,
  LINE_ROCK,
  LINE_BUG,
  LINE_GHOST,
  LINE_FIRE,
  LINE_WATER,
  LINE_GRASS,
  LINE_ELECTRIC,
  LINE_PSYCHIC,
  LINE_ICE,
  LINE_DRAGON,
  LINE_TYPES
};

enum LineFlag {
  LINE_MISSED = 1, // [miss], which Showdown adds to the last `move` line later
  LINE_STILL = 2,  // [still], likewise; it also erases the target
  LINE_SILENT = 4  // [silent]
};

typedef struct Line {
  uint8_t kind;
  uint8_t seat;
  uint8_t target; // 1 + seat of the Pokémon named second; 0 if the text is empty or `null`
  uint8_t flags;  // of LineFlag
  uint8_t effect; // of LineEffect
  uint8_t move;
  uint8_t from_move; // of LINE_MOVE: the move in [from]; the same move if it continues (Thrash, Rage, second turn)
  uint8_t status;    // of LineStatus
  uint8_t hp;        // as shown: per cent or 48ths; 0 for `0 fnt`, after which max_hp and status are not read
  uint8_t max_hp;    // 100 or 48
  uint8_t species;
  uint8_t level;
  uint8_t gender; // of LineGender
  uint8_t name;
  uint8_t stat;     // of LineStat
  uint8_t types[2]; // of LineType; the second is 0 if there is one type
  uint8_t unused;
  uint16_t number;
} Line;

#define LOG_SIZE 128

typedef struct Log {
  uint16_t count;
  Line lines[LOG_SIZE];
} Log;

#endif

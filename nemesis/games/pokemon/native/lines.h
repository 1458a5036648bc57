/*
 * The lines of a battle's log: the only thing that the engine tells the tracker about what was shown.
 *
 * A `Line` mirrors one line of Showdown's protocol as a player sees it: of a split line, the public half. The engine
 * writes lines in the order of Showdown's log. Fields that a kind does not name below are 0.
 *
 * Numbers: species and moves are Showdown's `num` (1–151 and 1–165), 0 for none. A name is the place (0–5) in the team
 * of the first member with the same nickname, as the team was at the start of the battle, so that equal names have
 * equal numbers. Types, statuses, stats and effects are the enumerations below.
 *
 * In Gen 1 every line names Pokémon of the active slots, so a seat (0 or 1) identifies one.
 */
#ifndef NEMESIS_LINES_H
#define NEMESIS_LINES_H

#include <stdint.h>

enum LineKind {
    LINE_NONE,

    /* Set-up, in this order. Formats without team preview have LINE_TEAM_SIZE of both seats only. */
    LINE_TEAM_SIZE,    /* seat, number: Pokémon that take part; again after a team preview that picks fewer */
    LINE_CLEAR_POKE,
    LINE_POKE,         /* seat, species, level, gender: a member at team preview */
    LINE_TEAM_PREVIEW, /* number: Pokémon to pick, 0 if the line has none */

    LINE_TURN,  /* number */
    LINE_EMPTY, /* the empty line `|` between the actions of a turn and its end, and before the next turn */

    LINE_SWITCH, /* seat, name, species, level, gender, hp, max_hp, status */
    LINE_MOVE,   /* seat, move, target, from_move, flags MISS and STILL */
    LINE_CANT,   /* seat, effect: the reason; move, if the line has one (Disable) */
    LINE_FAINT,  /* seat */

    LINE_DAMAGE,      /* seat, hp, max_hp, status, effect: [from] */
    LINE_HEAL,        /* the same */
    LINE_STATUS,      /* seat, status */
    LINE_CURE_STATUS, /* seat, status */

    LINE_BOOST,            /* seat, stat, number: stages as written, not limited */
    LINE_UNBOOST,          /* the same */
    LINE_CLEAR_ALL_BOOSTS,

    LINE_START,         /* seat, effect, flag SILENT; move for Disable and Mimic; types for a type change */
    LINE_END,           /* seat, effect, flag PARTIALLY_TRAPPED with move: the trapping move, when Substitute ends it */
    LINE_PREPARE,       /* seat, move */
    LINE_MUST_RECHARGE, /* seat */
    LINE_TRANSFORM,     /* seat, target */

    /* Outcomes of moves. */
    LINE_MISS,            /* seat */
    LINE_FAIL,            /* seat */
    LINE_NO_TARGET,       /* `-notarget` */
    LINE_IMMUNE,          /* seat */
    LINE_CRITICAL,        /* seat */
    LINE_SUPER_EFFECTIVE, /* seat */
    LINE_RESISTED,        /* seat */

    /*
     * The tracker reads no others: `upkeep`, `-activate`, `-hitcount`, `-ohko`, `-nothing`, `-fieldactivate` (Pay
     * Day), `-message`, `-hint`, `t:`, `start`, `win`, `tie` change no view. An engine need not write them.
     */
    LINE_KINDS
};

/* Reasons of LINE_CANT, causes of LINE_DAMAGE, and effects that start and end. */
enum LineEffect {
    EFFECT_NONE,
    EFFECT_OTHER, /* any that has no name here: [from] Recoil, brn, drain, Leech Seed; the end of `Toxic counter` */
    EFFECT_SLEEP,
    EFFECT_FREEZE,
    EFFECT_PARALYSIS,
    EFFECT_POISON, /* `[from] psn`, also of toxic poison */
    EFFECT_CONFUSION,
    EFFECT_FLINCH,
    EFFECT_RECHARGE,
    EFFECT_PARTIALLY_TRAPPED,
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

/* In the order of the view's STATUSES. */
enum LineStatus {
    LINE_STATUS_NONE,
    LINE_STATUS_BURN,
    LINE_STATUS_PARALYSIS,
    LINE_STATUS_SLEEP,
    LINE_STATUS_FREEZE,
    LINE_STATUS_POISON,
    LINE_STATUS_TOXIC
};

/* In the order of the view's BOOSTS. Showdown names Special as both spa and spd, with one line each. */
enum LineStat {
    LINE_ATTACK,
    LINE_DEFENCE,
    LINE_SPECIAL_ATTACK,
    LINE_SPECIAL_DEFENCE,
    LINE_SPEED,
    LINE_ACCURACY,
    LINE_EVASION,
    LINE_STATS
};

/* In the order of the view's GENDERS. Gen 1 shows none, which a view gives as 3. */
enum LineGender { LINE_GENDER_MALE = 1, LINE_GENDER_FEMALE = 2, LINE_GENDERLESS = 3 };

enum LineType {
    LINE_TYPE_NONE,
    LINE_TYPE_NORMAL,
    LINE_TYPE_FIGHTING,
    LINE_TYPE_FLYING,
    LINE_TYPE_POISON,
    LINE_TYPE_GROUND,
    LINE_TYPE_ROCK,
    LINE_TYPE_BUG,
    LINE_TYPE_GHOST,
    LINE_TYPE_FIRE,
    LINE_TYPE_WATER,
    LINE_TYPE_GRASS,
    LINE_TYPE_ELECTRIC,
    LINE_TYPE_PSYCHIC,
    LINE_TYPE_ICE,
    LINE_TYPE_DRAGON,
    LINE_TYPES
};

enum LineFlag {
    LINE_MISSED = 1,            /* [miss], which Showdown adds to the last `move` line later */
    LINE_STILL = 2,             /* [still], likewise; it also erases the target */
    LINE_SILENT = 4,            /* [silent] */
    LINE_PARTIALLY_TRAPPED = 8, /* [partiallytrapped] */
};

enum { LINE_NO_TARGET_SEAT = 0 };

typedef struct Line {
    uint8_t kind;
    uint8_t seat;
    uint8_t target;    /* 1 + seat of the Pokémon named second; 0 if the text is empty or `null` */
    uint8_t flags;     /* of LineFlag */
    uint8_t effect;    /* of LineEffect */
    uint8_t move;
    uint8_t from_move; /* of LINE_MOVE: the move in [from]; the same move if it continues (Thrash, Rage, second turn) */
    uint8_t status;    /* of LineStatus */
    uint8_t hp;        /* as shown: per cent or 48ths; 0 for `0 fnt`, after which max_hp and status are not read */
    uint8_t max_hp;    /* 100 or 48 */
    uint8_t species;
    uint8_t level;
    uint8_t gender; /* of LineGender */
    uint8_t name;
    uint8_t stat;     /* of LineStat */
    uint8_t types[2]; /* of LineType; the second is 0 for one type */
    uint8_t unused;
    uint16_t number;
} Line;

#endif

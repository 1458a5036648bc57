// What this library was compiled from, and the sizes of its structs, which the package compares with its own.

#include "arena.h"

// The whole text is looked for in the file, so that a library of other sources need not be loaded to be recognised.
static const char stamp[] = "nemesis sources " NEMESIS_SOURCES;

NEMESIS_API const char *nemesis_sources(void);
NEMESIS_API const char *nemesis_layout_version(void);
NEMESIS_API void nemesis_sizes(int32_t sizes[5]);
NEMESIS_API int32_t nemesis_match_bytes(void);

const char *nemesis_sources(void) { return stamp + sizeof "nemesis sources " - 1; }

const char *nemesis_layout_version(void) { return LAYOUT_VERSION; }

void nemesis_sizes(int32_t sizes[5]) {
  sizes[0] = sizeof(Team);
  sizes[1] = sizeof(Setup);
  sizes[2] = VIEW_SIZE;
  sizes[3] = MOST_CHOICES;
  sizes[4] = sizeof(Arena);
}

int32_t nemesis_match_bytes(void) { return sizeof(Match); }

/* The hash of the sources that this library was compiled from, found in the file too: see library.py. */

#include "arena.h"

static const char stamp[] = "nemesis sources " NEMESIS_SOURCES;

NEMESIS_API const char *nemesis_sources(void) { return stamp + sizeof "nemesis sources " - 1; }

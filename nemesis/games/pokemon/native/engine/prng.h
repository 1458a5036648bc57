// Showdown's gen5 generator: a 64-bit linear congruential generator whose upper half is the draw.

#ifndef NEMESIS_ENGINE_PRNG_H
#define NEMESIS_ENGINE_PRNG_H

#include <stdint.h>

static inline uint32_t prng_next(uint64_t *seed) {
  *seed = *seed * 0x5D588B656C078965ull + 0x269EC3ull;
  return (uint32_t)(*seed >> 32);
}

// A number from 0 to bound - 1.
static inline uint32_t prng_below(uint64_t *seed, uint32_t bound) {
  return (uint32_t)(((uint64_t)prng_next(seed) * bound) >> 32);
}

// A number from `from` to `to` - 1.
static inline uint32_t prng_between(uint64_t *seed, uint32_t from, uint32_t to) {
  return from + prng_below(seed, to - from);
}

#endif

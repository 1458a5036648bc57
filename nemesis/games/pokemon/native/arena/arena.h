#ifndef NEMESIS_ARENA_H
#define NEMESIS_ARENA_H
#if defined(_WIN32)
#define NEMESIS_API __declspec(dllexport)
#else
#define NEMESIS_API __attribute__((visibility("default")))
#endif
#endif

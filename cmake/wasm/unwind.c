// Where exceptions meet landing pads, for modules with threads. Debian's clang 14 writes to one context that all threads
// share, its libunwind reads one of each thread: no catch by type would find its exception. Here libunwind's own source has
// the shared one. That is safe while one thread catches by type: loops of math/parallel catch everything, which asks nothing.
#include <stdbool.h>
#include <threads.h>
#undef thread_local
#define thread_local
#include <src/Unwind-wasm.c>

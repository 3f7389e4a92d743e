// The emulator's blocks: threads as fibers, in an order that varies.
//
// The threads of a block take turns on one processor. A thread runs until it has to wait for others, at a barrier or
// for a value of another lane, and then any thread that need not wait goes on. Blocks run one after another in a
// random order, unless they wait for each other, as a GPU that runs all of them at once allows. What a block finds in shared memory is poison. So a kernel that lacks a barrier, or whose blocks
// depend on each other, computes something else than on most days of a GPU, and the tests see it.
#include "cuda_shim.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <ucontext.h>

// A place to go on from. The library's functions for it would take much of the time of a test.
#if defined(__x86_64__) || !defined(__clang__)
typedef void* Place[5];
#define SAVE(to) __builtin_setjmp(to)
// A function of its own, since none may go to a place that it has saved itself.
[[noreturn]] static __attribute__((noinline)) void go(void** to) { __builtin_longjmp(to, 1); }
#else
#include <csetjmp>
typedef jmp_buf Place;
#define SAVE(to) _setjmp(to)
#define go(to) _longjmp(to, 1)
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Launch {
  unsigned long long entry;
  const unsigned int* args;
  const unsigned int* sizes;
  const Words* slots;
  unsigned long long lanes;
  unsigned long long blocks[2];
  unsigned long long seed;
  // Stacks of `lanes` fibers.
  char* stacks;
  unsigned long long stack_bytes;
  // Where a failure is described.
  char* message;
  unsigned long long message_bytes;
};

unsigned int weft_lane;
Index weft_threads[1024], weft_block, weft_block_size, weft_grid;
unsigned int weft_operands[1024][6];
const unsigned int* weft_rows[1024];

enum State { READY, BARRIER, EXCHANGE, DONE };

struct Fiber {
  Place at;
  State state;
  // Where it waits or last waited, and for which lanes with which value.
  int line;
  unsigned int mask, value;
};

static const unsigned int WARP = 32;

// At the end of a stack, which grows towards it.
static const unsigned long long MARK = 0x6b6174732d666f2d;

static Fiber fibers[1024];
static unsigned int lanes;
// Fibers that need not wait.
static unsigned int ready[1024], ready_count;
// Whether a warp goes on as long as it can, so that it gets far ahead of the others.
static bool greedy;
// What the lanes of each warp brought to their last exchange.
static unsigned int brought[1024];
// Of each warp, a lane that its last exchange waited for: if it still has not come, no other has to be looked at.
static unsigned int late[1024 / WARP];
static Place host;
static const Launch* launch;
static unsigned long long random_state;

static unsigned int below(unsigned int n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned int)((random_state >> 32) * n >> 32);
}

[[noreturn]] __attribute__((format(printf, 1, 2))) static void fail(const char* why, ...) {
  va_list args;
  va_start(args, why);
  int n = snprintf(launch->message, launch->message_bytes, "block (%u, %u): ", weft_block.x, weft_block.y);
  vsnprintf(launch->message + n, launch->message_bytes - n, why, args);
  va_end(args);
  go(host);
}

static void make_ready(unsigned int lane) {
  fibers[lane].state = READY;
  ready[ready_count++] = lane;
}

// All lanes, from any one on.
static void make_all_ready() {
  const unsigned int first = below(lanes);
  for (unsigned int l = 0; l < lanes; l++) make_ready((first + l) % lanes);
}

// Why the exchange that a lane waits in cannot complete.
[[noreturn]] static void fail_exchange(unsigned int lane) {
  const Fiber& own = fibers[lane];
  for (unsigned int i = 0; i < WARP; i++) {
    if (!(own.mask >> i & 1)) continue;
    const unsigned int l = lane / WARP * WARP + i;
    if (l >= lanes) fail("line %d: a shuffle for lane %u, of a block of %u", own.line, l, lanes);
    const Fiber& other = fibers[l];
    if (other.state == EXCHANGE && other.line == own.line && other.mask == own.mask) continue;
    fail("line %d: lane %u shuffles with lane %u, which %s line %d", own.line, lane, l,
         other.state == DONE ? "has ended; it last waited at" : "waits at", other.line);
  }
  fail("line %d: lane %u shuffles without itself, mask %#x", own.line, lane, own.mask);
}

// No thread can go on: the block has ended, or all threads are at a barrier, or something is wrong.
static void settle() {
  unsigned int done = 0, waiting = 0;
  for (unsigned int l = 0; l < lanes; l++) {
    if (fibers[l].state == EXCHANGE) fail_exchange(l);
    if (fibers[l].state == DONE) done++;
    if (fibers[l].state == BARRIER) waiting = l;
  }
  if (done == lanes) go(host);
  for (unsigned int l = 0; l < lanes; l++) {
    const Fiber &own = fibers[waiting], &other = fibers[l];
    if (other.state == BARRIER && other.line == own.line) continue;
    fail("line %d: lane %u is at a barrier, and lane %u %s line %d", own.line, waiting, l,
         other.state == DONE ? "has ended; it last waited at" : "waits at", other.line);
  }
  make_all_ready();
}

// Goes on with any thread that need not wait. Returns when this one is chosen.
static void pass_on() {
  if (SAVE(fibers[weft_lane].at)) return;
  if (ready_count == 0) settle();
  // Those of the warp that has just exchanged values are the last ones.
  const unsigned int at = greedy ? ready_count - 1 : below(ready_count);
  weft_lane = ready[at];
  ready[at] = ready[--ready_count];
  go(fibers[weft_lane].at);
}

static void wait(State state, int line) {
  fibers[weft_lane].state = state;
  fibers[weft_lane].line = line;
  pass_on();
}

void weft_barrier(int line) { wait(BARRIER, line); }

const unsigned int* weft_exchange(unsigned int mask, unsigned int value, int line) {
  Fiber& own = fibers[weft_lane];
  const unsigned int warp = weft_lane / WARP * WARP;
  own.mask = mask;
  own.value = value;
  own.state = EXCHANGE;
  own.line = line;
  const auto missing = [&](unsigned int i) {
    const Fiber& other = fibers[warp + i];
    return warp + i >= lanes || other.state != EXCHANGE || other.line != line || other.mask != mask;
  };
  unsigned int& last = late[warp / WARP];
  bool all = (mask >> weft_lane % WARP & 1) && !((mask >> last & 1) && missing(last));
  for (unsigned int i = 0; i < WARP && all; i++) {
    if (!(mask >> i & 1) || !missing(i)) continue;
    all = false;
    last = i;
  }
  if (all) {
    for (unsigned int i = 0; i < WARP; i++) {
      if (!(mask >> i & 1)) continue;
      brought[warp + i] = fibers[warp + i].value;
      make_ready(warp + i);
    }
  }
  pass_on();
  return brought + warp;
}

unsigned int* Words::outside(unsigned int at) const {
  fail("lane %u: word %u of slot %llu, which has %llu", weft_lane, at, slot, count);
}

void weft_apart(int line) { fail("line %d: lane %u: four words do not begin at a multiple of four", line, weft_lane); }

void weft_unsent() { fail("lane %u: awaits a signal that no workgroup before it has sent", weft_lane); }

void weft_too_many(int line) { fail("line %d: lane %u: more copies at once than the emulator keeps", line, weft_lane); }

// Called by code that -fsanitize=bounds adds, where an index is outside of an array.
struct Position {
  const char* file;
  unsigned int line, column;
};
EXPORT void __ubsan_handle_out_of_bounds(const Position* at, unsigned long index) {
  fail("lane %u: line %u: index %ld of an array is out of bounds", weft_lane, at->line, (long)index);
}

// A thread: runs its part of every block.
static void thread(int lane) {
  if (!SAVE(fibers[lane].at)) go(host);
  for (;;) {
    weft_entries[launch->entry].run(launch->args, launch->sizes, launch->slots);
    wait(DONE, fibers[lane].line);
  }
}

static void make_threads() {
  for (unsigned int l = 0; l < lanes; l++) {
    weft_threads[l] = {l, 0, 0};
    char* stack = launch->stacks + l * launch->stack_bytes;
    memcpy(stack, &MARK, sizeof(MARK));
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    // Not all at the same offset: the tops of 1024 stacks would share the few places that a cache has for it.
    context.uc_stack.ss_size = launch->stack_bytes - l % 61 * 64;
    context.uc_link = nullptr;
    makecontext(&context, (void (*)())thread, 1, (int)l);
    if (!SAVE(host)) setcontext(&context);
  }
}

// Runs a block. Whether it failed.
static bool run_block(const Entry& entry) {
  // NaNs and no index, or large numbers.
  memset(entry.shared, below(2) ? 0xff : 0x7f, entry.shared_end - entry.shared);
  launch->message[0] = 0;
  ready_count = 0;
  greedy = below(2);
  for (unsigned int l = 0; l < lanes; l++) fibers[l].line = 0;
  make_all_ready();
  if (!SAVE(host)) {
    weft_lane = ready[--ready_count];
    go(fibers[weft_lane].at);
  }
  for (unsigned int l = 0; l < lanes && launch->message[0] == 0; l++) {
    if (memcmp(launch->stacks + l * launch->stack_bytes, &MARK, sizeof(MARK)) != 0) {
      snprintf(launch->message, launch->message_bytes, "lane %u: its stack is too small for the emulator", l);
    }
  }
  return launch->message[0] != 0;
}

static char busy;

// Runs all blocks of a launch. Returns 0, or 1 after a failure.
EXPORT int weft_launch(const Launch* given) {
  // The state of the threads is this library's, and several callers may share it.
  while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) sched_yield();
  launch = given;
  lanes = (unsigned int)given->lanes;
  random_state = (given->seed + 1) * 0x9e3779b97f4a7c15 | 1;
  const unsigned int wide = (unsigned int)given->blocks[0], high = (unsigned int)given->blocks[1], all = wide * high;
  weft_block_size = {lanes, 1, 1};
  weft_grid = {wide, high, 1};
  make_threads();
  // In steps of a prime, which visit every block unless it divides their number.
  const bool in_order = weft_entries[given->entry].in_order;
  const unsigned long long step = in_order ? 1 : all % 1299709 ? 1299709 : 7919;
  unsigned long long block = in_order ? 0 : below(all);
  bool failed = false;
  for (unsigned int i = 0; i < all && !failed; i++, block = (block + step) % all) {
    weft_block = {(unsigned int)block % wide, (unsigned int)block / wide, 0};
    failed = run_block(weft_entries[given->entry]);
  }
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  return failed;
}

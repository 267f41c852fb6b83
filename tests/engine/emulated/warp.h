// A warp without a GPU: 32 fibres that take turns, each from one meeting of all lanes to the next.
//
// They come in another order each time, so that one that reads what another is yet to write finds
// it missing. Lanes that meet in different ways, which would hang or worse on a device, end the
// program.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define DEVICE static inline
#define GLOBAL
#define ALL_LANES 0xffffffffu
#define UNROLL
using std::fabs; using std::fmax; using std::fmin; using std::floor; using std::frexp;
using std::isfinite; using std::rint; using std::sqrt;

static const int FIBRES = 32;
static const size_t STACK = 1 << 18;
static ucontext_t scheduler, fibres[FIBRES];
static char* stacks[FIBRES];
static int running;
static bool finished[FIBRES];
static int turns[FIBRES];
static const char* places[FIBRES];
static unsigned char slots[2][FIBRES][16];
static unsigned long long* shared_room;

static void meet_all(const char* place) {
    places[running] = place;
    turns[running]++;
    swapcontext(&fibres[running], &scheduler);
}

template <typename T> static T exchange(T value, int source, const char* place) {
    int me = running;
    auto& board = slots[turns[me] & 1];
    memcpy(board[me], &value, sizeof(T));
    meet_all(place);
    T found;
    memcpy(&found, board[source], sizeof(T));
    return found;
}

static unsigned ballot(bool yes, const char* place) {
    int me = running;
    auto& board = slots[turns[me] & 1];
    board[me][0] = yes;
    meet_all(place);
    unsigned all = 0;
    for (int i = 0; i < FIBRES; i++) all |= (unsigned)board[i][0] << i;
    return all;
}

#define __syncwarp() meet_all("syncwarp")
#define __shfl_sync(mask, value, source) exchange(value, source, "shfl")
#define __shfl_xor_sync(mask, value, apart) exchange(value, lane() ^ (apart), "shfl_xor")
#define __ballot_sync(mask, yes) ballot(yes, "ballot")
#define __any_sync(mask, yes) (ballot(yes, "any") != 0)
#define __popc __builtin_popcount
#define __ffs __builtin_ffs

#define PAIR_TABLE ((unsigned short*)shared_room)
#define DESKS ((Desk*)(shared_room + (PAIRS + 3) / 4))

DEVICE int lane() { return running; }
DEVICE int warp_of_block() { return 0; }
DEVICE long long warp_of_grid() { return 0; }
DEVICE long long warps_of_grid() { return 1; }
DEVICE void add_to(long long* where, long long amount) { *where += amount; }
DEVICE int take_next(int* next) { return (*next)++; }
DEVICE void fill_pair_table() {
    for (int a = 0; a < D; a++)
        for (int b = a; b < D; b++)
            PAIR_TABLE[a * D - a * (a - 1) / 2 + b - a] = (unsigned short)(a << 8 | b);
    meet_all("pair table");
}

static void (*body)();

static void live() {
    body();
    finished[running] = true;
    swapcontext(&fibres[running], &scheduler);
}

static void run_warp(void (*work)(), size_t shared_bytes) {
    body = work;
    shared_room = (unsigned long long*)malloc(shared_bytes);
    memset(shared_room, 0xff, shared_bytes);  // not a number, wherever it is read too early
    for (int i = 0; i < FIBRES; i++) {
        finished[i] = false;
        turns[i] = 0;
        places[i] = "";
        stacks[i] = (char*)malloc(STACK);
        getcontext(&fibres[i]);
        fibres[i].uc_stack.ss_sp = stacks[i];
        fibres[i].uc_stack.ss_size = STACK;
        fibres[i].uc_link = 0;
        makecontext(&fibres[i], live, 0);
    }
    unsigned luck = 1;
    for (bool all = false; !all;) {
        all = true;
        luck = luck * 1664525u + 1013904223u;
        int first = luck >> 27, stride = (luck >> 22 & 31) | 1;
        for (int turn = 0; turn < FIBRES; turn++) {
            running = (first + turn * stride) % FIBRES;
            if (!finished[running]) swapcontext(&scheduler, &fibres[running]);
            all = all && finished[running];
        }
        for (int i = 1; i < FIBRES; i++) {
            if (finished[i] != finished[0] || strcmp(places[i], places[0]) != 0) {
                fprintf(stderr, "lanes 0 and %d met in different places: %s, %s\n", i, places[0], places[i]);
                abort();
            }
        }
    }
    for (int i = 0; i < FIBRES; i++) free(stacks[i]);
    free(shared_room);
}

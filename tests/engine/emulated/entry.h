// How Python starts the emulated warp.

struct Call {
    const Cell* cells;
    const Int* first_user;
    int count;
    int* next;
    Real* scores;
    Int room_for_scores;
    int* sets;
    int first, last;
    const int* intervals;
};

static Call call;

static void add_all() { add_up_rounds(call.cells, call.count, call.last); }

extern "C" void emulate_adding(const Cell* cells, int count, int rounds) {
    call.cells = cells;
    call.count = count;
    call.last = rounds;
    run_warp(add_all, BYTES_OF_BLOCK);
}

static void serve_all() {
    serve_bandits(
        call.cells, call.first_user, call.count, call.next, call.scores, call.room_for_scores,
        call.sets, call.first, call.last, call.intervals
    );
}

extern "C" long long bytes_of_desk() { return sizeof(Desk); }

extern "C" long long bytes_of_cell() { return sizeof(Cell); }

extern "C" void emulate(
    const Cell* cells, const Int* first_user, int count, int* next, Real* scores,
    Int room_for_scores, int* sets, int first, int last, const int* intervals
) {
    call = {cells, first_user, count, next, scores, room_for_scores, sets, first, last, intervals};
    run_warp(serve_all, BYTES_OF_BLOCK);
}

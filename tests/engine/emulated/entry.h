// How Python starts the emulated warp.

struct Call {
    const Job* jobs;
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

static void add_all() { add_up_rounds(call.jobs, call.count, call.last); }

extern "C" void emulate_adding(const Job* jobs, int count, int rounds) {
    call.jobs = jobs;
    call.count = count;
    call.last = rounds;
    run_warp(add_all, BYTES_OF_BLOCK);
}

static void serve_all() {
    serve_bandits(
        call.jobs, call.first_user, call.count, call.next, call.scores, call.room_for_scores,
        call.sets, call.first, call.last, call.intervals
    );
}

extern "C" long long bytes_of_desk() { return sizeof(Desk); }

extern "C" long long bytes_of_job() { return sizeof(Job); }

extern "C" void emulate(
    const Job* jobs, const Int* first_user, int count, int* next, Real* scores,
    Int room_for_scores, int* sets, int first, int last, const int* intervals
) {
    call = {jobs, first_user, count, next, scores, room_for_scores, sets, first, last, intervals};
    run_warp(serve_all, BYTES_OF_BLOCK);
}

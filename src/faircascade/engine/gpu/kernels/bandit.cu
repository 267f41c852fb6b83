// Rounds of a bandit: recommend, observe, learn. Algorithm 1, one warp per user.

// The items at the front: each lane holds some, with their features in registers.
struct Front {
    int size;
    int items[SLOTS];
    Real x[SLOTS][D];
};

// Take the items in `desk.found` as the front.
DEVICE void take_front(const Job& job, const Desk& desk, Front& front, int size) {
    front.size = size;
    UNROLL for (int slot = 0; slot < SLOTS; slot++) {
        int i = slot * LANES + lane();
        front.items[slot] = i < size ? desk.found[i] : 0;
        const Real* row = job.features + (Int)front.items[slot] * D;
        UNROLL for (int a = 0; a < D; a++) front.x[slot][a] = row[a];
    }
    meet();
}

// Rank the front, its first K into the slate; return a score that items elsewhere must not reach.
DEVICE Real rank_front(const Job& job, Desk& desk, const Front& front, Word ties) {
    Real own[SLOTS], width[SLOTS];
    int rank[SLOTS];
    scores_of<SLOTS>(front.x, desk.theta, desk.M_inv, (Real)job.alpha, own, width);
    UNROLL for (int slot = 0; slot < SLOTS; slot++) {
        int i = slot * LANES + lane();
        own[slot] = i < front.size ? rounded(own[slot]) : (Real)-INFINITY;
        desk.values[i] = own[slot];
    }
    meet();
    rank_among(job, desk, front.items, front.size, ties, own, rank);
    UNROLL for (int slot = 0; slot < SLOTS; slot++) {
        if (slot * LANES + lane() < front.size && rank[slot] < K) {
            int place = rank[slot];
            desk.slate[place] = front.items[slot];
            desk.best[place] = own[slot];
            desk.shown_widths[place] = width[slot];
            UNROLL for (int a = 0; a < D; a++) desk.x[place][a] = front.x[slot][a];
        }
    }
    meet();
    return (desk.best[K - 1] - 1) * (Real)RESOLUTION;
}

// Score every item, with a draw from the posterior if the policy makes one, and rank them.
DEVICE void rank_all(
    const Job& job, Desk& desk, Room& room, Leaders& leaders, Int user, Word ties, Word word
) {
    const Real* theta = desk.theta;
    bool draws_lazily = job.lazy_draws && job.drawn_by_merit && job.noise == 0.0 && K <= LANES;
    if (draws_lazily && draw_slate(job, desk, room, leaders, user, ties, word)) return;
    if (job.noise > 0.0) {
        draw_theta(job, desk, user, word, room.work);
        theta = desk.drawn;
    }
    score_all(job, theta, desk, room);
    if (job.drawn_by_merit || job.eta > 0.0) adjust(job, room.scores, user, word);
    int kept = keep_best(
        job, desk, room.scores, 0, (int)job.items, K, ties, desk.slate, desk.best
    );
    if (kept < K) {  // some are not numbers
        EVERY_LANE(position, K) desk.best[position] = (Real)INFINITY;
        meet();
    }
}

// Fill a user's slate; return the mean confidence width of its items.
DEVICE double recommend(
    const Job& job, Desk& desk, Room& room, Front& front, Leaders& leaders, Int user, Word word
) {
    Word ties = absorb(job.tie[user], word);
    bool as_it_is = job.epsilon == 0.0 && job.tolerance == 0.0 && !job.reorders;
    int level = SETS + 1;  // score the set that holds every tier that can matter
    if (job.lazy) {
        if (front.size >= K) {
            Real enough = rank_front(job, desk, front, ties);
            Real limits[TIERS];
            UNROLL for (int tier = 0; tier < TIERS; tier++) limits[tier] = limit_of(desk, tier);
            UNROLL for (int tier = TIERS; tier > 0; tier--)
                if (level == tier && limits[tier - 1] < enough) level--;
        }
        if (level > 0) {
            take_front(job, desk, front, widen(job, desk, room, ties, level));
            rank_front(job, desk, front, ties);
        }
    } else {
        rank_all(job, desk, room, leaders, user, ties, word);
    }
    if (lane() == 0 && !isfinite(desk.best[K - 1])) *job.broken = 1;
    const Real* theta = job.noise > 0.0 ? desk.drawn : desk.theta;
    if (job.epsilon > 0.0) mingle(job, desk, user, word);
    if (!job.lazy || job.epsilon > 0.0) gather(job, desk);
    if (job.tolerance > 0.0 || job.reorders) {
        arrange(job, desk, user, word, theta);
        gather(job, desk);
    }
    if (job.accounts) enter(job, desk, user);
    if (!(as_it_is && job.lazy && job.alpha > 0.0)) {  // else the widths are known already
        EVERY_LANE(position, K)
            widths_of<1>(desk.x + position, desk.M_inv, desk.shown_widths + position);
        meet();
    }
    Real total = desk.shown_widths[0];
    UNROLL for (int position = 1; position < K; position++)
        total = total + desk.shown_widths[position];
    return (double)(total / K);
}

// Refine the inverse after so many updates; what was known of scores before is less certain then.
// Return after how many updates to look again: `ridge.next_interval`.
DEVICE Int refine_if_due(
    const Job& job, Desk& desk, Room& room, const Front& front, const Leaders& leaders,
    Int updates, Int interval
) {
    bool due = (updates & (interval - 1)) == 0;  // an interval is a power of two
    if (!due && (updates & (updates - 1)) != 0) return interval;
    Real residual;
    Real moved = refine(job, desk, room.work, interval < job.refine_every, &residual);
    if (lane() == 0 && interval == 1 && residual > (Real)LARGEST_RESIDUAL) *job.broken = 1;
    if (interval < job.refine_every || residual > (Real)RESIDUAL) {
        if (residual < (Real)AIM / 8 && interval < job.refine_every / 2)
            interval *= 2;
        else
            for (; residual > (Real)AIM && interval > 1; interval /= 2) residual /= 2;
    }
    int tiers = front.size > 0 ? TIERS : leaders.known ? RISE + 1 : 0;
    for (int tier = 0; tier < tiers; tier++) grow(job, desk, tier, moved, interval);
    return interval;
}

// Serve a user in rounds first, ..., last.
DEVICE void serve(
    const Job& job, Desk& desk, Room& room, Int user, int first, int last, const int* intervals
) {
    EVERY_LANE(pair, PAIRS) {
        desk.M[pair] = job.M[user * PAIRS + pair];
        Real entry = job.M_inv[user * PAIRS + pair];
        desk.M_inv[row_of(pair) * D + column_of(pair)] = entry;
        desk.M_inv[column_of(pair) * D + row_of(pair)] = entry;
    }
    EVERY_LANE(a, D) {
        desk.B[a] = job.B[user * D + a];
        desk.theta[a] = job.theta[user * D + a];
    }
    EVERY_LANE(position, K) desk.slate[position] = position;  // whatever comes, these are items
    Int updates = job.updates[user], interval = job.interval[user];
    Front front;
    Leaders leaders;
    front.size = 0;
    leaders.known = false;
    meet();
    for (int t = first; t <= last; t++) {
        int place = t - first;
        Word word = (Word)t;
        if (!comes(job, user, word)) {
            if (lane() == 0) {
                Int at = (Int)place * job.users + user;
                job.outcomes[at] = ABSENT;
                job.regrets[at] = job.widths[at] = 0;
            }
            continue;
        }
        double width = recommend(job, desk, room, front, leaders, user, word);
        int clicked = observe(job, desk, user, width, word, place, intervals[place]);
        int seen = job.plain ? seen_up_to(clicked) : last_seen(job, desk);
        if (job.plain) {
            EVERY_LANE(position, seen) {
                const double* targets = position + 1 == clicked ? job.clicked : job.ignored;
                desk.weights[position] = (Real)targets[(seen - 1) * K + position];
            }
        } else {
            weigh(job, desk, seen);
            seen = seen > 0 ? seen : 1;  // who was served learns, if only that
        }
        meet();
        learn(job, desk, seen);
        updates++;
        interval = refine_if_due(job, desk, room, front, leaders, updates, interval);
    }
    bool sound = true;
    EVERY_LANE(pair, PAIRS) {
        Real entry = desk.M_inv[row_of(pair) * D + column_of(pair)];
        job.M[user * PAIRS + pair] = desk.M[pair];
        job.M_inv[user * PAIRS + pair] = entry;
        sound = sound && isfinite(entry) && isfinite(desk.M[pair]);
    }
    EVERY_LANE(a, D) {
        job.B[user * D + a] = desk.B[a];
        job.theta[user * D + a] = desk.theta[a];
        sound = sound && isfinite(desk.B[a]) && isfinite(desk.theta[a]);
    }
    if (!sound) *job.broken = 1;
    if (lane() == 0) {
        job.updates[user] = updates;
        job.interval[user] = interval;
    }
    meet();
}

// Serve the users of all jobs; each warp takes the next one that nobody has.
extern "C" GLOBAL void serve_bandits(
    const Job* jobs, const Int* first_user, int count, int* next, Real* scores,
    Int room_for_scores, int* sets, int first, int last, const int* intervals
) {
    fill_pair_table();
    Desk& desk = DESKS[warp_of_block()];
    Real* work = scores + warp_of_grid() * room_for_scores;
    Room room = {work + ROOM_FOR_WORK, work, sets + warp_of_grid() * (Int)ROOM_FOR_SETS};
    for (;;) {
        int taken = 0;
        if (lane() == 0) taken = take_next(next);
        taken = from_lane(taken, 0);
        if (taken >= first_user[count]) return;
        int job = 0;
        while (taken >= first_user[job + 1]) job++;
        serve(jobs[job], desk, room, taken - first_user[job], first, last, intervals);
    }
}

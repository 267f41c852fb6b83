// What happens to a slate once it is shown: clicks, and counts.

// Say whether a user comes in a round.
DEVICE bool comes(const Job& job, Int user, Word word) {
    return job.activity == 1.0 || uniform(absorb(job.visit[user], word)) < job.activity;
}

// Return the clicked position (0 for none); `expected` gets the probability of a click: a cascade.
DEVICE int respond(
    const Job& job, Desk& desk, const int* items, Int user, Word luck, double* expected
) {
    const double* preference = job.preferences + user * D;
    int clicked = 0;
    for (int first = 0; first < K; first += LANES) {
        int position = first + lane();
        bool liked = false;
        if (position < K) {
            int item = items[position];
            const double* row = job.true_features + (Int)item * D;
            double attraction = row[0] * preference[0];
            UNROLL for (int a = 1; a < D; a++) attraction = attraction + row[a] * preference[a];
            attraction = fmin(fmax(attraction, 0.0), 1.0);
            desk.misses[position] = 1.0 - attraction;
            liked = uniform(absorb(luck, job.keys[item])) < attraction;
        }
        unsigned lanes = which(liked);
        if (clicked == 0 && lanes != 0) clicked = first + __ffs(lanes);
    }
    meet();
    double missed = 1.0;
    UNROLL for (int position = 0; position < K; position++) missed = missed * desk.misses[position];
    meet();
    *expected = 1.0 - missed;
    return clicked;
}

// A fraction as a multiple of 2^-32: `tally.to_units`.
DEVICE Int to_units(double value) { return (Int)rint(fmin(value, LARGEST) / UNITS); }

// Show a slate in the round at a place of the launch; return the clicked position, or 0.
DEVICE int observe(
    const Job& job, Desk& desk, Int user, double width, Word word, int place, int interval
) {
    Word luck = absorb(job.attraction[user], word);
    double expected, ignored;
    int clicked = respond(job, desk, desk.slate, user, luck, &expected);
    int outcome = clicked;
    if (job.realised) {
        if (respond(job, desk, job.optimal_slates + user * K, user, luck, &ignored) > 0)
            outcome |= IDEAL;
    }
    Int* appearances = job.appearances + (Int)interval * job.catalogue * K;
    EVERY_LANE(position, K) add_to(appearances + job.rows[desk.slate[position]] * K + position, 1);
    Int at = (Int)place * job.users + user;
    if (lane() == 0) {
        if (clicked > 0) {
            Int* clicks = job.item_clicks + (Int)interval * job.catalogue * K;
            add_to(clicks + job.rows[desk.slate[clicked - 1]] * K + clicked - 1, 1);
        }
        job.outcomes[at] = outcome;
        job.regrets[at] = to_units(job.optimal_values[user] - expected);
        job.widths[at] = to_units(width);
    }
    if (job.traced) {
        EVERY_LANE(position, K)
            job.slates[at * K + position] = (int)job.rows[desk.slate[position]];
    }
    return clicked;
}

// The last position seen: `FirstClick.seen` of one click, or of none (0).
DEVICE int seen_up_to(int clicked) { return clicked > 0 ? clicked : K; }

// Add up what happened to all users of a job in each round.
DEVICE void add_up(const Job& job, int rounds) {
    for (Int round = warp_of_grid(); round < rounds; round += warps_of_grid()) {
        Int sums[COUNTS] = {};
        for (Int user = lane(); user < job.users; user += LANES) {
            Int at = round * job.users + user;
            int outcome = job.outcomes[at];
            if (outcome == ABSENT) continue;
            sums[SERVED]++;
            sums[CLICKS] += outcome % IDEAL > 0;
            sums[CLICKED] += outcome % IDEAL > 0;
            sums[OPTIMAL_CLICKS] += outcome >= IDEAL;
            sums[REGRET] += job.regrets[at];
            sums[WIDTH] += job.widths[at];
        }
        UNROLL for (int i = 0; i < COUNTS; i++) {
            Int total = sum_of(sums[i]);
            if (lane() == 0) job.by_round[i * (Int)rounds + round] = total;
        }
    }
}

extern "C" GLOBAL void add_up_rounds(const Job* jobs, int count, int rounds) {
    for (int job = 0; job < count; job++) add_up(jobs[job], rounds);
}

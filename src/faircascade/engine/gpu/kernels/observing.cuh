// What happens to a slate once it is shown: clicks, and counts.

// Say whether a user comes in a round.
DEVICE bool comes(const Job& job, Int user, Word word) {
    double chance = job.chances[user];
    return chance == 1.0 || uniform(absorb(job.visit[user], word)) < chance;
}

// The probability that an item attracts a user.
DEVICE double attraction_of(const Job& job, Int item, Int user) {
    const double *row = job.true_features + item * D, *preference = job.preferences + user * D;
    double attraction = row[0] * preference[0];
    UNROLL for (int a = 1; a < D; a++) attraction = attraction + row[a] * preference[a];
    return fmin(fmax(attraction, 0.0), 1.0);
}

// Return the clicked position (0 for none); `expected` gets the probability of a click: a cascade.
DEVICE int respond(
    const Job& job, Desk& desk, const int* items, Int user, Word luck, double* expected
) {
    int clicked = 0;
    for (int first = 0; first < K; first += LANES) {
        int position = first + lane();
        bool liked = false;
        if (position < K) {
            int item = items[position];
            double attraction = attraction_of(job, item, user);
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

// `SequentialModel`, for one lane. The desk has the attraction of each position in `misses` and
// whether it attracts this time in `clicks`, which become the clicks. Return how many there are;
// `expected` gets the value.
DEVICE int browse_in_sequence(
    const Job& job, Desk& desk, const int* items, Word looks, double* expected
) {
    int count = 0;
    bool goes_on = true;
    double total = 0.0, reached = 1.0;
    for (int position = 0; position < K; position++) {
        int item = items[position];
        double w = desk.misses[position];
        bool clicked = goes_on && desk.clicks[position];
        desk.clicks[position] = clicked;
        count += clicked;
        double after_click = job.click_clicked[position] + job.click_slope * w;
        after_click = after_click * job.click_kept[item];
        if (goes_on) {
            double likely = clicked ? after_click : job.click_ignored;
            goes_on = uniform(absorb(looks, (Word)(position + 1))) < likely;
        }
        total = total + reached * (w * (job.click_gain[position] * job.click_worth[item]));
        reached = reached * ((1.0 - w) * job.click_ignored + w * after_click);
    }
    *expected = total;
    return count;
}

// `PositionalModel`, likewise.
DEVICE int browse_by_position(const Job& job, Desk& desk, Word looks, double* expected) {
    int count = 0, before = 0;
    double total = 0.0, *chances = desk.missed;
    chances[0] = 1.0;
    for (int position = 0; position < K; position++) {
        double w = desk.misses[position], clicked = 0.0;
        const double* examination = job.click_examination + position * K + position;
        bool looked = uniform(absorb(looks, (Word)(position + 1))) < examination[-before];
        desk.clicks[position] = looked && desk.clicks[position];
        for (int last = 0; last <= position; last++) {
            double chance = chances[last] * (examination[-last] * w);
            chances[last] = chances[last] - chance;
            clicked = clicked + chance;
        }
        chances[position + 1] = clicked;
        total = total + clicked;
        if (desk.clicks[position]) {
            count++;
            before = position + 1;
        }
    }
    *expected = total;
    return count;
}

// Let a user go through a slate, the clicks into `desk.clicks`; return how many there are.
// `expected` gets the value of the slate.
DEVICE int browse(
    const Job& job, Desk& desk, const int* items, Int user, Word luck, Word looks, double* expected
) {
    EVERY_LANE(position, K) {
        double attraction = attraction_of(job, items[position], user);
        desk.misses[position] = attraction;
        desk.clicks[position] = uniform(absorb(luck, job.keys[items[position]])) < attraction;
    }
    meet();
    int count = 0;
    double value = 0.0;
    if (lane() == 0)
        count = job.click_model == SEQUENTIAL ? browse_in_sequence(job, desk, items, looks, &value)
                                              : browse_by_position(job, desk, looks, &value);
    meet();
    *expected = from_lane(value, 0);
    return from_lane(count, 0);
}

// A fraction as a multiple of 2^-32: `tally.to_units`.
DEVICE Int to_units(double value) { return (Int)rint(fmin(value, LARGEST) / UNITS); }

// Show a slate in the round at a place of the launch. Return the only position that a cascade
// clicked, or 0; unless the rules are plain, all clicks are in `desk.clicks`.
DEVICE int observe(
    const Job& job, Desk& desk, Int user, double width, Word word, int place, int interval
) {
    Word luck = absorb(job.attraction[user], word);
    const int* optimal = job.optimal_slates + user * K;
    double expected, ignored;
    int clicked = 0, count = 0, ideal = 0;
    if (job.click_model == CASCADE) {
        clicked = respond(job, desk, desk.slate, user, luck, &expected);
        count = clicked > 0;
        if (job.realised) ideal = respond(job, desk, optimal, user, luck, &ignored) > 0;
        if (!job.plain) {
            EVERY_LANE(position, K) desk.clicks[position] = position + 1 == clicked;
            meet();
        }
    } else {
        Word looks = absorb(job.examination[user], word);
        if (job.realised) ideal = browse(job, desk, optimal, user, luck, looks, &ignored);
        count = browse(job, desk, desk.slate, user, luck, looks, &expected);
    }
    Int* appearances = job.appearances + (Int)interval * job.catalogue * K;
    Int* item_clicks = job.item_clicks + (Int)interval * job.catalogue * K;
    Int at = (Int)place * job.users + user;
    EVERY_LANE(position, K) {
        Int cell = job.rows[desk.slate[position]] * K + position;
        bool hit = job.plain ? position + 1 == clicked : desk.clicks[position] != 0;
        add_to(appearances + cell, 1);
        if (hit) add_to(item_clicks + cell, 1);
        if (job.traced) {
            job.slates[at * K + position] = (int)job.rows[desk.slate[position]];
            job.clicks[at * K + position] = hit;
        }
    }
    if (lane() == 0) {
        job.outcomes[at] = count + IDEAL * ideal;
        job.regrets[at] = to_units(job.optimal_values[user] - expected);
        job.widths[at] = to_units(width);
    }
    return clicked;
}

// The last position seen: `FirstClick.seen` of one click, or of none (0).
DEVICE int seen_up_to(int clicked) { return clicked > 0 ? clicked : K; }

// The last position that is taken as seen, 0 if none is.
DEVICE int last_seen(const Job& job, const Desk& desk) {
    int limit = K, last = 0;
    for (int position = 0; position < K; position++) {
        if (!desk.clicks[position]) continue;
        if (job.until == LAST_CLICK || (job.until == FIRST_CLICK && limit > position))
            limit = position + 1;
    }
    for (int position = 0; position < limit; position++)
        if (job.noticed[position] > 0.0) last = position + 1;
    return last;
}

// Weigh what a slate teaches down to the last position seen: targets, and features in their place.
DEVICE void weigh(const Job& job, Desk& desk, int last) {
    EVERY_LANE(position, K) {
        double scale = 0.0, target = 0.0;
        if (position < last && job.noticed[position] > 0.0) {
            int at = (last - 1) * K + position;
            bool hit = desk.clicks[position] != 0;
            scale = job.noticed[position] * (hit ? job.clicked_factors : job.ignored_factors)[at];
            target = (hit ? job.clicked : job.ignored)[at];
        }
        for (int a = 0; a < D; a++) desk.x[position][a] = desk.x[position][a] * (Real)scale;
        desk.weights[position] = (Real)target;
    }
}

// Add up what happened to all users of a job in each round.
DEVICE void add_up(const Job& job, int rounds) {
    for (Int round = warp_of_grid(); round < rounds; round += warps_of_grid()) {
        Int sums[COUNTS] = {};
        for (Int user = lane(); user < job.users; user += LANES) {
            Int at = round * job.users + user;
            int outcome = job.outcomes[at];
            if (outcome == ABSENT) continue;
            sums[SERVED]++;
            sums[CLICKS] += outcome % IDEAL;
            sums[CLICKED] += outcome % IDEAL > 0;
            sums[OPTIMAL_CLICKS] += outcome / IDEAL;
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

// What happens to a list once it is shown: clicks, and counts.

// Say whether a user comes in a round.
DEVICE bool comes(const Cell& cell, Int user, Word word) {
    return cell.activity == 1.0 || uniform(absorb(cell.visit[user], word)) < cell.activity;
}

// Return the clicked position (0 for none); `expected` gets the probability of a click: a cascade.
DEVICE int respond(
    const Cell& cell, Desk& desk, const int* items, Int user, Word luck, double* expected
) {
    const double* preference = cell.preferences + user * D;
    int clicked = 0;
    for (int first = 0; first < K; first += LANES) {
        int position = first + lane();
        bool liked = false;
        if (position < K) {
            int item = items[position];
            const double* row = cell.true_features + (Int)item * D;
            double attraction = row[0] * preference[0];
            UNROLL for (int a = 1; a < D; a++) attraction = attraction + row[a] * preference[a];
            attraction = fmin(fmax(attraction, 0.0), 1.0);
            desk.misses[position] = 1.0 - attraction;
            liked = uniform(absorb(luck, cell.keys[item])) < attraction;
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

// Show a list in the round at a place of the launch; return the clicked position, or 0.
DEVICE int observe(
    const Cell& cell, Desk& desk, Int user, double width, Word word, int place, int interval
) {
    Word luck = absorb(cell.attraction[user], word);
    double expected, ignored;
    int clicked = respond(cell, desk, desk.slate, user, luck, &expected);
    int outcome = clicked;
    if (cell.realised) {
        if (respond(cell, desk, cell.optimal_slates + user * K, user, luck, &ignored) > 0)
            outcome |= IDEAL;
    }
    Int* appearances = cell.appearances + (Int)interval * cell.catalogue * K;
    EVERY_LANE(position, K) add_to(appearances + cell.rows[desk.slate[position]] * K + position, 1);
    Int at = (Int)place * cell.users + user;
    if (lane() == 0) {
        if (clicked > 0) {
            Int* clicks = cell.item_clicks + (Int)interval * cell.catalogue * K;
            add_to(clicks + cell.rows[desk.slate[clicked - 1]] * K + clicked - 1, 1);
        }
        cell.outcomes[at] = outcome;
        cell.regrets[at] = to_units(cell.optimal_values[user] - expected);
        cell.widths[at] = to_units(width);
    }
    if (cell.traced) {
        EVERY_LANE(position, K)
            cell.lists[at * K + position] = (int)cell.rows[desk.slate[position]];
    }
    return clicked;
}

// The last position seen: `FirstClick.seen` of one click, or of none (0).
DEVICE int seen_up_to(int clicked) { return clicked > 0 ? clicked : K; }

// Add up what happened to all users of a cell in each round.
DEVICE void add_up(const Cell& cell, int rounds) {
    for (Int round = warp_of_grid(); round < rounds; round += warps_of_grid()) {
        Int sums[COUNTS] = {};
        for (Int user = lane(); user < cell.users; user += LANES) {
            Int at = round * cell.users + user;
            int outcome = cell.outcomes[at];
            if (outcome == ABSENT) continue;
            sums[SERVED]++;
            sums[CLICKS] += outcome % IDEAL > 0;
            sums[CLICKED] += outcome % IDEAL > 0;
            sums[OPTIMAL_CLICKS] += outcome >= IDEAL;
            sums[REGRET] += cell.regrets[at];
            sums[WIDTH] += cell.widths[at];
        }
        UNROLL for (int i = 0; i < COUNTS; i++) {
            Int total = sum_of(sums[i]);
            if (lane() == 0) cell.by_round[i * (Int)rounds + round] = total;
        }
    }
}

extern "C" GLOBAL void add_up_rounds(const Cell* cells, int count, int rounds) {
    for (int cell = 0; cell < count; cell++) add_up(cells[cell], rounds);
}

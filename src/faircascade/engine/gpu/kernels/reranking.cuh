// What happens to a ranking before it is shown: the re-rankers, and random items.

// Say whether the luck of a draw can be as large as is needed: Gumbel noise of g takes a draw that
// begins with about g / ln 2 zeros, so that most are ruled out without a logarithm.
DEVICE bool can_be(double needed, Word draw) {
    int zeros = needed > 2.0 * LOG_2 ? (int)fmin(needed / LOG_2, 53.0) - 1 : 0;
    return zeros == 0 || draw >> (64 - zeros) == 0;
}

// Change the scores of all items: `MeritDraws.adjust` and `ExposureCharge.adjust`.
DEVICE void adjust(const Job& job, Real* scores, Int user, Word word) {
    if (job.drawn_by_merit) {
        Word luck = absorb(job.fair[user], word);
        Real sharpness = (Real)job.sharpness;
        Real mine = (Real)-INFINITY, floor = (Real)-INFINITY;  // a score below cannot come in
        int turn = 0;
        for (int first = 0; first < job.items; first += LANES) {
            int i = first + lane();
            if (i < job.items) {
                Word draw = absorb(luck, job.keys[i]);
                Real base = sharpness * scores[i], value = (Real)-INFINITY;
                if (can_be(floor - base, draw)) value = base + (Real)gumbel(draw);
                scores[i] = value;
                mine = value > mine ? value : mine;
            }
            if ((++turn & 7) == 0 && K <= LANES)
                floor = largest_but(K, mine) - 2 * (Real)RESOLUTION;
        }
        meet();
    }
    if (job.eta > 0.0) {
        Int total = job.total[user];
        double rate = job.eta * ((double)job.catalogue / (double)(total > 1 ? total : 1));
        const Int* worth = job.worth + user * job.items;
        EVERY_LANE(i, job.items) scores[i] = scores[i] - (Real)(rate * (double)worth[i]);
        meet();
    }
}

// Where a slate is drawn by merit there is no front, and one tier: how far any item can have risen.
const int RISE = 0;

// What is remembered of the last time that all items were scored; the scores are in `room.scores`.
struct Leaders {
    bool known;
    int item;  // this lane's best
};

// Score all items, and note which did best, and from where on they can have risen.
DEVICE void score_leaders(const Job& job, Desk& desk, Room& room, Leaders& leaders) {
    score_all(job, desk.theta, desk, room);
    Real mine = (Real)-INFINITY;
    leaders.item = 0;
    EVERY_LANE(i, job.items) {
        if (room.scores[i] > mine) {
            mine = room.scores[i];
            leaders.item = i;
        }
    }
    begin(job, desk, RISE, 0, (Real)job.radius);
    leaders.known = true;
}

// An item's score with its luck: `MeritDraws.adjust` of one item.
DEVICE Real drawn_value(const Job& job, const Desk& desk, Word luck, int item) {
    Real x[1][D], score, width;
    const Real* row = job.features + (Int)item * D;
    UNROLL for (int a = 0; a < D; a++) x[0][a] = row[a];
    scores_of<1>(x, desk.theta, desk.M_inv, (Real)job.alpha, &score, &width);
    return (Real)job.sharpness * score + (Real)gumbel(absorb(luck, job.keys[item]));
}

// Collect the items that can come into a slate that takes a value of `floor`: how high they scored
// and can have risen since, and the first bits of their luck, rule out nearly all. Return how many
// there are; beyond MOST_DRAWN they are not all there.
DEVICE int within_reach(
    const Job& job, const Desk& desk, Room& room, Word luck, Real floor
) {
    Real rise = limit_of(desk, RISE), rounding = 4 * (D + 4) * ROUNDOFF;
    int found = 0;
    for (int first = 0; first < job.items && found <= MOST_DRAWN; first += LANES) {
        int i = first + lane();
        bool reaches = false;
        if (i < job.items) {
            Real score = room.scores[i];
            double most = job.sharpness * (double)(score + rise + rounding * fabs(score));
            reaches = can_be(floor - most - 1e-9 * fabs(most), absorb(luck, job.keys[i]));
        }
        unsigned lanes = which(reaches);
        int place = found + before_me(lanes);
        if (reaches && place < MOST_DRAWN) room.sets[place] = i;
        found += __popc(lanes);
    }
    meet();
    return found;
}

// Draw a slate by merit without scoring every item; return false if that cannot be done. K of the
// leaders' values are a floor that every listed item reaches.
DEVICE bool draw_slate(
    const Job& job, Desk& desk, Room& room, Leaders& leaders, Int user, Word ties, Word word
) {
    if (job.items < LANES) return false;
    Word luck = absorb(job.fair[user], word);
    bool fresh = !leaders.known;
    for (;; fresh = true) {
        if (fresh) score_leaders(job, desk, room, leaders);
        Real mine = drawn_value(job, desk, luck, leaders.item);
        Real floor = largest_but(K, mine) - 2 * (Real)RESOLUTION;
        int found = within_reach(job, desk, room, luck, floor);
        if (found >= K && found <= MOST_DRAWN) {
            EVERY_LANE(i, found) room.work[i] = drawn_value(job, desk, luck, room.sets[i]);
            meet();
            keep_best(job, desk, room.work, room.sets, found, K, ties, desk.slate, desk.best);
            return true;
        }
        if (fresh) break;
    }
    leaders.known = false;
    return false;
}

// Replace items by random ones at random positions: `exploration.epsilon.mingle`. One lane does it.
DEVICE void mingle(const Job& job, Desk& desk, Int user, Word word) {
    if (lane() == 0) {
        int *items = desk.slate, *greedy = desk.greedy, *listed = desk.listed, *used = desk.found;
        for (int position = 0; position < K; position++) {
            greedy[position] = items[position];
            used[position] = 0;
        }
        Word coins = absorb(job.coin[user], word), lots = absorb(job.lot[user], word);
        for (int position = 0; position < K; position++) {
            int pick;
            if (uniform(absorb(coins, position + 1)) < job.epsilon) {
                double share = uniform(absorb(lots, position + 1));
                Int rank = (Int)(share * (double)(job.items - position));
                for (int i = 0; i < position; i++) rank += rank >= listed[i];
                pick = (int)job.by_key[rank];
            } else {
                int best = 0;
                while (used[best]) best++;
                pick = greedy[best];
            }
            items[position] = pick;
            for (int i = 0; i < K; i++) used[i] |= greedy[i] == pick;
            int rank = (int)job.rank[pick], i = position;  // `listed` is kept ascending
            for (; i > 0 && listed[i - 1] > rank; i--) listed[i] = listed[i - 1];
            listed[i] = rank;
        }
    }
    meet();
}

// Return how many items at the top to shuffle: `ears.shuffled_length`.
DEVICE int shuffled_length(const Job& job, Desk& desk, const Real* theta) {
    EVERY_LANE(r, K) {
        Real score, width;
        scores_of<1>(desk.x + r, theta, desk.M_inv, (Real)job.alpha, &score, &width);
        double value = (double)rounded(score) * RESOLUTION;
        desk.misses[r] = 1.0 - fmin(fmax(value, 0.0), 1.0);
    }
    meet();
    int longest = 1;
    if (lane() == 0) {
        bool hopeless = true;
        for (int r = 0; r < K; r++) hopeless = hopeless && desk.misses[r] == 1.0;
        if (!hopeless) {
            double *polynomials = desk.missed, *tails = desk.missed + K + 1;
            tails[0] = 1.0;  // for a moment: what the slate up to each length misses
            for (int r = 1; r <= K; r++) tails[r] = tails[r - 1] * desk.misses[r - 1];
            double rest = 0.0, enough = 0.0;
            for (int r = K; r >= 0; r--) {
                double missed = tails[r];
                tails[r] = rest;
                rest = rest + missed * job.stops[r];
            }
            polynomials[0] = 1.0;
            for (int r = 1; r <= K; r++) polynomials[r] = 0.0;
            for (int length = 1; length <= K; length++) {
                double miss = desk.misses[length - 1];
                for (int r = length; r > 0; r--)
                    polynomials[r] = polynomials[r] + miss * polynomials[r - 1];
                const double* share = job.shares + length * (K + 1);
                double inside = polynomials[0] * job.stops[0];
                for (int r = 1; r <= length; r++)
                    inside = inside + polynomials[r] * (share[r] * job.stops[r]);
                double clicks = 1.0 - inside - tails[length];
                if (length == 1)
                    enough = (1.0 - job.tolerance) * clicks;
                else if (clicks > enough)
                    longest = length;
            }
        }
    }
    longest = from_lane(longest, 0);
    return longest;
}

// Put the slate into the order in which it is shown: `EARS.arrange` and `Reorder.arrange`.
DEVICE void arrange(const Job& job, Desk& desk, Int user, Word word, const Real* theta) {
    int length = K;
    if (job.tolerance > 0.0 && job.tolerance < 1.0) length = shuffled_length(job, desk, theta);
    Word luck = absorb(job.shuffle[user], word);
    EVERY_LANE(position, length) {
        int item = desk.slate[position];
        desk.lots[position] = job.tolerance > 0.0
            ? absorb(luck, job.keys[item])
            : (Word)job.worth[user * job.items + item];
    }
    meet();
    if (lane() == 0) {
        for (int position = 1; position < length; position++) {
            int item = desk.slate[position], place = position;
            Word lot = desk.lots[position];
            for (; place > 0 && lot < desk.lots[place - 1]; place--) {
                desk.slate[place] = desk.slate[place - 1];
                desk.lots[place] = desk.lots[place - 1];
            }
            desk.slate[place] = item;
            desk.lots[place] = lot;
        }
    }
    meet();
}

// Take a slate into the user's account of exposure: `Ledger.enter`.
DEVICE void enter(const Job& job, const Desk& desk, Int user) {
    Int *units = job.units + user * job.items, *worth = job.worth + user * job.items;
    Int more = 0;
    EVERY_LANE(position, K) {
        int item = desk.slate[position];
        units[item] += job.gained[position];
        Int now = (Int)rint((double)units[item] * job.prices[item]);
        more += now - worth[item];
        worth[item] = now;
    }
    more = sum_of(more);
    if (lane() == 0) job.total[user] += more;
    meet();
}

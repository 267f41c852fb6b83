// The best of many, ties decided by keys: `ranking.top_k` for one user.

#define NONE (-1)

// One item of a ranking: it comes before another by its rounded score, then by its tie key.
struct Place {
    Real value;
    Word lot;
    int item, at;
};

DEVICE bool is_before(Real value, Word lot, Real other_value, Word other_lot) {
    return value != other_value ? value > other_value : lot < other_lot;
}

// The first of the places that the lanes hold; NONE as item if no lane has one.
DEVICE Place first_of(Place mine) {
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        Real value = __shfl_xor_sync(ALL_LANES, mine.value, apart);
        Word lot = __shfl_xor_sync(ALL_LANES, mine.lot, apart);
        int item = __shfl_xor_sync(ALL_LANES, mine.item, apart);
        int at = __shfl_xor_sync(ALL_LANES, mine.at, apart);
        if (item != NONE && (mine.item == NONE || is_before(value, lot, mine.value, mine.lot)))
            mine = {value, lot, item, at};
    }
    return mine;
}

// Find the first of all scored items that come after one: pass by pass, whatever is tied.
DEVICE Place next_after(
    const Job& job, const Real* scores, const int* items, int count, Word ties, const Place& last
) {
    Place mine = {(Real)-INFINITY, 0, NONE, NONE};
    EVERY_LANE(i, count) {
        Real value = rounded(scores[i]);
        if (last.item != NONE && value > last.value) continue;
        if (mine.item != NONE && value < mine.value) continue;
        int item = items ? items[i] : i;
        Word lot = absorb(ties, job.keys[item]);
        if (last.item != NONE && !is_before(last.value, last.lot, value, lot)) continue;
        if (mine.item == NONE || is_before(value, lot, mine.value, mine.lot))
            mine = {value, lot, item, i};
    }
    return first_of(mine);
}

// Count how many of the front come before each item of this lane. Rounded scores are in `values`.
DEVICE void rank_among(
    const Job& job, Desk& desk, const int* front, int size, Word ties, const Real* own, int* rank
) {
    bool tied = false;
    UNROLL for (int slot = 0; slot < SLOTS; slot++) rank[slot] = 0;
    for (int i = 0; i < size; i++) {
        Real other = desk.values[i];
        UNROLL for (int slot = 0; slot < SLOTS; slot++) {
            int me = slot * LANES + lane();
            rank[slot] += other > own[slot];
            tied |= other == own[slot] && i != me && me < size;
        }
    }
    if (!any(tied)) return;
    UNROLL for (int slot = 0; slot < SLOTS; slot++) {
        int i = slot * LANES + lane();
        if (i < size) desk.lots[i] = absorb(ties, job.keys[front[slot]]);
    }
    meet();
    for (int i = 0; i < size; i++) {
        Real other = desk.values[i];
        Word lot = desk.lots[i];
        UNROLL for (int slot = 0; slot < SLOTS; slot++) {
            int me = slot * LANES + lane();
            if (me < size && other == own[slot] && lot < desk.lots[me]) rank[slot]++;
        }
    }
    meet();
}

// `keep_best`, however many are tied.
DEVICE int keep_best_by_passes(
    const Job& job, const Real* scores, const int* items, int count, int size, Word ties,
    int* best, Real* values
) {
    Place last = {0, 0, NONE, NONE};
    int kept = 0;
    while (kept < size) {
        last = next_after(job, scores, items, count, ties, last);
        if (last.item == NONE) break;
        if (lane() == 0) {
            best[kept] = last.item;
            values[kept] = last.value;
        }
        kept++;
    }
    meet();
    return kept;
}

// Return a score that at least `size` items reach: with an item a lane, or more, there are as many
// at or above the size-th largest of the lanes' maxima.
DEVICE Real reached_by(const Real* scores, int count, int size) {
    if (size > LANES) return (Real)-INFINITY;
    Real mine = (Real)-INFINITY;
    EVERY_LANE(i, count) mine = scores[i] > mine ? scores[i] : mine;
    return largest_but(size, mine);
}

// Put the first `size` of `count` scored items in order into `best`, their rounded scores into
// `values`; `items` may be null: then item i has scores[i]. Return how many there are.
DEVICE int keep_best(
    const Job& job, Desk& desk, const Real* scores, const int* items, int count, int size,
    Word ties, int* best, Real* values
) {
    Real floor = rounded(reached_by(scores, count, size));
    int found = 0;
    for (int first = 0; first < count && found <= FRONT; first += LANES) {
        int i = first + lane();
        Real value = i < count ? rounded(scores[i]) : (Real)-INFINITY;
        unsigned lanes = which(i < count && value >= floor);
        int place = found + before_me(lanes);
        found += __popc(lanes);
        if (lanes >> lane() & 1u && place < FRONT) {
            desk.values[place] = value;
            desk.found[place] = items ? items[i] : i;
        }
    }
    meet();
    if (found > FRONT)
        return keep_best_by_passes(job, scores, items, count, size, ties, best, values);
    Real own[SLOTS];
    int mine[SLOTS], rank[SLOTS];
    UNROLL for (int slot = 0; slot < SLOTS; slot++) {
        int i = slot * LANES + lane();
        own[slot] = i < found ? desk.values[i] : (Real)-INFINITY;
        mine[slot] = i < found ? desk.found[i] : 0;
    }
    rank_among(job, desk, mine, found, ties, own, rank);
    UNROLL for (int slot = 0; slot < SLOTS; slot++) {
        if (slot * LANES + lane() < found && rank[slot] < size) {
            best[rank[slot]] = mine[slot];
            values[rank[slot]] = own[slot];
        }
    }
    meet();
    return found < size ? found : size;
}

// The K-th largest of the front's rounded scores, of which there are at least K.
DEVICE Real kth_value(const Desk& desk, int size) {
    Real found = (Real)INFINITY;
    EVERY_LANE(i, size) {
        Real own = desk.values[i];
        int larger = 0;
        for (int other = 0; other < size; other++) larger += desk.values[other] > own;
        if (larger < K && own < found) found = own;
    }
    return smallest_of(found);
}

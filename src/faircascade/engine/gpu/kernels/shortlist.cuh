// Slates without scoring every item: who can have risen into a slate, and who cannot. As in the cpu
// engine's `shortlist`: a tier is what one set has beyond the next smaller one.

// Return how high an item of a tier can score now, at most.
DEVICE Real limit_of(const Desk& desk, int tier) {
    Real squares = 0;
    EVERY_LANE(a, D) {
        Real move = desk.theta[a] - desk.base[tier * D + a];
        squares += move * move;
    }
    return desk.fixed[tier] + desk.slope[tier] * sqrt(sum_of(squares));
}

// Allow for a Newton step that moved M^-1, and for the rounding of updates until the next.
DEVICE void grow(const Job& job, Desk& desk, int tier, Real moved, Int updates) {
    if (lane() == 0) {
        Real ceiling = desk.ceiling[tier];
        if (ceiling == (Real)-INFINITY) {  // nobody was left out
            desk.fixed[tier] = ceiling;
            desk.slope[tier] = 0;
        } else {
            Real norm = desk.norm[tier] = desk.norm[tier] + moved;
            Real growth = desk.growth[tier] + moved + 8 * ROUNDOFF * norm * updates * K;
            desk.growth[tier] = growth;
            Real rounding = 4 * (D + 4) * ROUNDOFF;
            Real width = sqrt(growth) + rounding * sqrt(norm);
            Real theta = rounding * desk.theta_norm[tier];
            Real rise = desk.tier_radius[tier] * (theta + (Real)job.alpha * width);
            desk.fixed[tier] = ceiling + rise + rounding * (fabs(ceiling) + rise);
            desk.slope[tier] = desk.tier_radius[tier] * (1 + 4 * rounding);
        }
    }
    meet();
}

// Note what is left out now: its highest score, its largest norm, and what theta is.
DEVICE void begin(const Job& job, Desk& desk, int tier, Real ceiling, Real radius) {
    Real squares = 0, norm = 0;
    EVERY_LANE(a, D) {
        desk.base[tier * D + a] = desk.theta[a];
        squares += desk.theta[a] * desk.theta[a];
    }
    EVERY_LANE(i, D * D) norm += desk.M_inv[i] * desk.M_inv[i];
    squares = sum_of(squares);
    norm = sqrt(sum_of(norm));
    if (lane() == 0) {
        desk.ceiling[tier] = ceiling;
        desk.tier_radius[tier] = radius;
        desk.theta_norm[tier] = sqrt(squares);
        desk.norm[tier] = norm;
        desk.growth[tier] = 4 * (D + 2) * (D + 2) * ROUNDOFF * norm;
    }
    meet();
    grow(job, desk, tier, 0, job.refine_every);
}

// Return a score that at most `most` items reach, and not many fewer if possible; it is infinite if
// more share the highest score, which `highest` gets.
DEVICE Real cutting_score(const Real* scores, int count, int most, Real* highest) {
    Real low = (Real)INFINITY, high = (Real)-INFINITY;
    EVERY_LANE(i, count) {
        low = scores[i] < low ? scores[i] : low;
        high = scores[i] > high ? scores[i] : high;
    }
    low = smallest_of(low);
    *highest = high = largest_of(high);
    Real least = (Real)INFINITY;
    for (int step = 0; step < HALVINGS; step++) {
        Real middle = (Real)0.5 * (low + high);
        int reach = 0;
        EVERY_LANE(i, count) reach += scores[i] >= middle;
        reach = sum_of(reach);
        if (reach > most) {
            low = middle;
        } else {
            high = least = middle;
            if (8 * reach >= 7 * most) break;
        }
    }
    return least;
}

// Choose the items that score at least so much, in their order; their scores move along.
DEVICE int cut(Real* scores, const int* items, int count, Real least, int* chosen) {
    int size = 0;
    for (int first = 0; first < count; first += LANES) {
        int i = first + lane();
        Real value = i < count ? scores[i] : (Real)-INFINITY;
        int item = i < count ? (items ? items[i] : i) : 0;
        unsigned lanes = which(i < count && value >= least);
        if (lanes >> lane() & 1u) {
            int place = size + before_me(lanes);
            scores[place] = value;
            chosen[place] = item;
        }
        size += __popc(lanes);
        meet();
    }
    return size;
}

// The largest norm of the items that score less than `least`, all items being scored.
DEVICE Real radius_below(const Job& job, const Real* scores, Real least) {
    Real found = 0;
    EVERY_LANE(i, job.items) {
        if (scores[i] < least && job.norms[i] > found) found = job.norms[i];
    }
    return largest_of(found);
}

DEVICE int start_of(int set) {
    int start = 0;
    for (int i = 1; i < set; i++) start += ROOM_OF_SET(i);
    return start;
}

// Score the items of a set; return how many there are.
DEVICE int score_set(const Job& job, Desk& desk, Room& room, int level, const int** items) {
    if (level > SETS) {
        score_all(job, desk.theta, desk, room);
        *items = 0;
        return (int)job.items;
    }
    *items = room.sets + start_of(level);
    score_some(job, desk.theta, desk, room, *items, desk.sizes[level - 1]);
    return desk.sizes[level - 1];
}

// Score the items of a set and choose all smaller sets anew; the front goes to `desk.found`. Return
// its size.
DEVICE int widen(const Job& job, Desk& desk, Room& room, Word ties, int level) {
    const int* items;
    int count = score_set(job, desk, room, level, &items);
    Real highest = (Real)-INFINITY;
    for (int target = level - 1; target >= 0; target--) {
        int most = target > 0 ? ROOM_OF_SET(target) : FRONT;
        int* chosen = target > 0 ? room.sets + start_of(target) : desk.found;
        Real radius = (Real)job.radius, ceiling = (Real)-INFINITY, least = (Real)-INFINITY;
        if (count > most) {
            Real top;
            least = cutting_score(room.scores, count, most, &top);
            ceiling = least < top ? least : top;
            if (target == SETS) radius = radius_below(job, room.scores, least);
        }
        begin(job, desk, target, ceiling, radius);
        highest = ceiling > highest ? ceiling : highest;
        count = least < (Real)INFINITY ? cut(room.scores, items, count, least, chosen) : 0;
        items = chosen;
        if (target > 0 && lane() == 0) desk.sizes[target - 1] = count;
        meet();
    }
    // the K-th of the front, if it has as many, must be above all who were left out
    Real floor = (Real)-INFINITY;
    if (count >= K) {
        EVERY_LANE(i, FRONT) desk.values[i] = i < count ? rounded(room.scores[i]) : (Real)-INFINITY;
        meet();
        floor = kth_value(desk, count);
    }
    if (count >= K && highest < (floor - 1) * (Real)RESOLUTION) return count;
    // many are level with the last of the slate, as in the first round: rank the whole set
    count = score_set(job, desk, room, level, &items);
    int all = count;
    Place last = {0, 0, NONE, NONE};
    for (count = 0; count < FRONT; count++) {
        Place next = next_after(job, room.scores, items, all, ties, last);
        if (next.item == NONE) break;
        last = next;
        if (lane() == 0) desk.found[count] = last.item;
    }
    meet();
    Place left_out = next_after(job, room.scores, items, all, ties, last);
    for (int tier = 0; tier < level - 1; tier++) begin(job, desk, tier, (Real)-INFINITY, 0);
    Real ceiling = (left_out.value + (Real)0.5) * (Real)RESOLUTION;
    if (left_out.item == NONE) ceiling = (Real)-INFINITY;
    begin(job, desk, level - 1, ceiling, (Real)job.radius);
    return count;
}

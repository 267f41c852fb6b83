// What the kernel works on. Item numbers are rows of the pool; symmetric matrices are stored as
// their upper half, row by row. Python reads the fields of `Job`, 8 bytes each, and of
// `Desk` from this text (gpu/structs.py).

struct Job {
    // who is served, and from what
    Int users, items, padded;
    const Real* features;        // one row per item, (p, D)
    const Real* by_feature;      // one row per feature, (D, padded)
    const Real* norms;           // of the feature rows, rounded up, (padded,)
    double radius;               // the largest of them
    const Word* keys;            // (p,)
    const Int* rows;             // catalogue rows, (p,)
    const Int* by_key;           // items in the order of their keys, (p,)
    const Int* rank;             // place of each item in that order, (p,)
    const double* true_features; // what users see, (p, D)
    const double* preferences;   // (n, D)
    const double* optimal_values;  // (n,)
    const int* optimal_slates;   // (n, K)
    // where each user's draws begin, (n,) each
    const Word *attraction, *examination, *tie, *visit, *radius_draw, *angle_draw, *coin, *lot;
    const Word *shuffle, *fair;
    const double* chances;       // how likely each user comes in a round, (n,)
    // the policy and the options of a run, as numbers
    double alpha, noise, epsilon, gain, scale;
    Int plain;                   // one click at most, and everything down to it counts in full
    Int until;                   // how far positions are taken as seen
    const double* noticed;       // how much of each that far, (K,)
    const double* clicked_factors;  // what the features of a clicked position are multiplied by
    const double* ignored_factors;  // those of one that was seen and not clicked, (K, K) each
    const double* clicked;       // target of a clicked position for each last one seen, (K, K)
    const double* ignored;       // target of one that was seen and not clicked, (K, K)
    double tolerance;
    const double* stops;         // (K + 1,)
    const double* shares;        // (K + 1, K + 1)
    Int drawn_by_merit;
    double sharpness, eta;
    Int reorders, accounts;
    const Int* gained;           // (K,)
    Int refine_every;
    Int realised, lazy, lazy_draws, traced;
    // the click model, as in `ClickNumbers`
    Int click_model;
    double click_ignored, click_slope;
    const double *click_clicked, *click_gain;  // (K,)
    const double *click_kept, *click_worth;    // (p,)
    const double* click_examination;           // (K, K)
    // what is learned of each user
    Real *M, *M_inv;             // (n, PAIRS)
    Real *B, *theta;             // (n, D)
    Int *updates, *interval;     // (n,)
    // exposure that each user has seen
    Int *units, *worth;          // (n, p)
    Int* total;                  // (n,)
    const double* prices;        // (p,)
    Int catalogue;               // items of the catalogue, those that are never shown included
    // what is counted in this launch
    Int *appearances, *item_clicks;  // (intervals, catalogue, K)
    int* outcomes;               // number of clicks, and IDEAL times that of the optimal slate,
                                 // -1 for absent, (rounds, n)
    Int *regrets, *widths;       // in units of 2^-32, (rounds, n)
    Int* by_round;               // rows as in `tally.BY_ROUND`, (COUNTS, rounds)
    int *slates, *clicks;        // (rounds, n, K) each, if traced
    Int* broken;
};

// One user's sums and slate, in shared memory.
struct Desk {
    Real M[PAIRS];
    Real M_inv[D * D];
    Real B[D], theta[D], v[D];
    Real drawn[D + 1];           // theta of a draw from the posterior
    Real x[K][D];                // features of the slate
    Real weights[K];
    Real values[FRONT];          // rounded scores of the front, or of a set's best so far
    Real best[K];                // rounded scores of the slate
    Real shown_widths[K];        // confidence widths of the slate
    Real fixed[TIERS], slope[TIERS], ceiling[TIERS], tier_radius[TIERS], theta_norm[TIERS];
    Real norm[TIERS], growth[TIERS], base[TIERS * D];
    double misses[K], missed[2 * (K + 1)];
    int clicks[K];               // clicked positions of the slate, unless the rules are plain
    Word lots[FRONT];
    int slate[K], greedy[K], listed[K];
    int found[FRONT];            // items of a set, or which places `mingle` has used
    int sizes[SETS];
};

// Room in global memory, one for each warp that runs at a time.
struct Room {
    Real* scores;                // (padded,)
    Real* work;                  // (ROOM_FOR_WORK,)
    int* sets;                   // items of sets 1, 2, ..., one after the other
};

// Where an entry of the upper half stands in the full matrix, and the other way round.
DEVICE int row_of(int pair) { return PAIR_TABLE[pair] >> 8; }

DEVICE int column_of(int pair) { return PAIR_TABLE[pair] & 255; }

DEVICE int pair_of(int a, int b) {
    int row = a < b ? a : b, column = a < b ? b : a;
    return row * D - row * (row - 1) / 2 + column - row;
}

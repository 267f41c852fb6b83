// Scores, with the sums of `numerics.ordered_dot` and `quadratic_form`: the same bits.

// theta . x of N items.
template <int N> DEVICE void means_of(const Real (*x)[D], const Real* theta, Real* mean) {
    UNROLL for (int n = 0; n < N; n++) mean[n] = theta[0] * x[n][0];
    UNROLL for (int a = 1; a < D; a++) {
        Real own = theta[a];
        UNROLL for (int n = 0; n < N; n++) mean[n] = mean[n] + own * x[n][a];
    }
}

// sqrt(x^T M^-1 x) of N items: an entry of the matrix is read once for all of them.
template <int N> DEVICE void widths_of(const Real (*x)[D], const Real* M_inv, Real* width) {
    UNROLL for (int n = 0; n < N; n++) width[n] = 0;
    UNROLL for (int a = 0; a < D; a++) {
        Real inner[N], beside[N];
        UNROLL for (int n = 0; n < N; n++) inner[n] = M_inv[a * D + a] * x[n][a];
        if (a + 1 < D) {
            Real entry = M_inv[a * D + a + 1];
            UNROLL for (int n = 0; n < N; n++) beside[n] = entry * x[n][a + 1];
            UNROLL for (int b = a + 2; b < D; b++) {
                entry = M_inv[a * D + b];
                UNROLL for (int n = 0; n < N; n++) beside[n] = beside[n] + entry * x[n][b];
            }
            UNROLL for (int n = 0; n < N; n++) inner[n] = inner[n] + (beside[n] + beside[n]);
        }
        UNROLL for (int n = 0; n < N; n++) width[n] = width[n] + x[n][a] * inner[n];
    }
    UNROLL for (int n = 0; n < N; n++) width[n] = sqrt(width[n] > 0 ? width[n] : (Real)0);
}

// theta . x + alpha * width of N items; the widths are 0 if alpha is.
template <int N> DEVICE void scores_of(
    const Real (*x)[D], const Real* theta, const Real* M_inv, Real alpha, Real* score, Real* width
) {
    means_of<N>(x, theta, score);
    UNROLL for (int n = 0; n < N; n++) width[n] = 0;
    if (alpha > 0) {
        widths_of<N>(x, M_inv, width);
        UNROLL for (int n = 0; n < N; n++) score[n] = score[n] + alpha * width[n];
    }
}

DEVICE Real rounded(Real score) { return rint(score / (Real)RESOLUTION); }

// Score every item of the pool.
DEVICE void score_all(const Job& job, const Real* theta, const Desk& desk, Room& room) {
    for (int first = lane(); first < job.items; first += AT_ONCE * LANES) {
        Real x[AT_ONCE][D], score[AT_ONCE], width[AT_ONCE];
        UNROLL for (int n = 0; n < AT_ONCE; n++) {
            int i = first + n * LANES;
            UNROLL for (int a = 0; a < D; a++)
                x[n][a] = i < job.items ? job.by_feature[a * job.padded + i] : (Real)0;
        }
        scores_of<AT_ONCE>(x, theta, desk.M_inv, (Real)job.alpha, score, width);
        UNROLL for (int n = 0; n < AT_ONCE; n++)
            if (first + n * LANES < job.items) room.scores[first + n * LANES] = score[n];
    }
    meet();
}

// Score some items.
DEVICE void score_some(
    const Job& job, const Real* theta, const Desk& desk, Room& room, const int* items, int count
) {
    EVERY_LANE(i, count) {
        Real x[1][D], width;
        const Real* row = job.features + (Int)items[i] * D;
        UNROLL for (int a = 0; a < D; a++) x[0][a] = row[a];
        scores_of<1>(x, theta, desk.M_inv, (Real)job.alpha, room.scores + i, &width);
    }
    meet();
}

// Copy the features of the slate next to each other.
DEVICE void gather(const Job& job, Desk& desk) {
    EVERY_LANE(i, K * D) desk.x[i / D][i % D] = job.features[(Int)desk.slate[i / D] * D + i % D];
    meet();
}

// Ridge regression of one user: `Ridge.update`, operation by operation.

// Put M^-1 x into `v`, each entry a sum in index order.
DEVICE void multiply(Desk& desk, const Real* x) {
    EVERY_LANE(b, D) {
        Real total = desk.M_inv[b] * x[0];
        UNROLL for (int a = 1; a < D; a++) total = total + desk.M_inv[a * D + b] * x[a];
        desk.v[b] = total;
    }
    meet();
}

// Learn the examined part of the slate. Each lane has columns of M^-1 in registers and gets the
// other lanes' parts of a vector by exchange: nobody waits for shared memory between positions.
DEVICE void learn(const Job& job, Desk& desk, int examined) {
    Real gain = (Real)job.gain, scale = (Real)job.scale;
    Real columns[COLUMNS][D], sums[COLUMNS];
    UNROLL for (int c = 0; c < COLUMNS; c++) {
        int b = c * LANES + lane();
        sums[c] = b < D ? desk.B[b] : (Real)0;
        UNROLL for (int a = 0; a < D; a++) columns[c][a] = b < D ? desk.M_inv[a * D + b] : (Real)0;
    }
    for (int k = 0; k < examined; k++) {
        const Real* x = desk.x[k];
        Real own[COLUMNS], v[D];
        UNROLL for (int c = 0; c < COLUMNS; c++) {  // M^-1 x
            own[c] = columns[c][0] * x[0];
            UNROLL for (int a = 1; a < D; a++) own[c] = own[c] + columns[c][a] * x[a];
        }
        UNROLL for (int a = 0; a < D; a++) v[a] = from_lane(own[a / LANES], a % LANES);
        Real inner = x[0] * v[0];
        UNROLL for (int a = 1; a < D; a++) inner = inner + x[a] * v[a];
        Real shrink = (Real)1 / sqrt((Real)1 / gain + inner);
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            int b = c * LANES + lane();
            own[c] = own[c] * shrink;
            UNROLL for (int a = 0; a < D; a++)
                columns[c][a] = columns[c][a] - (v[a] * shrink) * own[c];
            if (b < D) sums[c] = sums[c] + desk.weights[k] * x[b];
        }
        UNROLL for (int step = 0; step < STEPS; step++) {
            int pair = step * LANES + lane();
            if (pair < PAIRS)
                desk.M[pair] = desk.M[pair] + gain * (x[row_of(pair)] * x[column_of(pair)]);
        }
    }
    UNROLL for (int c = 0; c < COLUMNS; c++) {
        int b = c * LANES + lane();
        if (b < D) desk.B[b] = sums[c];
        UNROLL for (int a = 0; a < D; a++)
            if (b < D) desk.M_inv[a * D + b] = columns[c][a];
    }
    meet();
    multiply(desk, desk.B);
    EVERY_LANE(b, D) desk.theta[b] = scale * desk.v[b];
    meet();
}

// Put the inverse of M into a matrix: `numerics.inverse`.
DEVICE void invert(Desk& desk, Real* A) {
    Real *column = desk.v, *ratio = desk.x[0], *done = desk.drawn;  // the slate has been learned
    EVERY_LANE(i, D * D) A[i] = desk.M[pair_of(i / D, i % D)];
    EVERY_LANE(a, D) done[a] = 0;
    meet();
    for (int step = 0; step < D; step++) {
        int pivot = 0;
        Real largest = (Real)-INFINITY;
        for (int a = 0; a < D; a++) {
            if (done[a] == 0 && A[a * D + a] > largest) {
                pivot = a;
                largest = A[a * D + a];
            }
        }
        meet();
        if (lane() == 0) done[pivot] = 1;
        EVERY_LANE(a, D) {
            column[a] = A[a * D + pivot];
            ratio[a] = A[a * D + pivot] / A[pivot * D + pivot];
        }
        meet();
        EVERY_LANE(i, D * D) {
            int row = i / D, b = i % D;
            int low = row < b ? row : b, high = row < b ? b : row;
            if (row == pivot && b == pivot)
                A[i] = -1 / column[pivot];
            else if (row == pivot || b == pivot)
                A[i] = ratio[row == pivot ? b : row];
            else
                A[i] = A[i] - column[low] * ratio[high];
        }
        meet();
    }
    EVERY_LANE(i, D * D) A[i] = -A[i];
    meet();
}

// Make the inverse better, and theta from it: `refinement.refine`. Return how far the inverse moved (its
// Frobenius norm); `residual` gets max |M M^-1 - I| before. `room` has space for two matrices.
DEVICE Real refine(const Job& job, Desk& desk, Real* room, bool afresh, Real* residual) {
    Real *rest = room, *better = room + D * D;
    Real off = 0;
    EVERY_LANE(i, D * D) {
        int row = i / D, column = i % D;
        Real total = desk.M[pair_of(row, 0)] * desk.M_inv[column];
        for (int c = 1; c < D; c++)
            total = total + desk.M[pair_of(row, c)] * desk.M_inv[c * D + column];
        rest[i] = row == column ? -total + 2 : -total;
        Real size = fabs(row == column ? rest[i] - 1 : rest[i]);
        off = size > off ? size : off;
    }
    *residual = off = largest_of(off);
    meet();
    if (afresh || off > (Real)RESIDUAL) {
        invert(desk, better);
    } else {
        EVERY_LANE(i, D * D) {
            int row = i / D, column = i % D;
            Real total = desk.M_inv[row * D] * rest[column];
            for (int c = 1; c < D; c++)
                total = total + desk.M_inv[row * D + c] * rest[c * D + column];
            better[i] = total;
        }
        meet();
    }
    Real moved = 0;
    EVERY_LANE(i, D * D) {
        int row = i / D, column = i % D;
        Real value = (Real)0.5 * (better[i] + better[column * D + row]);
        Real step = value - desk.M_inv[i];
        moved += step * step;
        desk.M_inv[i] = value;
    }
    meet();
    multiply(desk, desk.B);
    EVERY_LANE(b, D) desk.theta[b] = (Real)job.scale * desk.v[b];
    meet();
    return sqrt(sum_of(moved));
}

// Draw theta from the posterior: theta + noise * L z, L L^T = M^-1. `L` has space for a matrix.
DEVICE void draw_theta(const Job& job, Desk& desk, Int user, Word word, Real* L) {
    Word radius = absorb(job.radius_draw[user], word), angle = absorb(job.angle_draw[user], word);
    EVERY_LANE(pair, (D + 1) / 2) {
        double first, second;
        normal_pair(absorb(radius, pair), absorb(angle, pair), &first, &second);
        desk.drawn[2 * pair] = (Real)first;
        if (2 * pair + 1 < D) desk.drawn[2 * pair + 1] = (Real)second;
    }
    meet();
    for (int j = 0; j < D; j++) {  // column j of the factor, as in `numerics.cholesky`
        for (int below = 0; below < D - j; below += LANES) {
            int i = j + below + lane();
            Real rest = 0;
            if (i < D) {
                rest = desk.M_inv[j * D + i];
                for (int c = 0; c < j; c++) rest = rest - L[i * D + c] * L[j * D + c];
            }
            if (i == j) L[j * D + j] = sqrt(rest);
            meet();
            if (i > j && i < D) L[i * D + j] = rest / L[j * D + j];
        }
        meet();
    }
    Real noise = (Real)job.noise;
    for (int first = 0; first < D; first += LANES) {
        int b = first + lane();
        if (b < D) {
            Real total = L[b * D] * desk.drawn[0];
            for (int a = 1; a <= b; a++) total = total + L[b * D + a] * desk.drawn[a];
            desk.v[b] = desk.theta[b] + noise * total;
        }
    }
    meet();
    EVERY_LANE(b, D) desk.drawn[b] = desk.v[b];
    meet();
}

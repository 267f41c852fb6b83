// The library's draws: `faircascade.random`, operation by operation. The constants come from there.

DEVICE Word mix(Word word) {
    word = (word ^ (word >> 30)) * MULTIPLIER_1;
    word = (word ^ (word >> 27)) * MULTIPLIER_2;
    return word ^ (word >> 31);
}

DEVICE Word absorb(Word state, Word word) { return mix((state ^ word) + STEP); }

DEVICE double uniform(Word word) { return (double)(word >> 11) * UNIT; }

DEVICE double logarithm(double y) {
    const double series[] = LOG_SERIES;
    int exponent;
    double fraction = frexp(y, &exponent);
    double small = fraction < HALF_ROOT ? 1.0 : 0.0;
    fraction = fraction + fraction * small;
    double s = (fraction - 1.0) / (fraction + 1.0);
    double square = s * s;
    double total = 0.0 * s;
    for (int n = 0; n < LOG_TERMS; n++) total = total * square + series[n];
    return (exponent - 1.0 * small) * LOG_2 + 2.0 * s * (1.0 + square * total);
}

DEVICE void cosine_and_sine(double turn, double* cosine, double* sine) {
    const double of_sine[] = SIN_SERIES, of_cosine[] = COS_SERIES;
    double quarter = floor(4.0 * turn + 0.5);
    double x = TWO_PI * (turn - 0.25 * quarter);
    double square = x * x;
    double s = 0.0 * x, c = 0.0 * x;
    for (int n = 0; n < TRIG_TERMS; n++) s = (s + of_sine[n]) * square;
    for (int n = 0; n < TRIG_TERMS; n++) c = (c + of_cosine[n]) * square;
    s = x + x * s;
    c = 1.0 + c;
    double odd = quarter - 2.0 * floor(0.5 * quarter);
    double sign = 1.0 - 2.0 * (floor(0.5 * quarter) - 2.0 * floor(0.25 * quarter));
    double even = 1.0 - odd;
    *cosine = sign * (even * c - odd * s);
    *sine = sign * (even * s + odd * c);
}

DEVICE void normal_pair(Word radius, Word angle, double* first, double* second) {
    double length = sqrt(-2.0 * logarithm(1.0 - uniform(radius)));
    double cosine, sine;
    cosine_and_sine(uniform(angle), &cosine, &sine);
    *first = length * cosine;
    *second = length * sine;
}

DEVICE double gumbel(Word word) {
    double u = uniform(word);
    u = u + UNIT * (u < UNIT ? 1.0 : 0.0);
    return -logarithm(-logarithm(1.0 - u));
}

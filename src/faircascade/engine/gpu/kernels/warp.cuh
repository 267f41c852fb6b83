// 32 lanes that work for one user. Every function below is called by all of them together.

typedef long long Int;
typedef unsigned long long Word;

#define LANES 32
#define EVERY_LANE(i, count) for (int i = lane(); i < (count); i += LANES)

// Two lanes may touch the same shared memory only with this between them.
DEVICE void meet() { __syncwarp(); }

DEVICE bool any(bool yes) { return __any_sync(ALL_LANES, yes); }

DEVICE unsigned which(bool yes) { return __ballot_sync(ALL_LANES, yes); }

// How many lanes before this one said yes.
DEVICE int before_me(unsigned lanes) { return __popc(lanes & ((1u << lane()) - 1u)); }

template <typename T> DEVICE T from_lane(T value, int source) {
    return __shfl_sync(ALL_LANES, value, source);
}

template <typename T> DEVICE T sum_of(T value) {
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, apart);
    return value;
}

template <typename T> DEVICE T largest_of(T value) {
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        T other = __shfl_xor_sync(ALL_LANES, value, apart);
        value = other > value ? other : value;
    }
    return value;
}

template <typename T> DEVICE T smallest_of(T value) { return -largest_of(-value); }

// The count-th largest of what the lanes hold, or a value that is level with it.
template <typename T> DEVICE T largest_but(int count, T value) {
    int larger = 0;
    for (int other = 0; other < LANES; other++) larger += from_lane(value, other) > value;
    return smallest_of(larger < count ? value : (T)INFINITY);
}

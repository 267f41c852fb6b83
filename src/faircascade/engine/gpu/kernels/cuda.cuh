// The words of CUDA that the rest is written with; tests define them for a machine without a GPU.

#define DEVICE __device__ __forceinline__
#define GLOBAL __global__ __launch_bounds__(THREADS, BLOCKS)
#define ALL_LANES 0xffffffffu
#define UNROLL _Pragma("unroll")
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)

extern __shared__ unsigned long long shared_room[];
#define PAIR_TABLE ((unsigned short*)shared_room)
#define DESKS ((Desk*)(shared_room + (PAIRS + 3) / 4))

DEVICE int lane() { return threadIdx.x & 31; }

DEVICE int warp_of_block() { return threadIdx.x >> 5; }

DEVICE long long warp_of_grid() { return (long long)blockIdx.x * (THREADS / 32) + warp_of_block(); }

DEVICE long long warps_of_grid() { return (long long)gridDim.x * (THREADS / 32); }

DEVICE void add_to(long long* where, long long amount) {
    atomicAdd((unsigned long long*)where, (unsigned long long)amount);
}

DEVICE int take_next(int* next) { return atomicAdd(next, 1); }

DEVICE void fill_pair_table() {
    for (int i = threadIdx.x; i < D * D; i += THREADS) {
        int a = i / D, b = i % D;
        if (a <= b) PAIR_TABLE[a * D - a * (a - 1) / 2 + b - a] = (unsigned short)(a << 8 | b);
    }
    __syncthreads();
}

"""Three ways to write a GPU kernel, on the step that the gpu engine spends most of its time in.

    python benchmarks/gpu_ways.py

A user's slate of ten is learned by rank-one updates of a 10 x 10 inverse, then 32 items are scored;
1,000 and 16,000 users, 2,000 rounds, float64. The same numbers come out of all three. Prints one
JSON document per way: seconds to compile and to run. Needs a GPU, CuPy, numba-cuda, Triton.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np

D, K, FRONT, ROUNDS = 10, 10, 32, 2000
DESKS = (4, D * D + D)

CUDA = r"""
extern "C" __global__ void learn(
    const double* shown, const double* front, double* inverse, double* scores, int users, int rounds
) {
    __shared__ double desks[4][D * D + D];
    int lane = threadIdx.x & 31, user = blockIdx.x * 4 + (threadIdx.x >> 5);
    if (user >= users) return;
    double *M = desks[threadIdx.x >> 5], *v = M + D * D, x[D], total = 0;
    for (int i = lane; i < D * D; i += 32) M[i] = inverse[user * D * D + i];
    for (int a = 0; a < D; a++) x[a] = front[(user * 32 + lane) * D + a];
    __syncwarp();
    for (int t = 0; t < rounds; t++) {
        for (int k = 0; k < K; k++) {
            const double* row = shown + (user * K + k) * D;
            if (lane < D) {
                double sum = 0;
                for (int a = 0; a < D; a++) sum += M[a * D + lane] * row[a];
                v[lane] = sum;
            }
            __syncwarp();
            double inner = 1;
            for (int a = 0; a < D; a++) inner += row[a] * v[a];
            for (int i = lane; i < D * D; i += 32) M[i] -= v[i / D] * v[i % D] / inner;
            __syncwarp();
        }
        double square = 0;
        for (int a = 0; a < D; a++) {
            double sum = 0;
            for (int b = 0; b < D; b++) sum += M[a * D + b] * x[b];
            square += x[a] * sum;
        }
        total += sqrt(square);
    }
    scores[user * 32 + lane] = total;
    for (int i = lane; i < D * D; i += 32) inverse[user * D * D + i] = M[i];
}
"""


def with_cupy() -> Callable[..., None]:
    """CUDA C++, compiled at run time."""
    options = (f"-DD={D}", f"-DK={K}", "--fmad=false")
    kernel = cp.RawModule(code=CUDA, options=options).get_function("learn")

    def run(shown: Any, front: Any, inverse: Any, scores: Any, rounds: int) -> None:
        users = len(inverse)
        grid, block = ((users + 3) // 4,), (128,)
        kernel(grid, block, (shown, front, inverse, scores, np.int32(users), np.int32(rounds)))

    return run


def with_numba() -> Callable[..., None]:
    """Python, compiled by numba-cuda."""
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks for it, NumPy 2.5 has it no more
        np.row_stack = np.vstack  # noqa: NPY201
    from numba import cuda

    @cuda.jit(fastmath=False, lineinfo=False)
    def learn(shown, front, inverse, scores, rounds):  # type: ignore[no-untyped-def]
        desks = cuda.shared.array(shape=DESKS, dtype=np.float64)
        x = cuda.local.array(shape=D, dtype=np.float64)
        lane, warp = cuda.threadIdx.x & 31, cuda.threadIdx.x >> 5
        user = cuda.blockIdx.x * 4 + warp
        if user >= len(inverse):
            return
        M = desks[warp]
        for i in range(lane, D * D, 32):
            M[i] = inverse[user, i // D, i % D]
        for a in range(D):
            x[a] = front[user, lane, a]
        cuda.syncwarp()
        total = 0.0
        for _ in range(rounds):
            for k in range(K):
                row = shown[user, k]
                if lane < D:
                    product = 0.0
                    for a in range(D):
                        product += M[a * D + lane] * row[a]
                    M[D * D + lane] = product
                cuda.syncwarp()
                inner = 1.0
                for a in range(D):
                    inner += row[a] * M[D * D + a]
                for i in range(lane, D * D, 32):
                    M[i] -= M[D * D + i // D] * M[D * D + i % D] / inner
                cuda.syncwarp()
            square = 0.0
            for a in range(D):
                product = 0.0
                for b in range(D):
                    product += M[a * D + b] * x[b]
                square += x[a] * product
            total += square**0.5
        scores[user, lane] = total
        for i in range(lane, D * D, 32):
            inverse[user, i // D, i % D] = M[i]

    def run(shown: Any, front: Any, inverse: Any, scores: Any, rounds: int) -> None:
        learn[(len(inverse) + 3) // 4, 128](shown, front, inverse, scores, rounds)

    return run


def with_triton() -> Callable[..., None]:
    """Tiles, compiled by Triton: one program a user, matrices padded to 16 x 16."""
    import triton
    import triton.language as tl
    from torch.utils.dlpack import from_dlpack

    @triton.jit
    def learn(  # type: ignore[no-untyped-def]
        shown, front, inverse, scores, rounds, D: tl.constexpr, K: tl.constexpr, P: tl.constexpr
    ):
        user = tl.program_id(0).to(tl.int64)
        i, lane = tl.arange(0, P), tl.arange(0, 32)
        inside = i < D
        square = inside[:, None] & inside[None, :]
        place = inverse + user * D * D + i[:, None] * D + i[None, :]
        M = tl.load(place, mask=square, other=0.0)
        items = front + (user * 32 + lane[:, None]) * D + i[None, :]
        x = tl.load(items, mask=inside[None, :] & (lane[:, None] >= 0), other=0.0)  # (32, P)
        total = tl.zeros((32,), dtype=tl.float64)
        for _ in range(rounds):
            for k in range(K):
                row = tl.load(shown + (user * K + k) * D + i, mask=inside, other=0.0)
                v = tl.sum(M * row[:, None], axis=0)
                inner = 1.0 + tl.sum(row * v, axis=0)
                M -= v[:, None] * v[None, :] / inner
            product = tl.sum(M[None, :, :] * x[:, :, None], axis=1)  # (32, P)
            total += tl.sqrt(tl.sum(product * x, axis=1))
        tl.store(scores + user * 32 + lane, total)
        tl.store(place, M, mask=square)

    def run(shown: Any, front: Any, inverse: Any, scores: Any, rounds: int) -> None:
        arrays = [from_dlpack(array) for array in (shown, front, inverse, scores)]
        learn[(len(inverse),)](*arrays, rounds, D=D, K=K, P=16, num_warps=1)

    return run


def problem(users: int) -> tuple[Any, ...]:
    """Return slates, items and inverses of some users, and room for their scores."""
    draw = np.random.default_rng(0)
    shown, front = draw.normal(size=(users, K, D)) * 0.05, draw.normal(size=(users, FRONT, D))
    inverse = np.tile(np.eye(D), (users, 1, 1))
    return tuple(map(cp.asarray, (shown, front, inverse, np.zeros((users, FRONT)))))


def main() -> None:
    """Time all three."""
    expected: dict[int, Any] = {}
    for way in (with_cupy, with_numba, with_triton):
        begin = time.perf_counter()
        run = way()
        run(*problem(8), 1)
        cp.cuda.Device().synchronize()
        found: dict[str, Any] = {"compile_s": round(time.perf_counter() - begin, 2)}
        for users in (1_000, 16_000):
            arrays = problem(users)
            cp.cuda.Device().synchronize()
            begin = time.perf_counter()
            run(*arrays, ROUNDS)
            cp.cuda.Device().synchronize()
            found[f"{users}_users_s"] = round(time.perf_counter() - begin, 3)
            scores = arrays[3].get()
            expected.setdefault(users, scores)
            found["largest_difference"] = float(np.abs(scores / expected[users] - 1.0).max())
        print(json.dumps({way.__name__: found}), flush=True)


if __name__ == "__main__":
    main()

"""The meaning of `loop` on a GPU: one warp a user, all rounds without returning to the host.

docs/explanation/gpu.md says how it works, what it was measured at, and why it is CUDA through CuPy.
"""

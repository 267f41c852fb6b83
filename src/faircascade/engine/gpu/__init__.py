"""The GPU engine: the same bits as `loop`, one warp per user, no returns to the host.

docs/explanation/gpu.md explains how it works, how fast it is, and why it uses CUDA through CuPy.
"""

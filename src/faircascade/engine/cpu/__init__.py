"""The compiled engine: the meaning of `loop`, exact, lazy, and parallel over users."""

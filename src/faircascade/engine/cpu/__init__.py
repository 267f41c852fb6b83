"""The compiled engine: the same bits as `loop`, lazy, and parallel over users."""

"""The compiled engine's inner loops."""

"""Contract checks, for authors of parts: an `AssertionError` says what a part does wrong."""

"""Recommend and learn over HTTP, and show who gets exposure."""

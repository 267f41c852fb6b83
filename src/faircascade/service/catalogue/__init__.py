"""The catalogue in memory, and the import of items from files, saved rankers and the demo."""

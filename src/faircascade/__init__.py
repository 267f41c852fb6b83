"""faircascade."""

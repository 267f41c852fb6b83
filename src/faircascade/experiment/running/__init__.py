"""Where and how cells run."""

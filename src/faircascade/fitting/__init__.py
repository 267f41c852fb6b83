"""Click models fitted to logs."""

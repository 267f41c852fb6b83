"""What came out: finished cells, their worlds, and tables of them."""

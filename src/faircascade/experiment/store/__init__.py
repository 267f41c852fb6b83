"""What came out: finished cells, their environments, and tables of them."""

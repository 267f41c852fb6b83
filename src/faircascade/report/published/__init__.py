"""What is only about the paper's published numbers."""

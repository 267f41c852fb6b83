"""What the paper reports: its published numbers, what they can be held against, its experiments."""

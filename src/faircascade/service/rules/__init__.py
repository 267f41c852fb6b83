"""What slates may consist of: filters, pinned items, at most so many of a supplier."""

"""Where events come from: a file of this package for each kind."""

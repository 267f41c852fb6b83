"""Ratings come in: built-in data sets, files and DataFrames, all as one `Ratings` table."""

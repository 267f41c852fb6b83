"""Sources of ratings: built-in data sets, files and DataFrames, all as one `Ratings` table."""

"""What one record's cell tells: counts on cells, hockey sticks, and noise in every cell of a histogram."""

"""One file for every method: a function with `@method` that finds a scale. Files are found by walking the folder."""

"""What a shift of the noise leaks: divergences, costs and curves of the noise alone."""

"""Paper 000, Pierquin, Bellet, Tommasi, Boussard 2024: experiments."""

"""Losses over sets of laws: the largest and the least noised mass at every output, and what follows from them."""

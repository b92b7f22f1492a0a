"""Channels of least error: found in doubles, made exact in integers, with a proved distance from the optimum."""

"""Channels for sets of laws, and for any laws with a cap on what any belief can learn."""

from fugu.channels.robust.solve import solve_robust as solve_robust

"""How much of a loss passes through a chain: contraction node by node."""

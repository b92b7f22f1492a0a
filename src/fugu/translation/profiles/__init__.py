"""Privacy profiles under a prior: concave bounds on conditional probabilities, carried through kernels."""

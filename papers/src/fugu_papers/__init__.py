"""What only reproduces or refutes a paper."""

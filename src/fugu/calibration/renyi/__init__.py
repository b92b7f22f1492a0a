"""Calibration for Rényi budgets: the same way as for epsilon and delta, method by method, then one proof."""

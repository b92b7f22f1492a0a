"""Proved Rényi divergences of noised laws."""

"""Proved losses on laws with atoms on a line."""

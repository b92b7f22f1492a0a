"""Proved losses between normal laws of vectors."""

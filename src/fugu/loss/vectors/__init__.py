"""Proved losses on discrete laws of vectors, with independent noise in every coordinate."""

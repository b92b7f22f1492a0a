"""Losses on laws with Gaussian components."""

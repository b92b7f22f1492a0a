"""Calibration for published vectors: independent lattice noise of one scale in every coordinate."""

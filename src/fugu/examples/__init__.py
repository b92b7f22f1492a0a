"""Synthetic tables for the demo; made by examples/make_clinic.py."""

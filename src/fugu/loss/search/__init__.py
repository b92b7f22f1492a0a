"""Losses in doubles, to search scales with. Nothing here is a proof."""

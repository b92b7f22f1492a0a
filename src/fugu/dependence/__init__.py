"""Records that depend on each other: priors over whole tables, and what per-entry privacy is worth under them."""

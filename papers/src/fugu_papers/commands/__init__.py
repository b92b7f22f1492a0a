"""The commands `fugu papers`, `fugu errata` and `fugu reproduce`, which `fugu` finds by their entry points."""

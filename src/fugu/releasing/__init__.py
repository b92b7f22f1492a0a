"""The one way out: what is asked becomes a release, by its route, charged before anything of it can be read."""

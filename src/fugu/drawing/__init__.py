"""Markup and figures: what pages, notebooks and terminals share; every text from outside is escaped."""

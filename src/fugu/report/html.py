"""Markup has a room of its own, `fugu.drawing.html`, since notebooks show it, too; here under the old name."""

from fugu.drawing.html import *  # noqa: F403

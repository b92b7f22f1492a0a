"""Figures have a room of their own, `fugu.drawing.charts`, since notebooks show them, too; here under the old name."""

from fugu.drawing.charts import *  # noqa: F403

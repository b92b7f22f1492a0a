"""Numbers and names as text are in `fugu.drawing.text`, since notebooks show them, too; here under the old name."""

from fugu.drawing.text import *  # noqa: F403

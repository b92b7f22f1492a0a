"""`Shown`: what a notebook shows of an object: its `Sheet`, and, where it has one, the figure that `plot()` draws."""

from __future__ import annotations

from fugu.drawing.sheet import Sheet


class Shown:
    """Something with a `_sheet`: what may be seen of it, which is never a private value."""

    __slots__ = ()

    def _sheet(self) -> Sheet:
        """What it is, on a few lines."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return str(self._sheet().html())

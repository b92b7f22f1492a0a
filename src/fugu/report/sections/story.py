"""`Story`: what the sections of a page about one certificate with laws are told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fugu.documents.certificate import Certificate
from fugu.documents.swap import SWAP
from fugu.noise.directed import DirectedLaplace
from fugu.report import curves, nearby
from fugu.report.facts import Facts, facts
from fugu.report.methods import Line, methods
from fugu.report.views import View, views

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison


@dataclass(frozen=True, eq=False)
class Pair:
    """One pair of secrets with its curves, worked out once for drawing and for words."""

    view: View

    @cached_property
    def laws(self) -> curves.Laws:
        """Both laws before and after noise."""
        return curves.laws(self.view)

    @cached_property
    def ratio(self) -> curves.Ratio:
        """How strongly each value speaks for one of them."""
        return curves.ratio(self.view)

    @cached_property
    def right(self) -> tuple[float, float]:
        """How often the best guess is right, before and after noise."""
        return curves.guess(self.view)


@dataclass(frozen=True, eq=False)
class Story:
    """A certificate, what was said of it, and what follows; each is worked out when the first section asks."""

    certificate: Certificate
    title: str
    comparison: Comparison | None = None
    query_name: str | None = None
    secret_name: str | None = None
    rows: int | None = None

    @cached_property
    def f(self) -> Facts:
        """The numbers that a reader needs."""
        return facts(self.certificate, self.query_name, self.secret_name)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that are drawn, the one that loses most first."""
        return tuple(Pair(view) for view in views(self.certificate))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The methods side by side."""
        return methods(self.certificate, self.comparison)

    @cached_property
    def _directed(self) -> DirectedLaplace | None:
        noise = self.certificate.body.get("noise") or {}
        return DirectedLaplace.from_json(noise) if noise.get("kind") == DirectedLaplace.name else None

    @property
    def pictured(self) -> bool:
        """Whether laws and noise can be drawn number by number. What record swaps are proved for is not the laws of the
        certificate, which bound them; noise along directions beside the axes is not a noise of each number."""
        return SWAP not in self.certificate.body and (self._directed is None or self._directed.axes)

    @cached_property
    def losses(self) -> nearby.Curve | None:
        """What is left if the beliefs are off; not worked out where laws only bound what records can move, nor for
        noise of several scales."""
        known = SWAP not in self.certificate.body and self._directed is None
        return nearby.curve(self.certificate) if known else None

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the published categories, if there are any."""
        query = self.certificate.body.get("query") or {}
        return tuple(query.get("categories") or ())

"""What the sections about one certificate are told: `Story` of one with laws, `Exchange` of a channel, `Sureness`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fugu.calibration.compare import require_few_steps
from fugu.calibration.lattice import problem
from fugu.calibration.search import least
from fugu.documents.certificate import Certificate
from fugu.documents.swap import SWAP
from fugu.drawing.charts import Chart, Heat
from fugu.errors import FuguError
from fugu.laws.family import Family
from fugu.laws.pair import LawPair
from fugu.laws.sets.confidence import Sampled
from fugu.laws.shapes import shapes
from fugu.loss.channel import any_belief
from fugu.noise.kind import Noise
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.text import clean, number, percent
from fugu.report import curves
from fugu.report import curves as nearby
from fugu.report.amounts import Coordinate
from fugu.report.facts import Facts, facts
from fugu.report.figures import covariance_figure, laws_figure, nearby_figure, ratio_figure
from fugu.report.methods import Line, methods
from fugu.report.views import View, parts, views
from fugu.utility.usable import Usable

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison

_LISTED, _TABLED = 100, 8
"""Coordinates that are listed, and up to which a covariance is a table of numbers."""
_DRAWN, _SURE, _LEVELS = 40, 0.999999, (0.5, 0.9, 0.95, 0.99)
"""Of a channel: values drawn one by one, the chance from which a value is surely unchanged, quantiles of its errors."""
_MOST_VALUES, _USUAL = 1000, Fraction(19, 20)


@dataclass(frozen=True, eq=False)
class Pair:
    """One pair of secrets with its curves, worked out once for drawing and for words."""

    view: View

    @cached_property
    def laws(self) -> curves.Laws:
        """Both laws before and after noise."""
        return curves.laws(self.view)

    @cached_property
    def ratio(self) -> curves.LogRatio:
        """How strongly each value speaks for one of them."""
        return curves.ratio(self.view)

    @cached_property
    def right(self) -> tuple[float, float]:
        """How often the best guess is right, before and after noise."""
        return curves.guess(self.view)


@dataclass(frozen=True, eq=False)
class Story:
    """A certificate with laws, what was said of it, and what follows; each is worked out when first asked for."""

    certificate: Certificate
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
    def usable(self) -> Usable:
        """How usable it is, with what would help where a comparison measured it."""
        found = Usable.of(self.certificate, self.rows)
        if self.comparison is not None and found.figures and self.comparison.usable.levers:
            return found.with_levers(self.comparison.usable.levers, self.comparison.usable.untried)
        return found

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
    def losses(self) -> nearby.LossCurve | None:
        """What is left if the beliefs are off; not worked out where laws only bound what records can move, nor for
        noise of several scales."""
        known = SWAP not in self.certificate.body and self._directed is None
        return nearby.curve(self.certificate) if known else None

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the published categories, if there are any."""
        return tuple((self.certificate.body.get("query") or {}).get("categories") or ())

    def laws_chart(self, pair: Pair, name: str) -> Chart:
        """Both laws of a pair, before and after noise."""
        return laws_figure(pair.view, pair.laws, self.f, self.categories, name)

    def ratio_chart(self, pair: Pair, name: str) -> Chart:
        """How strongly each value speaks for one law of a pair."""
        return ratio_figure(pair.view, pair.ratio, self.f, self.categories, name)

    def nearby_chart(self) -> Chart:
        """The proved loss against how far beliefs are off."""
        assert self.losses is not None
        return nearby_figure(self.losses, self.f)

    @property
    def heat(self) -> Heat | None:
        """The covariance of correlated noise."""
        return covariance_figure(self.f, [line.name for line in self.f.coordinates[0]])

    def coordinate_rows(self, noise: Sequence[Coordinate]) -> list[list[str]]:
        """A line for each coordinate of a noise: scale, average error, half width."""
        return [
            [clean(line.name), number(line.scale, digits=4), number(line.error, digits=4),
             f"± {number(line.half, 'up', 4)}"]
            for line in noise[:_LISTED]
        ]  # fmt: skip

    def covariance_tables(self) -> list[list[list[str]]]:
        """Each covariance that is small enough, as lines of numbers after their names."""
        names = [clean(line.name, 20) for line in self.f.coordinates[0]]
        return [
            [[name, *(f"{'−' if x < 0 else ''}{number(abs(x), digits=4)}" for x in line)]
             for name, line in zip(names, rows, strict=True)]
            for rows in self.f.covariances
            if len(rows) <= _TABLED
        ]  # fmt: skip


class Exchange:
    """A channel: what becomes of each value, what goes out exactly, how far others go."""

    def __init__(self, certificate: Certificate) -> None:
        channel = certificate.noise
        self.errors, self.optimum, self.most = certificate.errors, certificate.optimum, any_belief(channel)
        known = list((certificate.body.get("query") or {}).get("categories") or ())
        support = [] if certificate.support is None else certificate.support.tolist()
        self.names = [clean(known[int(x)], 28) if known and int(x) < len(known) else f"{x:g}" for x in support]
        given = channel.names
        self.outputs = [f"{y:g}" for y in channel.outputs] if given is None else [clean(name, 28) for name in given]
        shares = list(zip(self.names, self.errors.kept, strict=True))
        self.exact = [name for name, kept in shares if kept >= _SURE]
        self.mostly = [name for name, kept in shares if 0.5 <= kept < _SURE]

    @staticmethod
    def each(certificate: Certificate) -> list[Exchange]:
        """The channels that may run."""
        return [Exchange(part.certificate) for part in parts(certificate)]

    @property
    def gathered(self) -> bool:
        """Whether there are too many values to be drawn one by one."""
        return max(len(self.names), len(self.outputs)) > _DRAWN

    def quantiles(self) -> list[list[str]]:
        """How far values go."""
        return [[percent(level), number(self.errors.quantile(level), "up", 4)] for level in _LEVELS]

    def chart(self, name: str) -> Heat:
        """K(y | x) as colours; neighbours are gathered where there are too many values to be drawn."""
        down, across = (range(0, n, -(-n // _DRAWN)) for n in (len(self.names), len(self.outputs)))
        cells = np.add.reduceat(np.add.reduceat(self.errors.rows, list(across), axis=1), list(down), axis=0)
        cells = cells / np.diff([*down, len(self.names)])[:, None]
        return Heat(
            name,
            "What each value is published as",
            "Each line is a value, each column what it is published as; the caption says what colours mean.",
            tuple(self.names[k] for k in down),
            tuple(tuple(map(float, line)) for line in cells),
            tuple(self.outputs[k] for k in across),
            ("the chance of the likeliest exchange", ""),
        )


@dataclass(frozen=True)
class Sureness:
    """How sure beliefs are that come from the counts of a reference. With `confidence`, they hold for all that `rows`
    cannot rule out, the `fewest` of them those of `secret`; else the noise, of this `scale`, would need `needed`."""

    confidence: float = 0.0
    rows: int = 0
    fewest: int = 0
    secret: str = ""
    scale: float = 0.0
    needed: float = 0.0


def sureness(certificate: Certificate) -> Sureness | None:
    """How sure the beliefs are; None for beliefs that do not come from counts of a reference."""
    if (stated := certificate.body.get("confidence")) is not None:
        sampled = Sampled.from_json(stated)
        rows = {secret: sum(counts) for secret, counts in sampled.counts.items()}
        few = min(rows, key=lambda secret: rows[secret])
        return Sureness(float(sampled.confidence), sum(rows.values()), rows[few], few)
    noise = None if certificate.kind != "additive" else certificate.noise
    recipe = certificate.body.get("recipe") or {}
    if noise is None or recipe.get("prior") != "empirical" or "statistic" in certificate.body:
        return None
    if recipe.get("public_prior"):
        return None  # its counts are the private table's: nothing more is told of them
    try:
        needed = scale_at_95(certificate, noise)
    except (FuguError, ArithmeticError):
        return None
    return None if needed is None else Sureness(scale=0.0 if noise.silent else float(noise.scale), needed=needed)


def scale_at_95(certificate: Certificate, noise: Noise) -> float | None:
    """The least scale of this noise, found in doubles, for all laws that the certificate's counts cannot rule out; None
    where its laws are no counts."""
    laws, lattice = certificate.laws, certificate.lattice
    if len(laws) != 1 or not isinstance(family := laws[0], Family) or family.translates or family.inexact:
        return None
    if len(family.points) > _MOST_VALUES or any(law.parts.dtype != np.int64 for law in family.laws):
        return None
    values = family.points.astype(np.float64) if lattice is None else lattice.value(family.points)
    require_few_steps(values.tolist(), certificate.budget.asks())
    counts = {str(i): tuple(law.parts.tolist()) for i, law in enumerate(family.laws)}
    sets = Sampled(_USUAL, tuple(values.tolist()), counts, True, False, Fraction(0), "").sets
    pairs = [LawPair(sets[str(i)], sets[str(j)]) for i, j in family.pairs]
    ask, kind = certificate.budget.asks(), type(noise)
    where = problem(shapes(pairs), ask, kind)
    return max(least(item, ask, kind) for item in where.items) * float(where.lattice.grid)

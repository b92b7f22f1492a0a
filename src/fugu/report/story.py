"""What the sections about one document are told: `Story` of a certificate with laws, what channels exchange, how sure
beliefs are, and the noise of questions in words: of sequences, made again out of a certificate, and of records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fugu.calibration.compare import require_few_steps
from fugu.calibration.lattice import least, problem
from fugu.documents.certificate import Certificate
from fugu.documents.document import NotChecked
from fugu.documents.swap import SWAP
from fugu.drawing.charts import Heat
from fugu.errors import CertificateError, FuguError
from fugu.guarantee.composition import PUBLIC
from fugu.laws.family import Family
from fugu.laws.pair import LawPair
from fugu.laws.sets.confidence import Sampled
from fugu.laws.shapes import shapes
from fugu.loss.channel import any_belief
from fugu.noise.kind import Noise
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.exact import read_number
from fugu.numbers.text import clean, number, percent
from fugu.numbers.text import epsilon as epsilon_of
from fugu.queries.kinds import FLIP, LAPLACE, half_width
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import same_query
from fugu.queries.sequence_query import SequenceQuery, Several
from fugu.queries.sequences import ArgMax, Mean, RandomisedResponse, TopK, query_from
from fugu.queries.statistic import NoisedQuestion, question_told
from fugu.report.curves import View, views
from fugu.report.facts import Coordinate, Facts, MethodRow, facts, methods, parts
from fugu.report.figures import curve
from fugu.utility.usable import Usable
from fugu.visible import several

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison

_LISTED, _TABLED = 100, 8
"""Coordinates that are listed, and up to which a covariance is a table of numbers."""
_DRAWN, _SURE, _LEVELS = 40, 0.999999, (0.5, 0.9, 0.95, 0.99)
"""Of a channel: values drawn one by one, the chance from which a value is surely unchanged, quantiles of its errors."""
_RANKED = "Counts are ranked with randomness, and only the names that come first are published, not the counts."
_MOST = 60
"""Questions that are listed."""
Cards = tuple[tuple[str, str], ...]
_MOST_VALUES, _USUAL = 1000, Fraction(19, 20)


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
    def pairs(self) -> tuple[View, ...]:
        """The pairs that are drawn, the one that loses most first."""
        return views(self.certificate)

    @cached_property
    def lines(self) -> tuple[MethodRow, ...]:
        """The methods side by side."""
        return methods(self.certificate, self.comparison)

    @cached_property
    def usable(self) -> Usable:
        """How usable it is, with what would help where a comparison measured it."""
        found = Usable.of(self.certificate, self.rows)
        if self.comparison is not None and found.figures and self.comparison.usable.levers:
            return found.with_levers(self.comparison.usable.levers, self.comparison.usable.untried)
        return found

    @property
    def pictured(self) -> bool:
        """Whether laws and noise can be drawn number by number. What record swaps are proved for is not the laws of the
        certificate, which bound them; noise along directions beside the axes is not a noise of each number."""
        noise = None if self.certificate.parts else self.certificate.noise
        return SWAP not in self.certificate.body and (not isinstance(noise, DirectedLaplace) or noise.axes)

    @cached_property
    def losses(self) -> Facts | None:
        """What is left if the beliefs are off; not worked out where laws only bound what records can move, nor for
        noise of several scales."""
        noise = None if self.certificate.parts else self.certificate.noise
        known = SWAP not in self.certificate.body and not isinstance(noise, DirectedLaplace)
        return curve(self.certificate) if known else None

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the published categories, if there are any."""
        return tuple((self.certificate.body.get("query") or {}).get("categories") or ())

    def coordinate_rows(self, noise: Sequence[Coordinate]) -> list[list[str]]:
        """A line for each coordinate of a noise: scale, average error, half width."""
        return [
            [clean(name), number(scale, digits=4), number(error, digits=4), f"± {number(half, 'up', 4)}"]
            for name, scale, error, half in noise[:_LISTED]
        ]  # fmt: skip

    def covariance_tables(self) -> list[list[list[str]]]:
        """Each covariance that is small enough, as lines of numbers after their names."""
        names = [clean(name, 20) for name, *_ in self.f.coordinates[0]]
        return [
            [[name, *(f"{'−' if x < 0 else ''}{number(abs(x), digits=4)}" for x in line)]
             for name, line in zip(names, rows, strict=True)]
            for rows in self.f.covariances
            if len(rows) <= _TABLED
        ]  # fmt: skip


def exchanges(certificate: Certificate) -> list[dict[str, Any]]:
    """Of every channel that may run: what becomes of each value, what goes out exactly, how far others go."""
    return [_exchange(part.certificate) for part in parts(certificate)]


def _exchange(certificate: Certificate) -> dict[str, Any]:
    """`chart`: K(y | x) as colours; neighbours are `gathered` where there are too many values to be drawn."""
    channel, errors = certificate.noise, certificate.errors
    known = list((certificate.body.get("query") or {}).get("categories") or ())
    support = [] if certificate.support is None else certificate.support.tolist()
    names = [clean(known[int(x)], 28) if known and int(x) < len(known) else f"{x:g}" for x in support]
    given = channel.names
    outputs = [f"{y:g}" for y in channel.outputs] if given is None else [clean(name, 28) for name in given]
    shares = list(zip(names, errors.kept, strict=True))

    def chart(name: str) -> Heat:
        down, across = (range(0, n, -(-n // _DRAWN)) for n in (len(names), len(outputs)))
        cells = np.add.reduceat(np.add.reduceat(errors.rows, list(across), axis=1), list(down), axis=0)
        cells = cells / np.diff([*down, len(names)])[:, None]
        return Heat(
            name, "What each value is published as",
            "Each line is a value, each column what it is published as; the caption says what colours mean.",
            tuple(names[k] for k in down), tuple(tuple(map(float, line)) for line in cells),
            tuple(outputs[k] for k in across), ("the chance of the likeliest exchange", ""),
        )  # fmt: skip

    return {
        "errors": errors, "optimum": certificate.optimum, "most": any_belief(channel), "names": names,
        "outputs": outputs, "exact": [name for name, kept in shares if kept >= _SURE],
        "mostly": [name for name, kept in shares if 0.5 <= kept < _SURE], "chart": chart,
        "gathered": max(len(names), len(outputs)) > _DRAWN,
        "quantiles": [] if errors.nominal
        else [[percent(level), number(errors.quantile(level), "up", 4)] for level in _LEVELS],
    }  # fmt: skip


def sureness(certificate: Certificate) -> dict[str, Any] | None:
    """How sure beliefs are that come from the counts of a reference; None for others. With `confidence`, they hold for
    all that `rows` cannot rule out, the `fewest` of them those of `secret`; else the noise, of this `scale`, would need
    `needed`."""
    if (stated := certificate.body.get("confidence")) is not None:
        sampled = Sampled.from_json(stated)
        rows = {secret: sum(counts) for secret, counts in sampled.counts.items()}
        few = min(rows, key=lambda secret: rows[secret])
        return {
            "confidence": float(sampled.confidence), "rows": sum(rows.values()), "fewest": rows[few], "secret": few
        }  # fmt: skip
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
    scale = 0.0 if noise.silent else float(noise.scale)
    return None if needed is None else {"confidence": 0.0, "scale": scale, "needed": needed}


def scale_at_95(certificate: Certificate, noise: Noise) -> float | None:
    """The least scale of this noise, found in doubles, for all laws that the certificate's counts cannot rule out; None
    where its laws are no counts."""
    items, lattice = certificate.laws, certificate.lattice
    if len(items) != 1 or not isinstance(family := items[0], Family) or family.translates or family.inexact:
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


def noise_of(claims: Mapping[str, Any]) -> tuple[tuple[str, ...], Cards]:
    """Sentences about the noise, and numbers that sum them up; where the document does not describe it, says so."""
    try:
        same_query(claims)
    except (NotChecked, CertificateError) as why:
        return (f"The document does not describe the noise: {clean(why, 300)}.",), ()
    query = query_from(claims)
    if "lattice" in claims:
        return _lattice(query, claims["lattice"]), ()
    epsilon = read_number(claims["epsilon"])
    if isinstance(query, Several):
        return (describe(query, epsilon)[0],), ()
    moved = (
        "Replacing one entry by any other value moves what is asked by at most "
        f"{number(float(query.sensitivity), 'up', 6)} in total; the noise is drawn for that, at "
        f"{epsilon_of(float(epsilon))} for each entry."
    )
    said, cards = describe(query, epsilon)
    return (said, moved), cards


def describe(query: SequenceQuery, epsilon: Fraction) -> tuple[str, Cards]:
    """One sentence about the noise of a query, and numbers: of counts and sums, Laplace noise of scale S / epsilon.

    On steps of width g its mean size is g / sinh(g epsilon / S), which is at most S / epsilon."""
    if isinstance(query, RandomisedResponse):
        kept = float(query.law(epsilon)[0])
        said = f"Every entry is published by itself: as it is with probability {percent(kept)}, else as another state."
        return said, ((percent(kept), "of the published entries are expected to be as they are"),)
    if isinstance(query, TopK | ArgMax):
        return _RANKED, ()
    if isinstance(query, Several):
        each = [
            f"“{clean(part.name, 80)}” ({percent(float(share))} of it): {describe(part, epsilon * share)[0]}"
            for part, share in zip(query.parts, query.shares, strict=True)
        ]
        return f"{several(len(each), 'question')} share the ε for each entry. " + " ".join(each), ()
    what = "the sum" if isinstance(query, Mean) else "every published number"
    size = number(float(query.sensitivity / epsilon), "up")
    said = (
        f"Laplace noise, a sharp peak at zero, with a scale of {size} is added to {what}: on average it is moved by at "
        f"most {size}, rounding apart."
    )
    if isinstance(query, Mean):
        return f"{said} The mean is that sum divided by the number of entries, which is public.", ()
    return said, ((size, f"scale of the noise on {what}"),)


def _lattice(query: SequenceQuery, noise: Mapping[str, Any]) -> tuple[str, ...]:
    """Lattice Gaussian noise, question by question."""
    parts = query.parts if isinstance(query, Several) else (query,)
    said = [
        f"“{clean(part.name, 80)}”: Gaussian noise, a bell around zero, with a standard deviation of "
        f"{number(math.sqrt(float(read_number(variance))), 'up', 6)} steps; one replaced entry moves what it is added "
        f"to by at most {number(math.sqrt(square), 'up', 6)} steps in length."
        for part, variance, square in zip(parts, noise["variance"], noise["squared distance"], strict=True)
    ]
    rho = number(float(read_number(noise["rho"])), "up", 6)
    return " ".join(said), f"Together that is {rho}-zCDP for each entry."


def questions_of(certificate: RecordsCertificate) -> dict[str, Any]:
    """A line for each question: its noise, how far answers are off, its epsilon alone; how many were `asked`; and the
    exact numbers that go out beside the answers, since whoever asked has declared them known."""
    asked = certificate.questions
    columns = sorted({by for kind in certificate.types for by in kind.groups})
    groups = f" and of its groups by {', '.join(clean(name, 80) for name in columns)}" if columns else ""
    return {
        "questions": [_row(each) for each in asked[:_MOST]],
        "asked": len(asked),
        "public_numbers": f"the number of records of the table{groups}; {PUBLIC}",
    }


def _row(asked: NoisedQuestion) -> list[str]:
    """How far an answer is off is half the width of the interval, in the units of the sum or count; of the noisiest
    group."""
    said = question_told(asked)
    groups = f", {said['groups']:,} groups" if asked.by is not None else ""
    within = "some ranks off; no interval of values follows" if asked.law == FLIP else "-"
    if asked.law == LAPLACE:
        half = max(half_width(rates[0]) for rates in asked.rates.values())
        step = float(asked.features[0].step)
        unit = " in the sum" if asked.kind in ("mean", "variance") else " records" if step == 1 else ""
        within = f"± {number(half * step, 'up')}{unit}"
    return [clean(asked.query, 120), f"{said['words']}{groups}", within, number(float(asked.most), "up", 4)]

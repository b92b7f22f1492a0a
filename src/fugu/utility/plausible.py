"""Whether a published number lies where the reference makes it plausible: a function of what is public.

A number that lies far outside was perhaps read otherwise than it was meant (another unit, another decimal mark): noise
and chance do not explain it, nor would a population that moved by a quarter of its standard deviation. Saying so costs
nothing, since the number is published, and so is the reference's law of one record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fugu.data.cells import number_of
from fugu.data.field import Field
from fugu.documents.certificate import Certificate
from fugu.documents.disclosure import holds_private_numbers
from fugu.documents.sentences import TOTALS
from fugu.documents.units import published_unit
from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.numbers.exact import read_number, read_whole
from fugu.utility.believed import Believed, believed, translates
from fugu.utility.figures import short
from fugu.utility.joint import Floats

SIGMAS: Final = 5.0
DRIFT: Final = 0.25
"""Standard deviations of one record by which a population may have moved: half-way to what is called a medium effect
(Cohen 1988)."""
NOISE: Final = 5.0
"""Laplace noise is within five times its 95 % interval with probability 1 - 3e-7."""


@dataclass(frozen=True)
class Expected:
    """What the reference says of one published number.

    `low`, `high`: its value if all records had the secret that makes it least, or most; any mixture lies between.
    `spread`: the standard deviation of what one record adds, as a share of the whole if the number is an average;
    `size`: how many records it adds up, 1 of an average. `rows`: the records; `known`: those of the reference;
    `half`: 95 % of the noise is within ±half."""

    low: float
    high: float
    spread: float
    size: float
    rows: int
    known: int
    half: float

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that is plausible."""
        chance = SIGMAS * math.sqrt(1 / max(self.rows, 1) + 1 / max(self.known, 1))
        one = self.size * self.spread
        reach = math.hypot(NOISE * self.half, chance * one) + DRIFT * one
        return self.low - reach, self.high + reach

    def said(self, name: str, value: float) -> str | None:
        """One sentence where the value lies outside; None where it is plausible, or not a number.

        >>> Expected(150, 152, 22, 1, 300, 300, 0.2).said("mean", 93.5)
        'mean is 93.5, where the reference makes 135 to 167 plausible; look how the table was read (fugu check)'
        """
        low, high = self.ends
        if math.isnan(value) or low <= value <= high:
            return None
        plausible = f"{short(low)} to {short(high)}"
        return f"{name} is {short(value)}, where the reference makes {plausible} plausible; {LOOK}"


LOOK: Final = "look how the table was read (fugu check)"


def share_expected(shares: Sequence[float], size: float, rows: int, known: int, half: float) -> Expected:
    """Of a count (size: the rows) or a proportion (1): `shares` is how often a record counts, given each secret."""
    low, high = min(shares), max(shares)
    middle = min(max(0.5, low), high)
    return Expected(size * low, size * high, math.sqrt(middle * (1 - middle)), size, rows, known, half)


def implausible_numbers(certificate: Certificate, values: Sequence[float]) -> tuple[str, ...]:
    """What is to be said of a statistic of all records (not of a group, whose law the reference may not tell).

    `certificate`: of the one statistic; `values`: as published, those of a histogram in the order of its cells."""
    stated = certificate.body.get("statistic") or {}
    if stated.get("rows") is None or stated.get("by") is not None or not len(values) or _own(certificate):
        return ()
    if "cells" in stated:
        return _cells(certificate, stated, values)
    items = [item for item in certificate.items if isinstance(item, Family) and not translates(item)]
    if not items or len(items) < len(certificate.items):
        return ()
    rows, unit = read_whole(stated["rows"]), float(published_unit(certificate))
    whole = any(line.startswith("beliefs: ") and TOTALS in line for line in certificate.assumptions)
    means, spreads, known = [], [], 0
    for item in items:
        for law, shares in zip(item.laws, item.weights, strict=True):
            centre = float(shares @ item.points)
            means.append(centre)
            spreads.append(math.sqrt(float(shares @ (item.points - centre) ** 2) / (rows if whole else 1)))
            known += int(law.parts.sum()) if law.parts.dtype == np.int64 else 0
    times = 1.0 if whole else float(rows)
    low = float(read_number(stated["low"])) * (1 if stated.get("averaged") else rows)
    half = certificate.number_noise.quantile(0.95) * unit
    ends = (low + times * unit * min(means), low + times * unit * max(means))
    # what one record adds is spread * unit; of an average, unit is already a share of the rows
    expected = Expected(*ends, max(spreads) * unit * rows, 1.0, rows, known or rows, half)
    said = expected.said(str(stated.get("query", "")), values[0])
    return () if said is None else (said,)


def _cells(certificate: Certificate, stated: Mapping[str, Any], values: Sequence[float]) -> tuple[str, ...]:
    """The counts of a histogram or a cross-tabulation, each by itself."""
    families: list[Any] = [item for item in certificate.laws if item.shape == "cells"]
    laws = [law / law.sum() for item in families for law in item.laws]
    rows, half = read_whole(stated["rows"]), certificate.number_noise.quantile(0.95)
    if not laws or any(len(law) != len(values) for law in laws) or len(stated["cells"]) != len(values):
        return ()
    known = int(sum(law.sum() for item in families for law in item.laws))
    found = (
        share_expected([float(law[k]) for law in laws], rows, rows, known, half).said(
            f"{stated.get('query', '')}, {label}", float(value)
        )
        for k, (label, value) in enumerate(zip(stated["cells"], values, strict=True))
    )
    return tuple(said for said in found if said is not None)


def implausible_column(certificate: Certificate, values: Sequence[str]) -> tuple[str, ...]:
    """The mean of a published column, or the share of each of its categories, beside what the reference's rows give.

    `values`: the published cells as they stand in the file."""
    if certificate.parts or certificate.dimension > 1 or _own(certificate) or not len(values):
        return ()
    try:
        found = believed(certificate)
    except NotProvable:
        return ()
    name = str((certificate.body.get("query") or {}).get("publish", ""))
    if found.rows is None:
        said: list[str | None] = []
    elif certificate.runs == "channel" and (names := certificate.channel.names) is not None:
        shares = zip(names, found.joint.published.shares.tolist(), strict=False)
        said = [
            share_expected([share], 1.0, len(values), found.rows, 0.0).said(
                f"the share of {name}={label}", sum(value == label for value in values) / len(values)
            )
            for label, share in shares
        ]
    else:
        said = [_mean(found, found.rows, name, _numbers(certificate, name, values))]
    return tuple(sentence for sentence in said if sentence is not None)


def _mean(found: Believed, known: int, name: str, numbers: Floats) -> str | None:
    """The mean of published rows: noise and chance move it, and a drift of the values."""
    law, spread = found.joint.published, math.sqrt(found.joint.value.variance)
    if not len(numbers) or not math.isfinite(law.variance):
        return None
    noise = SIGMAS / NOISE * math.sqrt(max(law.variance - spread**2, 0.0) / len(numbers))
    expected = Expected(law.mean, law.mean, spread, 1.0, len(numbers), known, noise)
    return expected.said(f"the mean of {name}", float(numbers.mean()))


def _numbers(certificate: Certificate, name: str, values: Sequence[str]) -> Floats:
    """Published cells as numbers; dates as days since their origin."""
    dated = Field.of(name, told) if "origin" in (told := _told(certificate, name)) else None
    numbers = np.array([number_of(cell) if dated is None else dated.day(cell) for cell in values])
    return np.asarray(numbers[np.isfinite(numbers)], dtype=np.float64)


def _told(certificate: Certificate, name: str) -> Mapping[str, Any]:
    """What the certificate says of how the column is read."""
    found: Mapping[str, Any] = (certificate.body.get("reading") or {}).get("columns", {}).get(name) or {}
    return found


def _own(certificate: Certificate) -> bool:
    """Whether the beliefs are the private table's own counts, of which nothing is said."""
    return holds_private_numbers(certificate.assumptions)

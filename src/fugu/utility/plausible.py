"""Whether a published number lies where the reference makes it plausible: a function of what is public.

Plausible is what independent draws from the reference's laws give for so many rows, with the noise on top, but for a
chance of 1e-6; that the reference is itself a sample, and that a population moves a little, is allowed for. A number
outside was perhaps read otherwise than it was meant (another unit, another decimal mark, "ja" for "yes"). Saying so
costs nothing: the number is published, and so is the reference's law of one record."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from fugu.data.cells import number_of
from fugu.data.field import Field
from fugu.data.secrets import FEW
from fugu.documents.certificate import Certificate
from fugu.documents.parts import published_unit
from fugu.documents.sentences import TOTALS, holds_private_numbers
from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.numbers.exact import read_number, read_whole
from fugu.utility.figures import short
from fugu.utility.joint import Floats, PublishedJoint
from fugu.utility.reading import believed, translates
from fugu.visible import visible

CHANCE: Final = 1e-6
"""How likely a number is called implausible where table and reference have the same law, at most: half of it below."""
SIGMAS: Final = 5.03
"""A normal law is within so many standard deviations but for CHANCE / 2."""
DRIFT: Final = 0.25
"""Standard deviations of one record by which a population may have moved: half-way to what is called a medium effect
(Cohen 1988)."""
_ODDS: Final = math.exp(DRIFT * math.pi / math.sqrt(3))
"""The same of a share: a factor of its odds (Chinn 2000)."""
_LEVELS: Final = tuple(0.5 * 10.0**-k for k in range(8))
LOOK: Final = "look how the table was read (fugu check)"
Reach = Callable[[float], float]
"""The quantile of the size of the noise."""


def no_noise(_level: float) -> float:
    """The `Reach` of numbers that have none."""
    return 0.0


class Plausible(ABC):
    """What the reference says of one published number."""

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """The least and the most that is plausible."""

    def said(self, name: str, value: float) -> str | None:
        """One sentence where the value lies outside; None where it is plausible, or not a number.

        >>> Expected(150, 152, 22, 1, 300, 300, 0.8).said("mean", 93.5)
        'mean is 93.5, where the reference makes 135 to 167 plausible; look how the table was read (fugu check)'
        """
        low, high = self.ends
        if math.isnan(value) or low <= value <= high:
            return None
        plausible = f"{short(low)} to {short(high)}"
        return f"{name} is {short(value)}, where the reference makes {plausible} plausible; {LOOK}"


@final
@dataclass(frozen=True)
class Expected(Plausible):
    """Of a sum or an average of numbers, by the normal law.

    `low`, `high`: its value if all records had the secret that makes it least, or most; any mixture lies between.
    `spread`: the standard deviation of what one record adds, as a share of the whole if the number is an average;
    `size`: how many records it adds up, 1 of an average. `rows`: the records; `known`: those of the reference;
    `reach`: the noise is within it but for CHANCE / 2."""

    low: float
    high: float
    spread: float
    size: float
    rows: int
    known: int
    reach: float

    @property
    def ends(self) -> tuple[float, float]:
        """Chance, noise and drift on each side."""
        chance = SIGMAS * math.sqrt(1 / max(self.rows, 1) + 1 / max(self.known, 1))
        reach = self.reach + (chance + DRIFT) * self.size * self.spread
        return self.low - reach, self.high + reach


@final
@dataclass(frozen=True)
class PlausibleCount(Plausible):
    """Of how many of `rows` records there are of one kind.

    `laws`: how many of how many rows of the reference are of that kind, over all of it and given each secret that is
    not rare (FEW rows); a table of any mixture of these secrets lies between. `unit`: what one record adds to the
    published number, 1 of a count; `noise`: in records.

    If k of m rows of the reference and Y of n rows come from one law, Y given k + Y = t is hypergeometric, whatever
    the law is (Fisher 1935). Its chances P(Y = y) fall faster than geometrically away from the middle, so that
    P(Y <= y) <= P(Y = y) / (1 - P(Y = y - 1) / P(Y = y)).

    >>> PlausibleCount(((70, 150), (20, 60), (50, 90)), 153, 1.0, no_noise).ends
    (3.0, 141.0)
    """

    laws: tuple[tuple[float, float], ...]
    rows: int
    unit: float
    noise: Reach

    @staticmethod
    def of(given: Iterable[tuple[float, float]], rows: int, unit: float, noise: Reach) -> PlausibleCount:
        """From how many of how many rows there are `given` each secret."""
        laws = tuple(dict.fromkeys(given))
        overall = (sum(times for times, _ in laws), sum(known for _, known in laws))
        return PlausibleCount((overall, *(law for law in laws if law[1] >= FEW)), rows, unit, noise)

    @property
    def ends(self) -> tuple[float, float]:
        """In the unit of what is published."""
        reach = [self.noise(1 - 2 * level) for level in _LEVELS]
        low = min(self._least(times, known, reach) for times, known in self.laws)
        high = self.rows - min(self._least(known - times, known, reach) for times, known in self.laws)
        return low * self.unit, high * self.unit

    def _least(self, times: float, known: float, reach: Sequence[float]) -> float:
        """The least number that is plausible if `times` of `known` rows of the reference are of the kind."""
        drifted = known * times / (times + _ODDS * (known - times))
        below, least = -math.ceil(reach[-1]) - 1, math.ceil(self.rows * times / known)
        while least - below > 1:
            middle = (below + least) // 2
            # P(Y + noise <= middle), at most: the noise is below -reach[k] with probability _LEVELS[k]
            tails = (_at_most(math.floor(middle + far), self.rows, drifted, known) for far in reach)
            if _LEVELS[-1] + sum(w * p for w, p in zip((1.0, *_LEVELS), tails, strict=False)) < CHANCE / 2:
                below = middle
            else:
                least = middle
        return float(least)


def _at_most(y: int, rows: int, times: float, known: float) -> float:
    """P(Y <= y) given the sum of Y and `times`, at most."""
    if y < 0 or y >= rows:
        return float(y >= rows)
    ratio = y * (known - times) / ((rows - y + 1) * (times + 1))
    if ratio >= 1:
        return 1.0
    choose = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)  # the logarithm of n over k
        for n, k in ((known, times), (rows, y), (known + rows, times + y))
    ]
    return min(math.exp(min(choose[0] + choose[1] - choose[2], 0.0)) / (1 - ratio), 1.0)


def implausible_numbers(certificate: Certificate, values: Sequence[float]) -> tuple[str, ...]:
    """What is to be said of a statistic of all records (not of a group, whose law the reference may not tell).

    `certificate`: of the one statistic; `values`: as published, those of a histogram in the order of its cells."""
    stated = certificate.body.get("statistic") or {}
    if stated.get("rows") is None or stated.get("by") is not None or not len(values):
        return ()
    if holds_private_numbers(certificate.assumptions):  # the private table's own counts, of which nothing is said
        return ()
    if "cells" in stated:
        return _cells(certificate, stated, values)
    items = [item for item in certificate.laws if isinstance(item, Family) and not translates(item)]
    if not items or len(items) < len(certificate.laws):
        return ()
    rows, unit = read_whole(stated["rows"]), float(published_unit(certificate))
    whole = any(line.startswith("beliefs: ") and TOTALS in line for line in certificate.assumptions)
    means, spreads, known = [], [], []
    for item in items:
        for law, shares in zip(item.laws, item.weights, strict=True):
            centre = float(shares @ item.points)
            means.append(centre)
            spreads.append(math.sqrt(float(shares @ (item.points - centre) ** 2) / (rows if whole else 1)))
            known.append(int(law.parts.sum()) if law.parts.dtype == np.int64 and not whole else rows)
    times = 1.0 if whole else float(rows)
    low = float(read_number(stated["low"])) * (1 if stated.get("averaged") else rows)
    noise = certificate.noise.quantile
    if stated.get("steps") == 1 and low == 0:  # every record adds 1 or nothing
        shares = [mean / rows if whole else mean for mean in means]
        laws = [(share * size, size) for share, size in zip(shares, known, strict=True)]
        expected: Plausible = PlausibleCount.of(laws, rows, unit, noise)
    else:
        ends = (low + times * unit * min(means), low + times * unit * max(means))
        # what one record adds is spread * unit; of an average, unit is already a share of the rows
        reach = noise(1 - CHANCE / 2) * unit
        expected = Expected(*ends, max(spreads) * unit * rows, 1.0, rows, sum(known), reach)
    said = expected.said(str(stated.get("query", "")), values[0])
    return () if said is None else (said,)


def _cells(certificate: Certificate, stated: Mapping[str, Any], values: Sequence[float]) -> tuple[str, ...]:
    """The counts of a histogram or a cross-tabulation, each by itself."""
    families: list[Any] = [item for item in certificate.laws if item.shape == "cells"]
    laws = [law for item in families for law in item.laws]
    rows, noise = read_whole(stated["rows"]), certificate.noise.quantile
    if not laws or any(len(law) != len(values) for law in laws) or len(stated["cells"]) != len(values):
        return ()
    found = (
        PlausibleCount.of([(float(law[k]), float(law.sum())) for law in laws], rows, 1.0, noise).said(
            f"{stated.get('query', '')}, {label}", float(value)
        )
        for k, (label, value) in enumerate(zip(stated["cells"], values, strict=True))
    )
    return tuple(said for said in found if said is not None)


def implausible_column(certificate: Certificate, values: Sequence[str]) -> tuple[str, ...]:
    """The mean of a published column, or the share of each of its categories, beside what the reference's rows give.

    `values`: the published cells as they stand in the file."""
    own = holds_private_numbers(certificate.assumptions)
    if certificate.parts or certificate.dimension > 1 or own or not len(values):
        return ()
    try:
        found = believed(certificate)
    except NotProvable:
        return ()
    name = str((certificate.body.get("query") or {}).get("publish", ""))
    if found.rows is None:
        said: list[str | None] = []
    elif (names := certificate.noise.names) is not None:
        shares = zip(names, found.published.shares.tolist(), strict=False)
        said = [
            PlausibleCount.of([(share * found.rows, found.rows)], len(values), 1 / len(values), no_noise).said(
                f"the share of {name}={label}", sum(value == visible(label) for value in values) / len(values)
            )
            for label, share in shares
        ]
    else:
        said = [_mean(found, found.rows, name, _numbers(certificate, name, values))]
    return tuple(sentence for sentence in said if sentence is not None)


def _mean(found: PublishedJoint, known: int, name: str, numbers: Floats) -> str | None:
    """The mean of published rows: noise and chance move it, and a drift of the values."""
    law, spread = found.published, math.sqrt(found.value.variance)
    if not len(numbers) or not math.isfinite(law.variance):
        return None
    noise = SIGMAS * math.sqrt(max(law.variance - spread**2, 0.0) / len(numbers))
    expected = Expected(law.mean, law.mean, spread, 1.0, len(numbers), known, noise)
    return expected.said(f"the mean of {name}", float(numbers.mean()))


def _numbers(certificate: Certificate, name: str, values: Sequence[str]) -> Floats:
    """Published cells as numbers; dates as days since their origin."""
    told: Mapping[str, Any] = (certificate.body.get("reading") or {}).get("columns", {}).get(name) or {}
    dated = Field.of(name, told) if "origin" in told else None
    numbers = np.array([number_of(cell) if dated is None else dated.day(cell) for cell in values])
    return np.asarray(numbers[np.isfinite(numbers)], dtype=np.float64)

"""Whether a published number lies where the reference makes it plausible: a function of what is public.

Plausible is what independent draws from the reference's laws give for so many rows, with the noise on top, but for a
chance of 1e-6; that the reference is itself a sample, and that a population moves a little, is allowed for. A number
outside was perhaps read otherwise than it was meant (another unit, another decimal mark, "ja" for "yes"). Saying so
costs nothing: the number is published, and so is the reference's law of one record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

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
Ends = tuple[float, float]
"""The least and the most that is plausible."""


def no_noise(_level: float) -> float:
    """The `Reach` of numbers that have none."""
    return 0.0


def beyond(name: str, value: float, ends: Ends) -> str | None:
    """One sentence where a published value lies outside of what is plausible; None inside, or where it is no number.

    >>> beyond("mean", 93.5, plausible_sum(150, 152, 22, 1, 300, 300, 0.8))
    'mean is 93.5, where the reference makes 135 to 167 plausible; look how the table was read (fugu check)'
    """
    low, high = ends
    if math.isnan(value) or low <= value <= high:
        return None
    plausible = f"{short(low)} to {short(high)}"
    return f"{name} is {short(value)}, where the reference makes {plausible} plausible; {LOOK}"


def plausible_sum(low: float, high: float, spread: float, size: float, rows: int, known: int, reach: float) -> Ends:
    """The ends of a sum or an average of numbers, by the normal law: chance, noise and drift on each side.

    `low`, `high`: its value if all records had the secret that makes it least, or most; any mixture lies between.
    `spread`: the standard deviation of what one record adds, as a share of the whole if the number is an average;
    `size`: how many records it adds up, 1 of an average. `rows`: the records; `known`: those of the reference;
    `reach`: the noise is within it but for CHANCE / 2."""
    chance = SIGMAS * math.sqrt(1 / max(rows, 1) + 1 / max(known, 1))
    far = reach + (chance + DRIFT) * size * spread
    return low - far, high + far


def plausible_count(given: Iterable[tuple[float, float]], rows: int, unit: float, noise: Reach) -> Ends:
    """The ends, in the unit of what is published, of how many of `rows` records there are of one kind.

    `given`: of how many rows of the reference with each secret so many are of that kind. All of it counts, and each
    secret that is not rare (FEW rows); a table of any mixture of these lies between. `unit`: what one record adds to
    the published number, 1 of a count; `noise`: in records.

    If k of m rows of the reference and Y of n rows come from one law, Y given k + Y = t is hypergeometric, whatever
    the law is (Fisher 1935). Its chances P(Y = y) fall faster than geometrically away from the middle, so that
    P(Y <= y) <= P(Y = y) / (1 - P(Y = y - 1) / P(Y = y)).

    >>> plausible_count(((20, 60), (50, 90)), 153, 1.0, no_noise)
    (3.0, 141.0)
    """
    laws = tuple(dict.fromkeys(given))
    overall = (sum(times for times, _ in laws), sum(known for _, known in laws))
    laws = (overall, *(law for law in laws if law[1] >= FEW))
    reach = [noise(1 - 2 * level) for level in _LEVELS]

    def least(times: float, known: float) -> float:
        """The least number that is plausible if `times` of `known` rows of the reference are of the kind."""
        drifted = known * times / (times + _ODDS * (known - times))
        below, above = -math.ceil(reach[-1]) - 1, math.ceil(rows * times / known)
        while above - below > 1:
            middle = (below + above) // 2
            # P(Y + noise <= middle), at most: the noise is below -reach[k] with probability _LEVELS[k]
            tails = (_at_most(math.floor(middle + far), rows, drifted, known) for far in reach)
            if _LEVELS[-1] + sum(w * p for w, p in zip((1.0, *_LEVELS), tails, strict=False)) < CHANCE / 2:
                below = middle
            else:
                above = middle
        return float(above)

    low = min(least(times, known) for times, known in laws)
    high = rows - min(least(known - times, known) for times, known in laws)
    return low * unit, high * unit


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
        plausible = plausible_count(laws, rows, unit, noise)
    else:
        ends = (low + times * unit * min(means), low + times * unit * max(means))
        # what one record adds is spread * unit; of an average, unit is already a share of the rows
        reach = noise(1 - CHANCE / 2) * unit
        plausible = plausible_sum(*ends, max(spreads) * unit * rows, 1.0, rows, sum(known), reach)
    said = beyond(str(stated.get("query", "")), values[0], plausible)
    return () if said is None else (said,)


def _cells(certificate: Certificate, stated: Mapping[str, Any], values: Sequence[float]) -> tuple[str, ...]:
    """The counts of a histogram or a cross-tabulation, each by itself."""
    families: list[Any] = [item for item in certificate.laws if item.shape == "cells"]
    laws = [law for item in families for law in item.laws]
    rows, noise = read_whole(stated["rows"]), certificate.noise.quantile
    if not laws or any(len(law) != len(values) for law in laws) or len(stated["cells"]) != len(values):
        return ()
    found = []
    for k, (label, value) in enumerate(zip(stated["cells"], values, strict=True)):
        ends = plausible_count([(float(law[k]), float(law.sum())) for law in laws], rows, 1.0, noise)
        found.append(beyond(f"{stated.get('query', '')}, {label}", float(value), ends))
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
    said: list[str | None] = []
    if found.rows is not None and (names := certificate.noise.names) is not None:
        for label, share in zip(names, found.published.shares.tolist(), strict=False):
            ends = plausible_count([(share * found.rows, found.rows)], len(values), 1 / len(values), no_noise)
            there = sum(value == visible(label) for value in values) / len(values)
            said.append(beyond(f"the share of {name}={label}", there, ends))
    elif found.rows is not None:
        said.append(_mean(found, found.rows, name, _numbers(certificate, name, values)))
    return tuple(sentence for sentence in said if sentence is not None)


def _mean(found: PublishedJoint, known: int, name: str, numbers: Floats) -> str | None:
    """The mean of published rows: noise and chance move it, and a drift of the values."""
    law, spread = found.published, math.sqrt(found.value.variance)
    if not len(numbers) or not math.isfinite(law.variance):
        return None
    noise = SIGMAS * math.sqrt(max(law.variance - spread**2, 0.0) / len(numbers))
    ends = plausible_sum(law.mean, law.mean, spread, 1.0, len(numbers), known, noise)
    return beyond(f"the mean of {name}", float(numbers.mean()), ends)


def _numbers(certificate: Certificate, name: str, values: Sequence[str]) -> Floats:
    """Published cells as numbers; dates as days since their origin."""
    told: Mapping[str, Any] = (certificate.body.get("reading") or {}).get("columns", {}).get(name) or {}
    dated = Field.of(name, told) if "origin" in told else None
    numbers = np.array([number_of(cell) if dated is None else dated.day(cell) for cell in values])
    return np.asarray(numbers[np.isfinite(numbers)], dtype=np.float64)

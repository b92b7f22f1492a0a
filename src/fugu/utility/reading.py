"""The figures of what a certificate publishes, from its laws and its noise alone; old certificates too; and whether a
published number lies where the reference makes it plausible."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import number_of
from fugu.data.field import Field
from fugu.data.secrets import FEW
from fugu.data.uses import numbers_rows, texts
from fugu.documents.certificate import Certificate
from fugu.documents.parts import published_unit
from fugu.documents.reading import reading
from fugu.documents.sentences import TOTALS, holds_private_numbers
from fugu.errors import NotProvable
from fugu.laws.components import nearest
from fugu.laws.family import Family, SetFamily
from fugu.laws.masses import Masses
from fugu.laws.multinormal import NormalPair
from fugu.laws.normal import Analytic
from fugu.laws.shapes import mean_law
from fugu.loss.channel import law_list
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import rounding_error
from fugu.numbers.exact import read_number, read_whole
from fugu.utility.joint import Floats, PointLaw, PublishedJoint, added, added_to_normals, histogram, moved, quantile
from fugu.utility.usable import (
    CHANCE,
    COLUMN,
    NOISE,
    OWN_TABLE,
    TENTH,
    Figures,
    Usable,
    categories,
    column,
    coordinate,
    in_range,
    rows_for,
    short,
    statistic,
)
from fugu.visible import visible

USUAL_ROWS = 1000
"""Rows that averages are stated for where no number is known."""
LEVEL = 0.95
_MOST = 8
"""Coordinates of a vector that are listed."""
COUNTED = "the rows of the reference"
MEAN = "the mean of the stated beliefs"
RANGES = "beside the declared range, since the beliefs do not say how values vary"
UNKNOWN = "the beliefs say how far a value may move, and not how values vary: the noise stands beside nothing"
_ANALYSIS = "the noise is for analysis only: nothing is published with it"
_MOST_POINTS = 4_000_000
"""Most (value, output) cells of a table that is looked at."""


def read(certificate: Certificate, rows: int | None = None) -> tuple[tuple[Figures, ...], str]:
    """What a certificate says of its own utility, and what that was worked out on; `NotProvable` with the reason where
    it does not say.

    `rows`: how many are published; None takes the reference's, else 1,000. Of a mixture the worse half counts."""
    if certificate.parts:
        halves = [read(part, rows) for part in certificate.parts]
        figures, basis = max(halves, key=lambda half: half[0][0].size)
        return figures, f"{basis}, for the half of the mixture with more noise"
    if certificate.kind == "analysis":
        raise NotProvable(_ANALYSIS)
    if certificate.runs in ("vector", "correlated") or not certificate.of_values:
        return _coordinates(certificate), MEAN
    if isinstance(certificate.body.get("statistic"), dict):
        return (_statistic(certificate),), MEAN
    joint = believed(certificate)
    count = rows or joint.rows or USUAL_ROWS
    basis = MEAN if joint.rows is None else COUNTED
    name = str((certificate.body.get("query") or {}).get("publish", ""))
    if certificate.noise.names is not None:
        cells = histogram(count, joint.value, joint.published)
        return (categories(name, count, joint.unchanged, float(joint.value.shares.max()), cells),), basis
    half = (certificate.errors if certificate.noise.tabled else certificate.remap or certificate.noise).quantile(LEVEL)
    if not certificate.noise.tabled:  # as `Mechanism.interval` says
        half += rounding_error(certificate.lattice, certificate.support)
    if names := (certificate.body.get("property") or {}).get("statistics"):  # one number, published once
        return (coordinate(str(names[0]), math.sqrt(joint.value.variance), math.sqrt(joint.squared), half),), basis
    found, points = of_joint(joint, count, half, name), joint.value.points[joint.value.shares > 0]
    if joint.rows is not None and numbers_rows(points, joint.rows):
        found = replace(found, grade=NOISE, verdict=f"of no use row by row: {texts()['running']['publish']}")
    return (found,), basis


def usable_of(certificate: Certificate, rows: int | None = None) -> Usable:
    """Figures and verdict of one certificate, without levers; `rows` as published, if that is known.

    Where the beliefs are the private table's own counts, nothing is shown: it would be exact numbers of it."""
    if any(holds_private_numbers(part.assumptions) for part in (certificate, *certificate.parts)):
        return Usable((), "", why=OWN_TABLE)
    with reading():
        try:
            figures, basis = read(certificate, rows)
        except NotProvable as reason:
            figures, basis = _against_ranges(certificate), RANGES
            if not figures:
                return Usable((), "", why=str(reason))
    (first, *others), epsilon, ordinary = figures, float(certificate.budget.epsilon), None
    if not others and first.kind == COLUMN and not certificate.budget.renyi and 0 < epsilon < math.inf:
        width = first.high - first.low  # local differential privacy of a bounded column: range / epsilon
        ordinary = width / epsilon / first.error if 0 < first.error < math.inf > width else None
    return Usable(figures, basis, ordinary=ordinary)


def _statistic(certificate: Certificate) -> Figures:
    stated = certificate.body["statistic"]
    if stated.get("rows") is None:
        raise NotProvable("the certificate, of an earlier version, does not say how many records its group has")
    noise, rows = certificate.noise, read_whole(stated["rows"])
    unit = float(published_unit(certificate))
    half, error = noise.quantile(LEVEL) * unit, noise.expected_error() * unit
    # what the beliefs say of it, and how far chance alone moves it; of counts in cells, an even share
    value, chance = rows / max(len(stated["cells"]), 1) if "cells" in stated else None, None
    items = [i for i in certificate.laws if isinstance(i, Family | SetFamily) and not translates(i)]
    if value is None and items and len(items) == len(certificate.laws):
        points, mean = mean_law(items)
        shares = np.array([part / sum(mean) for part in mean])
        centre = float(shares @ points)
        # laws are of one record's code, or of the total of all codes: the certificate's assumptions say which
        whole = any(a.startswith("beliefs: ") and TOTALS in a for a in certificate.assumptions)
        times = 1 if whole else rows
        low = float(read_number(stated["low"])) * (1 if stated.get("averaged") else rows)
        value = low + times * centre * unit
        chance = CHANCE * math.sqrt(times * float(shares @ (points - centre) ** 2)) * unit
    most = 2 if "cells" in stated else stated.get("steps")
    epsilon = float(certificate.budget.epsilon)
    ordinary = None
    if most is not None and 0 < epsilon < math.inf:
        ordinary = Laplace(read_whole(most) / epsilon, grid=1).quantile(LEVEL) * unit
    return statistic(
        str(stated.get("group", "")), str(stated.get("query", "")), rows, half, error, value, chance, ordinary
    )


def _against_ranges(certificate: Certificate) -> tuple[Figures, ...]:
    """The noise of each number of a property beside the ends that were declared for it; nothing where one has none."""
    stated: Any = certificate.body.get("property") or {}
    limits, d = stated.get("limits") or [None], certificate.dimension
    if None in limits or len(limits) != d or not certificate.noise.released:
        return ()
    halves = certificate.noise.each_quantile(LEVEL, d)
    ends = ([float(read_number(end)) for end in pair] for pair in limits)
    each = zip(map(str, stated["statistics"]), ends, halves, strict=True)
    return tuple(in_range(name, low, high, half) for name, (low, high), half in each)


def _coordinates(certificate: Certificate) -> tuple[Figures, ...]:
    """The spread of each number of a vector, under the average of the laws, beside its noise; the first eight."""
    names = [str(x) for x in (certificate.body.get("property") or {}).get("statistics", ())]
    d = certificate.dimension
    names = names if len(names) == d else [str(j + 1) for j in range(d)]
    step = float(certificate.lattice.grid) if certificate.lattice else 1.0
    moments: list[tuple[Floats, Floats]] = []  # E X and E X^2 of each coordinate, law by law
    for item in certificate.laws:
        if isinstance(item, NormalPair):
            for law in (item.p, item.q):
                mean = np.array([float(x) for x in law.mean])
                moments.append((mean, np.array([float(law.cov[j][j]) for j in range(d)]) + mean**2))
        elif isinstance(item, Family) and not item.translates:
            points = item.points.reshape(len(item.points), d) * step
            found = [(weights @ points, weights @ points**2) for weights in item.weights]
            if not certificate.of_values:  # of one record: so many of them vary so many times as much
                found = [(mean * 0, (certificate.rows or 1) * (square - mean**2)) for mean, square in found]
            moments += found
    if not moments:
        raise NotProvable("the beliefs say how far a value may move, and not how values vary")
    means, squares = (sum(each, np.zeros(d)) / len(moments) for each in zip(*moments, strict=True))
    spreads = [math.sqrt(max(q - m**2, 0.0)) for m, q in zip(means, squares, strict=True)]
    each = zip(names, spreads, certificate.noise.deviations(d), certificate.noise.each_quantile(LEVEL, d), strict=True)
    return tuple(coordinate(*found) for found in list(each)[:_MOST])


def of_joint(joint: PublishedJoint, rows: int, half: float, name: str = "") -> Figures:
    """The figures of a column, read off a joint law; `half` as the mechanism states it."""
    value, published = joint.value, joint.published
    spread = math.sqrt(value.variance)
    scatter = max(joint.squared - joint.bias**2, 0.0)
    ends = (-math.inf, math.inf) if joint.endless else value.ends
    ranks = tuple(quantile(level, rows, value, published) for level in (0.25, 0.5, 0.9))
    return column(
        name, rows, spread, *ends, math.sqrt(joint.squared), joint.absolute, half, joint.bias,
        joint.correlation, joint.order, math.sqrt(joint.bias**2 + scatter / rows),
        rows_for(scatter, joint.bias, TENTH * spread),
        float(value.shares @ abs(value.points - value.quantile(0.5))), (*ranks, histogram(rows, value, published)),
    )  # fmt: skip


def believed(certificate: Certificate) -> PublishedJoint:
    """What one number of a certificate that is not a mixture is, and becomes; `NotProvable` where no law is known."""
    items, noise = certificate.laws, certificate.in_steps
    if noise.tabled:
        families = [item for item in items if isinstance(item, Family | SetFamily)]
        support = np.array(certificate.body["support"], dtype=np.float64)
        return _moved(certificate, families, support, np.array(noise.outputs, dtype=np.float64), noise.conditional)
    if any(isinstance(item, Analytic) for item in items):
        smooth = [item for item in items if isinstance(item, Analytic)]
        if len(smooth) < len(items):
            raise NotProvable(UNKNOWN)
        if not noise.released:
            raise NotProvable(_ANALYSIS)
        return added_to_normals((law for item in smooth for law in (item.p, item.q)), noise)
    families = [item for item in items if isinstance(item, Family | SetFamily) and not item.translates]
    if not families or len(families) < len(items) or all(translates(family) for family in families):
        raise NotProvable(UNKNOWN)
    points, shares, rows = _weighted(certificate, families)
    shown, lattice = _shown(certificate, points), certificate.lattice
    if (remap := certificate.remap) is not None:
        return _moved(certificate, families, shown, remap.to, remap.chances)
    if not noise.added or lattice is None:
        bare = noise.silent or noise.added
        return _moved(
            certificate, families, shown, shown,
            lambda: np.eye(len(points)) if bare else np.exp(noise.log_kernel(points, points)).T,
        )  # fmt: skip
    if not noise.released:
        raise NotProvable(_ANALYSIS)
    return replace(added(points, shares, float(lattice.grid), float(lattice.origin), noise), rows=rows)


def _moved(
    certificate: Certificate, families: list[Family | SetFamily], values: Floats, outputs: Floats,
    chances: Callable[[], Floats],
) -> PublishedJoint:  # fmt: skip
    """Through a table of chances: under the pooled counts of a reference, or the average of the laws."""
    if len(values) * len(outputs) > _MOST_POINTS:
        raise NotProvable(f"not worked out for {len(values):,} values and {len(outputs):,} outputs")
    _, shares, rows = _weighted(certificate, families)
    return replace(moved(PointLaw(values, shares), outputs, chances()), rows=rows)


def _weighted(
    certificate: Certificate, families: list[Family | SetFamily]
) -> tuple[NDArray[np.int64], Floats, int | None]:
    """Points, the share of each, and how many rows they were counted on: the pooled counts of a reference, or the
    average of the laws."""
    points, mean = mean_law(families)
    laws = [law for family in families for law in law_list(family)]
    counts = [law.parts for law in laws if isinstance(law, Masses) and law.parts.dtype == np.int64]
    alike = len(families) == 1 or certificate.noise.tabled
    recipe = certificate.body.get("recipe")
    empirical = isinstance(recipe, dict) and recipe.get("prior") == "empirical"  # so that counts weigh the laws
    if empirical and alike and len(counts) == len(laws):
        sums = np.sum(np.stack(counts), axis=0)
        return points, np.asarray(sums / sums.sum()), int(sums.sum())
    total = sum(mean)
    return points, np.array([part / total for part in mean]), None


def _shown(certificate: Certificate, points: NDArray[np.int64]) -> Floats:
    """The values at these points: on the lattice, of the support, or, where nothing is rounded, numbered in it."""
    lattice, support = certificate.lattice, certificate.support if certificate.body.get("support") != [] else None
    if lattice is None:
        if support is None or len(support) != len(points):
            raise NotProvable("the certificate numbers the values, and does not say where they lie")
        return np.asarray(support, dtype=np.float64)
    shown = lattice.value(points)
    return shown if support is None or support.ndim > 1 else nearest(support, shown)


def translates(family: Family | SetFamily) -> bool:
    """One pair of two single values: what a law that moves by so much is written as in a certificate."""
    if isinstance(family, SetFamily) or len(family.pairs) > 1:
        return False
    return all(np.count_nonzero(law.parts) == 1 for law in family.laws)


# Whether a published number lies where the reference makes it plausible: a function of what is public.
#
# Plausible is what independent draws from the reference's laws give for so many rows, with the noise on top, but for a
# chance of 1e-6; that the reference is itself a sample, and that a population moves a little, is allowed for. A number
# outside was perhaps read otherwise than it was meant (another unit, another decimal mark, "ja" for "yes"). Saying so
# costs nothing: the number is published, and so is the reference's law of one record.


FALSE_ALARM: Final = 1e-6
"""How likely a number is called implausible where table and reference have the same law, at most: half of it below."""
SIGMAS: Final = 5.03
"""A normal law is within so many standard deviations but for FALSE_ALARM / 2."""
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
    `reach`: the noise is within it but for FALSE_ALARM / 2."""
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
            if _LEVELS[-1] + sum(w * p for w, p in zip((1.0, *_LEVELS), tails, strict=False)) < FALSE_ALARM / 2:
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
        reach = noise(1 - FALSE_ALARM / 2) * unit
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


def implausible_column(certificate: Certificate, cells: Iterable[tuple[object, int]]) -> tuple[str, ...]:
    """The mean of a published column, or the share of each of its categories, beside what the reference's rows give.

    `cells`: the published cells as they stand in the file, and how often each occurs in some rows of it."""
    own = holds_private_numbers(certificate.assumptions)
    if certificate.parts or certificate.dimension > 1 or own:
        return ()
    try:
        found = believed(certificate)
    except NotProvable:
        return ()
    if found.rows is None:
        return ()
    name = str((certificate.body.get("query") or {}).get("publish", ""))
    said: list[str | None] = []
    if (names := certificate.noise.names) is not None:
        often = Counter[object]()
        for cell, times in cells:
            often[cell] += times
        rows = often.total()
        for label, share in zip(names, found.published.shares.tolist(), strict=False) if rows else ():
            ends = plausible_count([(share * found.rows, found.rows)], rows, 1 / rows, no_noise)
            said.append(beyond(f"the share of {name}={label}", often[visible(label)] / rows, ends))
    else:
        told: Mapping[str, Any] = (certificate.body.get("reading") or {}).get("columns", {}).get(name) or {}
        dated = Field.of(name, told) if "origin" in told else None  # dates count as days since their origin
        numbers = ((number_of(cell) if dated is None else dated.day(cell), times) for cell, times in cells)
        known = np.array([(x * times, times) for x, times in numbers if math.isfinite(x)] or [(0, 0)]).sum(axis=0)
        law, spread, rows = found.published, math.sqrt(found.value.variance), int(known[1])
        if rows and math.isfinite(law.variance):  # noise and chance move the mean, and a drift of the values
            noise = SIGMAS * math.sqrt(max(law.variance - spread**2, 0.0) / rows)
            ends = plausible_sum(law.mean, law.mean, spread, 1.0, rows, found.rows, noise)
            said.append(beyond(f"the mean of {name}", float(known[0]) / rows, ends))
    return tuple(sentence for sentence in said if sentence is not None)

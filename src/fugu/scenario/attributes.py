"""Attributes of Gaussian records: publish some linear statistics, protect others (Propositions 6.2 and F.1, corrected).

X ~ N(mu, S) with matrices M (published) and N (protected). Given N X = a, M X is normal with

    mean M mu + A (a - N mu),   A = Cov(MX, NX) Cov(NX)^-1,   covariance Cov(MX) - A Cov(NX, MX), the same for every a.

So the laws given a and given b are translates by A (a - b): W_inf = |A (a - b)| in any norm, as it is at least the
distance of the means. Proposition 6.2 prints the covariance without its absolute value, and then protects nothing where
it is negative. If Cov(NX) is singular, A is any solution of A Cov(NX) = Cov(MX, NX); then A (a - b) is unique for a - b
in the range of Cov(NX), and other pairs are refused, as one of the two secrets is impossible. All of this is exact, in
rationals: no tolerance decides what is singular.

Secrets in a box or a ball: for one published number only the two ends matter. The laws rise with A a in the sense of
likelihood ratios, rounding is monotone, and log-concave noise (Laplace, Gaussian, lattice or not) keeps that order; so
the best tests between any two secrets are thresholds, and a threshold errs less, both ways, between the ends. Secrets
that are ranges ("the mean is in [a, b]") are mixtures of these, and losses are jointly convex."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Literal

from fugu.documents.sentences import INDEPENDENT
from fugu.errors import UsageError
from fugu.laws import Law, Normal, Shifted
from fugu.numbers import balls
from fugu.numbers.exact import MatrixLike, Real, VectorLike, is_whole, number
from fugu.priors.matrices import Conditional, Matrix, Vector, as_lists, read_covariance, read_matrix
from fugu.scenario.moves import ONCE, SYMMETRIC, moves, outward, positions, said
from fugu.scenario.scenario import PairsOfSecrets, Scenario

_SUMMARIES: dict[str, Callable[[int], Fraction]] = {"mean": lambda _: Fraction(1), "sum": Fraction}
"""What the mean of one record is multiplied by, to be that of a summary of n."""
_ENDS = ("one end", "the other end")
_RECORD = (INDEPENDENT,)
LOG_CONCAVE = "noise: log-concave, so that of all secrets between the ends the ends differ most"


def gaussian_attributes(
    covariance: MatrixLike, release: int | VectorLike | MatrixLike, protect: int | VectorLike | MatrixLike,
    values: Iterable[Real | VectorLike] | None = None, box: VectorLike | MatrixLike | None = None,
    radius: Real | None = None, mean: Vector | None = None, pairs: PairsOfSecrets = "all",
) -> Scenario:  # fmt: skip
    """Linear statistics M X of a Gaussian record X are published, and N X protected.

    `covariance`: that of the record; `release` (M), `protect` (N): the number of an attribute from 0, a row of
    coefficients, or several rows. Exactly one of `values` (of the protected statistic), `box` ((low, high), or one per
    statistic) and `radius` (an l2 ball around the mean) says which secrets there are. `mean`: that of the record, if it
    is known; `pairs`: as in `Scenario`, with `values` only.

    Without `mean` the laws are taken as translates, whatever they are (`Shifted`). With `mean`, and one published
    number, they are the normal laws themselves, whose own randomness saves noise under budgets with a delta or an order
    (standard deviation rounded down to 15 digits). Several published numbers are always translates; in a box or ball
    then by the largest shift of each coordinate, which is more than needed if no one pair attains all of them.

    >>> scenario = gaussian_attributes([[2, -1], [-1, 3]], release=1, protect=0, box=(0, 5))
    >>> scenario.law_pairs()[0].q
    Shifted(by=Fraction(5, 2))
    """
    if sum(x is not None for x in (values, box, radius)) != 1:
        raise UsageError("give exactly one of values, box and radius: the set in which the protected statistic lies")
    law = Conditional.read(covariance, release, protect, mean)
    if values is not None:
        return _listed(law, list(as_lists(values)), pairs)
    if pairs != "all":
        raise UsageError("pairs are chosen among listed values; a box or a ball protects all pairs in it")
    if radius is None:
        return _boxed(law, read_matrix(box, "box", 2))
    size = number(radius, "radius")
    if len(law.protected) == 1:
        return _boxed(law, [[law.centre[0] - size, law.centre[0] + size]])
    return _ball(law, size)


def attribute_summary(
    covariance: MatrixLike, release: int | VectorLike | MatrixLike, protect: int | VectorLike | MatrixLike,
    count: int, statistic: Literal["mean", "sum"] = "mean", values: Iterable[Real | VectorLike] | None = None,
    box: VectorLike | MatrixLike | None = None, radius: Real | None = None, mean: Vector | None = None,
    pairs: PairsOfSecrets = "all",
) -> Scenario:  # fmt: skip
    """Means or sums of attributes over Gaussian records: dataset attribute privacy (Definition F.1).

    `count`: how many records; `statistic`: "mean" or "sum". `covariance`, `release`, `protect` and `mean` are of one
    record, as in `gaussian_attributes`; `values`, `box`, `radius` and `pairs` are of the summary.

    n independent records N(mu, S) have the mean N(mu, S / n) and the sum N(n mu, n S), jointly over all attributes. So
    this is `gaussian_attributes` for one such vector: the shift A (a - b) is that of one record, and the law around it
    is narrower, or wider.

    >>> attribute_summary([[2, -1], [-1, 3]], 1, 0, count=100, values=[0, 5]).law_pairs()[0].q
    Shifted(by=Fraction(-5, 2))
    """
    if not is_whole(count, least=1):
        raise UsageError(f"count, the number of records, must be a whole number of at least 1, got {count!r}")
    count = int(count)
    if statistic not in _SUMMARIES:
        raise UsageError(f'statistic must be "mean" or "sum", got {statistic!r}')
    scale = _SUMMARIES[statistic](count)
    factor = scale**2 / count
    sigma = [[x * factor for x in row] for row in read_covariance(covariance)]
    if mean is not None and scale != 1:
        mean = [scale * number(x, "each entry of mean", least=None) for x in mean]
    found = gaussian_attributes(sigma, release, protect, values, box, radius, mean, pairs)
    records = f"the data are {count} independent Gaussian records; secrets are about the {statistic} over all of them"
    kept = (text for text in found.assumptions if text not in _RECORD)
    return Scenario(found.laws, found.pairs, assumptions=(records, ONCE, *kept))


def _listed(law: Conditional, values: list[Any], pairs: PairsOfSecrets) -> Scenario:
    """One secret for each value; translates by A (a - b), or the normal laws themselves."""
    wide = len(law.protected)
    rows = [read_matrix(list(v) if isinstance(v, Iterable) else [v], "each of the values", wide)[0] for v in values]
    names = [said(row[0]) if wide == 1 else f"({', '.join(said(x) for x in row)})" for row in rows]
    if len(set(names)) < len(names):
        raise UsageError("two of the values are the same; give each once")
    for row in rows:
        law.check([x - y for x, y in zip(row, rows[0] if law.start is None else law.centre, strict=True)])
    ends = [law.at(row) for row in rows]
    found: list[Law]
    if (std := law.std) is not None:
        assert law.start is not None
        found = [Normal(law.start[0] + end[0], std) for end in ends]
    else:
        found = [Shifted(by if len(by) > 1 else by[0]) for by in positions(ends)]
    noise = () if std is not None else (SYMMETRIC,)
    told = _beliefs(law, "has one of the listed values")
    return Scenario(dict(zip(names, found, strict=True)), pairs, assumptions=(*told, *noise))


def _boxed(law: Conditional, box: Matrix) -> Scenario:
    """All pairs in a box: the largest shift of each coordinate, sum_j |A_ij| (high_j - low_j)."""
    if len(box) != len(law.protected):
        raise UsageError(f"box must have one (low, high) for each of the {len(law.protected)} protected statistics")
    widths = [high - low for low, high in box]
    if any(width < 0 for width in widths):
        raise UsageError("box must have low <= high in every pair")
    for j, width in enumerate(widths):
        law.check([width if k == j else Fraction(0) for k in range(len(widths))])
    if law.start is not None:
        law.check([low - x for (low, _), x in zip(box, law.centre, strict=True)])
    signs = [next((1 if row[j] > 0 else -1 for row in law.slope if row[j]), 1) for j in range(len(widths))]
    low = law.at([b[0] if s > 0 else b[1] for b, s in zip(box, signs, strict=True)])
    high = law.at([b[1] if s > 0 else b[0] for b, s in zip(box, signs, strict=True)])
    largest = [sum((abs(x) * w for x, w in zip(row, widths, strict=True)), Fraction(0)) for row in law.slope]
    shift = [y - x for x, y in zip(low, high, strict=True)]
    told = _beliefs(law, "lies in " + " x ".join(f"[{said(a)}, {said(b)}]" for a, b in box))
    return _ends(law, told, low[0], shift if [abs(x) for x in shift] == largest else largest)


def _ball(law: Conditional, radius: Fraction) -> Scenario:
    """All pairs in a ball of that radius: 2 r |row of A|_2 in each coordinate, rounded up."""
    law.check([Fraction(0)] * len(law.protected))
    for j in range(len(law.protected)):
        law.check([Fraction(int(k == j)) for k in range(len(law.protected))])
    with balls.precision(128):
        norms = [balls.of(4 * radius**2 * sum((x * x for x in row), Fraction(0))).sqrt() for row in law.slope]
        shift = [outward(Fraction(balls.upper(norm))) if radius and norm != 0 else Fraction(0) for norm in norms]
    told = _beliefs(law, f"lies in an l2 ball of radius {said(radius)}")
    return _ends(law, told, law.at(law.centre)[0] - shift[0] / 2, shift)


def _ends(law: Conditional, told: tuple[str, ...], low: Fraction, shift: list[Fraction]) -> Scenario:
    """The two ends between which the published value moves by `shift`."""
    if (std := law.std) is not None:
        assert law.start is not None
        laws = {name: Normal(law.start[0] + low + k * shift[0], std) for k, name in enumerate(_ENDS)}
        return Scenario(laws, assumptions=(*told, LOG_CONCAVE))
    return moves(shift[0] if len(shift) == 1 else shift, _ENDS, told)


def _beliefs(law: Conditional, where: str) -> tuple[str, ...]:
    known = "with the stated mean and covariance" if law.std is not None else "with the stated covariance and any mean"
    rows = "; ".join(", ".join(said(x) for x in row) for row in law.slope)
    return (
        *_RECORD,
        f"beliefs: the data are Gaussian {known}; only the stated linear statistics are published",
        f"so the published statistics move by ({rows}) for each unit of the protected ones",
        f"what is protected {where}",
    )

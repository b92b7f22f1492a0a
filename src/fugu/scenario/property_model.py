"""`PropertyModel`: the records behind a scenario about shares, the laws they give, and what those rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.sentences import APART
from fugu.laws import Law, MultivariateNormal, Normal
from fugu.laws.classes import RecordLaw, mixed_law
from fugu.scenario.moves import said
from fugu.scenario.property_moments import Classes, Moments, one_record
from fugu.scenario.property_shares import Shares, records_of, spread_shares
from fugu.scenario.property_statistic import RecordStatistic

MOVED = "statistics outside the ranges that this leaves are moved to their ends before noise is added"


@final
@dataclass(frozen=True, eq=False)
class PropertyModel:
    """How the statistics of n records follow from the records, and which numbers of records must look alike."""

    name: str
    """The property, "income=>50K"."""
    statistics: tuple[RecordStatistic, ...]
    size: int
    tolerance: Fraction
    proved: Shares
    """The shares, and which of them must look alike."""
    ranges: tuple[Fraction, ...]
    """For each statistic, how far one record's number can be from another's."""
    bounds: Mapping[str, tuple[Fraction, Fraction]]
    """The columns whose ends were declared, to which records are clipped; the range of others is the reference's."""
    replacement: bool
    having: NDArray[np.float64] = field(repr=False)
    """The reference's records with the property: one row a record, one column a statistic."""
    lacking: NDArray[np.float64] = field(repr=False)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares; of a range, its least one."""
        return self.proved.shares

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The places, among the shares, of those that must look alike."""
        return self.proved.pairs

    @property
    def labels(self) -> tuple[str, ...]:
        """The secrets' names, "p=0.45"."""
        return self.proved.labels(self.size)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many records have the property: floor(n p + 1/2) for each share."""
        return tuple(records_of(self.size, share) for share in self.shares)

    @property
    def declared(self) -> tuple[str, ...]:
        """The columns whose ends were declared."""
        return tuple(self.bounds)

    @property
    def limits(self) -> tuple[tuple[Fraction, Fraction] | None, ...]:
        """Between which numbers each statistic lies: the ends of a mean, n times those of a sum, 0 and n of a count."""
        return tuple(statistic.limits(self.size, self.bounds.get(statistic.column)) for statistic in self.statistics)

    @property
    def factors(self) -> tuple[Fraction, ...]:
        """What a record's number is multiplied with in each statistic."""
        return tuple(statistic.factor(self.size) for statistic in self.statistics)

    @property
    def reach(self) -> tuple[Fraction, ...]:
        """How far one record can move each statistic: factor x range."""
        return tuple(a * b for a, b in zip(self.factors, self.ranges, strict=True))

    @property
    def swapped(self) -> int:
        """The largest number of records in which two data sets that must look alike differ, over all pairs."""
        return max(abs(self.counts[i] - self.counts[j]) for i, j in self.pairs)

    @cached_property
    def classes(self) -> Classes:
        """Means and covariances of the two classes."""
        factors = np.array([float(a) for a in self.factors])
        return Classes(Moments.of(self.having), Moments.of(self.lacking), factors, self.size, self.replacement)

    @cached_property
    def records(self) -> tuple[RecordLaw, RecordLaw]:
        """What one record with the property, and one without, adds to the statistics: exact mean and covariance."""
        return one_record(self.classes.having, self.factors), one_record(self.classes.lacking, self.factors)

    def law(self, k: int, width: int = 0) -> Law:
        """The normal law of the statistics of a data set with k records that have the property and n - k without.

        width: the law that stands for k .. k + width, the mean that of k and the covariance of k records with the
        property and n - k - width without: no larger than any of theirs. Exact rationals, so affine in k with
        replacement."""
        if len(self.statistics) == 1:
            mean, cov = self.classes.mean(k), self.classes.cov(k)
            return Normal(float(mean[0]), math.sqrt(float(cov[0, 0])))
        one, other = self.records
        return MultivariateNormal(*mixed_law(one, other, self._spread(k, len(self.having)),
                                             self._spread(self.size - k - width, len(self.lacking)),
                                             k, self.size - k))  # fmt: skip

    def _spread(self, k: int, population: int) -> Fraction:
        """k, or k (1 - k/N) where all records are different ones: how often a class's covariance counts."""
        return Fraction(k) if self.replacement else k * (1 - Fraction(k, population))

    def laws(self) -> dict[str, Law]:
        """The law of every secret."""
        found = zip(self.labels, self.counts, self.proved.widths, strict=True)
        return {label: self.law(k, width) for label, k, width in found}

    @property
    def mean_error(self) -> float:
        """How far a fitted mean is from the population's, in standard deviations (root mean square)."""
        return max(self.classes.mean_error(k) for k in self.counts)

    @property
    def difference_error(self) -> float:
        """The same for the difference of two means, which is what protects or betrays; the worst pair."""
        return max(self.classes.difference_error(self.counts[i], self.counts[j]) for i, j in self.pairs)

    @property
    def variance_error(self) -> float:
        """The relative standard error of the variances; the worst share and statistic."""
        return max(self.classes.variance_error(k) for k in self.counts)


def proved_shares(
    size: int, tolerance: Fraction, statistics: int, populations: tuple[int, int] | None = None
) -> Shares:
    """The shares that are gone through where the user names none; `populations`: the records there are with the
    property and without, of which all are drawn at most once."""
    if populations is None:
        return spread_shares(size, tolerance, every=statistics > 1, single=statistics == 1)
    one, other = (int(x) for x in populations)
    ends = (max(0, size - other), min(size, one))
    return spread_shares(size, tolerance, every=False, single=statistics == 1, ends=ends)


def fixed_counts(model: PropertyModel, alike: str = "") -> tuple[str, ...]:
    """What every guarantee about shares rests on, with or without the Gaussian model, and which shares it is about."""
    n, name = model.size, model.name
    if alike or model.proved.every:
        least, most = min(model.counts), max(k + w for k, w in zip(model.counts, model.proved.widths, strict=True))
        between = f"from {least} to {most}" if not alike else "whatever it is"
        believed = f"of {n} records exactly k have {name}, k {between}; a fixed number, not random"
    else:
        stated = ", ".join(f"{k} for {label}" for label, k in zip(model.labels, model.counts, strict=True))
        believed = f"of {n} records exactly so many have {name}: {stated}; fixed numbers, not random"
    return (
        f"beliefs: {believed}",
        alike or proved_words(model),
        "given these numbers, records are drawn from the same law of their class whatever the share",
        *(
            f"{column} of every record is clipped to {said(low)} .. {said(high)} before the statistics are computed"
            for column, (low, high) in model.bounds.items()
        ),
        *([MOVED] if any(model.limits) else []),
    )


def proved_words(model: PropertyModel) -> str:
    """Exactly which shares are proved to look alike."""
    if model.proved.every:
        return (
            f"proved to look alike: every two shares k/{model.size} that differ by at most {said(model.tolerance)}, "
            f"which are numbers of records that differ by at most {model.swapped} (docs/proofs/correlated.md)"
        )
    listed = "; ".join(f"{model.labels[i]} and {model.labels[j]}" for i, j in model.pairs)
    return f"proved to look alike: {listed}; nothing is proved for other shares"


def assumptions(model: PropertyModel) -> tuple[str, ...]:
    """What the normal laws rest on."""
    n, one, other = model.size, len(model.having), len(model.lacking)
    drawn = "independently (with replacement)" if model.replacement else "without replacement"
    return (
        *fixed_counts(model),
        f"records are drawn {drawn} from the reference's records of their class",
        f"Gaussian model: the statistics of a data set of {n} records are normal",
        f"fitted from a reference of {one + other} records, {one} with {model.name} and {other} without",
        (
            f"means are known up to {model.mean_error:.3g} of their standard deviation (Mahalanobis, root mean "
            f"square), their differences up to {model.difference_error:.3g}, variances up to "
            f"{100 * model.variance_error:.2g} %, from {one + other} reference records; the guarantee is for the "
            "fitted laws"
        ),
        APART,
        "the statistics are published once, together",
    )

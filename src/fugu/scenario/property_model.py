"""`PropertyModel`: the records behind a scenario about shares, the laws they give, and what those rest on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.laws import Law, MultivariateNormal, Normal
from fugu.scenario.moves import said
from fugu.scenario.property_moments import Classes, Moments
from fugu.scenario.property_statistic import RecordStatistic

NOT_RELEASED = "the reference is not the data to be released"


@final
@dataclass(frozen=True, eq=False)
class PropertyModel:
    """How the statistics of n records follow from the records, and which numbers of records must look alike."""

    name: str
    """The property, "income=>50K"."""
    statistics: tuple[RecordStatistic, ...]
    size: int
    tolerance: Fraction
    shares: tuple[Fraction, ...]
    pairs: tuple[tuple[int, int], ...]
    """The places, among the shares, of those that differ by at most the tolerance."""
    ranges: tuple[Fraction, ...]
    """For each statistic, how far one record's number can be from another's."""
    declared: tuple[str, ...]
    """The columns whose range was declared, and whose values are clipped to it; the others' is the reference's."""
    replacement: bool
    having: NDArray[np.float64] = field(repr=False)
    """The reference's records with the property: one row a record, one column a statistic."""
    lacking: NDArray[np.float64] = field(repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The secrets' names, "p=0.45"."""
        return tuple(f"p={said(share)}" for share in self.shares)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many records have the property: floor(n p + 1/2) for each share."""
        return tuple(math.floor(self.size * share + Fraction(1, 2)) for share in self.shares)

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

    def law(self, k: int) -> Law:
        """The normal law of the statistics of a data set with k records that have the property."""
        mean, cov = self.classes.mean(k), self.classes.cov(k)
        if len(mean) == 1:
            return Normal(float(mean[0]), math.sqrt(float(cov[0, 0])))
        return MultivariateNormal(mean, cov)

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


def fixed_counts(model: PropertyModel) -> tuple[str, ...]:
    """What every guarantee about shares rests on, with or without the Gaussian model."""
    stated = ", ".join(f"{k} for {label}" for label, k in zip(model.labels, model.counts, strict=True))
    return (
        f"beliefs: of {model.size} records exactly so many have {model.name}: {stated}; fixed numbers, not random",
        f"shares that differ by at most {said(model.tolerance)} must look alike",
        "given these numbers, records are drawn from the same law of their class whatever the share",
        *(f"{name} is clipped to its declared bounds as part of the query" for name in model.declared),
    )


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
        NOT_RELEASED,
        "the statistics are published once, together",
    )

"""(epsilon, delta) and zCDP per entry under a chain: the time with growth, and the gain over windows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fugu.translation.lines import of_approx

import fugu
from benchmarks.measure import Row, Size, race
from benchmarks.translate import chain
from fugu.translation.beyond_pure import by_windows, chain_divergence, translate_zcdp, zcdp_cost
from fugu.translation.profiles import epsilon_at
from fugu_papers.gaussian_entries import of_gaussian

_DELTA = Fraction(1, 10**6)
_STICKY = [[0.6, 0.4], [0.2, 0.8]]


def states(size: Size) -> Iterator[Row]:
    """Growth in the number k of states, 1000 entries: the profile of (0.1, 1e-9), and of Gaussian noise with mu 0.1."""
    for k in (2, 3, 5, 12, 30) if size.quick else (2, 3, 5, 8, 12, 30, 78):
        prior = chain(k, 1000)
        for name, entry in (("(epsilon, delta)", of_approx(fugu.Approx(0.1, 1e-9))), ("Gaussian", of_gaussian(0.1))):
            took = race(1, one=lambda prior=prior, entry=entry: epsilon_at(prior, entry, _DELTA))["one"]
            yield Row("profiles", f"{k} states, 1000 entries, {name}", took, "s")


def lengths(size: Size) -> Iterator[Row]:
    """Growth in the length: flat once both sides have settled."""
    for length in (10, 100, 1000, size.of(10_000)):
        for name, start in (("stationary", "stationary"), ("given start", [0.1, 0.9]), ("any start", "any")):
            prior = fugu.MarkovChain(_STICKY, length, start)
            took = race(1, one=lambda prior=prior: epsilon_at(prior, of_gaussian(0.1), _DELTA))["one"]
            yield Row("profiles", f"2 states, {length} entries, {name}", took, "s")


def gain(size: Size) -> Iterator[Row]:
    """What windows state over what is stated now; more is better."""
    for k in (2, 3) if size.quick else (2, 3, 8, 30):
        prior = chain(k, 1000)
        dp = fugu.Approx(0.1, 1e-9)
        old, new = by_windows(prior, dp, 1e-6), fugu.translate(prior, dp, delta=1e-6)
        yield Row(
            "profiles", f"{k} states, (0.1, 1e-9)", float(old.epsilon) / float(new.epsilon), "x", 1, at_least=True
        )
    prior, rho = fugu.MarkovChain(_STICKY, 1000), Fraction(1, 200)
    for alpha in (2, 8):
        old_one = chain_divergence(prior, float(alpha), zcdp_cost(rho, Fraction(alpha)))
        ratio = old_one / translate_zcdp(prior, rho, [alpha])(alpha)
        yield Row("profiles", f"2 states, zCDP at order {alpha}", ratio, "x", 1, at_least=True)

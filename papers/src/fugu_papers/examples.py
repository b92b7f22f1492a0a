"""The three running examples of Pierquin, Bellet, Tommasi, Boussard (ICML 2024), with what they really say.

Two records, secrets {X_i = a}, every pair of secrets, also about different records. In Examples 1 and 2 the records are
exchangeable and the query symmetric, so the laws given X_1 = a and given X_2 = a are the same: one law for each a."""

from __future__ import annotations

from fractions import Fraction

from fugu.errors import BadLaw
from fugu.laws import Discrete
from fugu.numbers.exact import Real, number
from fugu.scenario.moves import ONCE, moves
from fugu.scenario.scenario import Scenario

_SALARIES = {1: Fraction(1, 2), 2: Fraction(499, 1000), 100: Fraction(1, 1000)}


def example_1(p: Real, rho: Real) -> Scenario:
    """Bits with P(X_i = 1) = p and correlation rho; published: X_1 + X_2.

    Such bits exist iff rho <= 1 and rho >= -min(p / (1-p), (1-p) / p). W_inf is 2 for rho > 0, 1 for -1 < rho <= 0 and
    0 for rho = -1. W_2^2 = 1 + 3 rho for rho >= 0, and 1 + rho for rho < 0 (printed: 1 + 3 rho for all).

    >>> [law.weights.tolist() for law in example_1(0.5, 0.5).adversaries[0].values()]
    [[0.75, 0.25], [0.25, 0.75]]
    """
    one, tied = number(p, "p"), number(rho, "rho", least=-1)
    if not 0 < one < 1:
        raise BadLaw(f"p must lie strictly between 0 and 1, got {p!r}")
    least = -min(one / (1 - one), (1 - one) / one)
    if not least <= tied <= 1:
        raise BadLaw(f"two such bits have a correlation from {float(least):.6g} to 1, got rho={rho!r}")
    after_0, after_1 = one * (1 - tied), one + tied * (1 - one)  # P(X_2 = 1 | X_1)
    laws = {
        "a bit is 0": Discrete([0, 1], [1 - after_0, after_0]),
        "a bit is 1": Discrete([1, 2], [1 - after_1, after_1]),
    }
    return Scenario(laws, assumptions=("beliefs: two bits with the stated probability and correlation", ONCE))


def example_2() -> Scenario:
    """Two independent salaries, 1, 2 or (rarely) 100; published: their average.

    The law given X_1 = a is that of (a + X_2) / 2, so W_inf = |a - b| / 2, at most 49.5 (printed: 98). Conditioning on
    the rare salary makes it certain: up to a mass of 0.003 the laws are still 49.5 apart (printed: 1)."""
    weights = list(_SALARIES.values())
    laws = {f"a salary is {a}": Discrete([(a + b) / 2 for b in _SALARIES], weights) for a in _SALARIES}
    return Scenario(laws, assumptions=("beliefs: two independent salaries with the law of the example", ONCE))


def example_3(r1: Real, r2: Real) -> Scenario:
    """X_i in (0, r_i), any dependence, any law; published: X_1 + X_2. All values lie within r_1 + r_2.

    >>> example_3(0.5, 2).law_pairs()[0].q.by
    Fraction(5, 2)
    """
    width = number(r1, "r1") + number(r2, "r2")
    text = "beliefs: each record lies in its stated range; any dependence, any law"
    return moves(width, ("one secret", "another secret"), (text, ONCE))

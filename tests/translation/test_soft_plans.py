"""Plans that are found without a program, against the definition: every extreme g of few states, in exact numbers, and
laws of many states whose price has a closed form."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from fugu.numbers.exact import as_fraction
from fugu.translation.records.bounds import checked
from fugu.translation.records.plan import EXACT, Nearness, find, proof_of, softly
from fugu.translation.records.pricer import Pricer
from fugu.translation.records.problem import Distances, Jump, PricingProblem, Rate
from hunting import search

F = Fraction


def records(rng):
    """A few records, two laws of them, and up to three statistics: counts of cells, and sums."""
    size = int(rng.integers(2, 6))
    states = {"a": rng.integers(0, 3, size), "v": rng.integers(0, 9, size), "own": np.arange(size)}
    p, q = (rng.integers(0, rng.choice([2, 4, 1000]), size) for _ in range(2))
    p[rng.integers(size)] += 1
    q[rng.integers(size)] += 1
    unit = lambda: F(int(rng.integers(1, 400)), int(rng.choice([40, 400, 4000])))  # noqa: E731
    charges = [Jump(("own",), unit())]
    charges += [Jump(("a",), unit())] if rng.random() < 0.5 else []
    charges += [Rate("v", unit() / 4, 8)] if rng.random() < 0.7 else []
    return states, p, q, charges


def far(states, charges, x, y):
    """How much more likely the answers may be if a record is x and not y: the sum over all statistics."""
    total = F(0)
    for charge in charges:
        if isinstance(charge, Rate):
            total += charge.rate * abs(int(states["v"][x]) - int(states["v"][y]))
        elif any(states[name][x] != states[name][y] for name in charge.features):
            total += charge.epsilon
    return total


def grown(lam):
    """Every extreme log g: on a tree that joins all states each edge is as steep as may be; and nothing is steeper."""
    size = len(lam)
    for before in product(range(size), repeat=size - 1):  # state k + 1 hangs on before[k]; those that go round do not
        for signs in product((-1, 1), repeat=size - 1):
            h, left = {0: F(0)}, dict(enumerate(zip(before, signs, strict=True), 1))
            while found := [k for k, (up, _) in left.items() if up in h]:
                for k in found:
                    up, sign = left.pop(k)
                    h[k] = h[up] + sign * lam[k][up]
            if not left and all(h[x] - h[y] <= lam[x][y] for x in h for y in h):
                yield [h[k] for k in range(size)]


def truth(states, charges, p, q):
    """The largest log p.g / q.g over all g that grow by at most e^Lam, with fifty digits."""
    size = len(p)
    lam = [[far(states, charges, x, y) for y in range(size)] for x in range(size)]
    best = mpmath.mpf(0)
    for h in grown(lam):
        g = [mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) for x in h]
        above, below = (mpmath.fsum(int(n) * f for n, f in zip(law, g, strict=True)) / int(sum(law)) for law in (p, q))
        if below:
            best = max(best, mpmath.log(above / below))
    return best


def sent(states, p, q, charges, limits):
    """What is found softly in one order, with what it proves."""
    problem = PricingProblem.of(states, p, q, charges)
    found = softly(problem, Distances(problem), limits)
    return found, checked(problem, proof_of(found.plan))


@search("prices of many states begin softly: few states against every extreme g", quick=30)
def test_no_plan_is_below_the_definition_and_no_potential_above(rng):
    """In both orders; a rough price is asked for, or one that is enough, so that plans are eased."""
    states, p, q, charges = records(rng)
    seen = p + q > 0
    if seen.sum() < 2:
        return 0
    kept = {name: value[seen] for name, value in states.items()}
    with mpmath.workdps(50):
        for above, below in ((p, q), (q, p)):
            exact = truth(kept, charges, above[seen], below[seen])
            enough = None if rng.random() < 0.3 else float(exact) * rng.uniform(0.9, 1.3)
            found, epsilon = sent(states, above, below, charges, Nearness(enough, 1e-3))
            meant = as_fraction(epsilon)
            proved = mpmath.mpf(meant.numerator) / meant.denominator
            assert proved >= exact * (1 - mpmath.mpf(10) ** -40), f"{proved} is proved, and {exact} is true"
            assert found.lower <= exact + 1e-12, f"no price is below {found.lower}, and {exact} is one"
            assert found.near(1e-3) or enough is None or found.high > enough or epsilon <= enough * (1 + 1e-9)
    return 2


def test_what_potentials_say_is_no_price():
    """The wrong version: the bound from below in place of what the plan proves."""
    below = 0
    for seed in range(20):
        states, p, q, charges = records(np.random.default_rng(seed))
        if (p + q > 0).all():
            found, _ = sent(states, p, q, charges, Nearness(gap=1e-3))
            below += found.lower < truth(states, charges, p, q) - 1e-9
    assert below >= 5


def rising(steep, size):
    """Counts that rise along a line."""
    return np.round(1000 * np.exp(steep * np.arange(size) / 10)).astype(np.int64)


def closed(up, rate):
    """log E_p e^(rv) / E_q e^(rv) of a law that rises against the same one that falls: its price along one line."""
    grow = [mpmath.exp(mpmath.mpf(rate.numerator) / rate.denominator * v) for v in range(up.size)]
    return mpmath.log(sum(int(n) * g for n, g in zip(up, grow, strict=True))
                      / sum(int(n) * g for n, g in zip(up[::-1], grow, strict=True)))  # fmt: skip


@pytest.mark.parametrize(("steep", "epsilon"), [(0.1, F(1, 5)), (0.1, F(8)), (0.3, F(1))], ids=str)
def test_two_sums_of_independent_numbers(steep, epsilon):
    """Prices of independent features add. The best potentials are as steep everywhere as may be, which is far from
    where a search begins; a plan has no more pairs than are read."""
    size = 32
    up, rate = rising(steep, size), epsilon / (size - 1)
    x, y = np.divmod(np.arange(size * size), size)
    p, q = np.outer(up, up).ravel(), np.outer(up[::-1], up[::-1]).ravel()
    charges = [Rate("x", rate, size - 1), Rate("y", rate, size - 1)]
    assert p.size > EXACT
    exact, states = 2 * float(closed(up, rate)), {"x": x, "y": y}
    assert exact <= Pricer(states, p, q).price(charges).epsilon <= exact * 1.001
    problem = PricingProblem.of(states, p, q, charges)
    rough = softly(problem, Distances(problem), Nearness(gap=0.0))
    assert exact <= checked(problem, proof_of(rough.plan)) and rough.lower <= exact
    assert math.isfinite(find(problem, limits=Nearness(exact * 1.01)).high)

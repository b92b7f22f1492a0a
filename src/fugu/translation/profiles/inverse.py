"""How much noise per entry a chain needs for (epsilon, delta): the profile of the noise itself, carried through.

Laplace noise of per-entry epsilon is a pure guarantee, Gaussian noise of mu = l2 sensitivity / sigma has the exact
profile delta_mu(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). Both may spend the delta asked
for. A search proposes; what is returned has been translated, and its translation is within the budget.

Proofs: docs/proofs/profiles.md#hypotheses and docs/proofs/profiles.md#the-total.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from typing import Literal

from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.kinds import Approx, Pure
from fugu.guarantee.numbers import check_delta, exact
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real
from fugu.priors.chain import MarkovChain
from fugu.priors.prior import Believed
from fugu.translation.influence import members
from fugu.translation.profiles.bounds import epsilon_at
from fugu.translation.profiles.entry import Entry, of_approx, of_gaussian

_STEPS = 60
_NEAR = 1e-6
_LEAST = 1e-9


def translate_gaussian(prior: Believed, mu: Real, delta: Real) -> float:
    """The epsilon, at this delta, of Gaussian noise per entry under a prior; inf where none is proved.

    Parameters:

    - `prior`: a `MarkovChain`, a `ChainSet`, independent blocks or a list of chains: the worst of them counts.
    - `mu`: the l2 sensitivity to one entry over the standard deviation of the noise (mu-GDP), a finite number above 0.
      It must hold on the whole product domain. Several releases with mu_1, mu_2, ... are one with sqrt(sum mu_j^2).
    - `delta`: a number above 0 and below 1.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100)
    >>> round(translate_gaussian(chain, 0.3, 1e-6), 3)
    2.947
    """
    check_delta(delta, positive=True)
    if not is_number(mu) or not 0 < mu < math.inf:
        raise UsageError(f"mu must be a finite number above 0, got {mu!r}")
    return _worst(prior, of_gaussian(_float_up(exact(mu))), exact(delta))


def profile_budget(prior: Believed, budget: Approx, *, kind: Literal["laplace", "gaussian"]) -> float:
    """The least noise per entry that was found to meet (epsilon, delta) under a prior.

    Parameters: `prior` as in `translate_gaussian`; `budget`, an `Approx` with a finite epsilon above 0 and a delta
    above 0; `kind`: "laplace" asks for the largest pure epsilon per entry, "gaussian" for the largest mu = l2
    sensitivity / sigma.

    Returns that number, checked as returned: its translation is at most the budget. Raises `NotProvable` where no
    number above 0 is proved, `BadBudget` for another budget.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100)
    >>> round(profile_budget(chain, Approx(1, 1e-6), kind="gaussian"), 3)
    0.108
    """
    if not isinstance(budget, Approx) or not 0 < budget.epsilon < math.inf or not budget.delta > 0:
        raise BadBudget(f"a profile budget is Approx(epsilon, delta) with both above 0, got {budget!r}")
    if kind not in ("laplace", "gaussian"):
        raise UsageError(f'kind must be "laplace" or "gaussian", got {kind!r}')
    wanted, delta = exact(budget.epsilon), exact(budget.delta)

    def met(x: float) -> bool:
        entry = of_gaussian(x) if kind == "gaussian" else of_approx(Pure(x))
        found = _worst(prior, entry, delta)
        return math.isfinite(found) and exact(found) <= wanted

    return _largest(met, float(wanted))


def largest_epsilon(prior: Believed, epsilon: Real, delta: Real, entry_delta: Real) -> float:
    """The largest per-entry epsilon found such that (it, entry_delta) per entry is worth (epsilon, delta).

    Parameters: `prior` as in `translate_gaussian`; `epsilon` above 0; `delta` above 0; `entry_delta`, the delta that
    each entry's guarantee has, at most `delta`. Raises `NotProvable` where nothing above 0 is proved."""
    budget, own = Approx(epsilon, delta), Approx(0, entry_delta).delta
    wanted, most = exact(budget.epsilon), exact(budget.delta)

    def met(x: float) -> bool:
        found = _worst(prior, of_approx(Approx(x, own)), most)
        return math.isfinite(found) and exact(found) <= wanted

    return _largest(met, float(wanted))


def least_sigma(prior: Believed, budget: Approx) -> float:
    """The least standard deviation found of Gaussian noise, for an l2 sensitivity of 1 per entry; rounded up.

    Parameters: `prior` and `budget` as in `profile_budget`."""
    return math.nextafter(1 / profile_budget(prior, budget, kind="gaussian"), math.inf)


def _worst(prior: Believed, entry: Entry, delta: Fraction) -> float:
    if (several := members(prior)) is not None:
        return max(_worst(p, entry, delta) for p in several)
    return _single(prior, entry, delta)


@singledispatch
def _single(prior: object, entry: Entry, delta: Fraction) -> float:  # noqa: ARG001
    raise UsageError(f"profiles are carried through Markov chains; {type(prior).__name__} is none")


@_single.register
def _of_chain(chain: MarkovChain, entry: Entry, delta: Fraction) -> float:
    return epsilon_at(chain, entry, delta)


def _float_up(x: Fraction) -> float:
    found = float(x)
    return found if Fraction(found) >= x else math.nextafter(found, math.inf)


def _largest(met: Callable[[float], bool], start: float) -> float:
    """The largest x found with met(x), relative 1e-6; doubling or halving from the start, then halves in logarithms."""
    low, high = 0.0, math.inf
    x = start
    for _ in range(_STEPS):
        low, high = (x, high) if met(x) else (low, x)
        if high <= low * (1 + _NEAR):
            break
        if not low and x < _LEAST * start:
            raise NotProvable("no per-entry noise is proved for this budget under the prior; give a larger budget")
        x = x / 2 if not low else 2 * x if math.isinf(high) else math.sqrt(low * high)
    return low

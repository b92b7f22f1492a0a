"""Gaussian noise per entry under chains: its Rényi curve, and how much of it (epsilon, delta) needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Literal

import numpy as np
from flint import arb

from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.asks import check_delta, exact
from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.kinds import Approx, Pure
from fugu.guarantee.lines import EntryProfile, Lines, of_approx
from fugu.numbers import balls
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, float_up
from fugu.priors.chain import ChainSet, MarkovChain
from fugu.priors.prior import Believed
from fugu.translation.beyond_pure import lifted, translate_zcdp
from fugu.translation.influence import influence, members
from fugu.translation.profiles import epsilon_at, lesser
from fugu.translation.pure import pure_bound

# The Rényi curve of Gaussian noise per entry under chains: sharper than that of zCDP, as the whole profile is known.
#
# Noise with mu = l2 sensitivity / sigma is rho-zCDP with rho = mu^2 / 2, which bounds the tails; its own profile, Phi(
# Phi^-1(t) + mu) for every event, is carried through the kernels.
#
# Proofs: docs/proofs/profiles.md#hypotheses and docs/proofs/profiles.md#back-to-renyi.


def translate_gaussian_curve(
    prior: MarkovChain | ChainSet, mu: Real, alphas: Sequence[Real] = (1.5, 2, 4, 8, 16, 32, 64)
) -> RenyiCurve:
    """The Rényi curve of a release with Gaussian noise, for data that follow a chain, or any of a set of chains.

    Parameters: `prior`; `mu`, the l2 sensitivity to one entry over the standard deviation of the noise, on the whole
    product domain, a finite number above 0 (several releases: sqrt(sum mu_j^2)); `alphas`, finite orders above 1.
    Noise of real numbers is meant. fugu's own lives on a lattice and is not exactly that: translate its rho
    (`translate_zcdp`).

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> round(translate_gaussian_curve(chain, 0.2, [2])(2), 2), round(translate_zcdp(chain, 0.02, [2])(2), 2)
    (0.19, 0.29)
    """
    if not is_number(mu) or not 0 < mu < math.inf:
        raise UsageError(f"mu must be a finite number above 0, got {mu!r}")
    top = max(alphas, key=exact)
    entry, orders = of_gaussian(float_up(exact(mu))), [*alphas, 2 * top, 4 * top]
    found = []
    for chain in prior.chains:
        known = translate_zcdp(chain, exact(mu) ** 2 / 2, orders).epsilons
        found.append(lesser(chain, entry, alphas, {a: known[a] for a in alphas if a in known}, known))
    common = {a: max((f[a] for f in found), key=exact) for a in alphas if all(a in f for f in found)}
    return RenyiCurve(common)


# How much noise per entry a chain needs for (epsilon, delta): the profile of the noise itself, carried through.
#
# Laplace noise of per-entry epsilon is a pure guarantee, Gaussian noise of mu = l2 sensitivity / sigma has the exact
# profile delta_mu(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). Both may spend the delta asked
# for. A search proposes; what is returned has been translated, and its translation is within the budget.
#
# Proofs: docs/proofs/profiles.md#hypotheses and docs/proofs/profiles.md#the-total.


_STEPS = 60
_NEAR = 1e-4
_LEAST = 1e-9
_SHARES = (Fraction(1, 20), Fraction(1, 200), Fraction(1, 2000))


def translate_gaussian(prior: Believed, mu: Real, delta: Real) -> float:
    """The epsilon, at this delta, of Gaussian noise per entry under a prior; inf where none is proved.

    Parameters:

    - `prior`: a `MarkovChain`, a `ChainSet`, independent blocks or a list of chains: the worst of them counts. Under
      any other prior its pure translation is used (`lifted`).
    - `mu`: the l2 sensitivity to one entry over the standard deviation of the noise (mu-GDP), a finite number above 0.
      It must hold on the whole product domain. Several releases with mu_1, mu_2, ... are one with sqrt(sum mu_j^2).
    - `delta`: a number above 0 and below 1.

    Noise of real numbers is meant. fugu's own Gaussian noise lives on a lattice and is not exactly mu-GDP: translate
    the (epsilon, delta) that its certificate proves (`Approx`), or its rho (`ZCDP`), with `fugu.translate`.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100)
    >>> round(translate_gaussian(chain, 0.3, 1e-6), 2)
    2.94
    """
    check_delta(delta, positive=True)
    if not is_number(mu) or not 0 < mu < math.inf:
        raise UsageError(f"mu must be a finite number above 0, got {mu!r}")
    noise, most = float_up(exact(mu)), exact(delta)
    return min(_worst(prior, of_gaussian(noise), most), _by_lifting(prior, noise, most))


def _by_lifting(prior: Believed, mu: float, delta: Fraction) -> float:
    """The least that a pure translation says of the noise as (epsilon, delta'), for a few delta' far below delta."""
    lines, cells = gaussian_lines(mu), _cells(prior)
    best = math.inf
    for share in _SHARES:
        epsilon = lines.epsilon_at(delta * share)
        if 0 < epsilon < best:
            found = lifted(pure_bound(prior), Approx(epsilon, lines.delta_at(Fraction(epsilon))), cells, delta)
            best = best if found is None else min(best, float_up(exact(found.epsilon)))
    return best


def _cells(prior: Believed) -> int:
    several = members(prior)
    return influence(prior).length if several is None else max(_cells(p) for p in several)  # type: ignore[arg-type]


def profile_budget(prior: Believed, budget: Approx, *, kind: Literal["laplace", "gaussian"]) -> float:
    """The least noise per entry that was found to meet (epsilon, delta) under a prior.

    Parameters: `prior` as in `translate_gaussian`; `budget`, an `Approx` with a finite epsilon above 0 and a delta
    above 0; `kind`: "laplace" asks for the largest pure epsilon per entry, "gaussian" for the largest mu = l2
    sensitivity / sigma, of noise of real numbers: fugu's own, on a lattice, is not exactly mu-GDP and is translated by
    its (epsilon, delta) or its rho.

    Returns that number, checked as returned: its translation is at most the budget. Raises `NotProvable` where no
    number above 0 is proved, `BadBudget` for another budget.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100)
    >>> round(profile_budget(chain, Approx(1, 1e-6), kind="gaussian"), 3)
    0.098
    """
    if not isinstance(budget, Approx) or not 0 < budget.epsilon < math.inf or not budget.delta > 0:
        raise BadBudget(f"a profile budget is Approx(epsilon, delta) with both above 0, got {budget!r}")
    if kind not in ("laplace", "gaussian"):
        raise UsageError(f'kind must be "laplace" or "gaussian", got {kind!r}')
    wanted, delta = exact(budget.epsilon), exact(budget.delta)

    one = of_gaussian if kind == "gaussian" else lambda x: of_approx(Pure(x))
    try:
        spent = _largest(lambda x: _worst(prior, one(x), delta), wanted)
    except NotProvable:
        spent = 0.0  # no profile: by the pure translation alone
    if kind == "gaussian":
        return spent or _largest(lambda x: _by_lifting(prior, x, delta), wanted)
    pure = pure_bound(prior)
    return (
        _largest(lambda x: pure(exact(x)), wanted, 1e-9) if spent == 0 or exact(pure(exact(spent))) <= wanted else spent
    )


def largest_epsilon(prior: Believed, epsilon: Real, delta: Real, entry_delta: Real) -> float:
    """The largest per-entry epsilon found such that (it, entry_delta) per entry is worth (epsilon, delta).

    Parameters: `prior` as in `translate_gaussian`; `epsilon` above 0; `delta` above 0; `entry_delta`, the delta that
    each entry's guarantee has, at most `delta`. Raises `NotProvable` where nothing above 0 is proved."""
    budget, own = Approx(epsilon, delta), Approx(0, entry_delta).delta
    wanted, most = exact(budget.epsilon), exact(budget.delta)

    return _largest(lambda x: _worst(prior, of_approx(Approx(x, own)), most), wanted)


def least_sigma(prior: Believed, budget: Approx) -> float:
    """The least standard deviation found of Gaussian noise, for an l2 sensitivity of 1 per entry; rounded up.

    Parameters: `prior` and `budget` as in `profile_budget`. It is the sigma of noise of real numbers: lattice noise of
    this sigma is not exactly mu-GDP, so translate its (epsilon, delta) or its rho before it is released."""
    return math.nextafter(1 / profile_budget(prior, budget, kind="gaussian"), math.inf)


def _worst(prior: Believed, entry: EntryProfile, delta: Fraction) -> float:
    if (several := members(prior)) is not None:
        return max(_worst(p, entry, delta) for p in several)
    return _single(prior, entry, delta)


@singledispatch
def _single(prior: object, entry: EntryProfile, delta: Fraction) -> float:  # noqa: ARG001
    """Profiles are carried through Markov chains; nothing is known of others here."""
    return math.inf


@_single.register
def _of_chain(chain: MarkovChain, entry: EntryProfile, delta: Fraction) -> float:
    return epsilon_at(chain, entry, delta)


def _largest(worth: Callable[[float], float], wanted: Fraction, near: float = _NEAR) -> float:
    """The largest x found with worth(x) <= wanted, up to `near`: in logarithms, by the secant of the last bracket."""
    goal = float(wanted)
    low, at_low, high, at_high = 0.0, 0.0, math.inf, math.inf
    x = goal / 2
    for step in range(_STEPS):
        found = worth(x)
        if math.isfinite(found) and exact(found) <= wanted:
            low, at_low = x, found
        else:
            high, at_high = x, found
        if high <= low * (1 + near):
            return low
        if low == 0 and x < _LEAST * goal:
            break
        x = _next((low, at_low), (high, at_high), goal, step, near)
    if low == 0:
        raise NotProvable("no per-entry noise is proved for this budget under the prior; give a larger budget")
    return low


def _next(met: tuple[float, float], missed: tuple[float, float], goal: float, step: int, near: float) -> float:
    """Where to look: on the line through the ends in logarithms, a little inside; every third time in the middle."""
    (low, at_low), (high, at_high) = met, missed
    if low == 0:
        return high / 4 if not math.isfinite(at_high) else high * max(0.1, min(0.95, 0.98 * goal / at_high))
    if math.isinf(high):
        return low * min(10.0, max(1.05, 1.02 * goal / max(at_low, goal / 10)))
    if step % 3 == 0 or not math.isfinite(at_high) or at_low <= 0:
        return math.sqrt(low * high)
    share = math.log(goal / at_low) / math.log(at_high / at_low) if at_high > at_low else 0.5
    inside = min(0.5, near / 3 / math.log(high / low))
    return float(low * (high / low) ** min(max(share - inside, inside), 1 - inside))


# What Gaussian noise says about every event, as lines: E_gamma = delta_mu(ln gamma), mu = l2 sensitivity / sigma;
# d entries: d mu (Dong, Roth, Su 2022).
#
# Proofs: docs/proofs/profiles.md#hypotheses.


_ENTRY_BITS = 256
_DENSE = 200
_FAR = 12.0
"""Events down to a probability of Phi(-12), below 1e-32."""


def of_gaussian(mu: float) -> EntryProfile:
    """Of Gaussian noise on a vector whose l2 sensitivity is mu standard deviations."""
    return EntryProfile(gaussian_lines(mu), lambda d: gaussian_lines(balls.upper(arb(mu) * d)))


@lru_cache(maxsize=256)
def gaussian_lines(mu: float) -> Lines:
    """Tangents of Phi(Phi^-1(t) + mu): at t = Phi(-z) the slope is e^(mu z - mu^2 / 2), the bound Phi(mu - z)."""
    a, b = [], []
    with balls.precision(_ENTRY_BITS):
        m, root = arb(mu), arb(2).sqrt()
        for z in mu / 2 + max(_FAR, mu) * np.linspace(0, 1, _DENSE) ** 1.25:
            at = arb(float(z))
            slope = (m * at - m * m / 2).exp()
            a.append(balls.upper(slope))
            b.append(balls.upper(((at - m) / root).erfc() / 2 - slope * (at / root).erfc() / 2))
    return Lines.of(a, b, most=_DENSE).mirrored(2 * _DENSE)  # thinned where a delta is asked for

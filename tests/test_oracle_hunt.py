"""The library against the oracle, on hundreds of random and degenerate cases (and any number in a hunt).

Every check takes the claimed number, so that the same check is shown to reject stated wrong versions.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import fugu
import oracle
from cases import KINDS, Case, Exact, meant, random_case
from fugu.errors import BadLaw, BadNoise, NotProvable
from hunting import search
from oracle import mp
from test_oracle_self import P, Q, X

ONE = Fraction(1)
OWN = mp.mpf("1e-45")  # the oracle's own rounding
EXTREME: dict[str, tuple[type[Exception], ...]] = {  # may be refused so, and need not be tight
    "far": (), "close": (), "remote": (BadNoise, NotProvable), "minute": (BadLaw, NotProvable)}  # fmt: skip
ORDINARY = [s for s in range(88) if random_case(s).kind not in EXTREME]
METHODS = ["l1", "wasserstein", "relaxed", "relaxed-paper", "closeness"]
BUDGETS: list[Any] = [fugu.Pure(e) for e in (0.01, 0.125, 0.5, 1, 3, 20)]
BUDGETS += [fugu.Approx(*b) for b in ((0, 0.3), (0.125, 0.05), (0.5, 1e-3), (1, 1e-6), (1, 1e-9), (3, 0.01))]


def check_bound(claimed: float, truth: Any, own: Any = OWN, tight: bool = True) -> None:
    """The claim is at or above the truth, by at most 1e-9 of it plus 1e-11."""
    said = f"{claimed!r} is said, {mp.nstr(truth, 20)} is true"
    if not (claimed >= truth or claimed >= truth - own * max(1, truth)):  # also if it is no number
        raise AssertionError(f"too low: {said}")
    if tight and claimed > truth and claimed > truth * (1 + mp.mpf("1e-9")) + mp.mpf("1e-11"):
        raise AssertionError(f"too high: {said}")


def holds(law: Exact, budget: Any, scale: Fraction, grid: Fraction) -> bool:
    """Whether the noise keeps the budget, by the oracle."""
    if getattr(budget, "delta", 0) == 0:
        return bool(oracle.epsilon_grid(*law, scale, grid, 2) <= oracle.real(meant(budget.epsilon)) + OWN)
    found = oracle.delta_quad(*law, scale, meant(budget.epsilon), grid)
    return bool(found <= oracle.real(meant(budget.delta)) + OWN)


def check_scale(law: Exact, budget: Any, scale: Fraction, grid: Fraction, least: bool) -> None:
    """The scale keeps the budget and, where it is claimed to be the least, 0.97 times it does not."""
    if not holds(law, budget, scale, grid):
        raise AssertionError(f"too little noise: scale {float(scale)} breaks {budget}")
    if least and scale and holds(law, budget, scale * Fraction(97, 100), grid):
        raise AssertionError(f"too much noise: 0.97 of scale {float(scale)} keeps {budget}")


def rounded(law: Exact, mechanism: Any) -> Exact:
    """The laws of the value that the noise is added to."""
    if (lattice := mechanism.lattice) is None:
        return law
    index = [math.floor((x - lattice.origin) / lattice.grid + Fraction(1, 2)) for x in law[0]]
    return [lattice.origin + k * lattice.grid for k in index], law[1], law[2]


def pair(case: Case) -> fugu.LawPair:
    return fugu.LawPair(fugu.Discrete(*case.p), fugu.Discrete(*case.q))


def losses(case: Case) -> tuple[float, float]:
    """What the library claims: epsilon, and delta at the case's epsilon."""
    noise = fugu.Laplace(case.scale, grid=case.grid)
    return fugu.epsilon(noise, [pair(case)]), fugu.delta(noise, [pair(case)], float(case.epsilon))


def truths(case: Case, fast: bool) -> tuple[Any, Any, Any]:
    """The oracle's epsilon and delta, and its own error; fast: by float64, which is good to 1e-11."""
    law, noise = case.exact(), (case.scale, case.grid)
    if fast:
        epsilon, delta = oracle.epsilon_float(*law, *noise), oracle.delta_float(*law, noise[0], case.epsilon, noise[1])
        return mp.mpf(epsilon), mp.mpf(delta), 1e-13 + float(case.span()) * 4e-16
    return oracle.epsilon_grid(*law, *noise, 2), oracle.delta_quad(*law, noise[0], case.epsilon, noise[1]), OWN


def hunt(seeds: range, fast: bool) -> None:
    """Check epsilon and delta of every case; fast uses float64 wherever it suffices, but for every fiftieth."""
    seen: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        case = random_case(seed)
        try:
            claimed = losses(case)
        except Exception as error:
            if not isinstance(error, EXTREME.get(case.kind, ())):
                wrong.append(f"{case.kind} {seed}: {error!r}")
            seen["refused"] += 1
            continue
        by_float = fast and seed % 50 != 0 and case.suits_float()
        seen["float64" if by_float else "50 digits"] += 1
        *true, own = truths(case, by_float)
        for name, number, truth in zip(("epsilon", "delta"), claimed, true, strict=True):
            try:
                check_bound(number, truth, own, tight=case.kind not in EXTREME and case.span() < 2**50)
            except AssertionError as error:
                wrong.append(f"{name} of {case.kind} {seed}: {error}")
    assert not wrong, f"{len(wrong)} wrong, {dict(seen)}: " + "; ".join(wrong[:5])
    assert seen.total() == len(seeds)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[k.__name__ for k in KINDS])
def test_loss_is_the_truth_from_above(kind: int) -> None:
    hunt(range(kind, 504, len(KINDS)), fast=False)


@search("epsilon and delta of Laplace noise against the oracle", each=KINDS, quick=5)
def test_loss_is_the_truth_from_above_at_length(kind: Any, seed: int) -> None:
    """A seed that gives this kind; one in fifty with 50 digits."""
    first = (504 + seed) * len(KINDS) + KINDS.index(kind)
    hunt(range(first, first + 1), fast=True)


@pytest.mark.parametrize("seed", ORDINARY)
def test_exact_is_the_least_scale_and_no_method_goes_below_it(seed: int) -> None:
    case, budget = random_case(seed), BUDGETS[seed % len(BUDGETS)]
    found = fugu.calibrate([pair(case)], budget, noise="laplace", method="exact")
    least = meant(found.noise.scale)
    check_scale(rounded(case.exact(), found), budget, least, found.noise.grid, least=True)
    for method in METHODS:
        try:
            other = fugu.calibrate([pair(case)], budget, noise="laplace", method=method)
        except NotProvable:  # a scale of distance / epsilon is not finite
            assert budget.epsilon == 0
            continue
        scale = meant(other.noise.scale)
        check_scale(rounded(case.exact(), other), budget, scale, other.noise.grid, least=False)
        assert scale >= least * (1 - Fraction(1, 10**6)), method


@pytest.mark.parametrize("seed", ORDINARY[::4])
def test_moving_the_laws_moves_nothing_else(seed: int) -> None:
    """Shift, reflect, rescale, swap, duplicate: the same losses."""
    case = random_case(seed)
    swapped = replace(case, p=case.q, q=case.p)
    for same in (case.moved(shift=1024.0), case.moved(factor=-1), case.moved(factor=8), swapped):
        assert losses(same) == pytest.approx(losses(case), rel=1e-9, abs=1e-11)
    noise = fugu.Laplace(case.scale, grid=case.grid)
    assert fugu.epsilon(noise, [pair(case)] * 3) == pytest.approx(losses(case)[0], rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("seed", ORDINARY[::4])
def test_one_more_pair_never_means_less(seed: int) -> None:
    pairs = [pair(random_case(seed)), pair(random_case(seed + len(KINDS)))]
    how: Any = {"noise": "laplace", "method": "exact", "grid": Fraction(1, 10)}
    for budget in (fugu.Pure(0.5), fugu.Approx(0.5, 0.01)):
        alone = max(fugu.calibrate([p], budget, **how).noise.scale for p in pairs)
        assert fugu.calibrate(pairs, budget, **how).noise.scale == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("scale", [Fraction(1, 8), Fraction(1), Fraction(7, 3), Fraction(40)])
def test_point_masses_are_the_plain_laplace_mechanism(scale: Fraction) -> None:
    apart = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([d := 3]))
    check_bound(fugu.epsilon(fugu.Laplace(scale), [apart]), oracle.real(d / scale))
    truth = max(mp.zero, 1 - mp.exp(oracle.real(Fraction(1, 2) - d / scale) / 2))
    check_bound(fugu.delta(fugu.Laplace(scale), [apart], 0.5), truth)
    found = fugu.calibrate([apart], fugu.Pure(0.5), noise="laplace", method="exact").noise
    assert float(found.scale) == pytest.approx(d / 0.5, rel=1e-6)


def test_checks_reject_wrong_bounds() -> None:
    """One order only; atoms at even positions only; the continuous delta for noise on a lattice."""
    spike = X[:3], [Fraction(w, 20) for w in (2, 16, 2)], [Fraction(w, 20) for w in (9, 2, 9)]
    one_order = min(oracle.epsilon_orders(X, P, Q, ONE))
    even = max(abs(mp.log(a / b)) for a, b in (oracle._noised(*spike, ONE, x) for x in X[:3:2]))
    continuous = oracle.delta_quad(X, P, Q, ONE, Fraction(1, 5))
    for wrong, truth in (
        (one_order, oracle.epsilon_grid(X, P, Q, ONE)),
        (even, oracle.epsilon_grid(*spike, ONE)),
        (continuous, oracle.delta_quad(X, P, Q, ONE, Fraction(1, 5), ONE)),
    ):
        check_bound(truth, truth)
        with pytest.raises(AssertionError, match="too low"):
            check_bound(wrong, truth)
        with pytest.raises(AssertionError, match="too high"):
            check_bound(truth + mp.mpf("1e-8"), truth)


@pytest.mark.parametrize("budget", [fugu.Pure(0.3), fugu.Approx(0.2, 0.01)], ids=str)
def test_checks_reject_wrong_scales(budget: Any) -> None:
    """3 % less, 4 % more; and W_1 / epsilon in place of W_inf / epsilon."""
    law = fugu.LawPair(fugu.Discrete([int(x) for x in X], P), fugu.Discrete([int(x) for x in X], Q))
    scale = meant(fugu.calibrate([law], budget, noise="laplace", method="exact", grid=ONE).noise.scale)
    check_scale((X, P, Q), budget, scale, ONE, least=True)
    for factor, why in ((Fraction(97, 100), "little"), (Fraction(104, 100), "much")):
        with pytest.raises(AssertionError, match=f"too {why} noise"):
            check_scale((X, P, Q), budget, scale * factor, ONE, least=True)
    two, w1 = ([Fraction(0), Fraction(10)], [Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 2)] * 2), Fraction(4)
    with pytest.raises(AssertionError, match="too little noise"):
        check_scale(two, fugu.Pure(1), w1, ONE, least=False)

"""The proof for every noise with masses and tails, against sums in Fractions from the definition."""

from __future__ import annotations

import ast
import inspect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from flint import arb, fmpq

from fugu import Discrete, Gaussian, Laplace, LawPair, Shifted
from fugu.errors import NotProvable
from fugu.guarantee import Approx
from fugu.laws import families
from fugu.loss import generic
from fugu.loss.door import delta_bounds
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.noised import Noised
from hunting import search


@dataclass(frozen=True)
class Listed(Noise):
    """Any masses on some steps, leaning to one side if they do: the oracle knows them as Fractions."""

    parts: tuple[tuple[int, int], ...]
    name: ClassVar[str] = "listed"
    scale: float = 1.0
    grid: Fraction | None = Fraction(1)

    @classmethod
    def refusal(cls, ask):
        return None

    def exact(self):
        total = sum(part for _, part in self.parts)
        return {k: Fraction(part, total) for k, part in self.parts}

    def mass(self, k):
        share = self.exact().get(k, Fraction(0))
        return arb(fmpq(share.numerator, share.denominator))

    def beyond(self, k):
        share = sum((m for step, m in self.exact().items() if abs(step) > k), Fraction(0))
        return arb(fmpq(share.numerator, share.denominator))


def drawn(rng) -> tuple[Listed, LawPair]:
    """Some noise and some pair, small whole numbers throughout; few laws cover the same points."""
    steps = rng.choice(np.arange(-6, 7), size=int(rng.integers(2, 9)), replace=False)
    noise = Listed(tuple((int(k), int(rng.integers(1, 50))) for k in np.sort(steps)))
    laws = []
    for _ in range(2):
        points = np.sort(rng.choice(np.arange(8), size=int(rng.integers(1, 5)), replace=False))
        laws.append(Discrete(points.tolist(), [int(w) for w in rng.integers(1, 30, size=len(points))]))
    return noise, LawPair(laws[0], laws[1], "a vs b")


def law_of(law: Discrete, noise: Listed) -> dict[int, Fraction]:
    """P(y) from the definition."""
    parts, total = law.masses.whole()
    found: dict[int, Fraction] = {}
    for x, part in zip(law.values.tolist(), parts, strict=True):
        for step, mass in noise.exact().items():
            found[int(x) + step] = found.get(int(x) + step, Fraction(0)) + Fraction(part, total) * mass
    return found


def exponential(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions below and above e^epsilon: the series, and its remainder for epsilon <= 4."""
    term, total = Fraction(1), Fraction(1)
    for n in range(1, 80):
        term *= epsilon / n
        total += term
    return total, total + 2 * term


def truth(pair: LawPair, noise: Listed, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions below and above the larger delta of both orders."""
    p, q = law_of(pair.p, noise), law_of(pair.q, noise)
    low, high = exponential(epsilon)
    ends = []
    for factor in (high, low):
        sums = [sum(max(Fraction(0), a.get(y, Fraction(0)) - factor * b.get(y, Fraction(0))) for y in {*p, *q})
                for a, b in ((p, q), (q, p))]  # fmt: skip
        ends.append(max(sums))
    return ends[0], ends[1]


def wrong(prove, rng, cut: float | None = None) -> int:
    """How often a bound is below the truth, or above it by more than it says it leaves out, in one case."""
    noise, pair = drawn(rng)
    epsilon = Fraction(int(rng.integers(0, 40)), 10)
    family = families([pair])[0].on(Lattice(Fraction(1)))
    if not family.different:
        return 0
    with pytest.MonkeyPatch.context() as patch:
        if cut is not None:
            patch.setattr(generic, "_FALL", cut)
        (loss,) = prove(family, noise, epsilon)
        reach = noise.reach(generic._FALL)
    low, high = truth(pair, noise, epsilon)
    rest = sum((m for step, m in noise.exact().items() if abs(step) > reach), Fraction(0))
    slack = Fraction(1, 10**14)
    loose = high + rest * (1 + exponential(epsilon)[1]) + slack
    return int(not min(low, Fraction(1)) <= Fraction(loss.value) <= max(loose, Fraction(0)))


@search("any noise against sums in Fractions", quick=150)
def test_no_bound_is_below_the_truth_or_far_above_it(rng):
    cut = float(rng.uniform(0.1, 4)) if rng.random() < 0.5 else None
    assert not wrong(generic.prove_window_delta, rng, cut)


@pytest.mark.parametrize(
    ("right", "instead", "cut"),
    [
        ("((a, b), (b, a))", "((a, b),)", None),
        ("total + outside[i] + rest", "total + outside[i]", 1.5),
        ("balls.of(epsilon).exp()", "balls.of(epsilon).exp() * (1 + arb(2) ** -40)", None),
        ("noise.masses_within(reach)", "noise.masses_within(reach)[::-1]", None),
        ("(p << BITS) - q * least", "(p << BITS) + q * least", None),
    ],
    ids=["one order only", "a window without what lies beyond", "e^epsilon rounded up", "noise mirrored", "signs"],
)
def test_wrong_versions_are_noticed(right, instead, cut):
    """Each of these says less than the truth, or more, in some of 400 cases."""
    source = ast.unparse(ast.parse(inspect.getsource(generic.prove_window_delta)))
    right = ast.unparse(ast.parse(right, mode="eval"))
    assert source.count(right) == 1
    space = dict(vars(generic))
    exec(compile(source.replace(right, instead), "wrong", "exec"), space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(space, "_FALL", cut or generic._FALL)
        assert any(wrong(space["prove_window_delta"], np.random.default_rng(seed), cut) for seed in range(400))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_it_agrees_with_the_proofs_that_know_more(kind, seed):
    rng = np.random.default_rng(seed)
    _, pair = drawn(rng)
    family = families([pair])[0].on(Lattice(Fraction(1)))
    noise = kind(float(rng.uniform(0.3, 5)), 1)
    epsilon = Fraction(int(rng.integers(0, 20)), 10)
    if not family.different:
        return
    own, (general,) = delta_bounds(family, noise, epsilon)[0], generic.prove_window_delta(family, noise, epsilon)
    assert general.value == pytest.approx(own.value, abs=1e-15)
    known = generic.GenericLeakage(kind.name, "any noise")
    assert known.guess(family, float(noise.scale), Approx(epsilon, 0.5).asks()) == pytest.approx(own.value, abs=1e-12)


@search("ratios and divergences of noise with ends", quick=60)
def test_ratios_and_divergences_are_those_of_the_definition(rng):
    noise, pair = drawn(rng)
    family = families([pair])[0].on(Lattice(Fraction(1)))
    if not family.different:
        return
    known, alpha = generic.GenericLeakage(Listed.name, "any noise"), Fraction(int(rng.integers(11, 60)), 10)
    p, q = law_of(pair.p, noise), law_of(pair.q, noise)
    ratio = max(math.inf if {*p} != {*q} else float(max(abs(math.log(p[y] / q[y])) for y in p)), 0.0)
    bare = known.pure(family, Listed(((0, 1),)), Fraction(0))[0].value
    assert known.pure(family, noise, Fraction(0))[0].value == pytest.approx(min(ratio, bare), rel=1e-12)
    a, orders = float(alpha), []
    for x, y in ((p, q), (q, p)):
        if not {*x} <= {*y}:
            orders.append(math.inf)
            continue
        total = math.fsum(math.exp(a * math.log(x[z]) + (1 - a) * math.log(y[z])) for z in x)
        orders.append(math.log(total) / (a - 1))
    assert known.divergence(family, noise, alpha)[0].value == pytest.approx(max(orders), rel=1e-9, abs=1e-12)


def test_the_bound_falls_back_to_what_lies_beyond_where_the_window_may_not_be_wider(monkeypatch):
    """Noise with heavy tails: nine tenths near 0, the others far away."""
    noise = Listed(((-5000, 1), (0, 18), (5000, 1)))
    family = families([LawPair(Discrete([0]), Discrete([1]), "a vs b")])[0].on(Lattice(Fraction(1)))
    whole = generic.prove_window_delta(family, noise, Fraction(0))[0].value
    monkeypatch.setattr(generic, "LARGEST", 1000)
    assert whole == 1.0
    assert generic.prove_window_delta(family, noise, Fraction(0))[0].value == 1.0
    near = generic.prove_window_delta(family, noise, Fraction(50))[0].value
    assert near == 1.0, "0.9 at points that the other law does not reach, and 0.1 beyond"


def test_noise_that_is_not_log_concave_is_refused_where_only_the_ends_are_looked_at():
    """Two peaks: a shift by 2 tells little, a shift by 1 everything."""
    peaks = Listed(((-2, 1), (0, 2), (2, 1)))
    shorter, longer = (families([LawPair(Discrete([0]), Discrete([k]))])[0].on(Lattice(Fraction(1))) for k in (1, 2))
    assert generic.prove_window_delta(shorter, peaks, Fraction(0))[0].value == 1
    assert generic.prove_window_delta(longer, peaks, Fraction(0))[0].value == pytest.approx(0.5)
    translates = families([LawPair(Shifted(0), Shifted(2))])[0].on(Lattice(Fraction(1)))
    with pytest.raises(NotProvable, match="does not say that it is log-concave"):
        generic.prove_window_delta(translates, peaks, Fraction(0))

    class Claims(Listed):
        log_concave: ClassVar[bool] = True

    with pytest.raises(NotProvable, match="its masses are not"):
        generic.prove_window_delta(translates, Claims(peaks.parts), Fraction(0))
    general = generic.GenericLeakage(Listed.name, "any noise")
    assert math.isinf(general.divergence(translates, peaks, Fraction(2))[0].value)
    concave = Claims(((-1, 1), (0, 2), (1, 1)))
    assert generic.prove_window_delta(translates, concave, Fraction(0))[0].value == pytest.approx(0.75)


def test_noise_that_leans_to_one_side_is_refused():
    """Its proof would hold, but audits and remaps take P(N >= k) for P(N <= -k)."""
    family = families([LawPair(Discrete([0]), Discrete([1]))])[0].on(Lattice(Fraction(1)))
    known = generic.GenericLeakage(Listed.name, "any noise")
    with pytest.raises(NotProvable, match="leans to one side"):
        known.delta(family, Listed(((-1, 2), (0, 2), (1, 1))), Fraction(0), Fraction(0))
    even = Listed(((-1, 1), (0, 2), (1, 1)))
    assert known.delta(family, even, Fraction(0), Fraction(0))[0].value == pytest.approx(0.5)


def test_defaults_in_doubles_are_the_sums_of_the_definition():
    noise = Listed(((-3, 1), (0, 4), (1, 2), (5, 3)))
    steps = np.arange(-7, 8)
    exact = noise.exact()
    assert np.exp(noise.log_mass(steps)) == pytest.approx([float(exact.get(int(k), 0)) for k in steps], abs=1e-15)
    below = [float(sum((m for j, m in exact.items() if j <= k), Fraction(0))) for k in steps]
    assert noise.cdf(steps) == pytest.approx(below, abs=1e-15)
    assert noise.expected_error() == pytest.approx((3 + 2 + 15) / 10)
    assert noise.expected_error("squared") == pytest.approx((9 + 2 + 75) / 10)
    assert [noise.quantile(level) for level in (0.3, 0.39, 0.5, 0.59, 0.65, 0.69, 0.99)] == [0, 0, 1, 1, 3, 3, 5]
    assert [round(noise.tail(e), 12) for e in (0, 0.5, 1, 2.9, 3, 5)] == [0.6, 0.6, 0.4, 0.4, 0.3, 0.0]
    assert noise.reach(math.inf) == 5
    laws = Noised(np.array([0, 2]), np.array([[0.5, 0.5], [0.1, 0.9]]), noise)
    seen, masses = laws.masses
    assert np.exp(laws.log_mass(seen)) == pytest.approx(masses, abs=1e-15)
    assert laws.cdf(seen) == pytest.approx(np.cumsum(masses, axis=1), abs=1e-14)


@dataclass(frozen=True)
class Short(Listed):
    """Wrong version: 3 % of every mass is left out, and with it 3 % of delta."""

    name: ClassVar[str] = "short"

    def mass(self, k):
        return super().mass(k) * arb(97) / 100


def test_masses_that_leave_something_out_are_refused():
    parts = tuple((k, 7 - abs(k)) for k in range(-6, 7))
    family = families([LawPair(Discrete([0]), Discrete([1]), "a vs b")])[0].on(Lattice(Fraction(1)))
    whole = generic.prove_window_delta(family, Listed(parts), Fraction(1, 2))[0].value
    assert 0 < whole < 1
    with pytest.raises(NotProvable, match="less than 1"):
        generic.prove_window_delta(family, Short(parts), Fraction(1, 2))

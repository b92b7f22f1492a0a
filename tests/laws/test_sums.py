"""Sums over independent users: exact against enumeration, the FFT against the truth, refusals."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st

import fugu
from fugu import Discrete
from fugu.errors import BadLaw, NotProvable, UnknownName, UsageError
from fugu.laws import adding, poisson_binomial, sum_of
from fugu.laws.adding import (
    KAPPA,
    Term,
    bennett,
    convolve_exact,
    convolve_fft,
    enclose,
    factors,
    in_balls,
    in_doubles,
    spectrum,
    unit_roots,
)
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction

Exact = dict[Fraction, Fraction]


def as_dict(law: Discrete) -> Exact:
    """Value -> probability, exactly, without the atoms that have none."""
    parts, total = law.masses.whole()
    return {as_fraction(v): Fraction(p, total) for v, p in zip(law.values.tolist(), parts, strict=True) if p}


def enumerated(laws: list[Discrete]) -> Exact:
    """The law of the sum by going through all outcomes."""
    found: Exact = {}
    for outcome in itertools.product(*(as_dict(law).items() for law in laws)):
        value = sum((v for v, _ in outcome), Fraction(0))
        found[value] = found.get(value, Fraction(0)) + math.prod((p for _, p in outcome), start=Fraction(1))
    return found


def distance(p: Discrete, q: Discrete) -> Fraction:
    """Total variation, exactly: in integers over the product of the two totals."""
    (a, s), (b, t) = p.masses.whole(), q.masses.whole()
    here, there = dict(zip(p.values.tolist(), a, strict=True)), dict(zip(q.values.tolist(), b, strict=True))
    return Fraction(sum(abs(here.get(v, 0) * t - there.get(v, 0) * s) for v in {*here, *there}), 2 * s * t)


def truthful(law: Discrete, truth: Discrete, most: float = 1e-9) -> bool:
    """Whether the stated error is at least the true one, and not absurd."""
    return distance(law, truth) <= Fraction(law.error) <= most


def by_fft(law: Discrete, n: int) -> tuple[Discrete, Discrete]:
    """The FFT's law and the exact one."""
    return law.iid_sum(n, method="fft"), law.iid_sum(n, method="exact")


RNG = np.random.default_rng(5)
LAWS = {
    "twenty levels": (Discrete(range(20), RNG.integers(1, 100, 20)), 200),
    "long floats": (Discrete(range(6), RNG.dirichlet(np.ones(6))), 60),
    "binary": (Discrete([0, 1], [0.7, 0.3]), 1000),
    "rare": (Discrete([0, 1], [10**6 - 1, 1]), 3000),
    "heavy skew": (Discrete([0, 1, 200], [999_000, 900, 100]), 300),
    "tenths": (Discrete([0.1, 0.4, 1.3], [5, 3, 2]), 150),
    "thirds": (Discrete([-3, 0, 6], [1, 1, 2]), 150),
    "negative": (Discrete([-7.5, -2.5, -0.5], [1, 7, 2]), 100),
    "zero weights": (Discrete([0, 0.1, 1, 2], [1, 0, 4, 0]), 80),
    "two scales": (Discrete([0, 1, 100, 101], [4, 3, 2, 1]), 40),
    "two draws": (Discrete(range(50)), 2),
}


class TestExact:
    @given(st.lists(st.tuples(st.integers(-5, 9), st.integers(0, 5)), min_size=1, max_size=4), st.integers(1, 5),
           st.sampled_from([1.0, 0.1, 3.0]))  # fmt: skip
    def test_iid_sums_are_what_enumeration_says(self, atoms, n, step):
        if not any(w for _, w in atoms):
            atoms[0] = (atoms[0][0], 1)
        law = Discrete([round(v * step, 1) for v, _ in atoms], [w for _, w in atoms])
        found = law.iid_sum(n)
        assert found.error == 0
        assert as_dict(found) == enumerated([law] * n)

    def test_different_users(self):
        laws = [Discrete([0.1, 0.4], [1, 2]), Discrete([0, 0.3, 3], [1, 0, 5]), Discrete([-2.5]), Discrete([1, 7])]
        found = sum_of([*laws, laws[0]])
        assert as_dict(found) == enumerated([*laws, laws[0]])
        assert found.error == 0

    def test_binomial_formula(self):
        n, p = 300, Fraction(3, 10)
        truth = {Fraction(k): math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}
        assert as_dict(Discrete([0, 1], [0.7, 0.3]).iid_sum(n)) == truth
        assert as_dict(poisson_binomial([0.3] * n)) == truth
        assert as_dict(Discrete([0, 1], [0.7, 0.301 - 0.001]).iid_sum(n)) == truth  # floats that mean 0.3

    @given(st.lists(st.sampled_from([0, 1, 0.1, 0.25, 0.999, Fraction(1, 3), 1e-12]), min_size=1, max_size=12))
    def test_poisson_binomial_is_the_recursion(self, chances):
        assert as_dict(poisson_binomial(chances)) == recursion(chances)

    def test_few_atoms_far_apart_stay_few(self):
        law = Discrete([0, 1, 10**9], [3, 2, 1])
        found = law.iid_sum(6)
        assert found.error == 0 and len(found.values) == math.comb(8, 2)
        assert as_dict(found) == enumerated([law] * 6)

    def test_constants_and_single_draws(self):
        assert as_dict(Discrete([0.1]).iid_sum(7)) == {Fraction(7, 10): Fraction(1)}
        assert as_dict(Discrete([0.1]).iid_sum(10**9, method="fft")) == {Fraction(10**8): Fraction(1)}
        off = Discrete([1 / 3, 1.0])
        assert off.iid_sum(1) is off

    def test_a_wrong_law_is_told_apart(self):
        law = Discrete([0, 1, 2], [5, 3, 2])
        assert as_dict(law.iid_sum(4)) != enumerated([law] * 3 + [Discrete([0, 1, 2], [5, 2, 3])])


def recursion(chances: list[float]) -> Exact:
    row = [Fraction(1)]
    for p in map(as_fraction, chances):
        row = [a * (1 - p) + b * p for a, b in zip([*row, Fraction(0)], [Fraction(0), *row], strict=True)]
    return {Fraction(k): w for k, w in enumerate(row) if w}


class TestFft:
    @pytest.mark.parametrize("name", LAWS)
    def test_the_error_is_truthful(self, name):
        law, n = LAWS[name]
        found, truth = by_fft(law, n)
        assert found.error > 0
        assert truthful(found, truth, 1e-12)

    def test_a_bound_without_roundoff_is_caught(self, monkeypatch):
        monkeypatch.setattr(adding, "roundoff", lambda *_: 0.0)
        law, n = LAWS["twenty levels"]
        assert not truthful(*by_fft(law, n))

    @pytest.mark.parametrize("tail", [1e-3, 1e-9])
    def test_a_window_that_is_too_small_is_caught(self, tail, monkeypatch):
        law, n = LAWS["twenty levels"]
        honest = convolve_fft([Term.of(range(20), law.masses.whole()[0], n)], tail)
        assert tail / 100 < honest.error < 3 * tail
        monkeypatch.setattr(adding, "enclose", lambda terms, _: replace(enclose(terms, tail), outside=0.0))
        assert not truthful(*by_fft(law, n))

    def test_doubles_whose_error_is_not_counted_are_caught(self, monkeypatch):
        law, n = Discrete([0, 1], [0.7, 0.3]), 10**4
        truth = law.iid_sum(n, method="exact")

        def rough(found, length):
            return spectrum(found, length, most_balls=0)

        def silent(found, length):
            wave = rough(found, length)
            return replace(wave, errors=0 * wave.errors)

        monkeypatch.setattr(adding, "spectrum", rough)
        assert truthful(law.iid_sum(n, method="fft"), truth, 1e-8)
        monkeypatch.setattr(adding, "spectrum", silent)
        assert not truthful(law.iid_sum(n, method="fft"), truth)

    def test_a_million_yes_or_no_answers_against_sixty_digits(self):
        n = 10**6
        found = Discrete([0, 1], [0.7, 0.3]).iid_sum(n)
        assert len(found.values) < 10**4
        with balls.precision(240):
            p, total = arb(3) / 10, balls.of(found.masses.total)
            apart, inside = arb(0), arb(0)
            held = dict(zip(found.values.tolist(), found.masses.parts.tolist(), strict=True))
            first, last = int(found.values[0]), int(found.values[-1])
            truth = arb.bin_uiui(n, first) * p**first * (1 - p) ** (n - first)
            for k in range(first, last + 1):
                inside += truth
                apart += abs(truth - arb(held.get(float(k), 0.0)) / total)
                truth = truth * (n - k) / (k + 1) * p / (1 - p)
            apart = (apart + (1 - inside)) / 2
            assert apart.rad() < 1e-30
            assert balls.upper(apart) <= found.error <= 1e-12
            assert balls.upper(apart) > 1e-18  # a law that claims no error at all would be wrong

    def test_law_wider_than_its_window(self):
        term = Term.of([0, 999_999, 10**6], [10**30, 1, 1], 10)
        window = enclose([term])
        assert window.width < 10**6
        found = convolve_fft([term])
        exact = convolve_exact([term])
        law, truth = (Discrete._with_error(s.at.astype(float), s.masses, s.error) for s in (found, exact))
        assert truthful(law, truth, 1e-10)

    def test_no_mass_survives_where_the_law_has_none(self):
        found, truth = by_fft(*LAWS["two scales"])
        possible = set(truth.values.tolist())
        assert not possible.issuperset(found.values.tolist())
        stray = sum(p for v, p in as_dict(found).items() if float(v) not in possible)
        assert stray <= found.error


class TestOneUserAmongOthers:
    """The sum of the others is found once, by FFT; each user is then added to it directly."""

    def test_the_error_is_truthful(self, monkeypatch):
        law, n = LAWS["tenths"]
        one, other = Discrete([-0.1, 0.2, 5], [3, 5, 1]), Discrete([0, 0.3], [0.2, 0.8])
        others, truth = law.iid_sum(n, method="fft"), sum_of([one, other, *[law] * n], method="exact")
        found = sum_of([one, others, other])
        assert found.error > others.error
        assert truthful(found, truth, 1e-12)
        exact = Discrete._with_error(others.values, others.masses, 0.0)
        assert truthful(sum_of([one, exact, other], method="fft"), sum_of([one, exact, other], method="exact"), 1e-13)
        monkeypatch.setattr(adding, "UNIT", 0.0)
        assert not truthful(sum_of([one, exact, other], method="fft"), sum_of([one, exact, other], method="exact"))

    def test_long_rows_go_by_fft(self, monkeypatch):
        monkeypatch.setattr(adding, "_MOST_PRODUCTS", 0)
        laws = [Discrete(range(300), RNG.integers(1, 9, 300)), Discrete(range(0, 600, 2), RNG.integers(1, 9, 300))]
        assert truthful(sum_of(laws, method="fft"), sum_of(laws, method="exact"), 1e-11)

    def test_half_a_million_atoms(self):
        others = Discrete(range(100)).iid_sum(10**6)
        found = sum_of([Discrete([0, 99], [1, 3]), others])
        assert found.mean() == pytest.approx(others.mean() + 74.25, rel=1e-13)
        assert others.error < found.error < others.error + 1e-13


class TestManyDifferentUsers:
    def test_poisson_binomial_of_many_users(self):
        rng = random.Random(3)
        for digits in (2, 4, 9):  # few kinds of users, some alike, all different
            chances = [round(rng.random(), digits) for _ in range(700)]
            found, truth = (poisson_binomial(chances, method=m) for m in ("fft", "exact"))
            assert found.error > 0
            assert truthful(found, truth, 1e-12)
            assert not truthful(Discrete._with_error(found.values, found.masses, 1e-19), truth)

    def test_many_kinds_of_users_many_times_each(self):
        rng = random.Random(4)
        laws = [Discrete(range(3), [rng.randint(1, 9) for _ in range(3)]) for _ in range(60)]
        users = [law for k, law in enumerate(laws) for _ in range(1 + k % 5)]
        assert len(factors([Term.of(range(3), [1, 2, k + 1], 1 + k % 5) for k in range(60)])) == 3
        assert truthful(sum_of(users, method="fft"), sum_of(users, method="exact"), 1e-12)

    def test_what_the_tree_drops_is_counted(self):
        terms = [Term([0, 1], [k, 2000 - k], 2000) for k in range(500, 1500)]
        (factor,) = factors(terms)
        assert len(factor.parts) < 1001
        assert 0 < factor.lost < 1e-40

    def test_errors_of_the_parts_add_up(self):
        law = Discrete([0, 1], [0.7, 0.3]).iid_sum(10**4, method="fft")
        assert law.iid_sum(5).error >= 5 * law.error > 0
        assert sum_of([law, Discrete([0, 1])]).error >= law.error


class TestPieces:
    @pytest.mark.parametrize("log_length", [1, 2, 5, 9, 12])
    def test_the_fft_is_within_its_bound(self, log_length):
        """Against a transform in balls, on random, constant, alternating and spiky data; far inside the bound."""
        length = 1 << log_length
        spike = np.zeros(length)
        spike[length // 2] = 1
        for x in (RNG.random(length), np.ones(length), np.resize([1.0, -1.0], length), spike, RNG.normal(size=length)):
            with balls.precision(128):
                truth = acb.dft([acb(v) for v in x.tolist()])[: length // 2 + 1]
                found = np.fft.rfft(x)
                back = acb.dft([acb(v.real, v.imag) for v in np.fft.fft(x).tolist()], inverse=True)
                wrong = sum(
                    (abs(t - acb(f.real, f.imag)) ** 2 for t, f in zip(truth, found.tolist(), strict=True)), arb(0)
                )
                size = sum((abs(t) ** 2 for t in truth), arb(0))
                assert wrong.sqrt() <= size.sqrt() * (KAPPA * log_length / 4)
                again = np.fft.irfft(np.fft.fft(x)[: length // 2 + 1], length).tolist()
                wrong = sum((abs(b.real - arb(a)) ** 2 for b, a in zip(back, again, strict=True)), arb(0))
                assert wrong.sqrt() <= arb(float(np.linalg.norm(x))) * (KAPPA * log_length / 4)

    @pytest.mark.parametrize("name", LAWS)
    def test_every_frequency_is_within_its_bound(self, name):
        law, n = LAWS[name]
        numerators, _ = law.masses.whole()
        values = law.values[np.array(numerators, dtype=object) != 0]
        step = 10
        at = [round((v - values[0]) * step) for v in values]
        found = factors([Term.of(at, [p for p in numerators if p], n)])
        rough = in_doubles(found, 256)
        with balls.precision(128):
            roots = unit_roots(256)
            for k in range(129):
                value, error = in_balls(found, k, roots, rough.shift)
                assert error < 1e-15
                assert abs(value - rough.values[k]) <= rough.errors[k] + error
                assert rough.errors[k] < 1e-9

    @pytest.mark.parametrize(("n", "p"), [(50, 0.5), (300, 0.01), (40, 0.9)])
    def test_bennett_is_above_the_true_tail(self, n, p):
        exact = as_fraction(p)
        variance, bound = balls.of(n * exact * (1 - exact)), balls.of(1 - exact)
        wrong = 0
        for s in range(1, 40):
            least = math.ceil(n * exact + s)
            tail = sum((math.comb(n, k) * exact**k * (1 - exact) ** (n - k) for k in range(least, n + 1)), Fraction(0))
            assert bennett(variance, bound, s) >= balls.of(tail)
            wrong += not bennett(variance / 4, bound, s) >= balls.of(tail)
        assert wrong  # a variance that is too small is noticed

    @pytest.mark.parametrize("name", LAWS)
    def test_the_window_holds_the_mass(self, name):
        law, n = LAWS[name]
        parts, _ = law.masses.whole()
        term = Term.of(range(sum(p > 0 for p in parts)), [p for p in parts if p], n)
        sums = convolve_exact([term])
        for tail in (1e-3, 1e-8):
            window = enclose([term], tail)
            inside = (sums.at >= window.low) & (sums.at <= window.high)
            whole, total = sums.masses.whole()
            outside = sum(w for w, kept in zip(whole, inside.tolist(), strict=True) if not kept)
            assert Fraction(outside, total) <= Fraction(window.outside) <= Fraction(2 * tail)


class TestRefusals:
    @pytest.mark.parametrize("n", [0, -1, 1.5, True, "3", None])
    def test_how_many(self, n):
        with pytest.raises(UsageError, match="whole number"):
            Discrete([0, 1]).iid_sum(n)

    def test_what_has_no_lattice(self):
        with pytest.raises(NotProvable, match="round onto a grid first"):
            Discrete([0, 1 / 3]).iid_sum(2)
        with pytest.raises(NotProvable, match="one number at a time"):
            Discrete([[0, 1], [1, 0]]).iid_sum(2)
        with pytest.raises(NotProvable, match="15 digits"):
            Discrete([0, 10**9]).iid_sum(10**7)
        with pytest.raises(NotProvable, match="coarser grid"):
            Discrete([0, 1, 10**9], [1, 1, 1]).iid_sum(10**4)

    def test_exact_laws_that_are_too_large_say_how_large(self):
        with pytest.raises(NotProvable, match=r"99000001 atoms, \d+ bits each"):
            Discrete(range(100)).iid_sum(10**6, method="exact")

    def test_names_and_kinds(self):
        with pytest.raises(UnknownName, match="did you mean 'exact'"):
            Discrete([0, 1]).iid_sum(2, method="exakt")
        with pytest.raises(UsageError, match="at least one"):
            sum_of([])
        with pytest.raises(BadLaw, match="Discrete"):
            sum_of([Discrete([0]), fugu.Shifted(1)])
        with pytest.raises(UsageError, match="at least one"):
            poisson_binomial([])
        for p in (-0.1, 1.1, math.nan, True, "0.5"):
            with pytest.raises(BadLaw, match=r"\[0, 1\]"):
                poisson_binomial([0.5, p])


def test_a_million_users_of_a_hundred_levels():
    law = Discrete(range(100), np.random.default_rng(0).integers(1, 1000, 100)).iid_sum(10**6)
    assert len(law.values) < 10**6 and law.error < 1e-12
    single = Discrete(range(100), np.random.default_rng(0).integers(1, 1000, 100))
    assert law.mean() == pytest.approx(10**6 * single.mean(), rel=1e-12)
    assert law.std() == pytest.approx(1000 * single.std(), rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=6), st.integers(2, 60))
def test_the_fft_is_truthful_on_random_laws(counts, n):
    if sum(c > 0 for c in counts) < 2:
        counts[:2] = [1, 1]
    found, truth = by_fft(Discrete(range(len(counts)), counts), n)
    assert truthful(found, truth, 1e-12)

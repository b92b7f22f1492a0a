"""Laws of losses: exact compositions, above the truth and next to it; and what is false."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

import fugu
from fugu import ZCDP, Approx, Gaussian, Laplace, Pure, Renyi, RenyiCurve, compose
from fugu.errors import BadBudget, BadNoise, NotProvable, UsageError
from fugu.guarantee import Composed, outputs
from fugu.guarantee.curve import budget_from, budget_json
from fugu.guarantee.losslaw import LossLaw, together
from fugu.guarantee.pairs import OutputLaws, RatioBound
from fugu.numbers import balls
from hunting import search

VECTORS = json.loads(Path(__file__).with_name("loss_law_vectors.json").read_text())


# The oracle: outputs of real mechanisms, one by one, with their probabilities given the one and the other neighbour.


def answers(epsilon, delta=0):
    """Randomised response, in both orders; with delta an answer that tells everything."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [((1 - delta) * p, (1 - delta) * (1 - p)), ((1 - delta) * (1 - p), (1 - delta) * p), (delta, 0), (0, delta)]


def lattice(mass, move, reach):
    """One number with noise of such masses, moved by so many steps."""
    total = math.fsum(mass(k) for k in range(-reach, reach + 1))
    return [(mass(y) / total, mass(y - move) / total) for y in range(-reach, reach + move + 1)]


def together_of(*mechanisms):
    """All outputs of all of them; what only adds rounding is merged by ratio."""
    found = [(1.0, 1.0)]
    for outcomes in mechanisms:
        merged = Counter()
        for (p, q), (r, s) in itertools.product(found, outcomes):
            if p * r or q * s:
                ratio = p * r / (q * s) if q * s else math.inf
                merged[f"{ratio:.13e}"] += complex(p * r, q * s)
        found = [(z.real, z.imag) for z in merged.values()]
    return found


def truth(outcomes, epsilon):
    """sup P(S) - e^epsilon Q(S), the larger of both orders."""
    g = math.exp(epsilon)
    return max(math.fsum(max(0, p - g * q) for p, q in outcomes), math.fsum(max(0, q - g * p) for p, q in outcomes))


def named(pair):
    """The pair of a line of the vectors, as a guarantee."""
    if pair.startswith("rr"):
        return Pure(0.1)
    kind, size, move = re.match(r"lattice (laplace b|gauss sigma\^2)=(\d+) shift (\d+)", pair).groups()
    return Laplace(int(size), grid=1).losses(int(move)) if "b" in kind else (
        Gaussian(math.isqrt(int(size)), grid=1).losses(int(move))
    )  # fmt: skip


@pytest.mark.parametrize("row", VECTORS["composition"], ids=lambda row: f"{row['pair']} x {row['n']}")
def test_every_vector_of_the_theory(row):
    whole = compose([named(row["pair"])] * row["n"])
    for delta, told in ((1e-6, row["eps_at_1e_6"]), (1e-9, row["eps_at_1e_9"])):
        assert float(told) * (1 - 1e-14) - 1e-15 <= whole.to_approx(delta).epsilon <= float(told) + 1e-7
    for epsilon, told in row["delta"].items():
        with balls.precision(128):
            found = balls.upper(whole.law().delta(Fraction(epsilon)))
        assert float(told) * (1 - 2e-14) <= found <= float(told) + 1e-14
        if Fraction(epsilon) >= 0:
            assert whole.delta_at(Fraction(epsilon)) <= found * (1 + 1e-15)


CERTIFIED = [
    ([Pure(0.1)] * 100, 4.7745675882),
    ([Laplace(10, grid=1).losses(1)] * 100, 4.7745675882),
    ([Laplace(10, grid="1/16").losses(1)] * 100, 4.6930431928),
    ([Gaussian(20, grid=1).losses(1)] * 100, 2.2540866829),
    ([Pure(0.1)] * 10, 0.9993709058),
    ([Pure(0.1)] * 1000, 19.3446714481),
    ([Pure(0.1)] * 10_000, 96.5718400334),
    ([Laplace(10, grid="1/16").losses(1)] * 1000, 18.9518236053),
    ([Laplace(10, grid="1/16").losses(1)] * 10_000, 94.2450421132),
    ([Gaussian(20, grid=1).losses(1)] * 10, 0.6481064040),
    ([Gaussian(20, grid=1).losses(1)] * 1000, 8.3062260704),
    ([Gaussian(20, grid=1).losses(1)] * 10_000, 35.5663442197),
    (
        [
            *[Gaussian(20, grid=1).losses(1)] * 40,
            *[Laplace(10, grid="1/16").losses(1)] * 30,
            *[Pure(0.07)] * 20,
            *[Approx(0.05, 1e-9)] * 10,
        ],
        3.2756265,
    ),
]


@pytest.mark.parametrize(("parts", "most"), CERTIFIED, ids=lambda x: f"{x}" if isinstance(x, float) else "")
def test_the_figures_of_the_theory(parts, most):
    assert most - 3e-8 < compose(parts).to_approx(1e-6).epsilon <= most + 2e-8


def test_a_histogram_is_two_unit_shifts():
    two = compose([Laplace(10, grid=1).losses([1, -1])] * 100).to_approx(1e-6).epsilon
    assert two == pytest.approx(float(VECTORS["histogram_b10_x100"]["eps_at_1e_6"]), abs=1e-12)
    dear = compose([Laplace(10, grid=1).losses(2)] * 100).to_approx(1e-6).epsilon
    assert dear == pytest.approx(float(VECTORS["histogram_b10_x100"]["wrong_one_shift_of_2"]), abs=1e-12)


def test_continuous_noise_is_not_what_is_drawn():
    told = VECTORS["unit_lattice_at_continuous_eps"]
    found = compose([Laplace(10, grid=1).losses(1)] * 100).delta_at(float(told["eps"]))
    assert found == pytest.approx(float(told["delta"]), rel=1e-9) and found > 1.5e-6


def test_both_orders_of_a_pair_are_needed():
    """Of p = (0, 1), q = (1/2, 1/2) randomised response of ln 3 is no larger at any epsilon >= 0; two of them are."""
    told = VECTORS["eps_ge_0_only"]
    once = outputs({1: 1}, {0: 1, 1: 1})
    wrong = Pure(float(told["rr_eps"]))
    assert all(truth([(0, 0.5), (1, 0.5)][1:], e) <= compose([wrong]).delta_at(e) + 1e-12 for e in (0, 0.3, 0.6, 1))
    assert compose([wrong] * 2).delta_at(0) == pytest.approx(float(told["bound_delta0_twice"]), abs=1e-9)
    assert compose([once] * 2).delta_at(0) >= float(told["true_delta0_twice"])


def test_an_adaptive_choice_of_pairs_is_worth_more_than_either():
    """What the docstring of `compose` warns of: each path has delta 1e-3, and the protocol 1.38 times that."""
    told = VECTORS["adaptive_choice"]
    first, second = answers(0.5)[:2], answers(float(told["B_rr"]))[:2]
    chosen = [(p * r, q * s) for (p, q), then in zip(first, (second, answers(0, 1e-3)), strict=True) for r, s in then]
    paths = [compose([Pure(0.5), Pure(float(told["B_rr"]))]), compose([Pure(0.5), Approx(0, 1e-3)])]
    assert all(path.delta_at(1) <= 1.0000001e-3 for path in paths)
    assert truth(chosen, 1) == pytest.approx(float(told["adaptive"]), rel=1e-9)


def test_laws_averaged_over_a_record_do_not_compose():
    """XOR, and one column asked twice: the truth against what marginal laws of losses would say."""
    told = VECTORS["xor"]
    p = math.e / (1 + math.e)
    shown = {(a, b): [(p if x == a else 1 - p) * (p if y == b else 1 - p) for x in (0, 1) for y in (0, 1)]
             for a in (0, 1) for b in (0, 1)}  # fmt: skip
    given = [np.mean([shown[a, a ^ s] for a in (0, 1)], axis=0) for s in (0, 1)]
    pairs = list(zip(*given, strict=True))
    assert truth(pairs, 0) == pytest.approx(float(told["true_delta0"]), rel=1e-9)
    marginal = outputs({0: 1, 1: 1}, {0: 1, 1: 1})
    assert compose([marginal] * 2).delta_at(0) == float(told["composed_marginals"]) == 0
    for row in VECTORS["same_column"]:
        n, e = row["n"], float(row["eps"])
        one = [p**k * (1 - p) ** (n - k) * math.comb(n, k) for k in range(n + 1)]
        other = one[::-1]
        half = [(x + y) / 2 for x, y in zip(one, other, strict=True)]
        assert truth(list(zip(half, other, strict=True)), e) == pytest.approx(float(row["true"]), rel=1e-9)
        assert truth(list(zip(half, other, strict=True)), e) <= compose([Pure(1)] * n).delta_at(e) + 1e-12


# Random compositions: never below the truth, and close to it


def drawn(rng):
    """(guarantee, outcomes, how far above one may lie)."""
    kind = rng.integers(6)
    if kind == 0:
        epsilon = float(np.round(rng.uniform(0, 1.5), 3))
        return Pure(epsilon), answers(epsilon), 0
    if kind == 1:
        epsilon, delta = float(np.round(rng.uniform(0, 1), 3)), float(np.round(rng.uniform(0, 0.1), 4))
        return Approx(epsilon, delta), answers(epsilon, delta), 0
    if kind == 2:
        scale, move = float(np.round(rng.uniform(0.3, 3), 2)), int(rng.integers(0, 4))
        reach = math.ceil(36 * scale) + move
        return Laplace(scale, 1).losses(move), lattice(lambda k: math.exp(-abs(k) / scale), move, reach), 0
    if kind == 3:
        scale, moves = float(np.round(rng.uniform(0.4, 2), 2)), rng.integers(0, 3, size=rng.integers(1, 3)).tolist()
        each = [lattice(lambda k: math.exp(-k * k / (2 * scale**2)), m, math.ceil(9 * scale) + 3) for m in moves]
        return Gaussian(scale, 1).losses(moves), together_of(*each), 0
    if kind == 4:
        scale = float(np.round(rng.uniform(0.5, 4), 2))
        exact = lattice(lambda k: math.exp(-k * k / (2 * scale**2)), 1, math.ceil(9 * scale) + 3)
        return ZCDP(1 / (2 * Fraction(str(scale)) ** 2)), exact, 1
    size = int(rng.integers(1, 4))
    p, q = (rng.integers(0, 5, size).tolist() for _ in range(2))
    if not (sum(p) and sum(q)):
        return Pure(0), [(1, 1)], 0
    outcomes = [(x / sum(p), y / sum(q)) for x, y in zip(p, q, strict=True)]
    return outputs(dict(enumerate(p)), dict(enumerate(q))), outcomes, 1


@search("compositions against every output", quick=60)
def test_no_composition_is_below_the_truth(rng):
    parts = [drawn(rng) for _ in range(rng.integers(1, 4))]
    whole = compose([g for g, _, _ in parts])
    outcomes = together_of(*(o for _, o, _ in parts))
    single = sum(loose for _, _, loose in parts)
    for epsilon in rng.uniform(0, 3, 4).round(3).tolist():
        exact, found = truth(outcomes, epsilon), whole.delta_at(epsilon)
        assert exact <= found + 1e-11
        if not single:  # of one's own pairs both orders together may say more than either
            assert found <= exact + 1e-6 or (len(parts) > 1 and found <= exact + 2e-4)
    delta = float(rng.uniform(1e-4, 0.3))
    found = whole.to_approx(delta)
    if math.isfinite(found.epsilon):
        assert truth(outcomes, found.epsilon) <= delta + 1e-11
    return 5


def exact_delta(p, q, n, g):
    """E_g of n copies, in fractions."""
    cells = Counter({(Fraction(1), Fraction(1)): 1})
    for _ in range(n):
        cells = _times(cells, p, q)
    return sum((max(Fraction(0), x - g * y) * k for (x, y), k in cells.items()), Fraction(0))


def _times(cells, p, q):
    found = Counter()
    for ((x, y), k), (a, b) in itertools.product(cells.items(), zip(p, q, strict=True)):
        found[x * a, y * b] += k
    return found


@search("loss laws of few bits against fractions", quick=60)
def test_every_rounding_goes_up(rng):
    """Laws of so few bits that each rounding shows: masses of p, q in both orders, powers, splits, cuts."""
    size, bits, n = int(rng.integers(1, 4)), int(rng.integers(6, 20)), int(rng.integers(1, 7))
    cut = int(rng.integers(4, bits + 1))
    p, q = ([Fraction(int(x)) for x in rng.integers(0, 6, size)] for _ in range(2))
    if not (sum(p) and sum(q)):
        return 0
    p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    with balls.precision(128):
        law = OutputLaws(tuple(p), tuple(q)).law(bits, cut)
        if rng.integers(2):
            law = law.on(Fraction(int(rng.integers(1, 40)), 60))
    several = together([(law, n)])
    for one in (law, several):
        assert min(one.masses) >= 0 <= one.infinite and sum(one.masses) + one.infinite == 1 << bits
    for e in rng.uniform(-3, 3, 4).round(2).tolist():
        g = Fraction(math.exp(e))
        for x, y in ((p, q), (q, p)):
            with balls.precision(128):
                assert float(exact_delta(x, y, n, g)) <= balls.upper(several.delta(Fraction(e))) + 1e-13
    return 4


@search("splits of few bits", quick=40)
def test_a_split_only_raises(rng):
    """On another grid the profile of a law of few bits is nowhere lower, and next to the same on a fine one."""
    bits = int(rng.integers(4, 12))
    cuts = np.sort(rng.integers(0, 1 << bits, size=4))
    masses = np.diff([0, *cuts, 1 << bits]).tolist()
    step, first = Fraction(int(rng.integers(1, 30)), 20), Fraction(int(rng.integers(-30, 10)), 17)
    law = LossLaw(step, first, masses[:-1], masses[-1], bits, bits)
    wider = law.on(Fraction(int(rng.integers(1, 50)), 23))
    assert min(wider.masses) >= 0 and sum(wider.masses) + wider.infinite == 1 << bits
    with balls.precision(128):
        for e in rng.uniform(-3, 3, 6).round(2).tolist():
            assert balls.upper(law.delta(Fraction(e)) - wider.delta(Fraction(e))) <= 1e-18
    return 6


def test_rounding_to_nearest_is_false():
    """Eight bits, randomised response of .1, eight times: .109012 at 0; masses to the nearest say less."""
    with balls.precision(128):
        law = RatioBound(Fraction(1, 10), Fraction(0)).law(8, 8)
        assert float(law.power(8).delta(Fraction(0)).upper()) >= 0.109012
    p = math.exp(0.1) / (1 + math.exp(0.1))
    nearest = {8 - 2 * k: round(256 * math.comb(8, k) * p ** (8 - k) * (1 - p) ** k) / 256 for k in range(9)}
    assert sum(m * max(0, 1 - math.exp(-0.1 * x)) for x, m in nearest.items()) < 0.109012


def test_bounds_that_are_not_convex_together_make_no_mass():
    with balls.precision(128):
        law = LossLaw.of_bounds(Fraction(7, 10), 0, [balls.of(1), balls.of(Fraction(1, 10))], 40, 40)
    assert min(law.masses) >= 0 and sum(law.masses) + law.infinite == 1 << 40
    assert balls.upper(law.delta(Fraction(7, 10))) >= 0.1


@search("lattice profiles against mpmath", quick=20)
def test_lattice_noise_in_forty_digits(rng):
    """A vector that moves by so many steps in all, coordinate by coordinate, against one coordinate: with mpmath."""
    scale, moves = Fraction(int(rng.integers(5, 60)), 10), rng.integers(0, 4, size=2).tolist()
    noise = Laplace(scale, 1)
    with mp.workdps(40):
        r = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
        one = [[(r ** abs(k), r ** abs(k + m)) for k in range(-m - 1, 2)] for m in moves]
        for cells in one:  # beyond, the ratio no longer changes
            cells[0], cells[-1] = (tuple(x / (1 - r) for x in cells[0]), tuple(x / (1 - r) for x in cells[-1]))
        scaled = ((1 - r) / (1 + r)) ** 2
        for e in rng.uniform(0, 2, 3).tolist():
            exact = sum(max(0, p * s - mp.exp(e) * q * t) * scaled for (p, q), (s, t) in itertools.product(*one))
            assert exact <= noise.losses(moves).delta_at(e) + mp.mpf(10) ** -15
            assert noise.losses(moves).delta_at(e) <= noise.losses(sum(moves)).delta_at(e) + 1e-15
            assert abs(exact - noise.losses(moves).delta_at(e)) < 1e-14
    return 3


def test_of_several_vectors_the_worst_counts_at_every_epsilon():
    noise = Gaussian(2, 1)
    each = [noise.losses(v) for v in ([2, 1, 1], [1, 1, 1, 1, 1])]
    both = noise.losses([[2, 1, 1], [1, -1, 1, 1, 1], [1, 1]])
    for e in (0, 0.5, 1, 2, 4):
        most = max(one.delta_at(e) for one in each)
        assert most <= both.delta_at(e) * (1 + 1e-12) <= most + 2e-5
    assert noise.losses([[1, 1], [0, 1, -1]]) == noise.losses([1, 1])


def test_guarantees_from_outside_keep_their_own_sums():
    curve = RenyiCurve({2: 0.01, 8: 0.05})
    for parts in ([ZCDP(0.01)] * 20, [curve] * 5, [Renyi(4, 0.1), Pure(0.1)], [ZCDP(0.02), Pure(0.3)]):
        whole = compose(parts)
        orders = {a for g in parts if g.renyi for a, _ in g.orders}
        added = RenyiCurve({a: sum(float(g.divergence_at(a)) for g in parts) for a in orders})
        assert whole.to_approx(1e-6).epsilon <= added.to_approx(1e-6).epsilon * (1 + 1e-9)
        assert whole <= Renyi(4, sum(float(g.divergence_at(4)) for g in parts) * (1 + 1e-12))
    assert compose([ZCDP(0.01)] * 20).to_approx(1e-6) <= ZCDP(0.2).to_approx(1e-6)
    gaussians = compose([Gaussian(20, 1).losses(1)] * 100)
    assert gaussians <= ZCDP(Fraction(1, 8)) and not gaussians <= ZCDP(Fraction(1, 8) - Fraction(1, 10**9))
    left_out = compose([Renyi(2, 0.01, 1e-3), Pure(0.1)])
    assert left_out.delta == 1e-3 and left_out.to_approx(1e-3).epsilon == math.inf
    assert 0 < left_out.to_approx(1e-2).epsilon < 10


def test_it_is_a_guarantee():
    whole = compose([Pure(0.1)] * 3)
    assert whole.to_pure() == Pure(0.3) and whole <= Pure(0.3) and not whole <= Pure(0.29)
    assert whole <= Approx(0.3, 1e-9) and whole <= Approx(0.25, 0.05) and not whole <= Approx(0.25, 1e-9)
    assert whole <= compose([Pure(0.1)] * 4) and whole <= compose([Pure(0.2), Pure(0.1), Pure(0.1), Approx(1, 0.1)])
    assert not whole <= compose([Pure(0.3)]) and not whole <= compose([Pure(0.1)] * 2)
    assert Pure(0.05) <= whole and not Approx(0.05, 1e-9) <= whole
    assert not Pure(0.1) <= Laplace(10, 1).losses(1)  # the worst of all pure pairs against one
    assert compose([whole, Pure(0.1)]) == compose([Pure(0.1)] * 4) and hash(whole) == hash(compose([Pure(0.1)] * 3))
    with pytest.raises(NotProvable, match="bounds no ratio"):
        compose([Approx(0.1, 1e-9)]).to_pure()
    with pytest.raises(BadBudget, match="to_approx"):
        whole.asks()
    for bad in ([], [1.0], [Pure(1), "x"]):
        with pytest.raises(UsageError):
            compose(bad)
    with pytest.raises(UsageError):
        outputs({}, {1: 1})


def test_every_part_is_written_and_read_exactly():
    whole = compose(
        [
            *[Pure(0.1)] * 3,
            Approx(Fraction(1, 3), 1e-9),
            Laplace(10, "1/16").losses(1),
            Gaussian(2.5, 1).losses([[1, 1], [2]]),
            outputs({"a": 1, "b": 3}, {"a": 2, "c": 2}),
            ZCDP(0.01),
            RenyiCurve({2: 0.1, math.inf: 3}),
            Renyi(3, 0.2, 1e-4),
        ]
    )
    assert budget_from(budget_json(whole)) == whole and Composed.read(whole.text) == whole
    assert (
        len(whole.to_json()["parts"]) == 8
        and "of 8 parts" in repr(whole)
        and repr(compose([Pure(1)])) == str(compose([Pure(1)]))
    )
    for wrong in ("", "0 x bound 1 0", "2 x unheard 1", "2 x bound 1", "2 x laplace 1 x", "-1 x bound 1 0"):
        with pytest.raises(fugu.errors.CertificateError):
            Composed.read(wrong)


def test_ends_of_the_scale():
    assert compose([Pure(0)] * 5).to_approx(0) == Approx(0, 0) and compose([Pure(0)]).delta_at(0) == 0
    assert compose([Pure(math.inf), Pure(1)]).to_approx(1e-6).epsilon == math.inf
    assert compose([Pure(math.inf)]).delta_at(3) == 1
    assert (
        compose([Approx(0, 0.5)] * 2).delta_at(0) == 0.75 and compose([Approx(0, 0.5)] * 2).to_approx(0.75).epsilon == 0
    )
    assert compose([Approx(1, 1e-6)]).to_approx(1e-6).epsilon == 1
    assert compose([Pure(0.1)] * 100).to_approx(0).epsilon == 10
    assert (
        0 < compose([Gaussian(2, 1).losses(1)]).delta_at(math.inf) < 1e-15 and compose([ZCDP(1)]).delta_at(1e9) < 1e-15
    )
    assert compose([Pure(0.1)] * 100).to_approx(1e-30).epsilon < 9.9999999
    assert Laplace(10, 1).losses(0).delta_at(0) == 0 == Gaussian(3, 1).losses([0, 0]).delta_at(0)
    assert outputs({0: 1}, {1: 1}).delta_at(5) == 1 and outputs({0: 1}, {0: 3}).delta_at(0) == 0
    assert outputs({0: 1, 1: 1}, {0: 1, 1: 1}).to_approx(1e-9).epsilon == 0
    for noise, by in ((Laplace(1), 1), (Gaussian(0, 1), 1)):
        with pytest.raises(BadNoise, match="lattice noise"):
            noise.losses(by)
    with pytest.raises(UsageError, match="whole steps"):
        Laplace(1, 1).losses(0.5)
    with pytest.raises(NotProvable, match="cauchy"):
        fugu.GeneralizedCauchy(1, 3).losses(1)


def test_fine_lattices_and_many_kinds_cost_little():
    fine = compose([Gaussian(20, grid="1/20").losses(1)] * 1000).to_approx(1e-6).epsilon
    assert 8.3062 < fine < 8.3063
    coarse = compose([Laplace(10, grid="1/1000").losses(1)] * 100).to_approx(1e-6).epsilon
    assert 4.6926674 < coarse < 4.69268
    assert (
        compose([Gaussian(20, grid="1/1000").losses(1)] * 100).to_approx(1e-6).epsilon
        == ZCDP(0.125).to_approx(1e-6).epsilon
    )
    many = compose([Pure(Fraction(k, 997)) for k in range(20, 120)])
    assert many.to_approx(1e-6).epsilon < ZCDP(many.zcdp).to_approx(1e-6).epsilon


def test_what_is_proved_for_laws_does_not_compose_also_for_translates():
    """Wrong version, which was ours: translates compose as their shifts do. A fair sign X is published; given s
    the other number is X, given t it is -X. Each is a translate by 0 and asks for no noise; both together say all."""
    signs = [(-1, -1), (1, 1)], [(-1, 1), (1, -1)]  # what is equally likely given s, and given t
    for place in (0, 1):
        assert sorted(pair[place] for pair in signs[0]) == sorted(pair[place] for pair in signs[1])
    assert not set(signs[0]) & set(signs[1])
    nothing = Laplace(1, 1).losses(0)
    assert compose([nothing] * 2).to_pure() == Pure(0)  # what composing translates by 0 said
    bit = fugu.Discrete([0, 1])
    pairs = fugu.Shifted(1), fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([3])), fugu.LawPair(bit, fugu.Discrete([1]))
    for pair in pairs:
        with pytest.raises(NotProvable, match=r"reveal everything together.*noise\.losses"):
            compose([fugu.calibrate(pair, Pure(1))] * 2)

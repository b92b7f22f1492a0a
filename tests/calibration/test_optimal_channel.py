"""`optimal_channel`: known optima, closed forms, what is refused, and where a robust channel is taken by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fugu
from fugu import Approx, Ball, Band, Box, Discrete, LawPair, Normal, Pure, Renyi, Shifted, optimal_channel, verify
from fugu.calibration import channel
from fugu.calibration.channel import MOST_ATOMS, Asked
from fugu.calibration.plan import plan_channel
from fugu.errors import FuguError, NotProvable, UnknownName, UsageError

CENSUS = (
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
    [[636, 613, 12243, 368, 798, 766, 211, 6, 7], [890, 2554, 14473, 721, 1536, 636, 1264, 13, 1]],
)
BANK = ([0, 1, 2], [[4660, 1663, 921], [22554, 11127, 4286]])
STUDENT = ([0, 1], [[376, 204], [34, 35]])
CHAIN = (
    [2, 10, 11, 13, 22, 32, 33, 43],
    [[15, 35, 110, 27, 120, 70, 17, 10], [10, 18, 96, 11, 102, 64, 42, 62], [5, 56, 74, 51, 80, 58, 15, 64]],
)


def pairs_of(case, pairs=((0, 1),), around=None):
    atoms, counts = case
    laws = [Discrete(atoms, row) for row in counts]
    laws = laws if around is None else [Ball(law, around) for law in laws]
    return [LawPair(laws[i], laws[j], f"{i} vs {j}") for i, j in pairs]


PAIR = pairs_of(STUDENT)[0]


@pytest.mark.parametrize(
    ("case", "budget", "more", "optimum"),
    [
        (CENSUS, Pure(0.5), {}, 0.0840390621531),
        (CENSUS, Pure(0.5), {"loss": "zero-one"}, 0.0728923622138),
        (CENSUS, Pure(0.5), {"loss": "squared"}, 0.0483966572185),
        (BANK, Pure(0.1), {"loss": "squared"}, 0.107098596756),
        (CENSUS, Approx(0.5, 0.01), {}, 0.0726565111021),
        (CENSUS, Pure(0.5), {"weight": "worst"}, 0.0878684219383),
        (STUDENT, Pure(0.1), {"weight": "worst"}, 0.346102431019),
        (STUDENT, Approx(0.1, 0.02), {}, 0.282707423399),
        (BANK, Pure(0.2), {}, 0.0358720159591),
    ],
    ids=str,
)
def test_known_optima(case, budget, more, optimum):
    """The value and the proved bound both have the digits of an independent linear program."""
    made = optimal_channel(pairs_of(case), budget, **more)
    assert made.optimum.value == pytest.approx(optimum, rel=2e-11)
    assert made.optimum.lower == pytest.approx(optimum, rel=2e-11)
    assert made.optimum.lower <= made.optimum.value and made.optimum.theta < 1e-12
    assert verify(made).holds


def test_several_pairs_and_robust_ones():
    chain = optimal_channel(pairs_of(CHAIN, [(0, 1), (1, 2)]), Pure(0.5))
    assert chain.optimum.value == pytest.approx(1.70474202775, rel=2e-11)
    robust = optimal_channel(pairs_of(CENSUS, around=0.01), Pure(1))
    assert robust.optimum.value == pytest.approx(0.0478078533, rel=2e-8)
    assert robust.certificate.method == "robust-channel" and verify(robust).holds
    assert not any("little off" in line for line in robust.certificate.warnings)


def test_two_values_in_closed_form():
    """Both values tell: phi / a_h + psi / |b_h| = 1, phi / |a_l| + psi / b_l = 1 (docs/proofs/channels.md)."""
    p, q, e = np.array([0.75, 0.25]), np.array([0.25, 0.75]), math.exp(0.5)
    a, b = p - e * q, q - e * p
    phi, psi = np.linalg.solve([[1 / a[0], 1 / -b[0]], [1 / -a[1], 1 / b[1]]], [1, 1])
    w = (p + q) / 2
    value = phi * min(w[0] / a[0], w[1] / -a[1]) + psi * min(w[1] / b[1], w[0] / -b[0])
    made = optimal_channel(LawPair(Discrete([0, 1], [3, 1]), Discrete([0, 1], [1, 3])), Pure(0.5))
    assert made.optimum.value == pytest.approx(float(value), rel=1e-12)


def test_outputs_and_losses_as_stated():
    made = optimal_channel(PAIR, Pure(0.1), outputs=[0.5, 0.5, 7])
    assert made.noise.outputs == (0.5, 7.0) and made.optimum.value == pytest.approx(0.5)
    table = [[0, 3], [1, 0]]
    stated = optimal_channel(PAIR, Pure(0.1), table, outputs=[0, 1])
    assert stated.optimum.loss == "stated" and verify(stated).holds
    assert stated.optimum.value <= optimal_channel(PAIR, Pure(0.1), [[0, 3], [3, 0]], outputs=[0, 1]).optimum.value
    weighed = optimal_channel(PAIR, Pure(0.1), weight=Discrete([0], [1]))
    assert weighed.optimum.value == pytest.approx(0, abs=1e-12) and verify(weighed).holds


def test_caps_and_orders_cost_and_are_kept():
    pair = pairs_of(CENSUS)
    plain, capped, rising = (optimal_channel(pair, Pure(0.5), **more) for more in ({}, {"cap": 2}, {"monotone": True}))
    assert plain.optimum.value < min(capped.optimum.value, rising.optimum.value)
    assert capped.any_belief <= 2 * (1 + 1e-12) and plain.any_belief > 20
    ends = np.cumsum(rising.noise.conditional(), axis=1)
    assert np.all(np.diff(ends, axis=0) <= 1e-15)
    assert all(verify(made).holds for made in (plain, capped, rising))


def test_epsilon_zero_is_a_constant_unless_nothing_differs():
    made = optimal_channel(pairs_of(CENSUS), Pure(0))
    assert len(set(made.noise.rows)) == 1 and made.optimum.lower is None and verify(made).holds
    worst = optimal_channel(pairs_of(CENSUS), Pure(0), weight="worst")
    laws = [np.array(row) / sum(row) for row in CENSUS[1]]
    best = min(max(float(law @ np.abs(np.arange(9) - y)) for law in laws) for y in range(9))
    assert worst.optimum.value == pytest.approx(best)
    same = optimal_channel(LawPair(Discrete([0, 1]), Discrete([0, 1])), Pure(0))
    assert same.optimum.value == 0 and verify(same).holds


def test_values_that_no_law_has_are_published_as_others():
    pair = LawPair(Discrete([0, 1, 2, 3], [3, 0, 1, 0]), Discrete([0, 1, 2, 3], [1, 0, 3, 0]), "a vs b")
    made = optimal_channel(pair, Pure(0.5))
    assert made.noise.rows[1] == made.noise.rows[0] and made.noise.rows[3] == made.noise.rows[2]
    assert any("no stated law has" in line for line in made.certificate.assumptions)
    weighed = optimal_channel(pair, Pure(0.5), weight=Discrete([0, 1, 2, 3]))
    assert weighed.noise.conditional()[1].argmax() == 1  # asked for, so it has a row of its own


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"loss": "cubic"}, UnknownName, "loss"),
        ({"loss": [[0, 1]]}, UsageError, r"shape \(1, 2\)"),
        ({"loss": [[0, -1], [1, 0]]}, UsageError, "not negative"),
        ({"loss": [[0, math.nan], [1, 0]]}, UsageError, "NaN"),
        ({"loss": [[0, math.inf], [1, 0]]}, UsageError, "finite"),
        ({"loss": [["a", "b"], ["c", "d"]]}, UsageError, "table of numbers"),
        ({"outputs": []}, UsageError, "exclude everything"),
        ({"outputs": [math.nan]}, UsageError, "finite"),
        ({"outputs": [[0], [1]]}, UsageError, "outputs"),
        ({"outputs": ["low"]}, UsageError, "outputs"),
        ({"weight": "median"}, UnknownName, "weight"),
        ({"weight": Discrete([5])}, UsageError, "do not"),
        ({"cap": -1}, UsageError, "cap"),
        ({"cap": math.nan}, UsageError, "cap"),
    ],
)
def test_arguments_that_make_no_sense(more, error, said):
    with pytest.raises(error, match=said):
        optimal_channel(PAIR, Pure(0.1), **more)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (LawPair(Normal(0, 1), Normal(1, 1)), "bins"),
        (LawPair(Shifted(0), Shifted(1)), "Shifted"),
        (LawPair(Discrete([[0, 1], [1, 0]]), Discrete([[0, 1], [1, 0]])), "vectors"),
        (LawPair(Discrete([0, 1]).iid_sum(60, method="fft"), Discrete([0, 1])), "total variation"),
        (LawPair(Discrete(range(MOST_ATOMS["one pair"] + 1)), Discrete([0])), "bins"),
        (
            [LawPair(Discrete(range(501)), Discrete([0]), "a vs b"), LawPair(Discrete([0]), Discrete([1]), "c vs d")],
            "at most 500",
        ),
        (LawPair(Box(range(201), [0] * 201, [1] * 201), Box(range(201), [0] * 201, [1] * 201)), "at most 200"),
    ],
)
def test_laws_that_have_no_channel(pairs, said):
    with pytest.raises(NotProvable, match=said):
        optimal_channel(pairs, Pure(1))


def test_budgets_of_finite_order_are_refused_with_what_to_do():
    with pytest.raises(NotProvable, match="ask for Pure"):
        optimal_channel(PAIR, Renyi(2, 1))
    with pytest.raises(FuguError):
        optimal_channel(PAIR, 1.0)


BOXES = LawPair(
    Box([0, 1, 4], [0.4, 0.1, 0.2], [0.6, 0.3, 0.5]), Box([0, 1, 4], [0.1, 0.4, 0.1], [0.3, 0.7, 0.3]), "a vs b"
)


def test_for_sets_the_robust_channel_is_taken_where_its_error_is_least():
    found = fugu.compare(BOXES, Pure(0.5))
    row = next(row for row in found.rows if row.method == "robust-channel")
    laplace = [row for row in found.rows if row.noise == "laplace" and row.proven]
    assert row.proven and laplace and row.expected_absolute < min(r.expected_absolute for r in laplace)
    assert found.best is row
    best = fugu.calibrate(BOXES, Pure(0.5))
    assert best.noise.tabled and best.certificate.method == "robust-channel"
    assert best.expected_error() == pytest.approx(row.expected_absolute)
    noise = fugu.calibrate(BOXES, Pure(0.5), noise="laplace")
    assert noise.expected_error() > best.expected_error()
    assert fugu.calibrate(BOXES, Pure(0.5), method="exact").certificate.method == "exact"


def test_the_robust_channel_keeps_the_cap_of_laplace_noise_for_the_middle_laws():
    from fugu.calibration.channel import _cap
    from fugu.laws.shapes import shapes

    cap = _cap(shapes([BOXES]), Pure(0.5).asks())
    middle = LawPair(BOXES.p.centre(), BOXES.q.centre(), "a vs b")
    scale = float(fugu.calibrate(middle, Pure(0.5), noise="laplace", method="exact").noise.scale)
    assert cap == pytest.approx(4 / scale, rel=1e-6)
    made = fugu.calibrate(BOXES, Pure(0.5), method="robust-channel")
    assert made.any_belief <= cap * (1 + 1e-9) and float(made.optimum.cap) == pytest.approx(cap)


def test_with_too_many_values_it_is_not_offered_and_a_row_says_so(monkeypatch):
    monkeypatch.setattr(channel, "MOST", 2)
    row = next(row for row in fugu.compare(BOXES, Pure(0.5)).rows if row.method == "robust-channel")
    assert not row.proven and "at most 2" in row.why and "bins" in row.why
    assert not fugu.calibrate(BOXES, Pure(0.5)).noise.tabled
    assert fugu.calibrate(BOXES, Pure(0.5), method="robust-channel").noise.tabled


def test_a_channel_for_single_laws_is_taken_only_by_name():
    pair = pairs_of(CENSUS)
    assert not fugu.calibrate(pair, Pure(0.5)).noise.tabled
    named = fugu.calibrate(pair, Pure(0.5), method="optimal-channel")
    assert named.optimum.value == pytest.approx(0.0840390621531)
    assert any("beliefs a little off may lose everything" in line for line in named.certificate.warnings)
    with pytest.raises(NotProvable, match="sets of laws"):
        fugu.calibrate(pair, Pure(0.5), method="robust-channel")
    with pytest.raises(UsageError, match="no grid"):
        fugu.calibrate(pair, Pure(0.5), method="optimal-channel", grid=1)


def test_beliefs_a_little_off_really_lose_everything_and_the_robust_channel_does_not():
    point, robust = optimal_channel(pairs_of(CENSUS), Pure(1)), optimal_channel(pairs_of(CENSUS, around=0.01), Pure(1))
    atoms, (p, q) = CENSUS
    worst = dict.fromkeys((point, robust), 0.0)
    for k in range(9):
        moved = [x + (sum(p) // 100 if j == k else 0) for j, x in enumerate(p)]
        other = LawPair(Discrete(atoms, moved), Discrete(atoms, q), "0 vs 1")
        for made in worst:
            worst[made] = max(worst[made], float(verify(made, other).epsilon))
    assert worst[point] > 1.5 and worst[robust] <= 1 + 1e-12


def test_the_least_epsilon_for_an_error():
    epsilon = plan_channel(pairs_of(CENSUS), 0.05, Asked()).epsilon
    errors = [optimal_channel(pairs_of(CENSUS), Pure(float(epsilon) * t)).optimum.value for t in (1, 0.999)]
    assert errors[0] <= 0.05 < errors[1]
    assert plan_channel(pairs_of(CENSUS), 99, Asked()) == Pure(0.0)
    slack = plan_channel(pairs_of(CENSUS), 0.05, Asked(), delta=0.01)
    assert isinstance(slack, Approx) and slack.epsilon < epsilon
    far = LawPair(Discrete([0]), Discrete([1]), "a vs b")
    with pytest.raises(NotProvable, match="no epsilon"):
        plan_channel(far, 1e-40, Asked())
    with pytest.raises(UsageError):
        plan_channel(far, math.nan, Asked())


def test_bands_too():
    band = LawPair(
        Band([0, 1, 4], [0.3, 0.6, 1], [0.5, 0.8, 1]), Band([0, 1, 4], [0.1, 0.6, 1], [0.3, 0.8, 1]), "a vs b"
    )
    made = optimal_channel(band, Pure(1), cap=3)
    assert verify(made).holds and made.optimum.value - made.optimum.lower < 1e-6


def test_what_the_door_refuses_is_never_sealed(monkeypatch):
    """A solver that hands back the values themselves: repaired by nobody, refused by the proof."""

    monkeypatch.setattr(channel, "repaired", lambda problem, _: (np.eye(problem.n, dtype=int).tolist(), 0))
    with pytest.raises(NotProvable, match="could not be proved"):
        optimal_channel(PAIR, Pure(0.1))

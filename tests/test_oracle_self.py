"""The oracle against reference numbers, against itself, and against closed forms that need no oracle."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

import oracle
from oracle import mp

X = [Fraction(x) for x in (0, 1, 2, 5, 9)]
P = [Fraction(w, 100) for w in (30, 25, 20, 15, 10)]
Q = [Fraction(w, 100) for w in (20, 20, 25, 20, 15)]
EPS = Fraction(1, 5)
ROWS = [  # scale; epsilon; delta PQ, QP continuous; delta PQ, QP on the lattice of grid 1
    ("1/2", ".40540879068367", ".04768056673707", ".04395471783549", ".04805597567025", ".04419138930553"),
    ("1", ".40162114557789", ".02901438996241", ".03773165818621", ".03137727112249", ".03797444861094"),
    ("2", ".34994517733061", ".00623297831760", ".02176480049804", ".00732554535740", ".02179306251200"),
    ("5", ".16858813476354", "0", "0", "0", "0"),
]


def close(a: object, b: object, tolerance: str = "5.1e-15") -> bool:
    return bool(abs(mp.mpf(a) - mp.mpf(b)) <= mp.mpf(tolerance))


@pytest.mark.parametrize("row", ROWS, ids=[r[0] for r in ROWS])
def test_reference_numbers(row: tuple[str, ...]) -> None:
    scale, epsilon, pq, qp, lattice_pq, lattice_qp = row
    b = Fraction(scale)
    assert close(oracle.epsilon_grid(X, P, Q, b), epsilon)
    assert close(oracle.epsilon_grid(X, P, Q, b, Fraction(1)), epsilon)
    for got, wanted in zip(oracle.delta_orders(X, P, Q, b, EPS), (pq, qp), strict=True):
        assert close(got, wanted)
    lattice = oracle.delta_orders(X, P, Q, b, EPS, Fraction(1))
    for got, wanted in zip(lattice, (lattice_pq, lattice_qp), strict=True):
        assert close(got, wanted)


@pytest.mark.parametrize("scale", ["1/8", "1", "7/3", "40"])
def test_point_masses_are_the_plain_laplace_mechanism(scale: str) -> None:
    """epsilon = d / b, and delta = 1 - e^{(eps - d/b)/2} for continuous noise."""
    b, d = Fraction(scale), Fraction(3)
    law = ([Fraction(0), d], [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)])
    assert close(oracle.epsilon_grid(*law, b), oracle.real(d / b), "1e-45")
    wanted = max(mp.zero, 1 - mp.exp(oracle.real(EPS - d / b) / 2))
    assert close(oracle.delta_quad(*law, b, EPS), wanted, "1e-40")


@pytest.mark.parametrize(("scale", "epsilon"), [("1/2", EPS), ("2", EPS), ("9", EPS), ("1/20", 9), ("1/400", 700)])
def test_lattice_sum_is_the_sum_by_intervals(scale: str, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    b, g, far = Fraction(scale), Fraction(1, 4), [P[0] + P[1] + P[2], Fraction(0), Fraction(0), *P[3:]]
    plain = oracle.delta_orders(X, far, Q, b, epsilon, g)
    assert b > 5 or max(plain) > 0
    monkeypatch.setattr(oracle, "FEW", 0)
    for a, c in zip(plain, oracle.delta_orders(X, far, Q, b, epsilon, g), strict=True):
        assert close(a, c, "1e-45")


@pytest.mark.parametrize("scale", ["1/2", "1", "2"])
def test_no_event_beats_the_positive_part(scale: str) -> None:
    """A linear programme over all randomised tests of lattice outcomes finds the same delta."""
    outcomes = oracle.lattice_outcomes(X, P, Q, Fraction(scale), Fraction(1))
    assert close(sum(a for a, _ in outcomes), 1, "1e-45")
    assert close(sum(b for _, b in outcomes), 1, "1e-45")
    wanted = oracle.delta_quad(X, P, Q, Fraction(scale), EPS, Fraction(1))
    assert oracle.delta_lp(outcomes, float(EPS)) == pytest.approx(float(wanted), abs=1e-12)


def test_quadrature_agrees_with_the_intervals() -> None:
    """mpmath's own quadrature of the positive part, cut at the atoms and finely between them."""

    def positive(y: object) -> object:
        a = sum(oracle.real(w) * mp.exp(-abs(y - int(x))) / 2 for w, x in zip(P, X, strict=True))
        b = sum(oracle.real(w) * mp.exp(-abs(y - int(x))) / 2 for w, x in zip(Q, X, strict=True))
        return max(mp.zero, a - mp.exp(oracle.real(EPS)) * b)

    cuts = [mp.mpf(k) / 10 for k in range(91)]
    left, right = positive(mp.mpf(0)), positive(mp.mpf(9))  # tails: the noise falls by e a unit
    inner = sum(mp.quad(positive, [a, b], maxdegree=4) for a, b in pairwise(cuts))
    assert close(left + inner + right, oracle.delta_orders(X, P, Q, Fraction(1), EPS)[0], "1e-6")


def test_no_noise() -> None:
    assert close(oracle.epsilon_grid(X, P, Q, Fraction(0)), mp.log(mp.mpf(3) / 2), "1e-45")
    assert (
        oracle.epsilon_grid([Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)], [Fraction(1, 2)] * 2, Fraction(0))
        == mp.inf
    )


@pytest.mark.parametrize("row", ROWS, ids=[r[0] for r in ROWS])
def test_fast_oracle_agrees(row: tuple[str, ...]) -> None:
    b = Fraction(row[0])
    for grid, first in ((None, 2), (Fraction(1), 4)):
        assert oracle.epsilon_float(X, P, Q, b, grid) == pytest.approx(float(row[1]), abs=2e-14)
        wanted = max(float(row[first]), float(row[first + 1]))
        assert oracle.delta_float(X, P, Q, b, EPS, grid) == pytest.approx(wanted, abs=2e-14)

"""Mistakes that were found once, and must not come back; each names what was wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu import (
    Approx,
    Certificate,
    Discrete,
    Gaussian,
    Laplace,
    LawPair,
    Normal,
    Pure,
    Shifted,
    calibrate,
    compare,
    delta,
    epsilon,
    mix,
    renyi,
    verify,
)
from fugu.errors import BadLaw, BadNoise, CertificateError, FuguError, NotProvable
from fugu.laws.masses import Masses
from fugu.noise import Lattice
from fugu.numbers.exact import as_fraction


def pair(x, a, b):
    return LawPair(Discrete(x, a), Discrete(x, b))


@pytest.mark.parametrize(("by", "grid"), [(5, "auto"), (0.3, "auto"), (0.7, "auto"), (10, "auto"), (1, Fraction(1, 4))])
def test_rounding_commutes_with_a_shift_even_at_the_edges_of_cells(by, grid):
    """Rounding in doubles moved x and x + 5 seventeen steps apart instead of sixteen."""
    mechanism = calibrate(Shifted(by), Pure(1), grid=grid)
    step = as_fraction(by) / mechanism.noise.grid
    edges = np.array([float((k + Fraction(1, 2)) * mechanism.noise.grid) for k in range(-400, 400)])
    for x in (edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), np.array([-1.7187500000000004])):
        moved = x + by
        read = [(as_fraction(v), as_fraction(m)) for v, m in zip(x.tolist(), moved.tolist(), strict=True)]
        exact = [m - v == as_fraction(by) for v, m in read]
        gap = mechanism.lattice.index(moved) - mechanism.lattice.index(x)
        assert np.all(gap[np.array(exact)] == int(step))


def test_a_lattice_index_is_the_exact_floor():
    lattice = Lattice(Fraction(1, 10), Fraction(1, 30))
    values = np.array([0.05, 0.15, 1e9 + 0.05, -0.05, 0.0833333333333333, 123456.78])
    expected = [math.floor((Fraction(str(v)) - lattice.origin) / lattice.grid + Fraction(1, 2)) for v in values]
    assert lattice.index(values).tolist() == expected


def test_verify_moves_given_laws_to_the_support_as_a_release_does():
    """Beliefs on {0, 1, 10}; laws on {5, 6} are moved to 1 and 10 and lose more than they would where they are."""
    mechanism = calibrate(pair([0, 1, 10], [2, 1, 1], [1, 2, 1]), Pure(0.5))
    other = pair([5, 6], [5, 5], [3, 7])
    moved = pair([1, 10], [5, 5], [3, 7])
    assert verify(mechanism, other).epsilon == pytest.approx(epsilon(mechanism.noise, moved), abs=1e-9)
    assert not verify(mechanism, other).holds
    assert not verify(mechanism, LawPair(Normal(0, 1), Normal(1, 1))).holds


@pytest.mark.parametrize(
    ("noise", "laws", "eps", "truth"),
    [
        (Laplace(1e-310), pair([0.0, 1.0], [1, 2], [2, 1]), 0.125, 0.28895),
        (Laplace(1e308), pair([-1.7e308, 1.7e308], [1, 0], [0, 1]), 0.5, 0.7654),
        (
            Laplace(49, grid=Fraction(1, 4)),
            pair([0.0, 3.0, -(2.0**1023), 2.0**1023], [1, 2, 3, 3], [2, 1, 3, 3]),
            0.01,
            None,
        ),
    ],
)
def test_distances_beyond_the_doubles_do_not_make_delta_zero(noise, laws, eps, truth):
    found = delta(noise, laws, eps)
    assert 0 < found <= 1
    if truth is not None:
        assert found >= truth - 1e-4


def test_many_long_decimal_weights_neither_wrap_nor_are_refused():
    rng = np.random.default_rng(0)
    parts = rng.multinomial(10**9, np.ones(20_000) / 20_000).astype(np.int64) * 10**9
    weights = np.array([float(f"0.{p:018d}") for p in parts.tolist()])
    law = Discrete(np.arange(20_000), weights / weights.sum())
    assert law.weights.sum() == pytest.approx(1, abs=1e-9)
    with pytest.raises(BadLaw, match="sum to 1"):
        Discrete(np.arange(20_000), np.full(20_000, 0.000972337203685477))  # sums to 19.4, and once passed for 1


def test_point_masses_are_proven_by_every_method():
    rows = compare(LawPair(Discrete([0]), Discrete([3])), Pure(1)).rows
    assert all(row.proven and row.scale == 3 for row in rows)


def test_a_mixture_of_smooth_mechanisms_survives_its_file(tmp_path):
    laws = LawPair(Normal(0, 1), Normal(1, 1))
    mixed = mix(0.5, calibrate(laws, Pure(1)), calibrate(laws, Pure(0.5)))
    mixed.certificate.save(tmp_path / "m.json")
    assert verify(Certificate.load(tmp_path / "m.json")).holds


def test_translates_of_a_normal_law_need_the_plain_laplace_scale():
    """The search took minutes when the noise was small against the spread."""
    mechanism = calibrate(LawPair(Normal(0, 1), Normal(0.01, 1)), Pure(1))
    assert mechanism.noise.scale == 0.01
    assert verify(mechanism).holds
    # no translates: a sixteenth of so small a scale has too many cells, so the lattice stays at a part of the spread
    wide = calibrate(LawPair(Normal(0, 1), Normal(0.01, 1.0001)), Pure(1))
    assert wide.noise.scale == pytest.approx((0.01 + math.sqrt(0.0001 + 2 * (1.0001**2 - 1))) / 2, rel=1e-3)
    assert wide.noise.grid <= Fraction(1, 16) and verify(wide).holds


def test_gaussian_noise_loses_no_more_than_the_laws_themselves():
    laws = pair([0, 1], [52, 48], [50, 50])
    assert epsilon(Gaussian(3, grid=1), laws) == pytest.approx(math.log(0.5 / 0.48), abs=1e-9)
    assert epsilon(Gaussian(3, grid=1), pair([0, 1], [1, 0], [0, 1])) == math.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda: calibrate(pair([0, 1], [1, 2], [2, 1]), Approx(0, 1e-300)),
        lambda: calibrate(pair([0, 1], [1, 2], [2, 1]), Pure(Fraction(1, 10**400))),
        lambda: calibrate(pair([0, 1], [1, 2], [2, 1]), Pure(0.1), grid=Fraction(1, 10**400)),
        lambda: calibrate(pair([0.0, 3.0, 1e300], [1, 2, 3], [2, 1, 3]), Pure(1e-9)),
        lambda: Laplace(Fraction(10**400)),
        lambda: Gaussian(Fraction(10**400)),
        lambda: calibrate(Shifted(Fraction(1, 3)), Pure(1)),
    ],
)
def test_numbers_beyond_all_measure_are_refused_by_name(call):
    with pytest.raises(FuguError):
        call()


def test_a_column_with_brackets_in_its_name_does_not_break_the_printing(tmp_path):
    rows = [f"{'ab'[i % 2]},{i % 3}" for i in range(30)]
    (tmp_path / "t.csv").write_text("s,[/x]\n" + "\n".join(rows))
    for command in ("compare", "calibrate"):
        args = [command, str(tmp_path / "t.csv"), "--publish", "[/x]", "--protect", "s", "--epsilon", "0.1"]
        done = CliRunner().invoke(cli.app, args)
        assert done.exit_code == 0, done.exception


def test_hand_made_laws_state_that_rows_are_independent():
    mechanism = calibrate(pair([0, 1], [1, 2], [2, 1]), Pure(0.1))
    assert any("independent" in a for a in mechanism.certificate.assumptions)


def test_a_proved_epsilon_is_never_rounded_below_a_fraction():
    third = Fraction(1, 3)
    proved = calibrate(LawPair(Discrete([0]), Discrete([1])), Pure(third)).certificate.proved["epsilon"]
    assert third <= Fraction(proved) <= third + Fraction(1, 10**15)


@pytest.mark.parametrize("kind", ["count", "", {}, [], None, 1])
def test_a_law_of_another_form_is_not_read_as_counts(kind):
    written = {"kind": "counts", "parts": [1, 2], "total": "3"}
    assert Masses.from_json(written, 2)[0].parts.tolist() == [1, 2]
    with pytest.raises(CertificateError, match="neither counts nor binary"):
        Masses.from_json({**written, "kind": kind}, 2)


@pytest.mark.parametrize("noise", [Gaussian(1, grid=1), Laplace(1, grid=1)], ids=repr)
def test_values_beyond_whole_steps_are_refused_in_words(noise):
    far = LawPair(Discrete([0]), Discrete([1e19]))
    with pytest.raises(BadNoise, match="too fine for values this far apart"):
        renyi(noise, far, 2)
    assert 4 <= epsilon(Laplace(1, grid=1), LawPair(Discrete([0]), Discrete([4]))) < 4.000001


@pytest.mark.parametrize(
    ("loss", "why"),
    [
        (
            lambda: renyi(Laplace(1e299), LawPair(Discrete([0, 1e300], [1, 3]), Discrete([0, 1e300])), 1e9),
            "many points",
        ),
        (
            lambda: renyi(Gaussian(1e-300, grid=1), LawPair(Discrete([0, 1]), Discrete([0, 1], [1, 3])), 2),
            "beyond the range",
        ),
        (
            lambda: delta(Gaussian(1e-300, grid=1), LawPair(Discrete([0, 1]), Discrete([0, 1], [1, 3])), 1),
            "beyond the range",
        ),
    ],
    ids=["order", "divergence", "delta"],
)
def test_losses_beyond_the_range_of_doubles_are_refused_in_words(loss, why):
    with pytest.raises(NotProvable, match=why):
        loss()

"""Mechanisms for published vectors: what they release, refuse, state and certify."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fugu
from fugu.documents.certificate import Certificate
from fugu.errors import (
    CertificateError,
    FuguError,
    NoiselessRelease,
    NotProvable,
)
from fugu.laws.components import nearest
from fugu.laws.masses import Masses

P = fugu.Discrete([[0, 0], [2, 4]], [3, 1])
Q = fugu.Discrete([[2, 0], [0, 4]], [1, 1])
PAIR = fugu.LawPair(P, Q, "p vs q")


@pytest.fixture(scope="module")
def found() -> fugu.Mechanism:
    return fugu.calibrate(PAIR, fugu.Pure(1))


def test_other_vectors_go_to_the_nearest_supported_one() -> None:
    support = np.array([[0.0, 0.0], [0.0, 4.0], [2.0, 0.0]])
    rows = np.array([[0.9, 0.1], [1.0, 0.0], [-5.0, 3.0], [1e200, -1e300]])
    assert nearest(support, rows).tolist() == [[0, 0], [0, 0], [0, 4], [0, 0]]


@pytest.mark.parametrize("size", [1.0, 1e-170, 1e-250, 1e150])
def test_supported_vectors_stay_where_they_are_at_every_size(size: float) -> None:
    """Squares of 1e-170 are zero in doubles: without scaling all of these would meet in the first row."""
    support = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 3.0]]) * size
    assert np.array_equal(nearest(support, support), support)
    plain = np.argmin(((support[:, None] - support[None]) ** 2).sum(axis=2), axis=1) if size == 1e-170 else None
    assert plain is None or plain.tolist() == [0, 0, 0, 0]


def test_verify_moves_other_laws_as_a_release_does(found: fugu.Mechanism) -> None:
    near = fugu.LawPair(fugu.Discrete([[0.3, -0.4], [2.2, 9]], [3, 1]), fugu.Discrete([[2, -7], [-1, 4.4]]))
    verdict, same = fugu.verify(found, near), fugu.verify(found)
    assert verdict.holds
    assert verdict.epsilon == same.epsilon
    crossed = fugu.LawPair(fugu.Discrete([[0, 0]]), fugu.Discrete([[2, 4]]))
    assert not fugu.verify(found, crossed).holds


def test_atoms_off_the_origin_are_not_rounded_away_from_themselves() -> None:
    pair = fugu.LawPair(fugu.Discrete([[0.5, 1.5]]), fugu.Discrete([[2.5, 0.5]]))
    mechanism = fugu.calibrate(pair, fugu.Pure(1))
    assert mechanism.noise.scale == 3
    assert mechanism.interval(0.0) == (0.0, 0.0)
    assert np.all(np.mod(mechanism.simulate([[0.5, 1.5]] * 50, np.random.default_rng(1)).values, 1) == 0.5)


@pytest.mark.parametrize("budget", [fugu.Pure(1), fugu.Approx(1, 0.1), fugu.Renyi(2, 1), fugu.Renyi(2, 1, 0.1)])
@pytest.mark.parametrize("point", [[1, 1], [math.pi, math.e]])
def test_equal_laws_need_no_noise_and_say_so(budget: fugu.Guarantee, point: list[float]) -> None:
    laws = [fugu.Discrete([[0, 0], point]) for _ in range(2)]
    mechanism = fugu.calibrate(fugu.LawPair(*laws), budget)
    assert mechanism.noise.scale == 0
    with pytest.raises(NoiselessRelease):
        mechanism.release([0, 0])
    assert mechanism.release([0, 0], allow_no_noise=True).value.tolist() == [0, 0]


@pytest.mark.parametrize("budget", [fugu.Pure(1), fugu.Approx(0.3, 0.004), fugu.Renyi(2, 0.1)])
def test_laws_that_meet_the_budget_alone_need_no_noise(budget: fugu.Guarantee) -> None:
    laws = [fugu.Discrete([[0, 0], [1000, 500]], weights) for weights in ([100, 100], [115, 85])]
    pair = fugu.LawPair(*laws)
    assert fugu.calibrate(pair, budget).noise.scale == 0
    narrow = (
        fugu.Renyi(2, 0.01)
        if isinstance(budget, fugu.Renyi)
        else type(budget)(0.1, *([0.004] * (budget != fugu.Pure(1))))
    )
    assert fugu.calibrate(pair, narrow).noise.scale > 0


def test_a_shift_by_nothing_moves_no_vector() -> None:
    mechanism = fugu.calibrate(fugu.Shifted((0, 0)), fugu.Pure(1))
    assert mechanism.support is None
    assert mechanism.release([3, -7], allow_no_noise=True).value.tolist() == [3, -7]
    assert not fugu.verify(mechanism, fugu.Shifted((1, 0))).holds


def _resealed(body: dict[str, Any]) -> Certificate:
    """What a forger does: change the body, keep the laws as JSON, compute fingerprint and digest anew."""
    from fugu.documents.document import digest_of

    kept = {k: v for k, v in body.items() if k != "digest"}
    kept["fingerprint"] = digest_of(kept["families"])
    return Certificate({**kept, "digest": digest_of(kept)})


def _dimension(body: dict[str, Any]) -> None:
    body["dimension"] = 3


def _support(body: dict[str, Any]) -> None:
    body["support"] = [[0.0, 0.0], [2.0, 4.0]]


def _flat_support(body: dict[str, Any]) -> None:
    body["support"] = [0.0, 2.0]


def _law(body: dict[str, Any]) -> None:
    body["families"][0]["laws"][0]["parts"][0] += 1


def _order(body: dict[str, Any]) -> None:
    body["families"][0]["points"].reverse()


def _grid(body: dict[str, Any]) -> None:
    body["noise"]["grid"] = "1"


def _no_lattice(body: dict[str, Any]) -> None:
    body["lattice"], body["support"], body["noise"]["scale"] = None, None, "0"


@pytest.mark.parametrize("edit", [_dimension, _support, _flat_support, _law, _order, _grid, _no_lattice])
def test_edited_certificates_are_refused_even_when_sealed_anew(edit: Any, found: fugu.Mechanism) -> None:
    body = copy.deepcopy(found.certificate.body)
    edit(body)
    with pytest.raises(CertificateError):
        fugu.verify(Certificate(body))
    with pytest.raises(CertificateError):
        fugu.verify(_resealed(body))
    assert fugu.verify(_resealed(copy.deepcopy(found.certificate.body))).holds


def test_a_smaller_scale_sealed_anew_does_not_hold(found: fugu.Mechanism) -> None:
    body = copy.deepcopy(found.certificate.body)
    body["noise"]["scale"] = str(Fraction(body["noise"]["scale"]) * Fraction(98, 100))
    verdict = fugu.verify(_resealed(body))
    assert not verdict.holds
    assert verdict.epsilon > 1


def test_a_law_known_up_to_an_error_is_refused(found: fugu.Mechanism) -> None:
    blurred = fugu.Discrete._with_error(P.values.copy(), Masses(np.array([3, 1]), Fraction(4)), 1e-6)
    pair = fugu.LawPair(blurred, Q)
    for budget in (fugu.Pure(1), fugu.Approx(1, 0.1), fugu.Renyi(2, 1), fugu.Renyi(2, 1, 0.1)):
        with pytest.raises(NotProvable):
            fugu.calibrate(pair, budget)
    with pytest.raises(NotProvable):
        fugu.verify(found, pair)
    body = copy.deepcopy(found.certificate.body)
    body["families"][0]["laws"][0]["error"] = "1/1000"
    with pytest.raises(NotProvable):
        fugu.verify(_resealed(body))


@pytest.mark.parametrize(
    "pairs",
    [
        [PAIR, fugu.LawPair(fugu.Discrete([[0, 0, 1]]), fugu.Discrete([[1, 0, 0]]))],
        [PAIR, fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))],
        [PAIR, fugu.LawPair(fugu.Shifted((0, 0, 0)), fugu.Shifted((1, 0, 0)))],
    ],
)
def test_laws_of_several_dimensions_are_refused_with_a_typed_error(pairs: Any, found: fugu.Mechanism) -> None:
    for call in (lambda: fugu.calibrate(pairs, fugu.Pure(1)), lambda: fugu.verify(found, pairs)):
        with pytest.raises(FuguError, match="dimension"):
            call()


def test_laws_of_another_dimension_do_not_hold(found: fugu.Mechanism) -> None:
    other = fugu.LawPair(fugu.Discrete([[0, 0, 1]]), fugu.Discrete([[1, 0, 0]]))
    assert not fugu.verify(found, other).holds
    assert not fugu.verify(found, fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))).holds


def test_gaussian_attributes_and_groups_of_two_published_numbers() -> None:
    from fugu.scenario.attributes import gaussian_attributes

    cov = [[2, -1, 0.5], [-1, 3, 0.2], [0.5, 0.2, 1]]
    scenario = gaussian_attributes(cov, release=[[0, 1, 0], [0, 0, 1]], protect=0, box=(0, 5))
    for budget, least in ((fugu.Pure(1), 3.75), (fugu.Renyi(2, 1), 0.0)):
        mechanism = fugu.calibrate(scenario, budget)
        assert fugu.verify(mechanism, scenario).holds
        assert mechanism.noise.scale >= least  # l1 of (2.5, 1.25), theory F.1
    wide = fugu.Scenario.group((1, 2))
    mechanism = fugu.calibrate(wide, fugu.Pure(0.5))
    assert math.isclose(mechanism.noise.scale, 6, rel_tol=1e-9)
    assert fugu.verify(mechanism, wide).holds
    assert not fugu.verify(mechanism, fugu.Scenario.group((2, 2))).holds


def test_compare_lists_the_methods_and_the_chosen_one_is_the_best() -> None:
    for budget in (fugu.Pure(1), fugu.Approx(1, 0.1), fugu.Renyi(2, 1), fugu.Renyi(2, 1, 0.2)):
        rows = [row for row in fugu.compare(PAIR, budget).rows if row.proven]
        best = min(row.expected_absolute for row in rows)
        assert math.isclose(fugu.calibrate(PAIR, budget).expected_error(), best, rel_tol=1e-6)

"""Sets of laws from calibration to the page: every door takes them or says why not, and trusts no edited limit."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import fugu
from fugu import Approx, Ball, Band, Box, Discrete, Gaussian, Hull, Intersection, Laplace, LawPair, Normal, Pure, Renyi
from fugu.documents.certificate import Certificate
from fugu.documents.document import digest_of
from fugu.errors import BadLaw, CertificateError, NotProvable
from fugu.laws.shapes import shapes
from fugu.report import page
from fugu_verify import prove_again

VALUES = [0, 1, 2, 3, 4]
P = Box(VALUES, [0.5, 0.1, 0, 0, 0], [0.8, 0.3, 0.1, 0.05, 0.05])
Q = Box(VALUES, [0.4, 0.2, 0, 0, 0], [0.7, 0.4, 0.1, 0.05, 0.05])
PAIR = LawPair(P, Q, "smokes vs not")
BAND = Band(VALUES, [0.3, 0.5, 0.7, 0.8, 1], [0.8, 0.9, 1, 1, 1])


def calibrate(pairs, budget, noise="laplace", **more):
    """Noise that is added: for sets there are channels too, which have tests of their own."""
    return fugu.calibrate(pairs, budget, noise=noise, **more)


BUDGETS = [Pure(1), Approx(1, 0.01), Renyi(2, 0.3), Pure(30)]
KINDS = {
    "box": PAIR,
    "band": LawPair(BAND, P, "a vs b"),
    "ball": LawPair(Ball(Discrete(VALUES), 0.1), Ball(Discrete(VALUES, [1, 2, 3, 2, 1]), 0.1, "kl"), "a vs b"),
    "hull": LawPair(Hull([Discrete(VALUES), Discrete(VALUES, [1, 2, 3, 2, 1])]), Discrete([0, 4]), "a vs b"),
    "both": LawPair(Intersection([BAND, P]), Intersection([BAND, Q]), "a vs b"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_set_is_calibrated_proved_again_and_read_back(kind, tmp_path):
    mechanism = calibrate(KINDS[kind], Pure(1))
    file = tmp_path / "certificate.json"
    mechanism.certificate.save(file)
    read = Certificate.load(file)
    assert read.laws[0].sets == mechanism.certificate.laws[0].sets
    verdict = fugu.verify(file)
    assert verdict.holds and 0.999 < verdict.epsilon <= 1 and verdict.worst_pair == KINDS[kind].label
    less = Laplace(float(mechanism.noise.scale) * 0.999, grid=mechanism.noise.grid)
    assert fugu.epsilon(less, KINDS[kind]) > 1  # no less noise would do


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_every_budget_has_a_certificate_and_a_page(budget):
    mechanism = calibrate(PAIR, budget)
    certificate = mechanism.certificate
    assert fugu.verify(mechanism).holds and any("sets of laws" in each for each in certificate.assumptions)
    assert fugu.guarantee_against(mechanism, PAIR) <= budget
    shown = page(certificate)
    assert "smokes" in shown and "worst at one output" in shown
    again = prove_again(certificate.body)
    if isinstance(budget, Pure):
        assert again.outcome == "holds"
    else:
        assert again.outcome == "not checked" and ("with a delta" in again.why or "without delta" in again.why)


def test_an_attack_on_the_worst_members_comes_near_what_is_proved():
    found = fugu.audit(calibrate(PAIR, Pure(1)), draws=200_000, rng=np.random.default_rng(7))
    assert 0.6 < found.epsilon_lower <= 1  # the confidence is one in a million, the draws are few
    silent = fugu.audit(calibrate(PAIR, Pure(30)), draws=20_000, rng=np.random.default_rng(7))
    assert silent.epsilon_lower <= 30


def test_members_are_covered_and_strangers_are_judged_by_themselves():
    mechanism = calibrate(PAIR, Pure(1))
    inside = LawPair(Discrete(VALUES, [12, 4, 2, 1, 1]), Discrete(VALUES, [10, 6, 2, 1, 1]), "smokes vs not")
    assert fugu.verify(mechanism, inside).holds
    assert not fugu.verify(mechanism, LawPair(Box.everything(VALUES), Q)).holds
    assert fugu.guarantee_against(mechanism, LawPair(BAND, Q)).epsilon > 1
    plain = calibrate(LawPair(Discrete(VALUES, [12, 4, 2, 1, 1]), Discrete([0, 4], [1, 1]), "a vs b"), Pure(1))
    assert fugu.verify(plain, PAIR).epsilon > 0  # and the other way round


def test_beliefs_near_the_sets():
    mechanism = calibrate(PAIR, Pure(1))
    rate = 1 / float(mechanism.noise.scale)
    assert fugu.guarantee_within(mechanism, 0.2).epsilon == pytest.approx(1, rel=1e-8)  # rounded away
    assert fugu.guarantee_within(mechanism, 1).epsilon == pytest.approx(min(1 + 2 * rate, 4 * rate), rel=1e-8)
    assert fugu.guarantee_within(mechanism, 0.25, kind="renyi").epsilon == pytest.approx(1.5, rel=1e-8)
    for budget in (Approx(1, 0.01), Renyi(2, 0.3)):
        other = calibrate(PAIR, budget)
        assert fugu.guarantee_within(other, 1) >= fugu.guarantee_within(other, 0)
    assert fugu.guarantee_within(calibrate(PAIR, Approx(1, 0.01)), 0.1, kind="renyi").epsilon > 1


def test_plan_compare_and_mix():
    epsilon = fugu.plan(PAIR, 0.5)
    assert fugu.calibrate(PAIR, epsilon).expected_error() <= 0.5
    table = fugu.compare(PAIR, Pure(1))
    assert [row.method for row in table.rows][:2] == ["l1", "exact"] and table.rows[0].scale == 4
    both = fugu.mix(0.5, calibrate(PAIR, Pure(1)), calibrate(PAIR, Pure(1)))
    assert fugu.verify(both).holds and fugu.audit(both, draws=20_000, rng=np.random.default_rng(7)).epsilon_lower <= 1
    other = calibrate(LawPair(Q, Box.everything(VALUES), "smokes vs not"), Pure(1))
    with pytest.raises(fugu.errors.FuguError):
        fugu.mix(0.5, calibrate(PAIR, Pure(1)), other)


def forged(body, change):
    """The body with other sets, its fingerprint and digest made to fit."""
    new = copy.deepcopy(json.loads(json.dumps(body)))
    change(new["families"][0])
    kept = {k: v for k, v in new.items() if k not in ("families", "fingerprint", "digest", "schema", "fugu")}
    return Certificate.sealed({**kept, "families": new["families"], "fingerprint": digest_of(new["families"])})


def widened(family):
    family["sets"][0]["upper"][4] = (0.5).hex()


def crossing(family):
    family["sets"][0]["lower"][4] = (0.9).hex()


def displaced(family):
    family["sets"][0]["values"][4] = (5.0).hex()


def alone(family):
    family["pairs"][0] = [0, 0]


def test_edited_limits_are_refused_or_proved_again():
    body = calibrate(PAIR, Pure(1)).certificate.body
    edited = copy.deepcopy(json.loads(json.dumps(body)))
    widened(edited["families"][0])
    with pytest.raises(CertificateError):
        Certificate.parse(edited)
    assert not fugu.verify(forged(body, widened)).holds  # sealed anew: a larger set loses more
    assert fugu.verify(forged(body, lambda family: None)).holds
    for change in (crossing, displaced, alone):
        with pytest.raises(CertificateError):
            fugu.verify(forged(body, change))


def test_declared_values_are_rounded_onto_a_grid_exactly():
    """A grid joins values; limits add up, so a law of the joined values is the image of some law."""
    coarse = calibrate(PAIR, Pure(1), grid=2)
    family = coarse.certificate.laws[0]
    assert family.points.tolist() == [0, 1, 2] and fugu.verify(coarse).holds
    joined = [0.8, 0.3 + 0.1, 0.05 + 0.05]  # 1 goes to 2, 3 to 4: halves are rounded up
    assert family.sets[0].upper == pytest.approx(joined, rel=1e-15) and np.all(family.sets[0].upper >= joined)
    thirds = [0, 1 / 3, 2 / 3, 1.0]
    found = calibrate(LawPair(Box.everything(thirds), Box.everything(thirds)), Pure(1))
    assert 1 <= float(found.noise.scale) <= 1.005 and fugu.verify(found).holds


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        (LawPair(P, Box.everything([0, 1])), "declare the same values"),
        (LawPair(P, Normal(0, 1)), "must be Discrete"),
        ([PAIR, fugu.Shifted(1)], "must be Discrete"),
        (LawPair(P, Discrete([0, 9])), "do not declare"),
        (LawPair(P, Discrete([0, 1]).iid_sum(3, method="fft")), "known up to an error"),
        ([PAIR, LawPair(Q, Normal(1, 1))], "must be Discrete"),
    ],
)
def test_what_cannot_stand_beside_a_set_is_refused(pairs, why):
    with pytest.raises(BadLaw, match=why):
        calibrate(pairs, Pure(1))


def test_a_set_does_not_pair_with_a_shift_or_a_vector():
    with pytest.raises(BadLaw, match="Shifted"):
        LawPair(P, fugu.Shifted(1))
    with pytest.raises(BadLaw, match="one dimension"):
        LawPair(P, Discrete([[0, 1], [1, 2]]))


def test_a_law_beside_a_set_is_the_set_of_itself():
    alone = calibrate(LawPair(P, Discrete([0, 1]), "a vs b"), Pure(1))
    hulled = calibrate(LawPair(P, Hull([Discrete([0, 1])], VALUES), "a vs b"), Pure(1))
    assert alone.noise == hulled.noise
    (item,) = shapes([PAIR, LawPair(P, Discrete([0, 1]), "c vs d")])
    assert item.shape == "sets" and len(item.sets) == 3 and item.pairs == ((0, 1), (0, 2))


def test_two_names_for_one_set_and_one_name_for_two():
    with pytest.raises(BadLaw, match="two different laws are called 'a'"):
        calibrate([LawPair(P, Q, "a vs b"), LawPair(Q, BAND, "a vs c")], Pure(1))
    assert fugu.verify(calibrate([LawPair(P, Q, "a vs b"), LawPair(P, BAND, "a vs c")], Pure(1))).holds


def test_a_noise_that_is_not_known_for_sets_is_refused_with_what_is():
    with pytest.raises(NotProvable, match="there is laplace and gaussian"):
        calibrate(PAIR, Renyi(2, 0.5), noise="cauchy")
    assert fugu.verify(calibrate(PAIR, Approx(1, 0.01), noise="gaussian")).holds
    assert fugu.epsilon(Gaussian(0, grid=1), PAIR) == pytest.approx(fugu.epsilon(Laplace(0), PAIR))


def test_a_page_draws_the_worst_laws_of_every_pair():
    certificate = calibrate([PAIR, LawPair(P, BAND, "smokes vs other")], Approx(1, 0.01)).certificate
    shown = page(certificate)
    assert shown.count("worst at one output") >= 2

"""Forged documents with matching digests: halves of other laws, laws compared with themselves, labels that lie."""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction

import numpy as np
import pytest

from forging import consistent
from fugu import Approx, Certificate, Discrete, LawPair, Normal, Pure, Scenario, Shifted, calibrate, mix, verify
from fugu.documents.document import digest_of
from fugu.documents.promises import halves_agree, misnamed
from fugu.errors import BadLaw, CertificateError
from hunting import search

HARD = LawPair(Discrete([0, 9]), Discrete([0, 9], [1, 9]), "a vs b")
EASY = LawPair(Discrete([0, 9], [50, 50]), Discrete([0, 9], [49, 51]), "a vs b")
THREE = Scenario({"a": Discrete([0, 1]), "b": Discrete([0, 1], [4, 5]), "c": Discrete([0, 9], [1, 9])})


def body_of(mechanism):
    return mechanism.certificate.to_json()


def sealed(body):
    """What a forger would do last: put digests that match."""
    body = {k: v for k, v in body.items() if k != "digest"}
    body["fingerprint"] = digest_of(body["families"])
    return {**body, "digest": digest_of(body)}


# ---- halves of a mixture --------------------------------------------------------------------------------------------


def forged_halves(lying):
    """A mixture for hard laws; the halves named prove their noise for easy ones, and claim the same beliefs."""
    body = body_of(mix(0.5, calibrate(HARD, Pure(0.4)), calibrate(HARD, Pure(0.4))))
    easy = body_of(calibrate(EASY, Pure(0.4)))
    for half in lying:
        body["parts"][half] = sealed({**easy, "beliefs": body["beliefs"]})
    return sealed(body)


@pytest.mark.parametrize("lying", [(0,), (1,), (0, 1)])
def test_halves_that_prove_their_noise_for_other_laws_do_not_hold(lying):
    whole = Certificate.parse(forged_halves(lying))
    assert all(verify(part).holds for part in whole.parts)  # each by itself is fine
    verdict = verify(whole)
    assert not verdict.holds and "do not belong together" in verdict.reason


def test_laws_of_the_whole_that_are_not_those_of_the_halves_do_not_hold():
    body = body_of(mix(0.5, calibrate(EASY, Pure(0.4)), calibrate(EASY, Pure(0.4))))
    body["families"] = body_of(calibrate(HARD, Pure(0.4)))["families"]
    assert not verify(Certificate.parse(sealed(body))).holds


def test_a_half_on_a_grid_of_half_the_step_does_not_hold():
    """The same numbers on another lattice are other laws: with half the step, half the noise would do."""
    body = body_of(mix(0.5, calibrate(HARD, Pure(0.4)), calibrate(HARD, Pure(0.4))))
    body["anybody"] = None  # nothing is promised where nothing keeps values together
    half = {**body["parts"][1], "support": None, "anybody": None}  # else values are moved to the new places
    body["parts"][1] = sealed(half)
    assert verify(Certificate.parse(sealed(body))).holds
    half["lattice"]["grid"] = half["noise"]["grid"] = str(Fraction(half["lattice"]["grid"]) / 2)
    half["noise"]["scale"] = str(round(Fraction(half["noise"]["scale"]) / 2, 6) + Fraction(1, 10**5))
    body["parts"][1] = consistent(half)
    assert verify(Certificate.parse(body["parts"][1])).holds
    assert not verify(Certificate.parse(sealed(body))).holds


def test_a_mixture_of_mixtures_is_looked_into():
    inner = mix(0.5, calibrate(HARD, Pure(0.4)), calibrate(HARD, Pure(0.3)))
    body = body_of(mix(0.5, inner, calibrate(HARD, Pure(0.2))))
    assert verify(Certificate.parse(body)).holds
    body["parts"][0] = forged_halves((1,))
    assert not verify(Certificate.parse(sealed(body))).holds


CLOSE = LawPair(Discrete([0.1, 1, 3.7], [10, 11, 12]), Discrete([0.1, 1, 3.7], [12, 11, 10]), "a vs b")
NORMALS = LawPair(Normal(0, 1), Normal(1, 2), "a vs b")
TRANSLATES = LawPair(Shifted(0), Shifted(3), "a vs b")


@pytest.mark.parametrize(
    "halves",
    [
        lambda: (calibrate(HARD, Pure(0.4)), calibrate(HARD, Pure(0.1), grid=3)),
        lambda: (calibrate(HARD, Pure(0.4)), calibrate(HARD, Pure(0.1), grid=4)),  # rounds: 9 is no multiple
        lambda: (calibrate(CLOSE, Pure(1)), calibrate(CLOSE, Pure(0.05))),  # no noise, on no lattice
        lambda: (calibrate(CLOSE, Pure(1)), calibrate(CLOSE, Pure(0.05), grid=2)),  # and one that merges atoms
        lambda: (calibrate(NORMALS, Approx(1, 0.01)), calibrate(NORMALS, Approx(0.3, 0.01), noise="gaussian")),
        lambda: (calibrate(TRANSLATES, Pure(1)), calibrate(TRANSLATES, Pure(0.5))),
        lambda: (calibrate(THREE, Pure(1)), calibrate(THREE, Approx(0.5, 0.01))),
    ],
)
def test_halves_on_other_grids_or_none_belong_together(halves):
    for first, second in (halves(), reversed(halves())):
        assert verify(mix(0.25, first, second)).holds


def test_a_whole_that_only_orders_its_values_has_halves_of_the_same_masses():
    """Older documents: no noise in the first half, so no lattice, and no support is stated for the whole."""
    body = body_of(mix(0.5, calibrate(CLOSE, Pure(1)), calibrate(CLOSE, Pure(0.05), grid=0.1)))
    assert body["lattice"] is None and len(body.pop("support")) == 3
    assert verify(Certificate.parse(sealed(body))).holds
    other = LawPair(Discrete(CLOSE.p.values, [10, 11, 12]), Discrete(CLOSE.p.values, [11, 12, 10]), "a vs b")
    easy = body_of(calibrate(other, Pure(0.05), grid=0.1))
    body["parts"][1] = sealed({**easy, "beliefs": body["beliefs"]})
    assert not verify(Certificate.parse(sealed(body))).holds


@search("halves of a mixture on random grids, and forged ones", quick=20)
def test_halves_agree_exactly_if_their_laws_are_images_of_the_whole(rng):
    """Honest halves on any grid belong to the whole; with one count moved they do not."""
    values = np.sort(rng.choice(40, 4, replace=False)) / rng.choice([1, 2, 10])
    counts = rng.integers(1, 9, (2, 4))
    pair = LawPair(*(Discrete(values, row) for row in counts), "a vs b")
    grids = ["auto", *(float(x) for x in rng.choice([0.1, 0.5, 1, 2, 3], 1))]
    whole, half = (calibrate(pair, Pure(0.2), grid=grid).certificate for grid in grids)
    assert halves_agree(whole, half)
    counts[0, rng.integers(4)] += 1
    moved = LawPair(*(Discrete(values, row) for row in counts), "a vs b")
    forged = calibrate(moved, Pure(0.2), grid=grids[1]).certificate
    assert halves_agree(whole, forged) == (len(forged.laws[0].points) == 1)  # a coarse grid may join all atoms


# ---- a law and itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [HARD, LawPair(Discrete([[0, 0], [9, 1]]), Discrete([[0, 0], [9, 1]], [1, 9]))])
def test_a_law_compared_with_itself_is_refused(pair):
    body = body_of(calibrate(pair, Pure(0.4)))
    for k in (0, 1):
        body["families"][0]["pairs"] = [[k, k]]
        body["noise"]["scale"] = "1/1000"
        with pytest.raises(CertificateError, match="with itself"):
            Certificate.parse(sealed(body))


def test_two_secrets_may_have_one_law():
    law, other = Discrete([0, 1], [1, 3]), Discrete([0, 1], [2, 3])
    same = calibrate(Scenario({"a": law, "b": law, "c": other}), Pure(0.1))
    apart = calibrate(Scenario({"a": law, "b": copy.copy(law), "c": other}), Pure(0.1))
    assert verify(same).holds and verify(Certificate.parse(body_of(same))).holds
    assert same.noise == apart.noise
    vectors = Discrete([[0, 0], [1, 2]])
    assert verify(calibrate(LawPair(vectors, vectors), Pure(0.1))).holds


# ---- labels ---------------------------------------------------------------------------------------------------------


def test_an_easy_pair_under_the_labels_of_hard_ones_is_refused():
    body = body_of(calibrate(THREE, Pure(0.1)))
    assert body["families"][0]["labels"] == ["a vs b", "a vs c", "b vs c"]
    for pairs in ([[0, 1], [0, 1], [0, 1]], [[0, 1], [1, 0], [0, 1]], [[0, 1], [0, 2], [0, 2]]):
        body["families"][0]["pairs"] = pairs
        with pytest.raises(CertificateError, match=r"called '[abc]'"):
            Certificate.parse(sealed(body))


def test_labels_are_looked_at_across_families_too():
    body = body_of(calibrate(THREE, Pure(0.1)))
    family = body["families"][0]
    split = [
        {**family, "pairs": [pair], "labels": [label]}
        for pair, label in zip(family["pairs"], family["labels"], strict=True)
    ]
    body["families"] = split
    assert verify(Certificate.parse(sealed(body))).holds
    body["families"] = [*split[:2], {**split[2], "pairs": [[0, 1]]}]
    with pytest.raises(CertificateError, match="called 'b'"):
        Certificate.parse(sealed(body))


def test_a_secret_compared_with_itself_by_name_is_refused():
    body = body_of(calibrate(THREE, Pure(0.1)))
    body["families"][0]["labels"][0] = "a vs a"
    with pytest.raises(CertificateError, match="compares a secret with itself"):
        Certificate.parse(sealed(body))


def test_normal_laws_and_normal_vectors_are_named_too():
    body = body_of(calibrate(Scenario({"a": Normal(0, 1), "b": Normal(1, 1), "c": Normal(5, 1)}), Approx(1, 0.01)))
    body["families"][2]["q"] = body["families"][0]["q"]  # "b vs c" with the law of b twice
    with pytest.raises(CertificateError, match="called 'c'"):
        Certificate.parse(sealed(body))


def test_adversaries_have_names_of_their_own():
    one = {"a": Discrete([0, 1]), "b": Discrete([0, 1], [4, 5])}
    two = {"a": Discrete([0, 1], [3, 4]), "b": Discrete([0, 1])}
    assert verify(calibrate(Scenario([one, two]), Pure(0.1))).holds
    with pytest.raises(BadLaw, match="called 'a'"):
        calibrate([LawPair(*one.values(), "a vs b"), LawPair(*two.values(), "a vs b")], Pure(0.1))


def test_labels_that_name_no_secrets_promise_nothing():
    laws = [Discrete([0, 1], [k, 5]) for k in (3, 4, 5)]
    for label in ("", "first", "a vs b vs c"):
        pairs = [LawPair(p, q, label) for p, q in itertools.combinations(laws, 2)]
        assert verify(calibrate(pairs, Pure(0.1))).holds


def test_translates_are_named_by_their_distance():
    """Each pair of translates is written as 0 and its shift, wherever the laws are."""
    scenario = Scenario({"a": Shifted(0), "b": Shifted(2), "c": Shifted(5)})
    assert misnamed(calibrate(scenario, Pure(1)).certificate.laws, comparable=True) is None
    assert verify(calibrate(scenario, Pure(1))).holds

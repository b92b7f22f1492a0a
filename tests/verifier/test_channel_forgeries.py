"""Forged certificates of channels, with matching digests: each part that could lie is looked at by itself."""

from __future__ import annotations

import math

import pytest

import fugu
from forging import consistent
from fugu import Box, Certificate, Discrete, LawPair, Pure, optimal_channel, verify
from fugu.documents.document import digest_of
from fugu.documents.sentences import WEIGHT
from fugu.errors import CertificateError
from fugu.noise.channel import Channel
from fugu_verify import BadCertificate, prove_again

PAIR = LawPair(Discrete([0, 1, 3], [3, 1, 2]), Discrete([0, 1, 3], [1, 3, 1]), "a vs b")
BOXES = LawPair(
    Box([0, 1, 3], [0.4, 0.1, 0.2], [0.6, 0.3, 0.5]), Box([0, 1, 3], [0.2, 0.3, 0.1], [0.4, 0.6, 0.3]), "a vs b"
)


UNCHECKED = ("reading", "publisher's own words")


@pytest.fixture(scope="module", params=[PAIR, BOXES], ids=["laws", "boxes"])
def made(request):
    return optimal_channel(request.param, Pure(0.5), cap=3)


def body_of(mechanism):
    return mechanism.certificate.to_json()


def sealed(body):
    """What a forger would do last: put digests that match."""
    body = {k: v for k, v in body.items() if k != "digest"}
    body["fingerprint"] = digest_of(body["families"])
    return {**body, "digest": digest_of(body)}


def outcome(body, name):
    """How one check of a forged document ends."""
    verdict = verify(Certificate.parse(sealed(body)))
    assert not verdict.holds
    return next(result for check, result, _ in verdict.checks if check == name)


def with_rows(body, change):
    """The body with the rows of its channel changed in place."""
    channel = Channel.from_json(body["noise"])
    rows = [list(row) for row in channel.rows]
    change(rows)
    body["noise"] = Channel(channel.outputs, rows, channel.weight).to_json()
    return body


def test_an_honest_certificate_holds_in_every_check(made):
    verdict = verify(Certificate.parse(sealed(body_of(made))))
    assert verdict.holds and {result for name, result, _ in verdict.checks if name not in UNCHECKED} == {"holds"}
    names = [name for name, _, _ in verdict.checks]
    assert {"channel", "expected loss", "cap and order", "distance from the optimum"} <= set(names)
    assert prove_again(body_of(made)).outcome == "holds"


def test_units_moved_by_hand_break_the_budget(made):
    """Both proofs see it: half of a row moved to the output that tells most."""

    def change(rows):
        for other in (1, 2):
            half = rows[0][other] // 2
            rows[0][other] -= half
            rows[0][0] += half

    body = with_rows(body_of(made), change)
    assert outcome(body, "budget") == "fails"
    assert prove_again(sealed(body)).outcome == "fails"


def test_rows_of_unequal_sums_are_no_channel(made):
    body = body_of(made)
    column = next(iter(body["noise"]["rows"][0]))
    body["noise"]["rows"][0][column] = str(int(body["noise"]["rows"][0][column]) + 1)
    with pytest.raises(CertificateError, match="one and the same positive sum"):
        Certificate.parse(sealed(body))
    with pytest.raises(BadCertificate, match="one positive sum"):
        prove_again(sealed(body))


def test_permuted_outputs_are_seen_in_the_loss(made):
    body = body_of(made)
    channel = Channel.from_json(body["noise"])
    turned = [row[::-1] for row in channel.rows]
    body["noise"] = Channel(channel.outputs, turned, channel.weight).to_json()
    assert outcome(body, "expected loss") == "fails"
    body = body_of(made)
    body["noise"]["outputs"] = body["noise"]["outputs"][::-1]
    with pytest.raises(CertificateError, match="increasing"):
        Certificate.parse(sealed(body))


@pytest.mark.parametrize("times", [1 + 1e-6, 1.5])
def test_a_lower_bound_that_is_not_proved_is_refused(made, times):
    body = body_of(made)
    body["optimum"]["lower"] *= times
    assert outcome(body, "distance from the optimum") == "fails"


def test_dual_numbers_of_nothing_prove_nothing(made):
    body = body_of(made)
    body["optimum"]["prices"] = None
    assert outcome(body, "distance from the optimum") == "fails"
    body["optimum"]["prices"] = {"ratio": [[0.0] * 3] * 2}
    assert outcome(body, "distance from the optimum") == "fails"
    body["optimum"] |= {"prices": None, "lower": None}
    verdict = verify(Certificate.parse(sealed(body)))
    assert verdict.holds  # nothing is claimed of other channels
    assert ("distance from the optimum", "not checked") in [line[:2] for line in verdict.checks]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("value", 0.1),
        ("cap", "1/2"),
        ("monotone", None),
        ("weighing", "worst"),
        ("weighing", "anyhow"),
    ],
)
def test_what_is_said_beside_the_budget_is_held_against_the_rows(made, part, value):
    body = body_of(made)
    if part == "monotone":
        body = with_rows(body, lambda rows: rows.reverse())
        value = True
    body["optimum"][part] = value
    verdict = verify(Certificate.parse(sealed(body)))
    assert not verdict.holds


def test_a_weight_that_is_not_the_mean_of_the_laws_must_say_so(made):
    body = body_of(made)
    body["noise"]["weight"] = [0.5, 0.25, 0.25]
    body["optimum"] |= {"value": 9.0, "lower": 0.0}
    body["expected_error"] = {"absolute": 9.0, "squared": 9.0}
    assert outcome(body, "expected loss") == "fails"
    body["optimum"]["weighing"] = "stated"
    body["assumptions"] = [WEIGHT["stated"] if line in WEIGHT.values() else line for line in body["assumptions"]]
    assert verify(Certificate.parse(consistent(body))).holds


def test_an_error_that_is_stated_too_small_is_refused(made):
    body = body_of(made)
    body["expected_error"]["squared"] *= 0.5
    assert outcome(body, "expected loss") == "fails"


@pytest.mark.parametrize(
    "edit",
    [
        lambda b: b.update(support=[0.0, 1.0]),
        lambda b: b.update(support=[0.0, 1.0, 3.0, 4.0]),
        lambda b: b.update(support=None),
        lambda b: b.update(lattice={"grid": "1", "origin": "0"}),
        lambda b: b["optimum"].update(theta=2.0),
        lambda b: b["optimum"].update(theta="0"),
        lambda b: b["optimum"].update(prices=[]),
        lambda b: b["noise"].update(kind="laplace"),
        lambda b: b["families"][0].update(points=[0, 1, 3]),
        lambda b: b["families"][0].update(points=[-1, 0, 1]),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(made, edit):
    body = body_of(made)
    edit(body)
    with pytest.raises(CertificateError):
        Certificate.parse(sealed(body))


def test_another_kind_cannot_take_a_channel_for_noise(made):
    body = body_of(made)
    body["kind"] = "additive"
    with pytest.raises(CertificateError):
        Certificate.parse(sealed(body))


def test_a_bound_below_what_is_proved_now_is_refused(made):
    body = body_of(made)
    body["proved"]["epsilon"] *= 0.9
    assert outcome(body, "stated figures") == "fails"


def test_other_laws_are_pushed_to_the_rows_they_have():
    """Laws on some of the values keep the rows of those values: a numbering of their own atoms would be another."""
    made = optimal_channel(PAIR, Pure(0.5))
    rows = made.noise.conditional()
    few = LawPair(Discrete([1, 3], [1, 0]), Discrete([1, 3], [0, 1]), "a vs b")
    found = verify(made, few)
    true = max(abs(math.log(a / b)) if a and b else math.inf for a, b in zip(rows[1], rows[2], strict=True) if a or b)
    assert found.epsilon == pytest.approx(true) and not found.holds
    wrong = max(abs(math.log(a / b)) if a and b else math.inf for a, b in zip(rows[0], rows[1], strict=True) if a or b)
    assert wrong != pytest.approx(true)
    near = LawPair(Discrete([-5, 1.4, 2.6], [3, 1, 2]), Discrete([0, 1, 3], [1, 3, 1]), "a vs b")
    assert verify(made, near).holds
    assert fugu.guarantee_against(made, few).epsilon == pytest.approx(true)


def test_beliefs_from_the_private_table_are_said_aloud():
    table = {"x": [0, 0, 1, 2, 2, 2, 1, 0], "s": list("aaaabbbb")}
    told = {
        public: fugu.Scenario.from_table(table, publish="x", protect="s", public_prior=public)
        for public in (True, False)
    }
    for public, scenario in told.items():
        warnings = optimal_channel(scenario, Pure(1)).certificate.warnings
        assert any("private table itself" in line for line in warnings) is public
        assert any("beliefs a little off may lose everything" in line for line in warnings)

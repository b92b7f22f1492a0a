"""The second proof of channels: it agrees with the first on random tables, sets of laws included."""

from __future__ import annotations

import json

import pytest

from fugu import Approx, Ball, Band, Box, Certificate, Discrete, Hull, LawPair, Pure, optimal_channel, verify
from fugu.documents.certificate import digest_of
from fugu.noise.channel import Channel
from fugu.second import prove_again
from hunting import search


def forged(made, rows):
    """The certificate of other rows, with digests that match and claims that are wide enough."""
    body = json.loads(made.certificate.to_json())
    channel = made.noise
    body["noise"] = Channel(channel.outputs, rows, channel.weight).to_json()
    body["proved"] = {"epsilon": 1e300, "delta": 1.0}
    body["optimum"] |= {"value": 1e300, "lower": None, "prices": None}
    body["expected_error"] = {"absolute": 1e300, "squared": 1e300}
    body = {k: v for k, v in body.items() if k not in ("digest", "warnings")}
    return Certificate.parse({**body, "digest": digest_of(body)})


@search("two proofs of random channels", each=["laws", "box", "ball", "hull"], quick=12)
def test_both_proofs_agree_on_random_tables(kind, rng):
    values = [0.0, 1.0, 5.0]
    laws = [Discrete(values, [int(x) for x in rng.integers(1, 9, 3)]) for _ in range(2)]
    make = {
        "laws": lambda law: law,
        "box": lambda law: Box(values, law.weights * 0.8, 1 - (1 - law.weights) * 0.9),
        "ball": lambda law: Ball(law, 0.05),
        "hull": lambda law: Hull([law, Discrete(values, [1, 1, 1])]),
    }[kind]
    pair = LawPair(*map(make, laws), "a vs b")
    budget = Approx(0.7, 0.05) if rng.random() < 0.5 else Pure(0.7)
    made = optimal_channel(pair, budget)
    rows = [[int(x) for x in row] for row in rng.multinomial(40, rng.dirichlet([2, 2, 2]), size=3)]
    for certificate in (made.certificate, forged(made, rows)):
        first, second = verify(certificate), prove_again(json.loads(certificate.to_json()))
        assert second.outcome in (("holds",) if first.holds else ("fails", "not checked"))
        if kind == "laws" and not first.holds:
            assert second.outcome == "fails"
        if second.outcome == "holds":
            assert second.agrees_with(first.epsilon, first.delta)


def test_sets_that_are_not_worked_out_are_said_to_be_unchecked():
    band = LawPair(
        Band([0, 1, 3], [0.3, 0.6, 1], [0.5, 0.8, 1]), Band([0, 1, 3], [0.2, 0.6, 1], [0.5, 0.8, 1]), "a vs b"
    )
    found = prove_again(json.loads(optimal_channel(band, Pure(1)).certificate.to_json()))
    assert found.outcome == "not checked" and "band" in found.why


@pytest.mark.parametrize("epsilon", [0, 0.01, 3])
def test_budgets_far_apart(epsilon):
    pair = LawPair(Discrete([0, 1, 3], [3, 0, 2]), Discrete([0, 1, 3], [1, 3, 0]), "a vs b")
    made = optimal_channel(pair, Pure(epsilon))
    assert prove_again(json.loads(made.certificate.to_json())).outcome == "holds"

"""The second proof of channels: it agrees with the first on random tables, sets of laws included."""

from __future__ import annotations

import numpy as np
import pytest

from forging import consistent
from fugu import (
    Approx,
    Ball,
    Band,
    Box,
    Certificate,
    Discrete,
    Hull,
    LawPair,
    Pure,
    Scenario,
    Schema,
    optimal_channel,
    verify,
)
from fugu.noise.channel import Channel
from fugu_verify import prove_again
from fugu_verify.channel import top
from hunting import search


def forged(made, rows):
    """The certificate of other rows, with digests that match and claims that are wide enough."""
    body = made.certificate.to_json()
    channel = made.noise
    body["noise"] = Channel(channel.outputs, rows, channel.weight).to_json()
    body["proved"] = {"epsilon": 1e300, "delta": 1.0}
    body["optimum"] |= {"value": 1e300, "lower": None, "prices": None}
    return Certificate.parse(consistent(body))


@search("two proofs of random channels", each=["laws", "box", "band", "ball", "hull"], quick=6)
def test_both_proofs_agree_on_random_tables(kind, rng):
    values = [0.0, 1.0, 5.0]
    laws = [Discrete(values, [int(x) for x in rng.integers(1, 9, 3)]) for _ in range(2)]
    make = {
        "laws": lambda law: law,
        "box": lambda law: Box(values, law.weights * 0.8, 1 - (1 - law.weights) * 0.9),
        "band": lambda law: Band(values, np.cumsum(law.weights) * 0.9, np.minimum(np.cumsum(law.weights) + 0.05, 1)),
        "ball": lambda law: Ball(law, 0.05),
        "hull": lambda law: Hull([law, Discrete(values, [1, 1, 1])]),
    }[kind]
    pair = LawPair(*map(make, laws), "a vs b")
    budget = Approx(0.7, 0.05) if rng.random() < 0.5 else Pure(0.7)
    made = optimal_channel(pair, budget)
    rows = [[int(x) for x in row] for row in rng.multinomial(40, rng.dirichlet([2, 2, 2]), size=3)]
    for certificate in (made.certificate, forged(made, rows)):
        first, second = verify(certificate), prove_again(certificate.to_json())
        assert second.outcome in (("holds",) if first.holds else ("fails", "not checked"))
        if kind == "laws" and not first.holds:
            assert second.outcome == "fails"
        if second.outcome == "holds":
            assert second.agrees_with(first.epsilon, first.delta)


def test_sets_that_are_not_worked_out_are_said_to_be_unchecked():
    pair = LawPair(*(Ball(Discrete([0, 1, 3], c), 0.01, "kl") for c in ([3, 1, 2], [1, 3, 1])), "a vs b")
    found = prove_again(optimal_channel(pair, Pure(1)).certificate.to_json())
    assert found.outcome == "not checked" and "Kullback" in found.why


def limits_of(rng):
    """A random box and a band that share a law."""
    law = rng.dirichlet([1.0, 1.0, 1.0, 1.0])
    lower, upper = law * rng.random(4), law + (1 - law) * rng.random(4) * 0.6
    sums = np.minimum(np.cumsum(law), 1.0)
    first = np.maximum.accumulate(sums * (1 - 0.4 * rng.random(4)))
    last = np.minimum.accumulate((sums + (1 - sums) * 0.4 * rng.random(4))[::-1])[::-1]
    first[-1] = last[-1] = 1.0
    return Box(range(4), lower, upper), Band(range(4), first, last)


@search("largest means over boxes and bands", quick=60)
def test_the_largest_mean_is_that_of_a_linear_program(rng):
    """Against another program, from the definition: masses and sums between their limits."""
    from scipy.optimize import linprog

    box, band = limits_of(rng)
    column = [int(x) for x in rng.integers(-9, 9, 4)]
    below = np.tril(np.ones((4, 4)))
    for sets in ([box], [band], [box, band]):
        found = (
            {"kind": "intersection", "sets": [one.to_json() for one in sets]} if len(sets) > 1 else sets[0].to_json()
        )
        lower, upper = (box.lower, box.upper) if box in sets else (np.zeros(4), np.ones(4))
        first, last = (band.lower, band.upper) if band in sets else (np.zeros(4), np.ones(4))
        other = linprog(
            -np.array(column, dtype=float), A_ub=np.vstack([below, -below]), b_ub=np.concatenate([last, -first]),
            A_eq=[[1] * 4], b_eq=[1], bounds=list(zip(lower, upper, strict=True)),
        )  # fmt: skip
        assert other.status == 0
        assert float(top(found, column)) == pytest.approx(-other.fun, abs=1e-9)


def test_confidence_sets_are_proved_twice():
    table = {"x": [i * i % 5 for i in range(400)], "s": ["ab"[i % 3 == 0] for i in range(400)]}
    schema = Schema({"x": {"kind": "number", "bounds": [0, 5], "step": "1"}})
    scenario = Scenario.from_table(table, publish="x", protect="s", schema=schema, confidence=0.9)
    made = optimal_channel(scenario, Pure(1), cap=4)
    first, second = verify(made), prove_again(made.certificate.to_json())
    assert first.holds and second.outcome == "holds" and second.agrees_with(first.epsilon, first.delta)


@pytest.mark.parametrize("epsilon", [0, 0.01, 3])
def test_budgets_far_apart(epsilon):
    pair = LawPair(Discrete([0, 1, 3], [3, 0, 2]), Discrete([0, 1, 3], [1, 3, 0]), "a vs b")
    made = optimal_channel(pair, Pure(epsilon))
    assert prove_again(made.certificate.to_json()).outcome == "holds"

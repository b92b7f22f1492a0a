"""Sequences and queries in the second proof: against all data sets, written out."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu.priors.chain import MarkovChain
from fugu_verify import prove_again, sequences
from fugu_verify.command import _line
from hunting import search

OLD = Path(__file__).resolve().parents[2] / "tests" / "mechanism" / "old"


def document(chain, epsilon, asked, initial):
    """A release of a histogram of sequences, without words."""
    return {
        "kind": "sequence", "epsilon": str(Fraction(epsilon)), "delta": "0", "claimed by": "fugu", "query": "histogram",
        "sensitivity": "2", "entries": {"states": list(chain.states)},
        "pufferfish": {"asked": str(Fraction(asked))},
        "prior": {"transition": chain.transition(1).tolist(), "initial": initial, "length": chain.length},
    }  # fmt: skip


def answered(step, start, length, epsilon):
    """The largest loss of randomised response, cell by cell, over all places, pairs and answers: all sequences."""
    size, found = len(start), 0.0
    data = list(itertools.product(range(size), repeat=length))
    law = [start[d[0]] * math.prod(step[a][b] for a, b in itertools.pairwise(d)) for d in data]
    for answer in itertools.product(range(size), repeat=length):
        weight = [p * math.exp(epsilon * sum(a == b for a, b in zip(d, answer, strict=True))) for p, d in
                  zip(law, data, strict=True)]  # fmt: skip
        for i in range(length):
            mass, mean = np.zeros(size), np.zeros(size)
            for d, p, w in zip(data, law, weight, strict=True):
                mass[d[i]] += p
                mean[d[i]] += w
            given = [m / p for m, p in zip(mean, mass, strict=True) if p > 0]
            found = max(found, math.log(max(given) / min(given)))
    return found


@search("sequences under a chain, by all data sets", quick=20)
def test_no_answer_loses_more_than_the_second_proof_states(rng):
    size, length = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    step, start = rng.dirichlet(np.ones(size), size), rng.dirichlet(np.ones(size))
    epsilon = float(rng.choice([0.1, 0.5, 2]))
    chain = MarkovChain(step, length, start)
    found = prove_again(document(chain, epsilon, 1000, chain.marginal(1).tolist()))
    truth = answered(chain.transition(1), chain.marginal(1), length, epsilon)
    assert found.outcome == "holds" and float(found.epsilon[1]) >= truth * (1 - 1e-9)
    if size == 2:  # randomised response is the worst there is
        assert math.isclose(float(found.epsilon[1]), truth, rel_tol=1e-9)
        assert math.isclose(fugu.translate(chain, epsilon), float(found.epsilon[1]), rel_tol=1e-9)


def test_a_version_that_forgets_the_earlier_entries_is_wrong(monkeypatch):
    chain = MarkovChain([[0.9, 0.1], [0.3, 0.7]], 4, [0.5, 0.5])
    body = document(chain, 0.5, 1000, [0.5, 0.5])
    truth = answered(chain.transition(1), [0.5, 0.5], 4, 0.5)
    assert float(prove_again(body).epsilon[1]) >= truth * (1 - 1e-12)
    monkeypatch.setattr(sequences, "_passed", lambda kernels, beyond, grown, m, values: beyond)
    assert float(prove_again(body).epsilon[1]) < truth * (1 - 1e-3)


def test_a_stationary_start_is_the_law_that_the_chain_keeps():
    chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]], 6, "stationary")
    given, kept = (prove_again(document(chain, 0.5, 1, start)) for start in ([2 / 3, 1 / 3], "stationary"))
    assert math.isclose(float(given.epsilon[1]), float(kept.epsilon[1]), rel_tol=1e-12)
    assert math.isclose(fugu.translate(chain, 0.5), float(kept.epsilon[1]), rel_tol=1e-9)


def test_outcomes_of_sequences():
    chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]], 6, "stationary")
    assert prove_again(document(chain, 2, 1, "stationary")).outcome == "fails"
    assert prove_again(document(chain, 0.9, 1, "stationary")).outcome == "not checked"
    assert prove_again(document(chain, 0.1, 1, "any")).why.startswith("not checked, because it is for every start")
    long = MarkovChain(np.full((8, 8), 1 / 8), 1000, "stationary")
    far = prove_again(document(long, 0.1, 1, "stationary"))
    assert "at most" in far.why and "fugu verify" in far.why  # rejects: "not checked: not checked", and no way on
    assert _line("", far).count("not checked") == 1 and _line("", replace(far, why="x")).startswith("not checked: x")


@pytest.mark.parametrize("name", ["sequence", "sequence-mean", "sequence-stationary", "sequence-ledger"])
def test_old_sequences_hold(name):
    body = json.loads((OLD / f"{name}.json").read_text())
    assert prove_again(body).outcome == "holds"
    more = str(Fraction(body["epsilon"]) * Fraction(101, 100))
    assert prove_again({**body, "epsilon": more}).outcome == "not checked"


@pytest.mark.parametrize(
    ("query", "sensitivity", "more"),
    [
        ("count(a)", "1", {}), ("histogram", "2", {}), ("transitions", "4", {}),
        ("transitions", "2", {"longest sequence": 2}),
        ("sum", "3", {"entries": {"clipped to": ["0", "3"]}, "rounded to multiples of": "1/2"}),
        ("sum", "4", {"entries": {"clipped to": ["0", "3"]}, "rounded to multiples of": "4"}),
    ],
)  # fmt: skip
def test_sensitivities_are_found_by_trying(query, sensitivity, more):
    body = {
        "kind": "per-entry", "epsilon": "1/2", "delta": "0", "claimed by": "fugu", "query": query,
        "entries": {"states": ["a", "b", "c"]}, "sensitivity": sensitivity, **more,
    }  # fmt: skip
    found = prove_again(body)
    assert found.outcome == "holds" and found.epsilon == (Fraction(1, 2), Fraction(1, 2))
    assert prove_again({**body, "sensitivity": str(Fraction(sensitivity) * Fraction(99, 100))}).outcome == "fails"
    assert prove_again({**body, "claimed by": "somebody"}).outcome == "not checked"
    assert prove_again({**body, "query": "top 2"}).outcome == "not checked"

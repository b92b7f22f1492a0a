"""Releases that cost nothing: the reference makes what is published independent of the secret. Both proofs say 0."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import fugu
from fugu import Pure
from fugu.auditing.examine import examine
from fugu_verify import prove_again, records
from fugu_verify.arithmetic import log
from fugu_verify.result import Asked, Second
from hunting import search

QUESTIONS = ("histogram(j)", "count(x=1)", "mean(x)", "sum(x)", "histogram(j) by g", "mean(x) by g", "top(j, 1)")


def independent(rng):
    """A reference in which both secrets have the same rows, one of them each row several times, and a table of some."""
    half, times = int(rng.integers(90, 140)), int(rng.integers(1, 8))
    columns = {
        "x": rng.integers(0, 4, half),
        "j": rng.choice(list("uvw"), half),
        "g": rng.choice(list("pq"), half),
    }
    reference = {name: np.tile(cells, 1 + times).tolist() for name, cells in columns.items()}
    reference["s"] = ["a"] * half + ["b"] * half * times
    rows = rng.integers(0, 2 * half, 30)
    return reference, {name: [cells[i] for i in rows] for name, cells in reference.items()}


def second(certificate):
    """How the second proof ended beside the first, and whether all holds."""
    verdict = examine(certificate, twice=True)
    (line,) = (line for line in verdict.checks if line[0] == "second proof")
    assert "DISAGREE" not in line[2] and verdict.holds, line
    assert verdict.epsilon == 0
    return line[1]


@search("sessions that cost nothing, proved twice", quick=12)
def test_the_two_proofs_of_a_session_that_costs_nothing_agree(rng):
    """Wrong version: 0.3, whose second proof bounded e^0 from above by a number of 192 bits, and said that the two
    disagree about every such release."""
    reference, today = independent(rng)
    session = fugu.Session(today, reference, "s", Pure(0.1), cap=5)
    for query in rng.choice(QUESTIONS, int(rng.integers(1, 4)), replace=False):
        more = {"bounds": (0, 3), "step": 1} if "(x)" in query else {}
        session.ask(str(query), **more, allow_no_noise=True)
    certificate = session.certificate
    if certificate.spent:
        return 0  # a group of so few rows that no belief is used of it
    assert second(certificate) == "holds"
    found = prove_again(certificate.body)
    assert found.epsilon == (0, 0) and not found.agrees_with(-1e-9, 0.0)
    return 1


def test_the_second_proof_of_version_0_3_disagreed_about_every_one(monkeypatch):
    """The wrong version itself: a logarithm of 1 that is rounded up, and no look at whether two laws are one. Either of
    the two remedies suffices, so no single mutant shows it."""
    old = lambda x: Fraction(max(log(x, 192)[1], 0), 1 << 192)  # noqa: E731
    for seed in range(10):
        reference, today = independent(np.random.default_rng(seed))
        session = fugu.Session(today, reference, "s", Pure(0.1), cap=5)
        session.ask("histogram(j)", allow_no_noise=True)
        body = session.certificate.body
        assert prove_again(body).agrees_with(0.0, 0.0)
        with monkeypatch.context() as patched:
            patched.setattr(records._Step, "alike", property(lambda _: False))
            patched.setattr(records, "_log_up", old)
            assert not prove_again(body).agrees_with(0.0, 0.0)


@search("columns that cost nothing, proved twice", quick=12)
def test_the_two_proofs_of_a_column_that_costs_nothing_agree(rng):
    """The same for one column: no noise, noise that was asked for all the same, and channels."""
    reference, _ = independent(rng)
    column = str(rng.choice(["x", "j"]))
    scenario = fugu.Scenario.from_table(reference, column, "s", bins=list("uvw") if column == "j" else None)
    mechanism = fugu.calibrate(scenario, Pure(float(rng.choice([0.0, 1e-9, 0.1, 3]))))
    assert mechanism.noise.scale == 0 and second(mechanism.certificate) == "holds"
    channel = fugu.optimal_channel(scenario, Pure(0.1))
    assert second(channel.certificate) == "holds"


def test_a_figure_is_the_decimal_that_it_means():
    """2.19722457 as a double lies below 2.19722457; stated, it means the decimal; the next double below does not."""
    exact = Fraction("2.19722457")
    assert Fraction(2.19722457) < exact
    second = Second("holds", "", (exact, exact), None, asked=Asked(Fraction(5), Fraction(0)))
    assert second.agrees_with(2.19722457, 0.0)
    assert not second.agrees_with(math.nextafter(2.19722457, 0), 0.0)

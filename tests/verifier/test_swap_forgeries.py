"""Certificates of record swaps, edited and sealed again: what can be checked is refused, the rest is named."""

from __future__ import annotations

import copy
from functools import cache

import pytest

import fugu
from fugu import Approx, Certificate, Scenario
from fugu.documents.document import Verdict
from fugu.errors import CertificateError


@cache
def released() -> Certificate:
    table = {"x": [0, 1, 2, 9] * 5, "y": ["a", "b", "b", "b"] * 5, "s": ["p", "q"] * 10}
    scenario = Scenario.from_property(
        table, ["sum(x)", "count(y=a)"], "s=p", 20, values=[0.4, 0.5], tolerance=0.1, bounds={"x": (0, 9)}
    )
    return fugu.calibrate(scenario, Approx(1, 0.05), method="record-swap").release([40.0, 5.0]).certificate


def judged(change) -> Verdict:
    """The verdict on the certificate after an edit, sealed again with a digest that fits."""
    body = copy.deepcopy(released().to_json())
    laws = released().laws
    for part in ("schema", "fugu", "digest", "families", "fingerprint"):
        body.pop(part)
    change(body)
    return fugu.verify(Certificate.parse(Certificate.seal(body, laws).to_json()))


def test_as_it_is_it_holds_and_names_what_is_the_publishers_word():
    found = judged(lambda body: None)
    assert found.holds
    assert {name: why for name, outcome, why in found.checks if outcome == "not checked"}["draws"].endswith(
        "the publisher's word"
    )


def smaller_noise(body):
    body["swap"]["step"] += 40
    sigma = 0.995 ** body["swap"]["step"] * _number(body["swap"]["cap"])
    from fugu.documents.swap import RecordSwap

    exact = RecordSwap.from_json(body["swap"]).sigma(body["swap"]["step"])
    assert abs(float(exact) / sigma - 1) < 1e-6
    body["noise"]["scale"] = str(exact)


def _number(text):
    from fugu.numbers.exact import read_number

    return float(read_number(text))


def longer_draws(body):
    block = body["swap"]["blocks"][1]
    block["places"] = [*block["places"][:-1], block["places"][-1] + 2000]


def smaller_budget(body):
    body["budget"].update(delta="1/100")
    body["swap"].update(beta="1/1000")


def fewer_draws(body):
    body["swap"]["draws"] = 1000
    for block in body["swap"]["blocks"]:
        block["places"], block["counts"] = [0], [1000]


FORGERIES = {
    "less noise than the counts allow": (smaller_noise, "budget"),
    "the noise alone": (lambda b: b["noise"].update(scale="1"), "step below the cap"),
    "a tiny beta": (lambda b: b["swap"].update(beta="1/1000000000000"), "not a tenth of the budget's delta"),
    "no beta": (lambda b: b["swap"].update(beta="0"), "makes no sense"),
    "all of delta is beta": (
        lambda b: b["swap"].update(beta=b["budget"]["delta"]),
        "not a tenth of the budget's delta",
    ),
    "a smaller budget": (lambda b: b["budget"].update(delta="1/100"), "not a tenth"),
    "a smaller budget and its beta": (smaller_budget, "budget"),
    "fewer draws, counted so": (fewer_draws, "another number of draws"),
    "a smaller epsilon": (lambda b: b["budget"].update(epsilon="1/10"), "budget"),
    "more draws than counted": (lambda b: b["swap"]["blocks"][0]["counts"].__setitem__(0, 3), "more or fewer draws"),
    "a number of records left out": (lambda b: b["swap"]["blocks"].pop(0), "leave out a number"),
    "the last number left out": (lambda b: b["swap"]["blocks"].pop(), "leave out a number"),
    "a draw no records can make": (longer_draws, "longer than the swapped records"),
    "counts below one": (lambda b: b["swap"]["blocks"][0]["counts"].__setitem__(0, -3), "not counted one by one"),
    "fewer records than shares differ by": (lambda b: b["swap"].update(records=1), "fewer or more records|not covered"),
    "a lower cap": (lambda b: b["swap"].update(cap="1"), "step below the cap"),
    "no draws at all": (lambda b: b.pop("swap"), "budget"),
    "another method": (lambda b: b.update(method="optimal"), "found by them"),
    "no property": (lambda b: b.pop("property"), "names none"),
    "proved less than it is": (lambda b: b["proved"].update(delta=1e-9), "states delta"),
    "another noise": (lambda b: b["noise"].update(kind="laplace"), "Gaussian noise"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused(name):
    change, why = FORGERIES[name]
    if why in ("budget", "states delta"):  # read, and found not to hold
        found = judged(change)
        assert not found.holds
        assert why in found.reason
        return
    with pytest.raises(CertificateError, match=why):
        judged(change)


def test_shorter_draws_cannot_be_told_and_so_are_never_called_checked():
    def shorter(body):
        for block in body["swap"]["blocks"]:
            block["places"], block["counts"] = [0], [sum(block["counts"])]

    found = judged(shorter)
    assert found.holds  # the word of the publisher, which a verdict says
    assert ("draws", "not checked") in {(name, outcome) for name, outcome, _ in found.checks}


def test_the_plan_before_the_release_verifies_and_says_that_nothing_was_drawn():
    scenario = Scenario.from_property({"x": [0, 1, 2, 9] * 5, "s": ["p", "q"] * 10}, ["mean(x)"], "s=p", 20)
    plan = fugu.calibrate(scenario, Approx(1, 0.01), method="record-swap")
    found = fugu.verify(plan)
    assert found.holds and found.delta <= 0.01
    assert "step" not in plan.certificate.body["swap"]
    assert fugu.Certificate.parse(plan.certificate.to_json()) == plan.certificate


@pytest.mark.parametrize("method", ["record-group", "record-swap"])
def test_a_wider_tolerance_than_was_proved_is_refused(method):
    """Two of twenty records were swapped; whoever writes that all twenty may be is told."""
    table = {"x": [0, 1, 2, 9] * 5, "y": ["a", "b", "b", "b"] * 5, "s": ["p", "q"] * 10}
    scenario = Scenario.from_property(table, ["sum(x)", "count(y=a)"], "s=p", 20, tolerance=0.1, bounds={"x": (0, 9)})
    budget = Approx(1, 0.05) if method == "record-swap" else fugu.Pure(1)
    made = fugu.calibrate(scenario, budget, method=method).certificate
    assert fugu.verify(made).holds
    body = made.to_json()
    for part in ("schema", "fugu", "digest", "families", "fingerprint"):
        body.pop(part)
    body["property"]["tolerance"] = "1"
    with pytest.raises(CertificateError, match="not covered"):
        Certificate.parse(Certificate.seal(body, made.laws).to_json())

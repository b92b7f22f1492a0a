"""A certificate can be saved, loaded, re-proved; truncation and edits are noticed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fugu import (
    Approx,
    Certificate,
    Discrete,
    LawPair,
    Pure,
    Renyi,
    RenyiCurve,
    Scenario,
    Shifted,
    calibrate,
    mix,
    verify,
)
from fugu.documents.document import digest_of
from fugu.errors import CertificateError

PAIR = LawPair(Discrete([0.5, 1.5, 4.5], [5, 3, 2]), Discrete([0.5, 1.5, 4.5], [2, 3, 5]), "a vs b")
RNG = np.random.default_rng(0)
SOURCES = {
    "counts": PAIR,
    "decimals": LawPair(Discrete([0, 1], [0.3, 0.7]), Discrete([0, 1], [0.6, 0.4])),
    "binary": LawPair(Discrete(range(9), RNG.dirichlet(np.ones(9))), Discrete(range(9), RNG.dirichlet(np.ones(9)))),
    "off the lattice": LawPair(Discrete(RNG.random(20), RNG.dirichlet(np.ones(20))), Discrete(RNG.random(20))),
    "huge counts": LawPair(Discrete([0, 1], [10**30, 1]), Discrete([0, 1], [10**30, 7])),
    "shift": Shifted(2),
    "vectors": LawPair(Discrete([[0, 0], [2, 4]], [3, 1]), Discrete([[2, 0], [0, 4]])),
    "several": [PAIR, LawPair(Discrete([0.5]), Discrete([1.5])), Shifted(1)],
}


def reseal(body):
    """What a forger would do: edit, then put matching digests."""
    body = {k: v for k, v in body.items() if k != "digest"}
    body["fingerprint"] = digest_of(body["families"])
    return {**body, "digest": digest_of(body)}


DIVERGENCES = [Renyi(3, 0.7, 0.05), RenyiCurve({2: 0.7, 4: 1.1})]
CASES = [(name, budget, "best") for name in SOURCES for budget in (Pure(0.4), Approx(0.4, 0.01))]
CASES += [
    (name, budget, kind) for name in ("counts", "vectors") for budget in DIVERGENCES for kind in ("laplace", "gaussian")
]
CASES += [("counts", RenyiCurve({2: 0.7, 4: 1.1}), "cauchy")]


@pytest.mark.parametrize(("name", "budget", "kind"), CASES, ids=str)
def test_saved_and_loaded_it_proves_the_same(name, budget, kind, tmp_path):
    mechanism = calibrate(SOURCES[name], budget, noise=kind)
    mechanism.certificate.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    assert loaded.body == mechanism.certificate.body
    assert loaded.budget == budget and loaded.noise == mechanism.noise
    assert loaded.lattice == mechanism.lattice or kind == "cauchy"  # of an analysis nothing is drawn
    verdict = verify(tmp_path / "c.json")
    assert verdict.holds and verdict.epsilon == mechanism.certificate.proved["epsilon"]
    assert verify(loaded, SOURCES[name]).holds
    assert not list(tmp_path.glob("*.partial"))


def test_it_says_what_a_reader_needs():
    body = calibrate(PAIR, Pure(0.4)).certificate.body
    named = "schema budget method theorem worst_pair proved scales lattice assumptions unit families fingerprint digest"
    for key in named.split():
        assert body[key] is not None, key
    assert body["worst_pair"] == "a vs b"
    assert set(body["scales"]) == {"exact"}  # what it always beats is not tried


@pytest.mark.parametrize("cut", [1, 10, 100, 1000])
def test_a_truncated_file_is_refused(cut, tmp_path):
    text = calibrate(PAIR, Pure(0.4)).certificate.text
    (tmp_path / "c.json").write_text(text[:-cut])
    with pytest.raises(CertificateError, match="cut off"):
        verify(tmp_path / "c.json")


def test_a_forged_but_consistent_file_is_proved_anew_and_fails():
    body = calibrate(PAIR, Pure(0.4)).certificate.to_json()
    scale = Fraction(body["noise"]["scale"])
    body["noise"]["scale"] = str(scale * Fraction(97, 100))
    verdict = verify(Certificate.parse(reseal(body)))
    assert not verdict.holds and verdict.epsilon > 0.4
    body["noise"]["scale"] = str(scale)
    body["proved"] = {"epsilon": 0.0, "delta": 0.0}  # a cached number that is not believed
    assert verify(Certificate.parse(reseal(body))).epsilon == pytest.approx(0.4, abs=1e-8)


@pytest.mark.parametrize(
    "edit",
    [
        lambda b: b["families"][0]["laws"][0].update(parts=[-1, 3, 8]),
        lambda b: b["families"][0]["laws"][0].update(parts=[5, 3]),
        lambda b: b["families"][0].update(points=[0, 0, 4]),
        lambda b: b["families"][0].update(pairs=[[0, 7]]),
        lambda b: b["families"][0].update(pairs=[], labels=[]),
        lambda b: b["noise"].update(kind="staircase"),
        lambda b: b["noise"].update(scale="-1"),
        lambda b: b["noise"].update(scale="one"),
        lambda b: b.update(budget={"kind": "Pure", "epsilon": "-1"}),
        lambda b: b.update(budget={"kind": "Magic"}),
        lambda b: b.update(kind="magic"),
        lambda b: b.update(families=[]),
        lambda b: b.update(schema="fugu/certificate/99"),
        lambda b: b.pop("noise"),
    ],
)
def test_a_consistent_file_with_impossible_content_is_refused(edit):
    body = calibrate(PAIR, Pure(0.4)).certificate.to_json()
    edit(body)
    with pytest.raises(CertificateError):
        verify(Certificate.parse(reseal(body)))


@pytest.mark.parametrize("text", ["", "[]", "3", "null", "{}", "\x00\x01", "[" * 100_000])
def test_other_files_are_refused(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError):
        Certificate.load(tmp_path / "c.json")
    with pytest.raises(CertificateError):
        Certificate.load(tmp_path / "missing.json")


def test_against_worse_beliefs_the_verdict_is_no():
    mechanism = calibrate(PAIR, Pure(0.4))
    worse = LawPair(Discrete([0.5, 1.5, 4.5], [97, 2, 1]), Discrete([0.5, 1.5, 4.5], [1, 2, 97]))
    verdict = verify(mechanism, worse)
    assert not verdict.holds and not verdict and verdict.epsilon > 0.4


def test_a_mixture_round_trips_and_a_forged_half_fails(tmp_path):
    m = mix(0.5, calibrate(PAIR, Pure(0.3)), calibrate(PAIR, Pure(0.6)))
    m.certificate.save(tmp_path / "m.json")
    assert verify(tmp_path / "m.json").holds
    body = m.certificate.to_json()
    body["budget"] = {"kind": "Pure", "epsilon": "3/10"}
    assert not verify(Certificate.parse(reseal(body))).holds


def test_the_recipe_lets_a_reference_table_be_checked():
    table = {"s": ["a", "b"] * 20, "v": [0, 1, 1, 2] * 10}
    m = calibrate(Scenario.from_table(table, publish="v", protect="s"), Pure(0.5))
    again = Scenario.from_recipe(table, m.certificate.body["recipe"])
    assert verify(m.certificate, again).holds
    other = {"s": ["a", "b"] * 20, "v": [0, 2, 0, 2] * 10}
    assert not verify(m.certificate, Scenario.from_recipe(other, m.certificate.body["recipe"])).holds


def test_no_released_value_is_in_a_certificate():
    table = {"s": ["a", "b"] * 20, "v": [0, 1, 1, 2] * 10}
    m = calibrate(Scenario.from_table(table, publish="v", protect="s"), Pure(0.5))
    before = m.certificate.to_json()
    m.release([0, 1, 2, 2, 2])
    assert m.certificate.to_json() == before

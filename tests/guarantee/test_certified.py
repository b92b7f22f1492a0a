"""Certificates of compositions: both proofs work them out again, and take none that says less than the truth."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import ZCDP, Approx, Gaussian, Laplace, Pure, certify, compose
from fugu.documents.composition import CompositionCertificate
from fugu.errors import CertificateError, FuguError, NotAttackable, NotProvable, UsageError
from fugu.guarantee import outputs
from fugu.guarantee.pairs import pair_from
from fugu_verify import prove_again
from fugu_verify.composition import Grid, Losses
from fugu_verify.result import BadCertificate
from guarantee.test_composed import CERTIFIED, answers, drawn, exact_delta, together_of, truth
from hunting import search

ONCE = outputs({1: 1}, {0: 1, 1: 1})


def again(certificate, **changes):
    """The same document with other parts and a fresh seal; a part that is a function is told the old one."""
    body = {k: v for k, v in certificate.to_json().items() if k not in ("schema", "fugu", "publisher", "digest")}
    for name, change in changes.items():
        body[name] = change(body[name]) if callable(change) else change
    return CompositionCertificate.sealed(body)


def first(certificate):
    """How `fugu.verify` ends."""
    try:
        return fugu.verify(certificate).holds
    except CertificateError:
        return False


def second(certificate):
    """How `fugu-verify` ends."""
    try:
        return prove_again(certificate.to_json()).outcome == "holds"
    except BadCertificate:
        return False


@pytest.mark.parametrize(("parts", "most"), [CERTIFIED[k] for k in (0, 2, 3, 4, 12)], ids=lambda x: f"{x}"[:6])
def test_both_proofs_find_the_figures_of_the_theory(parts, most):
    made = certify(compose(parts), 1e-6)
    assert most - 3e-8 < made.believed.epsilon <= most + 3e-8
    assert fugu.verify(made).holds and first(made) and second(made)
    assert compose([made.composition]) == compose(parts)


@pytest.mark.parametrize(
    ("parts", "delta"),
    [
        ([Approx(Fraction(739, 1000), Fraction(603, 10000)), Gaussian(Fraction(77, 50), 1).losses(0)], 0.1032),
        ([Approx(Fraction(301, 1000), Fraction(27, 625)), Laplace(Fraction(139, 100), 1).losses(1)], 0.06),
    ],
    ids=["2e-13 more", "one law on two grids"],
)
def test_ten_digits_are_rounded_up_however_little_is_missing(parts, delta):
    """Wrong version: what is nearly ten digits is taken for them, and the certificate is refused by both."""
    made = certify(compose(parts), delta)
    assert first(made) and second(made)


def test_sums_entries_and_parts_from_outside():
    plain = certify(compose([Pure(0.1)] * 100))
    assert plain.believed == Pure(10) and plain["law"] is None and first(plain) and second(plain)
    mixed = compose([Pure(0.3), Approx(0.2, 1e-6)])
    at = certify(mixed, mixed.delta, of="entry")
    assert at.believed == Approx(0.5, 1e-6) and at["law"] is None and first(at) and second(at)
    assert at.quoted()[0].startswith("Promise: For each entry against anybody") and at.about == "one entry"
    outside = certify(compose([ZCDP(0.01)] * 10), 1e-6)
    assert first(outside) and prove_again(outside.to_json()).outcome == "not checked"
    for wrong, of, delta in ((Pure(1), "record", 0), (compose([Pure(1)]), "row", 0), (compose([Pure(0)]), "record", 0),
                             (compose([ZCDP(1)]), "record", 0), (mixed, "record", 0)):  # fmt: skip
        with pytest.raises((UsageError, NotProvable)):
            certify(wrong, delta, of=of)


SEVERAL = certify(compose([Gaussian(8, grid=1).losses(1)] * 16), 1e-6)
FORGED = {
    "a smaller epsilon": {"budget": lambda b: {**b, "epsilon": str(Fraction(b["epsilon"]) - Fraction("1e-6"))}},
    "a smaller delta": {"budget": lambda b: {**b, "delta": "0.9e-6"}},
    "a delta of none": {"budget": lambda b: {"kind": "Pure", "epsilon": b["epsilon"]}, "law": None},
    "one more release": {"parts": lambda p: [{**p[0], "count": 17}]},
    "a longer move": {"parts": [{"pair": "gaussian 64 2", "count": 16}]},
    "less noise": {"parts": [{"pair": "gaussian 63 1", "count": 16}]},
    "a finer grid": {"law": lambda law: {**law, "step": "1/128"}},
    "fewer bits": {"law": lambda law: {**law, "bits": 40, "cut": 40}},
    "bits that leave nothing": {"law": lambda law: {**law, "bits": 61}},
    "no law": {"law": None},
    "a part that stands twice": {"parts": lambda p: [{**p[0], "count": 8}] * 2},
    "none of a part": {"parts": lambda p: [{**p[0], "count": 0}]},
    "noise of no size": {"parts": [{"pair": "gaussian 0 1", "count": 16}]},
    "another kind of noise": {"parts": [{"pair": "cauchy 64 1", "count": 16}]},
    "negative probabilities": {"parts": [{"pair": "outputs 2,-1,1 1,0,1", "count": 1}]},
    "a negative epsilon": {"parts": [{"pair": "bound -1 0", "count": 100}]},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=list(FORGED))
def test_forgeries_are_refused_by_both(forged):
    made = again(SEVERAL, **forged)
    assert not first(made) and not second(made)


@pytest.mark.parametrize(
    ("parts", "epsilon"),
    [
        (["bound -4 0", "bound 5 0"], "1"),  # one that is negative takes away from another
        (["bound 5 0", "laplace -160 640"], "1"),
        (["laplace -1 5"], "1/10"),
        (["bound 1 -1", "bound 1 1/2"], "2"),
        (["bound 1 2"], "2"),
        (["laplace 1 1 100"], "1"),
        (["cauchy 1 1"], "1"),
    ],
)
def test_sums_of_what_is_out_of_range_are_refused_by_both(parts, epsilon):
    made = certify(compose([Pure(0.1)] * 3))
    listed = [{"pair": text, "count": 1} for text in parts]
    false = again(made, parts=listed, budget={"kind": "Pure", "epsilon": epsilon})
    assert first(made) and second(made) and not first(false) and not second(false)
    assert not second(again(made, neighbours="nothing"))


def test_the_same_parts_sealed_again_hold():
    assert first(again(SEVERAL)) and second(again(SEVERAL))


@pytest.mark.parametrize(
    ("parts", "delta", "epsilon", "wrong"),
    [
        ([Laplace(10, grid=1).losses(1)] * 100, 1e-6, "4.6926674", "1e-6"),  # of continuous noise: 1.594e-6
        ([ONCE] * 2, 0.76, "1e-6", "0.51"),  # as randomised response of ln 3, which is above one at all epsilon >= 0
        ([Laplace(10, grid=1).losses([1, 1])] * 100, 1e-6, "4.7745676", "1e-6"),  # one cell of a histogram for two
        ([Pure(0.1)] * 8, 0.11, "1e-9", "0.1090"),  # masses to the nearest, in eight bits
        ([Gaussian(2, grid=1).losses([[1, 1], [2]])], 1e-6, "4.3", "1e-6"),  # of the first of two moves alone: 3.3
    ],
    ids=["continuous", "one order", "one cell", "nearest", "several moves"],
)
def test_what_is_false_is_refused_by_both(parts, delta, epsilon, wrong):
    made = certify(compose(parts), delta)
    false = again(made, budget={"kind": "Approx", "epsilon": epsilon, "delta": wrong})
    assert first(made) and second(made) and not first(false) and not second(false)


@search("certified compositions against every output, by both proofs", quick=6)
def test_no_certificate_says_less_than_the_truth(rng):
    """What is certified holds in both proofs and against all outputs; an epsilon at which the truth has a larger delta
    holds in neither."""
    parts = [drawn(rng) for _ in range(rng.integers(1, 4))]
    delta = float(np.round(rng.uniform(1e-4, 0.3), 4))
    try:
        made = certify(compose([g for g, _, _ in parts]), delta)
    except NotProvable:
        return 0
    outcomes, stated = together_of(*(o for _, o, _ in parts)), float(made.believed.epsilon)
    assert truth(outcomes, stated) <= delta + 1e-11
    assert first(made)
    assert second(made) or any(isinstance(g, ZCDP) for g, _, _ in parts)
    less = float(np.round(stated * rng.uniform(0, 1), 6))
    if truth(outcomes, less) > delta + 1e-9:
        wrong = again(made, budget=lambda b: {**b, "epsilon": str(Fraction(str(less)))})
        assert not first(wrong) and not second(wrong)
    return 2


@search("the second proof's laws of losses of few bits against fractions", quick=20)
def test_every_rounding_of_the_second_proof_goes_up(rng):
    size, bits, n = int(rng.integers(1, 4)), int(rng.integers(6, 20)), int(rng.integers(1, 7))
    grid = Grid(bits, int(rng.integers(4, bits + 1)))
    p, q = ([int(x) for x in rng.integers(0, 6, size)] for _ in range(2))
    if not (sum(p) and sum(q)):
        return 0
    epsilon, delta = (float(x) for x in rng.uniform(0, (1, 0.2)).round(2))
    asked, answered = rng.uniform(-3, 3, 4).round(2).tolist(), together_of(*[answers(epsilon, delta)] * n)
    for part, law in (f"outputs {listed(p)} {listed(q)}", (p, q)), (f"bound {epsilon} {delta}", None):
        one = grid.read(part)
        if rng.integers(2):
            one = grid.on(one, Fraction(int(rng.integers(1, 40)), 60))
        whole = grid.power(one, n)
        for made in (one, whole):
            assert min(made.masses) >= 0 <= made.infinite and sum(made.masses) + made.infinite == grid.unit
        for e in asked:
            found = float(grid.delta(whole, Fraction(e))) + 1e-12
            if law is None:
                assert e < 0 or truth(answered, e) <= found
                continue
            x, y = ([Fraction(k, sum(each)) for k in each] for each in law)
            assert max(float(exact_delta(*pair, n, Fraction(math.exp(e)))) for pair in ((x, y), (y, x))) <= found
    return 8


def listed(numbers):
    return ",".join(map(str, numbers))


@search("splits of few bits of the second proof", quick=20)
def test_a_split_of_the_second_proof_only_raises(rng):
    grid = Grid(int(rng.integers(4, 12)), 12)
    cuts = np.sort(rng.integers(0, grid.unit, size=4))
    *masses, infinite = np.diff([0, *cuts, grid.unit]).tolist()
    step, first = Fraction(int(rng.integers(1, 30)), 20), Fraction(int(rng.integers(-30, 10)), 17)
    law = Losses(step, first, masses, infinite)
    wider = grid.on(law, Fraction(int(rng.integers(1, 50)), 23))
    assert min(wider.masses) >= 0 and sum(wider.masses) + wider.infinite == grid.unit
    for e in rng.uniform(-3, 3, 6).round(2).tolist():
        assert grid.delta(law, Fraction(e)) <= grid.delta(wider, Fraction(e)) + Fraction(1, 10**7)
    return 6


def test_masses_and_splits_of_the_second_proof_are_not_to_the_nearest():
    """Eight bits, randomised response of .1 eight times, as it is and split on another grid: .109012 at 0."""
    for step in (Fraction(1, 5), Fraction(3, 20), Fraction(1, 7)):
        grid = Grid(8, 8)
        law = grid.on(grid.read("bound 1/10 0"), step)
        assert grid.delta(grid.power(law, 8), Fraction(0)) >= 0.109012


@pytest.mark.parametrize(
    "part",
    ["outputs 2,-1,1 1,0,1", "outputs 1,1 1", "outputs 0,0 1,1", "gaussian 0 1", "gaussian 1e12 1", "laplace -1 1"],
)
def test_parts_that_are_no_pairs_are_not_read(part):
    with pytest.raises(CertificateError):
        pair_from(part)


@search("damaged certificates of compositions", quick=10)
def test_no_damage_ends_in_a_traceback(rng):
    made = certify(compose([Gaussian(3, grid=1).losses([[1, 1], [2]]), Approx(0.1, 1e-9), ONCE]), 0.6)
    junk = [
        None,
        -1,
        0,
        1e300,
        "",
        "x",
        "1/0",
        "nan",
        [],
        {},
        "bound 1",
        "laplace 1/3 1,",
        "outputs 1 1,1",
        10**30,
        True,
    ]

    def hit(part):
        if isinstance(part, dict | list) and part and rng.random() < 0.8:
            key = list(part)[rng.integers(len(part))] if isinstance(part, dict) else int(rng.integers(len(part)))
            part[key] = hit(part[key])
            return part
        return junk[rng.integers(len(junk))]

    body = made.to_json()
    name = ("parts", "law", "budget", "neighbours", "releases")[rng.integers(5)]
    found = again(made, **{name: hit(body[name])})
    for look in (fugu.verify, lambda document: prove_again(json.loads(document.text))):
        with suppress(FuguError, BadCertificate):
            look(found)


def test_a_composition_is_attacked_by_its_releases():
    with pytest.raises(NotAttackable, match="audit each release"):
        fugu.audit(SEVERAL)


def test_certificates_add_what_they_promise_anybody():
    """Not what they promise against beliefs: a masked bit and its mask leak nothing alone, and together everything."""
    pair = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]), "yes vs no")
    noisy = fugu.calibrate(pair, Pure(0.5)).certificate
    cells = fugu.calibrate(fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0]), "a vs b"), Pure(1)).certificate
    made = together(1e-6, a=[noisy], b=[noisy], c=[cells])
    assert {part["count"] for part in made["parts"]} == {1, 2} and first(made) and second(made)
    exact = 2 * float(noisy.anybody.epsilon) + float(cells.anybody.epsilon)
    assert made.believed.epsilon <= exact * (1 + 1e-9) and made["releases"][0].startswith("a.json, SHA-256 ")
    more = together(1e-6, total=[made], a=[noisy])
    assert sum(part["count"] for part in more["parts"]) == 4
    bit = fugu.Discrete([0, 1])
    mask = fugu.calibrate(fugu.LawPair(bit, bit, "s"), Pure(1)).certificate
    with pytest.raises(NotProvable, match=r"mask\.json: it promises nothing against anybody"):
        together(1e-6, a=[noisy], mask=[mask])
    with pytest.raises(CertificateError, match="the word of the user"):
        together(0, own=[fugu.PerEntryDP(lambda data: data, 0.5).certificate])
    entry = fugu.sequences.Histogram(fugu.sequences.States(("a", "b"))).mechanism(0.5).certificate
    assert together(0, d=[entry], e=[entry], f=[entry]).believed == Pure(1.5)
    with pytest.raises(UsageError, match="one entry"):
        together(0, a=[noisy], e=[entry])
    body = {k: v for k, v in noisy.to_json().items() if k not in ("schema", "fugu", "publisher", "digest")}
    edited = type(noisy).sealed({**body, "budget": {"kind": "Pure", "epsilon": "1/10"}})
    with pytest.raises(CertificateError, match=r"bad\.json"):
        together(0, bad=[edited])


def together(delta, **named):
    """Of documents with these certificates."""
    return CompositionCertificate.of([(f"{name}.json", each[0], each) for name, each in named.items()], delta)


def test_of_groups_with_different_noise_only_the_weakest_promise_is_known():
    """A record is in any of them. Wrong version: the law of the noise with the largest epsilon, which is less than the
    other's where epsilon is small: noise that moves by ten steps against noise that moves by one."""
    wide = fugu.LawPair(fugu.Discrete([0, 10]), fugu.Discrete([0, 10], [1, 3]), "a vs b")
    near = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0, 1], [1, 3]), "a vs b")
    one, two = fugu.calibrate(wide, Pure(0.55)).certificate, fugu.calibrate(near, Pure(0.5)).certificate
    most = max(float(each.anybody.epsilon) for each in (one, two))
    groups = together(0.2, table=[one, two])
    assert [part["pair"].split()[0] for part in groups["parts"]] == ["bound"]
    assert groups.composition.delta_at(0) >= max(together(0.2, t=[each]).composition.delta_at(0) for each in (one, two))
    assert groups.composition.to_pure().epsilon == pytest.approx(most)
    assert together(0.2, table=[one, one]).composition == together(0.2, table=[one]).composition
    half = fugu.mix(0.5, fugu.calibrate(near, Pure(0.5)), fugu.calibrate(near, Pure(0.3))).certificate
    assert together(0.1, mixed=[half])["parts"][0]["pair"].startswith("bound")

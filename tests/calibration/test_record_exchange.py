"""Record exchange: what k records with a property, in place of k without it, show through Laplace noise, against the
law of the published sums, enumerated from the definition."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Approx, Certificate, Pure, Scenario
from fugu.calibration.exchange import least_scales, record_exchange, records_on
from fugu.documents.exchange import RecordExchange
from fugu.errors import NotProvable, UsageError
from fugu.laws.family import Family, distinct
from fugu.laws.masses import Masses
from fugu.loss.exchange import Exchanged
from fugu_verify import BadCertificate, prove_again
from hunting import search


def law_of_sum(having, lacking, n, c, replacement):
    """{sum: probability} of c records with the property and n - c without; a class is {record: how many}."""
    if not replacement:
        ones, others = (sorted(Counter(each).elements()) for each in (having, lacking))
        drawn = (list(itertools.combinations(range(len(each)), k)) for each, k in ((ones, c), (others, n - c)))
        found: Counter = Counter()
        for first, second in itertools.product(*drawn):
            rows = [ones[i] for i in first] + [others[i] for i in second]
            found[tuple(map(sum, zip(*rows, strict=True)))] += 1
        whole = sum(found.values())
        return {x: Fraction(m, whole) for x, m in found.items()}
    zero = tuple(0 for _ in next(iter(having)))
    found = {zero: Fraction(1)}
    for one, times in ((having, c), (lacking, n - c)):
        total = sum(one.values())
        for _ in range(times):
            added: dict = {}
            for x, p in found.items():
                for y, m in one.items():
                    at = tuple(a + b for a, b in zip(x, y, strict=True))
                    added[at] = added.get(at, 0) + p * Fraction(m) / total
            found = added
    return found


def true_loss(p, q, scales):
    """max |ln P / Q| over the product grid of the atoms of both, where the ratio of noised laws is extreme."""
    axes = [sorted({x[j] for x in (*p, *q)}) for j in range(len(scales))]
    worst = 0.0
    for y in itertools.product(*axes):
        sums = [
            math.fsum(float(m) * math.exp(-sum(abs(a - b) / t for a, b, t in zip(y, x, scales, strict=True)))
                      for x, m in law.items()) for law in (p, q)
        ]  # fmt: skip
        worst = max(worst, abs(math.log(sums[0] / sums[1])))
    return worst


def held(having, lacking, left=None, errors=(0.0, 0.0), box=None):
    """The same two classes as the library has them."""
    rows = np.array([*having, *lacking])
    points, where = distinct(rows)
    laws = []
    for records, part in ((having, where[: len(having)]), (lacking, where[len(having) :])):
        counts = np.zeros(len(points), dtype=np.int64)
        np.add.at(counts, part, list(records.values()))
        laws.append(Masses(counts, Fraction(int(counts.sum()))))
    family = Family(points, tuple(laws), ((0, 1),), ("one vs other",), errors=errors)
    box = box or tuple((int(c.min()), int(c.max()), 1) for c in rows.T)
    return Exchanged(family, box, left)


def drawn_once(having, lacking, n, least, most):
    """The same, with what the library says is left to draw from."""
    whole = held(having, lacking)
    return RecordExchange(most - least, (least, most), False, whole.box).exchanged(whole.family, n)


def loss_of(records, scales):
    return records.loss([1 / Fraction(str(t)) for t in scales])


TWO = {(0,): 1, (1,): 1}


def test_small_exchanges_are_the_printed_numbers():
    """record_exchange_small of the notes: with replacement the bound is the truth; without, the full laws claim 0."""
    having, lacking = {(0,): 1, (1,): 1, (4,): 1}, {(0,): 1, (2,): 1}
    truth = true_loss(law_of_sum(having, lacking, 4, 3, True), law_of_sum(having, lacking, 4, 1, True), [2.0])
    assert 2 * loss_of(held(having, lacking), [2]) == pytest.approx(1.175257833206, abs=1e-12)
    assert truth == pytest.approx(1.175257833206, abs=1e-12)
    truth = true_loss(law_of_sum(TWO, TWO, 2, 2, False), law_of_sum(TWO, TWO, 2, 1, False), [1.0])
    assert truth == pytest.approx(0.379885493042, abs=1e-12)
    assert loss_of(drawn_once(TWO, TWO, 2, 1, 2), [1]) == pytest.approx(0.620114506958, abs=1e-12)
    assert loss_of(held(TWO, TWO), [1]) == 0 < truth  # a wrong version: the full laws without replacement


def test_the_smallest_number_that_is_taken_counts_too():
    """A wrong version: the m of the largest number of records alone (2 of 2 with the property)."""
    having, lacking = {(0,): 2, (3,): 2}, {(0,): 2, (3,): 1}
    truth = true_loss(law_of_sum(having, lacking, 2, 1, False), law_of_sum(having, lacking, 2, 0, False), [1.0])
    assert truth == pytest.approx(1.732627, abs=1e-6)
    right = loss_of(drawn_once(having, lacking, 2, 0, 2), [1])
    wrong = loss_of(held(having, lacking, (3, 3)), [1])
    assert right >= truth > wrong


def test_blocks_of_two_may_lose_less_than_one_record():
    """A wrong version: "at most k" by blocks of k alone. Here two records lose less than one."""
    having, lacking = {(0,): 1, (2,): 1}, {(1,): 1}
    laws = [law_of_sum(having, lacking, 2, c, True) for c in (0, 1, 2)]
    for scale, block, one in ((2, 0.379885, 0.5), (1, 0.867562, 1), (10, 0.095008, 0.1)):
        assert true_loss(laws[2], laws[0], [float(scale)]) == pytest.approx(block, abs=1e-6)
        assert true_loss(laws[1], laws[0], [float(scale)]) == pytest.approx(one, abs=1e-6)
        assert 2 * loss_of(held(having, lacking), [scale]) >= one > block


def test_laws_known_up_to_an_error_are_looked_at_all_over_the_box():
    """A wrong version: w on the grid of the reference's values, which are 0 and 10: it claims .040002."""
    ends = {(0,): 50, (10,): 50}
    moved = {(0,): 49, (5,): 1, (10,): 50}
    truth = true_loss(law_of_sum(ends, ends, 1, 1, True), law_of_sum(ends, moved, 1, 0, True), [1.0])
    assert truth == pytest.approx(0.905889, abs=1e-6)
    errors, box = (0.01, 0.01), ((0, 10, 1),)
    assert loss_of(held(ends, ends, errors=errors, box=box), [1]) >= truth
    wrong = loss_of(held(ends, ends, errors=errors, box=((0, 10, 10),)), [1])
    assert wrong == pytest.approx(0.040002, abs=1e-6) and wrong < truth


def test_both_proofs_look_all_over_the_box():
    far = {"x": [0, 10] * 30 + [1, 10], "s": ["p"] * 30 + ["q"] * 32}
    scenario = Scenario.from_property(far, ["mean(x)"], "s=p", 10, tolerance=0.1, bounds={"x": (0, 10)})
    made = fugu.calibrate(scenario, Pure(1), law_error=0.02)
    assert fugu.verify(made).holds and second(made.certificate).outcome == "holds"
    model = scenario.property
    family, _, box = records_on(model)
    assert box == ((0, 10, 1),)
    rates = [1 / Fraction(made.noise.scale) * made.noise.grid]
    bare = Exchanged(replace(family, errors=(0.02, 0.02)), ((0, 10, 10),)).loss(rates)
    assert float(second(made.certificate).epsilon[1]) == pytest.approx(1, rel=1e-6) and bare < 0.15


def random_class(rng, d, records, values):
    rows = [tuple(int(x) for x in rng.integers(0, values, d)) for _ in range(records)]
    return dict(Counter(rows))


@search("record exchange against the law of the sums", each=["replacement", "without", "error"], quick=20)
def test_no_exchange_loses_more(kind, rng):
    d, n, values = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    having, lacking = (random_class(rng, d, int(rng.integers(n, n + 3)), values) for _ in range(2))
    if rng.random() < 0.1:
        lacking = having
    scales = [round(float(x), 3) for x in np.exp(rng.uniform(-1.5, 2, d))]
    most = int(rng.integers(1, n + 1))
    least = int(rng.integers(0, most))
    errors, box = (0.0, 0.0), tuple((0, values - 1, 1) for _ in range(d))
    if kind == "error":
        errors = tuple(float(rng.choice([0.0, 0.01, 0.05])) for _ in range(2))
    records = held(having, lacking, None, errors, box)
    if kind == "without":
        records = drawn_once(having, lacking, n, least, most)
    stated = (most - least) * loss_of(records, scales)
    if kind == "error":  # true laws within that of the stated ones, on any points of the box
        having, lacking = (moved_law(rng, law, t, box) for law, t in zip((having, lacking), errors, strict=True))
    laws = [law_of_sum(having, lacking, n, c, kind != "without") for c in (most, least)]
    assert true_loss(*laws, scales) <= stated + 1e-9
    return 1


def moved_law(rng, law, t, box):
    """A law in total variation at most t from this one: mass is taken from one record to any point of the box."""
    total, share = sum(law.values()), Fraction(t)
    found = {x: Fraction(m, total) for x, m in law.items()}
    for _ in range(2):
        source = max(found, key=lambda x: (found[x], rng.random()))
        target = tuple(int(rng.integers(low, high + 1)) for low, high, _ in box)
        part = min(share / 2, found[source])
        found[source] -= part
        found[target] = found.get(target, Fraction(0)) + part
    return {x: m for x, m in found.items() if m}


def table(seed=1, n=400):
    rng = np.random.default_rng(seed)
    s = rng.random(n) < 0.4
    return {
        "x": (rng.integers(0, 10, n) + 2 * s).tolist(), "y": np.where(rng.random(n) < 0.3 + 0.2 * s, "a", "b").tolist(),
        "s": np.where(s, "p", "q").tolist(),
    }  # fmt: skip


BOTH = ["mean(x)", "count(y=a)"]


def shares(statistics=BOTH, **more):
    more = {"tolerance": 0.1, "bounds": {"x": (0, 11)} if "mean(x)" in statistics else None, **more}
    return Scenario.from_property(table(), statistics, "s=p", 20, **more)


@pytest.mark.parametrize("more", [{}, {"replacement": False, "values": [0.4, 0.5]}], ids=["with", "without"])
@pytest.mark.parametrize("statistics", [BOTH, ["mean(x)"], ["count(y=a)"]], ids=["both", "mean", "count"])
def test_the_method_is_proved_twice_and_has_less_noise(statistics, more):
    made = fugu.calibrate(shares(statistics, **more), Pure(1), method="record-exchange")
    assert made.certificate.method == "record-exchange" and fugu.verify(made).holds
    again = second(made.certificate)
    assert again.outcome == "holds" and again.agrees_with(made.certificate.proved["epsilon"], 0.0)
    if statistics == BOTH:
        ranges = fugu.calibrate(shares(statistics, **more), Pure(1), method="record-group")
        assert made.expected_error() < ranges.expected_error()
    drawn = made.release([5.0] * len(statistics) if len(statistics) > 1 else 5.0, allow_no_noise=True)
    assert fugu.verify(drawn).holds


def second(certificate):
    return prove_again(json.loads(json.dumps(certificate.to_json())))


@search("two proofs of one record exchange", quick=6)
def test_two_proofs_of_one_exchange_agree(rng):
    statistics = [BOTH, ["mean(x)"], ["count(y=a)"], ["sum(x)", "mean(x)"]][int(rng.integers(4))]
    seed, size, near = int(rng.integers(1000)), int(rng.integers(5, 40)), float(rng.choice([0.1, 0.2, 0.3]))
    more = {"bounds": {"x": (0, int(rng.integers(9, 14)))}} if statistics != ["count(y=a)"] else {}
    off = float(rng.choice([0.0, 0.0, 0.02]))
    if not off and rng.random() < 0.5:
        more |= {"replacement": False, "values": [0.3, 0.3 + near]}
    try:
        scenario = Scenario.from_property(table(seed, 200), statistics, "s=p", size, tolerance=near + 1e-9, **more)
        made = fugu.calibrate(scenario, Pure(float(rng.choice([0.3, 1, 4]))), method="record-exchange", law_error=off)
    except (NotProvable, UsageError):
        return 0
    assert fugu.verify(made).holds
    again, stated = second(made.certificate), made.certificate.proved["epsilon"]
    assert again.outcome == "holds" and again.epsilon[1] == pytest.approx(stated, rel=1e-12, abs=1e-15)
    return 1


def test_a_pure_budget_takes_it_by_itself():
    made = fugu.calibrate(shares(), Pure(1))
    assert made.certificate.method == "record-exchange"
    single = fugu.calibrate(shares(["count(y=a)"]), Pure(1))
    assert single.certificate.method == "record-exchange"
    rows = {row.method: row for row in fugu.compare(shares(), Pure(1)).rows}
    assert rows["record-exchange"].expected_absolute < rows["record-group"].expected_absolute
    assert fugu.calibrate(shares(), Approx(1, 1e-3)).certificate.method != "record-exchange"


def test_scales_of_least_sum_beat_one_scale_and_meet_the_target():
    model = shares().property
    family, _, box = records_on(model)
    records = Exchanged(family, box)
    best = least_scales(records, 0.5, 1)
    assert records.loss([1 / Fraction(x) for x in best]) == pytest.approx(0.5, rel=1e-8)
    low, high = 1.0, 100.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if records.loss([1 / Fraction(middle)] * 2) > 0.5 else (low, middle)
    assert sum(best) < 2 * high
    for j, t in itertools.product(range(2), (0.98, 1.02)):  # nothing near it is better
        near = list(best)
        near[j] *= t
        short, far = 0.9, 1.1
        for _ in range(40):
            middle = (short + far) / 2
            above = records.loss([1 / Fraction(middle * x) for x in near]) > 0.5
            short, far = (middle, far) if above else (short, middle)
        assert far * sum(near) > sum(best) * (1 - 1e-6)


def test_classes_that_add_the_same_need_no_noise():
    same = {"x": [0, 1, 2, 9] * 10, "s": ["p"] * 20 + ["q"] * 20}
    scenario = Scenario.from_property(same, ["mean(x)", "sum(x)"], "s=p", 10, tolerance=0.2, bounds={"x": (0, 9)})
    made = fugu.calibrate(scenario, Pure(1), method="record-exchange")
    assert made.noise.silent and fugu.verify(made).holds and made.certificate.proved["epsilon"] == 0
    assert second(made.certificate).outcome == "holds"


def forged(made, **changed):
    body = made.certificate.unsealed
    return Certificate.seal({**body, **changed}, made.certificate.laws)


def test_forged_certificates_do_not_hold():
    made = fugu.calibrate(shares(), Pure(1), method="record-exchange")
    body = made.certificate.unsealed
    plan, noise = body["exchange"], body["noise"]
    less = forged(made, noise={**noise, "scales": [str(Fraction(t) * Fraction(97, 100)) for t in noise["scales"]]})
    assert not fugu.verify(less).holds
    assert second(less).outcome == "fails"
    wrong = [
        {**plan, "exchanged": 1}, {**plan, "counts": [5, 20]}, {**plan, "box": [[0, 11, 2], [0, 20, 20]]},
        {**plan, "box": [[0, 22, 1], [0, 20, 20]]}, {**plan, "replacement": 1}, {**plan, "box": plan["box"][:1]},
    ]  # fmt: skip
    for other in wrong:
        with pytest.raises(fugu.errors.CertificateError):
            fugu.verify(forged(made, exchange=other))
        with pytest.raises(BadCertificate):
            second(forged(made, exchange=other))
    bare = {k: v for k, v in body.items() if k != "exchange"}
    assert not _holds(Certificate.seal(bare, made.certificate.laws))
    silent = forged(made, assumptions=[a for a in body["assumptions"] if "rounded" not in a])
    assert not fugu.verify(silent).holds


def _holds(certificate):
    try:
        return fugu.verify(certificate).holds
    except fugu.errors.CertificateError:
        return False


def test_what_cannot_be_proved_is_refused():
    with pytest.raises(NotProvable, match="above 0"):
        fugu.calibrate(shares(), Pure(0), method="record-exchange")
    with pytest.raises(NotProvable, match="grid"):
        fugu.calibrate(shares(), Pure(1), method="record-exchange", grid=0.3)
    few = replace(shares(replacement=False, values=[0.4, 0.5]).property, size=500)
    with pytest.raises(NotProvable, match="too few"):
        record_exchange(few, Pure(1).asks(), None, "absolute")

"""Why each assumption about independent records is stated: a claim without it, and the truth from the definition.

Independence and public aggregates are in test_records_threshold.py, pooled laws and thin references in
priors/test_records.py. Here: the reference is not the protected table; what was known before is conditioned on, what is
published now is charged; columns are fixed where there is a delta; the domain is the whole product.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from records_oracle import best_loss, hockey

import fugu
from fugu import Records
from fugu.priors.records import INDEPENDENT, KNOWN_BEFORE, NO_AGGREGATE, OWN_RECORD, REFERENCE, WHOLE_DOMAIN
from fugu.translation.records.bounds import share


def test_the_protected_table_as_its_own_reference_tells_by_the_noise_itself():
    """Known rows (s, a) = (1, 1), (0, 0); the third record has a = 0. The epsilon_0 that .5 buys shows its s."""

    def bought(s):
        rows = [(1, 1), (0, 0), (s, 0)]
        laws = {str(secret): [sum(r == (secret, a) for r in rows) for a in (0, 1)] for secret in (0, 1)}
        return fugu.dp_budget(Records.of_laws(laws), 0.5)

    assert bought(0) == 0.5 and bought(1) == pytest.approx(0.83179, abs=1e-5), "two noises, one for each secret"
    assert REFERENCE in Records.example().assumptions


def test_what_was_known_before_is_conditioned_on_and_what_is_published_is_charged():
    """z = 1 has .3 under t and .3 e^-.4 under s; there A is 0 or 1 under s, 1 under t; elsewhere A is 2. A at 2:
    .5743 for the pooled law of A, 1.0338 with z published beside it, 1.4338 for whoever knew z before."""
    z = 0.201096  # .3 e^-.4, in six digits
    pooled = Records.of_laws({"s": [0.100548, 0.100548, 0.798904], "t": [0, 0.3, 0.7]})
    known = Records.of_laws({"s": [1, 1, 0], "t": [0, 1, 0]})
    assert fugu.translate(pooled, 2) == pytest.approx(0.5743, abs=1e-4)
    a = math.exp(2)
    answer = np.array([a, 1]) / (1 + a)  # "A = 0?", said truly with odds a
    before = math.log((answer[0] / 2 + answer[1] / 2) / answer[1])
    beside = math.log(z * (answer[0] / 2 + answer[1] / 2) / (0.3 * answer[1]))
    assert beside == pytest.approx(1.0338, abs=1e-4) and before == pytest.approx(fugu.translate(known, 2))
    assert fugu.translate(pooled, 2) < beside < before and KNOWN_BEFORE in known.assumptions


@pytest.mark.parametrize("k", [2, 5, 20])
def test_columns_that_grow_with_the_answers_are_not_covered_where_there_is_a_delta(k):
    """a of k values, b_a = 1 under t alone. Publish a and b_a with probability delta: delta / k claimed, delta true."""
    delta0, epsilon = 0.1, 1.0
    path = Records.of_laws(
        {"s": [k - 1, 1, 0], "t": [k - 1, 0, 1]}
    )  # of (a = j, b_j) for one j: the columns of one path
    claimed = share(path.laws(), epsilon) * delta0
    s = np.concatenate([[1 - delta0], np.full(k, delta0 / k), np.zeros(k)])  # nothing; (a, 0); (a, 1)
    t = np.concatenate([[1 - delta0], np.zeros(k), np.full(k, delta0 / k)])
    assert hockey(s, t, epsilon) == pytest.approx(delta0) and claimed == pytest.approx(delta0 / k)
    every = Records.of_laws({"s": [1] * k + [0] * k, "t": [0] * k + [1] * k})  # all columns that some path may read
    assert share(every.laws(), epsilon) * delta0 == delta0


def test_a_law_of_bins_says_nothing_of_what_is_read_by_the_year():
    """Ages 20 or 31 under s, 21 or 30 under t: the bins of ten years have one law, the years tell everything."""
    years = {"s": [20, 31] * 40, "t": [21, 30] * 40}
    columns = {"who": ["s"] * 80 + ["t"] * 80, "age": years["s"] + years["t"]}
    bins = {**columns, "age": [age // 10 for age in columns["age"]]}
    assert fugu.translate(Records(bins, "who", "age"), 0.5) == 0
    assert fugu.translate(Records(columns, "who", "age"), 0.5) == 0.5 and "no finer than the law" in WHOLE_DOMAIN


def test_privacy_on_possible_tables_alone_proves_nothing():
    """Two records that are always equal have no possible neighbours; on the whole domain they cost 2 epsilon_0."""
    s, t = np.array([[1.0, 0], [0, 0]]), np.array([[0, 0], [0, 1.0]])
    assert best_loss(s, t, 0.5) == pytest.approx(1.0, abs=1e-8)
    stated = Records.example().assumptions
    assert {WHOLE_DOMAIN, INDEPENDENT, NO_AGGREGATE, OWN_RECORD} <= set(stated)

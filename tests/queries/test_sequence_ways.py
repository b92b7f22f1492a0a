"""Gumbel noise as rounds, several questions that share one epsilon, what each rule allows, and errors expected."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sequence_oracle import Silent

import fugu
from fugu.errors import CertificateError, UsageError
from fugu.noise import selection
from fugu.noise.bits import RngBits
from fugu.priors.chain import MarkovChain
from fugu.queries import entry_noise
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.sequence_certificate import same_query
from fugu.queries.sequence_promise import ADDED, CONTRACTION, CURVE, GROUP, QUILTS, SEVENTH, entry_budget, rules
from fugu.queries.sequences import (
    Count,
    Histogram,
    Lipschitz,
    Mean,
    Numbers,
    Several,
    States,
    Sum,
    TopK,
    Transitions,
    query_from,
)
from fugu.queries.usable_sequences import SPLIT, expected_error, grouped_users

ABC = States(("a", "b", "c"))
E = Fraction(1)


def test_gumbel_is_drawn_as_the_rounds_of_the_exponential_mechanism(monkeypatch):
    """The same bits give the same answer: the law that runs is the one that is proved."""
    data = ["a", "a", "b", "c", "a", "b"]
    for seed in range(20):
        drawn = [
            TopK(2, ABC, method).draw(ABC.read(data), EntryNoise(E), RngBits(np.random.default_rng(seed))).value
            for method in ("exponential", "gumbel")
        ]
        assert drawn[0] == drawn[1]
    asked = []
    monkeypatch.setitem(selection.METHODS, "exponential", lambda u, rate, *_: asked.append(rate) or 0)
    TopK(2, ABC, "gumbel").draw(ABC.read(data), EntryNoise(E), RngBits(np.random.default_rng(0)))
    assert asked == [Fraction(1, 4)] * 2  # epsilon over 2 rounds and a sensitivity of 1 on both sides


def test_several_split_epsilon_by_their_shares(monkeypatch):
    monkeypatch.setattr(entry_noise, "laplace_sampler", Silent)
    Silent.rates = []
    both = Several.of([Histogram(ABC), Count("a", ABC), Transitions(ABC)], [2, 1, 1])
    answer = both.mechanism(E).release(["a", "b", "a"])
    assert Silent.rates == [Fraction(1, 2) / 2, Fraction(1, 4), Fraction(1, 4) / 4]
    assert [part.value if np.ndim(part.value) == 0 else part.value.tolist() for part in answer.parts] == [
        [2, 1, 0], 2, [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
    ]  # fmt: skip
    assert answer.guarantee == fugu.Pure(1)


def test_several_are_made_again_from_their_claims_and_nothing_else_is():
    numbers = Numbers(0, 3)
    both = Several.of([TopK(2, States((0, 1, 3)), "gumbel"), Mean(numbers), Sum(numbers)], [3, 1, 1])
    claims = both.mechanism(E).certificate.claims
    assert query_from(claims) == both
    for wrong in ({"share": "4/5"}, {"share": "0"}, {"share": "-1/5"}, {"parts": [claims["parts"][0]]}):
        edited = {**claims, "parts": [{**claims["parts"][0], **wrong}, *claims["parts"][1:]]}
        with pytest.raises((CertificateError, UsageError)):
            query_from(edited)


def test_several_refuse_what_does_not_belong_together():
    with pytest.raises(UsageError, match="one way"):
        Several.of([Histogram(ABC), Histogram(States(("a", "b")))])
    with pytest.raises(UsageError, match="weights"):
        Several.of([Histogram(ABC), Count("a", ABC)], [1, 0])
    with pytest.raises(UsageError, match="itself several"):
        Several.of([Histogram(ABC), Several.of([Histogram(ABC), Count("a", ABC)])])


def test_a_users_own_function_cannot_pass_for_one_of_several():
    """Its word about its own sensitivity is not proved by standing beside others."""
    own = Lipschitz(len, Fraction(1), ABC, label="histogram")
    both = Several.of([own, Count("a", ABC)])
    with pytest.raises(CertificateError):
        same_query(both.mechanism(E).certificate.claims)


CHAIN = MarkovChain([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.4, 0.3, 0.3]], 40)


def test_composing_first_is_never_worse_and_added_translations_are_not_the_rule():
    """Every rule keeps epsilon; the wrong version adds what each question was translated to, and spends too much."""
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    found, left = rules(CHAIN, 1, shares)
    by_name = {rule.name: rule for rule in found}
    assert list(by_name) == [GROUP, QUILTS, ADDED, SEVENTH, CURVE, CONTRACTION]
    assert not left
    assert all(fugu.translate(CHAIN, rule.total) <= 1 for rule in found)
    totals = [by_name[name].total for name in (GROUP, ADDED, SEVENTH, CURVE, CONTRACTION)]
    assert totals == sorted(totals)
    assert by_name[CONTRACTION].total <= fugu.dp_budget(CHAIN, 1)
    each = [entry_budget(CHAIN, Fraction(1)) for _ in shares]  # each question with all of epsilon
    assert fugu.translate(CHAIN, math.fsum(each)) > 1


def test_theorem_seven_is_its_formula():
    chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], 120)
    curve = fugu.influence(chain)
    (rule,) = [r for r in rules(chain, 2, [Fraction(1, 2)] * 2)[0] if r.name == SEVENTH]
    best = max(((s - curve(b)) / b, curve(b)) for b in range(1, 100) if (s := 1.1866) > curve(b))
    assert rule.entry[0] == pytest.approx(best[0], abs=2e-4)  # 2 x 1.1866 less one a of .3732 is 2


def test_expected_errors_are_those_of_the_noise():
    """Means of many draws of the mechanisms themselves, against what is said before anything is released."""
    rng = np.random.default_rng(5)
    data = [list(rng.choice(list("aabbc"), 30)) for _ in range(4)]
    groups = grouped_users(ABC.read(data), None)
    counts = Histogram(ABC).exact(data)
    drawn = np.mean([np.abs(Histogram(ABC).mechanism(E).simulate(data, rng).value - counts).mean() for _ in range(300)])
    assert expected_error(Histogram(ABC), 1.0, "laplace", groups) == pytest.approx(drawn, rel=0.15)
    assert expected_error(Histogram(ABC), 1.0, SPLIT, groups) == pytest.approx(1 / math.sinh(1 / 3))
    small = Fraction(1, 10)
    for method, k in product(("laplace", "permute-and-flip", "exponential"), (2,)):
        query, losses = TopK(k, ABC, method), []
        best = sorted(counts, reverse=True)[:k]
        for _ in range(300):
            said = query.mechanism(small).simulate(data, rng).value
            losses.append(sum(abs(counts[ABC.code(s)] - c) for s, c in zip(said, best, strict=True)))
        told = expected_error(query, 0.1, method, groups)
        assert told == pytest.approx(np.mean(losses), abs=5 * np.std(losses) / math.sqrt(300) + 0.5)


def test_groups_of_users_stand_for_smaller_tables():
    assert [len(group) for group in grouped_users(ABC.read([["a"]] * 7), 3)] == [3, 3]
    with pytest.raises(UsageError, match="--users"):
        grouped_users(ABC.read([["a"]] * 7), 8)

"""Compositions under a prior: composed first, then translated as one profile."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu import ZCDP, Approx, Gaussian, MarkovChain, Pure, compose, translate
from fugu.errors import UsageError
from fugu.ledger import Charge
from fugu.ledger.accountant import Charges, Terms, total
from fugu.translation.losses import at_share
from hunting import search

VECTORS = json.loads((Path(__file__).parent.parent / "guarantee" / "loss_law_vectors.json").read_text())
KINDS = {"RR": Pure(0.1), "latt": Gaussian(20, grid=1).losses(1)}
CHAINS = {
    "[[.6,.4],[.2,.8]] T=1000": MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000),
    "[[.9,.1],[.1,.9]] T=100": MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=100),
}


@pytest.mark.parametrize("kind", ["RR", "latt"])
@pytest.mark.parametrize("chain", CHAINS)
def test_chains_carry_the_whole_profile(kind, chain):
    """Below what the theory printed, which is below every single (epsilon, delta) and the Rényi account."""
    told = next(v for k, v in VECTORS["chains_eps_at_1e_5"].items() if kind in k)[chain]
    found = translate(CHAINS[chain], compose([KINDS[kind]] * 100), delta=1e-5)
    assert found.delta == 1e-5 and 0.99 * told < found.epsilon <= told


@pytest.mark.parametrize("kind", ["RR", "latt"])
def test_records_of_a_fixed_share(kind):
    """Theorem 4 where the hockey stick of the laws is the same at every epsilon."""
    whole = compose([KINDS[kind]] * 100)
    for share, told in next(v for k, v in VECTORS["records_theorem4_eps_at_1e_6"].items() if kind in k).items():
        low, high = 0.0, 5.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if at_share(whole, Fraction(share), middle) <= 1e-6 else (middle, high)
        assert high == pytest.approx(float(told), abs=2e-6)


def test_a_delta_is_needed_and_a_larger_one_costs_less():
    whole = compose([Pure(0.1)] * 20)
    chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=20)
    with pytest.raises(UsageError, match="delta="):
        translate(chain, whole)
    each = [translate(chain, whole, delta=d).epsilon for d in (1e-9, 1e-5, 1e-2)]
    assert each == sorted(each, reverse=True)
    users = translate([chain, MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=20)], whole, delta=1e-5)
    assert users.epsilon >= each[1]


def test_other_priors_take_the_best_of_single_bounds_and_the_zcdp():
    field = fugu.GaussianField([[1, 0.5], [0.5, 1]], width=1)
    bells = compose([Gaussian(20, 1).losses(1)] * 40)
    assert translate(field, bells, delta=1e-6) <= translate(field, ZCDP(bells.zcdp)).to_approx(1e-6)
    tied = fugu.DependentGroups(3)
    assert translate(tied, bells, delta=1e-6).epsilon < 4 * bells.to_approx(1e-7).epsilon


@search("compositions under small chains against enumeration", quick=8)
def test_no_chain_tells_more_than_is_stated(rng):
    """k answers by randomised response on every entry: all outputs, all beliefs of the chain, every pair and node."""
    size, k = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    kernel = np.round(rng.uniform(0.1, 0.9, 2), 2)
    rows = np.array([[1 - kernel[0], kernel[0]], [kernel[1], 1 - kernel[1]]])
    epsilons = rng.uniform(0.1, 0.8, k).round(2).tolist()
    chain = MarkovChain(rows.tolist(), length=size)
    delta = float(rng.choice([0.1, 0.02]))
    found = translate(chain, compose([Pure(e) for e in epsilons]), delta=delta)
    start = np.array([kernel[1], kernel[0]]) / kernel.sum()
    tables = list(itertools.product((0, 1), repeat=size))
    weight = np.array([start[t[0]] * math.prod(rows[a, b] for a, b in itertools.pairwise(t)) for t in tables])
    cell = np.eye(2)
    shown = np.ones((2, 1))
    for e in epsilons:
        p = 1 / (1 + math.exp(-e))
        shown = np.einsum("xi,xj->xij", shown, p * cell + (1 - p) * (1 - cell)).reshape(2, -1)
    outputs = np.ones((len(tables), 1))
    for j in range(size):
        outputs = np.einsum("ti,tj->tij", outputs, shown[[t[j] for t in tables]]).reshape(len(tables), -1)
    for node in range(size):
        laws = [weight * np.array([t[node] == x for t in tables]) for x in (0, 1)]
        laws = [(w / w.sum()) @ outputs for w in laws]
        for p, q in (laws, laws[::-1]):
            assert np.maximum(p - math.exp(found.epsilon) * q, 0).sum() <= delta + 1e-12
    return size


@search("compositions about one record against enumeration", quick=20)
def test_no_record_tells_more_than_is_stated(rng):
    """The same answers about one record with given laws of its value under two secrets."""
    counts = rng.integers(1, 8, (2, 3))
    epsilons = rng.uniform(0.1, 1, rng.integers(1, 4)).round(2).tolist()
    rows = [(s, v) for s in (0, 1) for v in range(3) for _ in range(counts[s, v])]
    reference = {"s": [str(s) for s, _ in rows], "v": [str(v) for _, v in rows]}
    prior = fugu.Records(reference, "s", ["v"])
    delta = float(rng.choice([0.05, 0.01]))
    whole = compose([Pure(e) for e in epsilons])
    found = translate(prior, whole, delta=delta)
    assert found.epsilon <= whole.to_approx(delta).epsilon * (1 + 1e-12)
    shown = np.ones((3, 1))
    for e in epsilons:  # three answers: the true one e^epsilon times as likely as each other
        row = np.full((3, 3), 1.0) + (math.exp(e) - 1) * np.eye(3)
        shown = np.einsum("xi,xj->xij", shown, row / row.sum(axis=1)).reshape(3, -1)
    laws = [(counts[s] / counts[s].sum()) @ shown for s in (0, 1)]
    for p, q in (laws, laws[::-1]):
        assert np.maximum(p - math.exp(found.epsilon) * q, 0).sum() <= delta + 1e-12


def test_a_ledger_with_a_chain_holds_planned_charges_to_their_law():
    chain, many = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=50), Charge.per_entry(0.02)
    sums = total([Charges(many, 100)], Terms(Approx(2, 1e-5), chain))
    planned = total([Charges(many, 100, planned=True)], Terms(Approx(2, 1e-5), chain))
    assert sums == Pure(translate(chain, 2)) and planned == translate(chain, compose([Pure(0.02)] * 100), delta=1e-5)
    assert planned <= Approx(2, 1e-5) and not sums <= Approx(2, 1e-5)
    assert total([Charges(many, 20, planned=True)], Terms(Approx(2, 1e-5), chain)) == Pure(translate(chain, 0.4))

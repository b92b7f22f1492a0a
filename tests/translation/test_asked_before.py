"""What a translation says does not depend on what was asked before: whoever checks a certificate has asked nothing."""

from __future__ import annotations

import numpy as np
import pytest

import fugu
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.network import household


def random_chain(k, length, start, seed):
    rng = np.random.default_rng(seed)
    rows = 0.8 * np.eye(k) + 0.2 * rng.dirichlet(np.ones(k), size=k)
    first = rng.dirichlet(np.ones(k)) if start == "given" else start
    return lambda: fugu.MarkovChain(rows / rows.sum(axis=1, keepdims=True), length, first)


PRIORS = {
    f"{k} values, {length} entries, start {start}": random_chain(k, length, start, k)
    for k, length, start in [(2, 50, "any"), (3, 30, "given"), (7, 200, "stationary"), (7, 60, "given"),
                             (9, 90, "any"), (14, 100, "stationary"), (14, 40, "any"), (14, 60, "given")]
}  # fmt: skip
PRIORS["a household"] = lambda: household(4, 0.1, 0.5)
PRIORS["a hidden chain"] = lambda: HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], length=30)
EPSILONS = (0.3, 0.02, 0.0201)


@pytest.mark.parametrize("name", PRIORS)
def test_a_translation_is_a_function_of_prior_and_epsilon(name):
    fresh = [fugu.translate(PRIORS[name](), e) for e in EPSILONS]
    one, two = PRIORS[name](), PRIORS[name]()
    assert [fugu.translate(one, e) for e in EPSILONS] == fresh
    assert [fugu.translate(two, e) for e in reversed(EPSILONS)] == fresh[::-1]


@pytest.mark.parametrize(("k", "dp"), [(2, fugu.Approx(0.1, 1e-6)), (3, fugu.Renyi(4, 0.05))], ids=str)
def test_so_is_that_of_other_guarantees(k, dp):
    fresh = random_chain(k, 12, "any" if k == 2 else "given", k)
    one = fresh()
    fugu.translate(one, 0.3)
    fugu.translate(one, fugu.Approx(0.4, 1e-4))
    assert fugu.translate(one, dp) == fugu.translate(fresh(), dp)

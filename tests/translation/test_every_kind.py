"""Every guarantee per entry, under every prior, alone or in any container of several: the worst of its members."""

from __future__ import annotations

import ast
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu.guarantee.asks import exact

CHAINS = [fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 4), fugu.MarkovChain([[0.7, 0.3], [0.3, 0.7]], 3)]


def records(weights):
    draws = np.random.default_rng(3)
    s = draws.integers(0, 2, 400)
    x = np.where(draws.random(400) < weights[0], s, draws.integers(0, 2, 400))
    return fugu.Records({"s": s.tolist(), "x": x.tolist()}, "s", ["x"])


PRIORS = {
    "chains": CHAINS,
    "records": [records((0.3,)), records((0.5,))],
    "both": [CHAINS[0], records((0.5,))],
    "joint": [fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 3, "any"), fugu.MarkovChain([[0.5, 0.5], [0.5, 0.5]], 4)],
}
GUARANTEES = [
    fugu.Pure(0.2), fugu.Approx(0.2, 1e-9), fugu.Renyi(2, 0.1), fugu.RenyiCurve({2: 0.1, 8: 0.4}), fugu.ZCDP(0.05)
]  # fmt: skip
CONTAINERS = [list, tuple, lambda priors: dict(enumerate(priors))]


def losses(guarantee):
    """Everything that is stated, order by order."""
    if guarantee.renyi:
        return {exact(a): float(e) for a, e in guarantee.orders}
    return {"epsilon": float(guarantee.epsilon), "delta": float(guarantee.delta)}


@pytest.mark.parametrize("kind", PRIORS)
@pytest.mark.parametrize("dp", GUARANTEES, ids=lambda dp: type(dp).__name__)
def test_several_priors_are_worth_the_worst_of_them(dp, kind):
    """Containers in turn: each of them holds every kind of priors, and meets every guarantee."""
    container = CONTAINERS[(GUARANTEES.index(dp) + list(PRIORS).index(kind)) % 3]
    alone = [losses(fugu.translate(prior, dp)) for prior in PRIORS[kind]]
    together = losses(fugu.translate(container(PRIORS[kind]), dp))
    for name, loss in together.items():
        assert loss == pytest.approx(max(one[name] for one in alone if name in one), rel=1e-9)
    assert set(together) >= set.intersection(*map(set, alone))


@pytest.mark.parametrize("rho", [0.01, 0.05, 0.5])
def test_records_are_worth_less_than_rho_in_zcdp_too(rho):
    """At every order about what a curve with the same numbers is worth, and less than the plain loss a rho."""
    prior, dp = PRIORS["records"][0], fugu.ZCDP(rho)
    found = fugu.translate(prior, dp)
    curve = fugu.translate(prior, fugu.RenyiCurve({a: e for a, e in dp.points if math.isfinite(a)}))
    for alpha, loss in found.orders:
        assert float(loss) <= 1.05 * float(curve.divergence_at(alpha)) + 1e-12
    assert float(found.divergence_at(2)) < 0.6 * 2 * rho  # registered twice, it was 2 rho


def registrations(tree):
    """(function, type) of every implementation that a module registers."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            call = mark if isinstance(mark, ast.Call) else None
            way = call.func if call else mark
            if not (isinstance(way, ast.Attribute) and way.attr == "register"):
                continue
            arguments = [a for a in node.args.args if a.arg != "self"]
            kinds = call.args if call and call.args else [arguments[0].annotation]
            for kind in kinds:
                parts = ast.unparse(kind).split(" | ")
                yield from ((ast.unparse(way.value), part) for part in parts)


def test_no_kind_is_registered_twice():
    """The second registration silently takes the place of the first."""
    twice = {}
    for path in Path(fugu.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found = Counter(registrations(ast.parse(text)) if ".register" in text else ())
        twice |= {(path.name, *key): n for key, n in found.items() if n > 1}
    assert not twice
    wrong = "@f.register\ndef _(x: ZCDP): ...\n@f.register\ndef _(y: ZCDP | int): ...\n"
    assert Counter(registrations(ast.parse(wrong)))["f", "ZCDP"] == 2

"""Cases on dependence between entries: influence, translation, budgets per entry, and what is per-entry private."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import fugu
from fugu import BayesianNetwork, MarkovChain
from golden.stating import guarded, plain

_TWO, _THREE = [[0.6, 0.4], [0.2, 0.8]], [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.05, 0.15, 0.8]]
PRIORS: dict[str, Callable[[], Any]] = {
    "chain-two": lambda: MarkovChain(_TWO, length=100),
    "chain-two-started": lambda: MarkovChain(_TWO, length=12, initial=[0.9, 0.1], states=["well", "ill"]),
    "chain-two-any": lambda: MarkovChain(_TWO, length=50, initial="any"),
    "chain-three": lambda: MarkovChain(_THREE, length=30),
    "chain-three-any": lambda: MarkovChain(_THREE, length=20, initial="any"),
    "chain-forbidden": lambda: MarkovChain([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]], length=20),
    "chain-dying": lambda: MarkovChain([[0.5, 0.5], [0, 1]], 6, [1, 0], ["well", "dead"]),
    "chain-varying": lambda: MarkovChain([_TWO, [[0.5, 0.5], [0.3, 0.7]], _TWO], length=4, initial=[0.5, 0.5]),
    "chain-independent": lambda: MarkovChain([[0.3, 0.7], [0.3, 0.7]], length=40),
    "chain-frozen": lambda: MarkovChain([[1, 0], [0, 1]], length=5, initial=[0.5, 0.5]),
    "chain-fitted": lambda: MarkovChain.fit(["aabbab", "babbaa", "abbbab"], smoothing=0.5, length=10),
    "network-rain": lambda: BayesianNetwork({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, {"wet": ["rain"]}),
    "network-tree": lambda: BayesianNetwork(
        {"a": [0.5, 0.5], "b": [[0.7, 0.3], [0.4, 0.6]], "c": [[0.8, 0.2], [0.3, 0.7]], "d": [[0.6, 0.4], [0.5, 0.5]]},
        {"b": ["a"], "c": ["a"], "d": ["c"]},
    ),
    "network-collider": lambda: BayesianNetwork(
        {"a": [0.5, 0.5], "b": [0.3, 0.7], "c": [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.2, 0.8]]]}, {"c": ["a", "b"]}
    ),
    "independent-users": lambda: [MarkovChain(_TWO, length=10), MarkovChain(_THREE, length=5)],
    "nonsense": lambda: "nonsense",
}
_RELEASES: dict[str, Callable[[], Any]] = {
    "number-0.2": lambda: 0.2,
    "number-0": lambda: 0,
    "fraction": lambda: Fraction(1, 3),
    "pure": lambda: fugu.Pure(0.5),
    "approx": lambda: fugu.Approx(0.2, 1e-9),
    "renyi": lambda: fugu.Renyi(4, 0.05),
    "renyi-delta": lambda: fugu.Renyi(4, 0.05, 1e-9),
    "curve": lambda: fugu.RenyiCurve({2: 0.02, 8: 0.1}),
    "word": lambda: "nonsense",
}


class Measurement:
    """An object in the manner of OpenDP that states its own loss."""

    output_measure = "MaxDivergence"
    input_metric = "SymmetricDistance()"

    def __call__(self, data: Any) -> float:
        return float(sum(data))

    def map(self, d_in: int) -> float:
        """The loss at a distance of the data."""
        return 0.25 * d_in


def prior_cases(case: Callable[[str, Callable[[], Any]], Any]) -> Iterator[Any]:
    """Every case on priors, as `case(name, run)`."""
    for name, prior in PRIORS.items():
        more = _of_chain(prior) if name.startswith("chain") else _of_network(prior) if name.startswith("net") else {}
        for told, answer in {**_questions(prior), **more}.items():
            yield case(f"prior/{name}/{told}", lambda answer=answer: guarded(answer))
    for told, answer in _per_entry().items():
        yield case(f"per-entry/{told}", lambda answer=answer: guarded(answer))
    for told, answer in _training().items():
        yield case(f"iterate/{told}", lambda answer=answer: guarded(answer))


def _questions(prior: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "influence": lambda: fugu.influence(prior(), 6).points,
        "influence/at": lambda: {str(b): fugu.influence(prior())(b) for b in (1, 2, 3, 5, 100)},
        "translate/approx-within": lambda: _said(fugu.translate(prior(), fugu.Approx(0.2, 1e-9), delta=1e-6)),
    }
    for told, release in _RELEASES.items():
        found[f"translate/{told}"] = lambda release=release: _said(fugu.translate(prior(), release()))
    for epsilon in (0.1, 1, 3, 0):
        found[f"dp-budget/{epsilon}"] = lambda epsilon=epsilon: fugu.dp_budget(prior(), epsilon)
    return found


def _of_chain(prior: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    return {
        "repr": lambda: repr(prior()),
        "marginal": lambda: prior().marginal(2),
        "skipped": lambda: [repr(prior().skipped), repr(prior().unused), repr(prior().assumptions)],
    }


def _of_network(prior: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    return {"law": lambda: [prior().law(name) for name in prior().names]}


def _said(answer: Any) -> Any:
    """A number as it is; a guarantee by its class and its numbers, which are search values."""
    if isinstance(answer, int | float | Fraction):
        return float(answer)
    if isinstance(answer, fugu.RenyiCurve):
        numbers = {f"epsilon({a!r})": e for a, e in answer.points} | {"delta": answer.delta}
    else:
        numbers = {name: getattr(answer, name) for name in ("alpha", "epsilon", "delta") if hasattr(answer, name)}
    return {"class": type(answer).__name__, **{name: float(x) for name, x in numbers.items()}}


def _per_entry() -> dict[str, Callable[[], Any]]:
    def stated(mechanism: Any, *told: Any, **more: Any) -> Callable[[], Any]:
        def answer() -> Any:
            made = fugu.PerEntryDP(law_based() if mechanism is law_based else mechanism, *told, **more)
            release = made.release([1, 2])
            return plain(
                {
                    "guarantee": repr(made.guarantee),
                    "charge": repr(made.charge),
                    "certificate": {k: v for k, v in made.certificate.claims.items() if k != "schema"},
                    "value": release.value,
                    "release": repr(release.charge),
                    "second release": guarded(lambda: made.release([1, 2]).value),
                }
            )

        return answer

    def total(data: Any) -> float:
        return float(sum(data)) + 1

    def law_based() -> Any:
        return fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Pure(1))

    return {
        "function": stated(total, 0.5),
        "function-delta": stated(total, 0.5, 1e-6),
        "function-named": stated(total, Fraction(1, 3), name="total"),
        "measurement": stated(Measurement(), 0.5),
        "measurement-understated": stated(Measurement(), 0.3),
        "measurement-distance": stated(Measurement(), 1, d_in=4),
        "no-epsilon": stated(total, 0),
        "no-function": stated(3, 1),
        "law-based": stated(law_based, 1),
    }


def _training() -> dict[str, Callable[[], Any]]:
    def bound(*told: Any, **more: Any) -> Callable[[], Any]:
        return lambda: _said(fugu.iterate.shift_bound(*told, **more))

    return {
        "early": bound([4, 0, 0, 0], 1, 2),
        "late": bound([0, 0, 0, 4], 1, 2),
        "contracting": bound(np.ones(6), 2.0, 4, contraction=0.9),
        "diameter": bound([1, 1, 1], 1, 2, diameter=1),
        "laplace": bound([1, 0, 1], fugu.Laplace(2), 2, dimension=2),
        "order": bound([1, 1], 1, 1),
    }

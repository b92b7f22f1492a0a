"""What per-entry privacy is worth under a chain: the time of a translation, the budget against the influence curve."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race
from fugu.translation.sequence import Contraction

_LONG, _WIDE = 30.0, 20.0
"""Seconds for the budget of a million entries of 11 states, and of 503 entries of 207 states."""
_LIMIT = 21.0
"""Seconds for the table of 78 states in the theory notes, 13 blocks."""


def chain(k: int, length: int) -> fugu.MarkovChain:
    """A chain that stays half of the time and else moves by a fixed random kernel."""
    moves = np.random.default_rng(k).dirichlet(np.full(k, 0.5), size=k)
    kernel = 0.5 * moves + 0.5 * np.eye(k)
    return fugu.MarkovChain(kernel / kernel.sum(axis=1, keepdims=True), length)


def states(size: Size) -> Iterator[Row]:
    """Growth in the number k of states: first call with its tables, and a later call."""
    for k in (2, 3, 5, 8, 12, 30) if size.quick else (2, 3, 5, 8, 12, 30, 78):
        prior = chain(k, 1000)
        first = race(1, first=lambda prior=prior: Contraction(prior)(0.1))["first"]
        ready = Contraction(prior)
        ready(0.1)
        later = race(3, later=lambda ready=ready: ready(0.2))["later"]
        yield Row("translate", f"{k} states, 1000 entries, with tables", first, "s", _LIMIT if k == 78 else None)
        yield Row("translate", f"{k} states, 1000 entries, tables ready", later, "s")


def lengths(size: Size) -> Iterator[Row]:
    """Growth in the length T: flat for a stationary chain, and for a given start from where it is forgotten on."""
    kernel = [[0.6, 0.4], [0.2, 0.8]]
    for length in (100, 1000, size.of(10_000)):
        for name, start in (("stationary", "stationary"), ("given start", [0.1, 0.9])):
            prior = fugu.MarkovChain(kernel, length, start)
            took = race(3, one=lambda prior=prior: fugu.translate(prior, 0.2))["one"]
            yield Row("translate", f"2 states, {length} entries, {name}", took, "s")


def slow(k: int, length: int, stay: float = 0.97) -> fugu.MarkovChain:
    """A chain that nearly always stays: it forgets only after hundreds of entries."""
    moves = np.random.default_rng(k).dirichlet(np.full(k, 0.5), size=k)
    kernel = (1 - stay) * moves + stay * np.eye(k)
    return fugu.MarkovChain(kernel / kernel.sum(axis=1, keepdims=True), length)


def numbers(size: Size) -> Iterator[Row]:
    """Growth in the length of slow chains, by the number of further nodes: a grid, so flat from some hundred on."""
    for k in (7,) if size.quick else (7, 11):
        for length in (30, 100, 1000, 1_000_000):
            prior = slow(k, length)
            took = race(1, one=lambda prior=prior: Contraction(prior)(0.02))["one"]
            yield Row("translate", f"slow chain, {k} states, {length} entries", took, "s")
    prior = slow(11, 1_000_000)
    took = race(1, one=lambda: fugu.dp_budget(prior, 1))["one"]
    yield Row("translate", "budget, slow chain, 11 states, 1000000 entries", took, "s", _LONG)


def many(size: Size) -> Iterator[Row]:
    """Growth in the number of states where one number serves all pairs: time and memory of a given start."""
    for k in (50,) if size.quick else (50, 100, 207):
        kernel = chain(k, 503).transition(1)
        prior = fugu.MarkovChain(0.9 * kernel + 0.1 / k, 503, np.arange(1, k + 1) / (k * (k + 1) / 2))
        took = race(1, one=lambda prior=prior: fugu.dp_budget(prior, 1))["one"]
        yield Row("translate", f"budget, {k} states, 503 entries, given start", took, "s", _WIDE if k == 207 else None)
        fresh = fugu.MarkovChain(prior.transition(1), 503, prior.marginal(1))
        with Tracing() as traced:
            fugu.translate(fresh, 0.1)
        yield Row("translate", f"memory, {k} states, 503 entries", traced.peak / 1e6, "MB", 500.0)


class Tracing:
    """The most memory that was held at once inside the block, in bytes."""

    peak: int = 0

    def __enter__(self) -> Tracing:
        tracemalloc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def gain(size: Size) -> Iterator[Row]:
    """The per-entry budget against the best point of the influence curve, b up to 60; more is better."""
    prior = chain(2, 1000) if size.quick else chain(5, 1000)
    curve = fugu.influence(prior)
    for epsilon in (0.5, 1, 2):
        paper = max((epsilon - curve(b)) / b for b in range(1, 61))
        found = fugu.dp_budget(prior, epsilon)
        yield Row(
            "translate", f"budget at epsilon {epsilon}, against the curve", found / paper, "x", 1.0, at_least=True
        )

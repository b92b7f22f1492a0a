"""Shadow data: draws of the statistics under two hypotheses, and what a mechanism makes of them. Experiments only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UnknownName, UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.multinormal import MultivariateNormal
from fugu.laws.pair import Law, LawPair, Shifted
from fugu.mechanism.mechanism import Mechanism
from fugu.numbers.checks import is_row
from fugu.scenario.scenario import Scenario

Floats = NDArray[np.float64]
Sampler = Callable[..., ArrayLike]
Hypothesis = Law | Sampler
Protection = Mechanism | Callable[[Floats, np.random.Generator], ArrayLike] | None


def hypotheses(first: object, second: object, pair: Sequence[str] | None) -> tuple[Hypothesis, Hypothesis]:
    """The two laws or samplers that the attack is to tell apart."""
    if isinstance(first, Scenario):
        if second is not None:
            raise UsageError("a scenario brings its own laws; name two of its secrets with pair=, and give no second")
        return _secrets(first, pair)
    if pair is not None:
        raise UsageError("pair= names two secrets of a Scenario; here the two hypotheses are given themselves")
    both: tuple[Any, Any] = (first, second)
    if second is None and isinstance(first, LawPair):
        both = (first.p, first.q)
    elif second is None and is_row(first) and len(first) == 2:
        both = (first[0], first[1])
    for given in both:
        if not isinstance(given, Law) and not callable(given):
            raise UsageError(
                "an attack tells two hypotheses apart: give two laws or two samplers (functions of a generator), "
                f"or a Scenario and pair=; got {type(given).__name__}"
            )
    return both


def _secrets(scenario: Scenario, pair: Sequence[str] | None) -> tuple[Law, Law]:
    if pair is None:
        found = scenario.law_pairs()
        if len(found) != 1:
            raise UsageError(f"the scenario has {len(found)} pairs; name the one to attack with pair=(first, second)")
        return found[0].p, found[0].q
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise UsageError(f"pair= takes the names of two different secrets, got {pair!r}")
    for name in pair:
        if name not in scenario.secrets:
            raise UnknownName("secret", name, scenario.secrets)
    having = [laws for laws in scenario.adversaries if pair[0] in laws and pair[1] in laws]
    if len(having) != 1:
        raise UsageError(f"{len(having)} adversaries have laws for both secrets; give the two laws themselves")
    return having[0][pair[0]], having[0][pair[1]]


def draw(source: Hypothesis, count: int, rng: np.random.Generator) -> Floats:
    """`count` independent draws, one per data set: (count,) numbers or (count, d) vectors.

    A sampler is called as sampler(rng) for one draw, a number or a vector (or a table, one draw a row); if it needs
    two arguments, as sampler(rng, count) for all. A `Shifted` law is taken as a point, its worst case."""
    if isinstance(source, Law):
        return _from_law(source, count, rng)
    if _takes_count(source):
        return _rows(source(rng, count), count)
    parts: list[Floats] = []
    while sum(map(len, parts)) < count:
        one = np.asarray(source(rng), dtype=np.float64)
        parts.append(one if one.ndim == 2 else one[None])
        if parts[0].shape[1:] != parts[-1].shape[1:] or not parts[-1].size:
            raise UsageError("a sampler must return the same number of statistics, at least one, at every call")
    return _rows(np.concatenate(parts)[:count], count)


def protect(mechanism: Protection, values: Floats, rng: np.random.Generator) -> Floats:
    """Outputs for each row, independent of each other: a coin or a step over the whole column is run row by row."""
    if mechanism is None:
        return values
    if not isinstance(mechanism, Mechanism):
        return _rows(mechanism(values.copy(), rng), len(values))
    if mechanism.noise.halves or mechanism.post:
        each = [np.asarray(mechanism.simulate(value, rng).values, dtype=np.float64).ravel() for value in values]
        if len({one.shape for one in each}) != 1:
            raise UsageError("what follows the mechanism returns outputs of varying length; attack it without that")
        return _rows(np.stack(each), len(values))
    return _rows(mechanism.simulate(values, rng).values, len(values))


@singledispatch
def _from_law(law: Law, count: int, rng: np.random.Generator) -> Floats:
    view = law.components()
    which = rng.choice(len(view.weights), size=count, p=view.weights / view.weights.sum())
    return np.asarray(view.means[which] + view.stds[which] * rng.standard_normal(count))


@_from_law.register
def _(law: Discrete, count: int, rng: np.random.Generator) -> Floats:
    return np.asarray(law.values[rng.choice(len(law.values), size=count, p=law.weights / law.weights.sum())])


@_from_law.register
def _(law: MultivariateNormal, count: int, rng: np.random.Generator) -> Floats:
    values, vectors = np.linalg.eigh(law.cov_array)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(law.mean_array + rng.standard_normal((count, law.dimension)) @ root.T)


@_from_law.register
def _(law: Shifted, count: int, rng: np.random.Generator) -> Floats:  # noqa: ARG001 - a point, its worst case
    return _rows(np.tile([float(x) for x in law.exact], (count, 1)), count)


def _takes_count(sampler: Sampler) -> bool:
    try:
        named = inspect.signature(sampler).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in named) > 1


def _rows(values: Any, count: int) -> Floats:
    """Finite numbers, one row a draw; vectors of one number are numbers."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("samplers and mechanisms must return numbers, one row per data set") from None
    if rows.ndim not in (1, 2) or len(rows) != count or rows.size == 0:
        raise UsageError(f"expected {count} numbers, or {count} rows of numbers, got shape {rows.shape}")
    if not np.all(np.isfinite(rows)):
        raise UsageError("samplers and mechanisms must return finite numbers, found NaN or infinity")
    return rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows

"""`property_attack`: guess the share of records with a property from published statistics of real data sets.

Both hypotheses are data sets of n records of the reference, a fixed number of them with the property, drawn as the
model of `Scenario.from_property` says. Nothing is normal here: what a guarantee in the Gaussian model is worth for the
statistics as they are is what this attack looks at. Where the noise leaves out a direction and the statistics lie on a
lattice, the decoder is among the attacks. Experiments only: nothing is released, nothing is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.auditing.attack import AttackName, AttackReport, attack
from fugu.auditing.guessers import Protection
from fugu.errors import UnknownName, UsageError
from fugu.guarantee import Guarantee
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers.exact import Real
from fugu.scenario.property import PropertyModel
from fugu.scenario.scenario import Scenario
from fugu.scenario.swap import model_of

Floats = NDArray[np.float64]
_CELLS = 2_000_000
_CANDIDATES = 20_000
"""The decoder is tried where it has at most so many candidates for one output."""


def property_attack(
    mechanism: Protection,
    scenario: Scenario | PropertyModel,
    pair: Sequence[str] | None = None,
    *,
    attacks: Literal["all"] | AttackName | Iterable[AttackName] = "all",
    shadow: int = 1000,
    test: int = 1000,
    confidence: Real = 0.99,
    delta: Real | None = None,
    guarantee: Guarantee | None = None,
    directions: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> AttackReport:
    """`fugu.attack` on data sets drawn from the reference's own records; mechanism None: what is published unprotected.

    Parameters:

    - `mechanism`: as in `fugu.attack`; `scenario`: one made by `Scenario.from_property`, or its `property`.
    - `pair`: two shares by name ("p=0.45", "p=0.55") that must look alike; None: the two whose data sets differ in most
      records.
    - `directions`: those of a function's noise, if it leaves some out; a mechanism's own are known.
    - `attacks`, `shadow`, `test`, `confidence`, `delta`, `guarantee`, `rng`: as in `fugu.attack`.

    Returns an `AttackReport`. The guarantee is for the model's laws; these data sets follow the records themselves.

    >>> table = {"rich": ["yes", "no"] * 50, "age": [30 + i % 20 + 25 * (i % 2) for i in range(100)]}
    >>> shares = Scenario.from_property(table, ["mean(age)"], "rich=yes", size=20, tolerance=0.5)
    >>> property_attack(None, shares, shadow=200, test=400, rng=np.random.default_rng(1)).accuracy > 0.99
    True
    """
    model = model_of(scenario)
    first, second = (model.counts[place] for place in _places(model, pair))
    lines = _lines(mechanism, model) if directions is None else None
    if directions is not None:
        if (steps := steps_of(model)) is None:
            raise UsageError("the decoder needs statistics of whole numbers; leave out directions=")
        lines = np.atleast_2d(directions), steps
    if attacks != "all" and "decoder" not in attacks:
        lines = None
    return attack(
        mechanism,
        drawn(model, first),
        drawn(model, second),
        attacks=attacks,
        directions=None if lines is None else lines[0],
        steps=None if lines is None else lines[1],
        shadow=shadow,
        test=test,
        confidence=confidence,
        delta=delta,
        guarantee=guarantee,
        rng=rng,
    )


def drawn(model: PropertyModel, k: int) -> Callable[[np.random.Generator, int], Floats]:
    """A sampler of the statistics of data sets with exactly k records that have the property: A (sum of n records)."""
    factors = np.array([float(a) for a in model.factors])

    def sample(rng: np.random.Generator, count: int) -> Floats:
        parts = ((model.having, k), (model.lacking, model.size - k))
        return np.asarray(sum(_sums(rows, copies, count, model.replacement, rng) for rows, copies in parts) * factors)

    return sample


def steps_of(model: PropertyModel) -> Floats | None:
    """The step of each statistic where every record adds a whole number: 1 for sums and counts, 1/n for means."""
    records = np.concatenate([model.having, model.lacking])
    return np.array([float(a) for a in model.factors]) if np.all(records == np.rint(records)) else None


def _sums(rows: Floats, copies: int, count: int, replacement: bool, rng: np.random.Generator) -> Floats:
    """`count` sums of `copies` records each."""
    found = np.zeros((count, rows.shape[1]))
    if copies == 0:
        return found
    if not replacement:
        for place in range(count):
            found[place] = rows[rng.choice(len(rows), copies, replace=False, shuffle=False)].sum(axis=0)
        return found
    block = max(1, _CELLS // (copies * rows.shape[1]))
    for start in range(0, count, block):
        part = found[start : start + block]
        part[:] = rows[rng.integers(len(rows), size=(len(part), copies))].sum(axis=1)
    return found


def _places(model: PropertyModel, pair: Sequence[str] | None) -> tuple[int, int]:
    """The two shares among the model's, in the order asked for."""
    if pair is None:
        return max(model.pairs, key=lambda p: abs(model.counts[p[0]] - model.counts[p[1]]))
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise UsageError(f"pair= takes the names of two different shares, such as {model.labels[:2]}, got {pair!r}")
    for name in pair:
        if name not in model.labels:
            raise UnknownName("share", str(name), model.labels)
    i, j = (model.labels.index(name) for name in pair)
    if (min(i, j), max(i, j)) not in model.pairs:
        raise UsageError(f"{pair[0]} and {pair[1]} differ by more than the tolerance; no guarantee is about them")
    return i, j


def _lines(mechanism: Protection, model: PropertyModel) -> tuple[Floats, Floats] | None:
    """The directions of noise of deficient rank and the statistics' steps, if the decoder has a chance in time."""
    if not isinstance(mechanism, Mechanism) or mechanism.post:
        return None
    noise = mechanism.noise
    if not isinstance(noise, CorrelatedGaussian) or noise.base:
        return None
    held = [column for column, scale in zip(noise.columns, noise.scales, strict=True) if scale]
    steps = steps_of(model)
    if steps is None or not 0 < len(held) < noise.dimension:
        return None
    if any((Fraction(a) / noise.grid).denominator != 1 for a in model.factors):
        return None  # the statistics are rounded before noise is added: they do not lie on their own lattice any more
    spread = np.sqrt(np.diag(model.classes.cov(model.counts[0])))
    sizes = np.sort(1 + 20 * spread / steps)[: len(held)]
    directions = np.array(held, dtype=np.float64)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return (directions / lengths, steps) if np.prod(sizes) <= _CANDIDATES else None

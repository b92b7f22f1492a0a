"""`fugu.influence`: the influence curve of any prior over a whole table.

Proofs: docs/proofs/influence.md#the-influence-curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from fugu.errors import UsageError
from fugu.priors.chain import MarkovChain
from fugu.priors.curve import InfluenceCurve, largest_of, whole
from fugu.priors.prior import Curved, Prior, Quilted, Several
from fugu.translation.quilts import curve
from fugu.translation.windows import VaryingWindows, Windows


def influence(prior: Prior | Curved | Quilted, max_b: int | None = None) -> InfluenceCurve:
    """a(b) = max over entries, ordered pairs of their values and priors of min over |H| <= b of the leakage.

    Parameters: `prior` is a `MarkovChain`, a `ChainSet`, `DependentGroups`, `IndependentBlocks`, a `BayesianNetwork`, a
    `JointTable`, a `HiddenMarkov`, or any object with `influence_curve` or `quilts`; `max_b` is how far the curve is
    worth computing, a whole number of entries, and how far its `points` go (None: 64).

    Returns an `InfluenceCurve`, whose values are computed when asked for. Raises `UsageError` for a prior without one.

    The leakage of H, which holds the entry i, is the largest log P(x_L | X_i = x) / P(x_L | X_i = x') over all x_L
    outside H that are possible given x; +inf if some of them is impossible given x' (Bai et al., Definition
    7 as corrected: the reading "possible under both" makes Theorem 6 false). H may differ by entry, pair and prior.
    Exact for chains up to rounding, which is upwards; values of probability 0 are skipped.

    >>> curve = influence(MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100))
    >>> [round(curve(b), 9) for b in (1, 2, 3, 100)]
    [2.197224577, 1.550597412, 0.903970247, 0.0]
    """
    if max_b is not None:
        whole(max_b, "max_b")
    return _curve(prior, max_b)


@singledispatch
def _curve(prior: object, max_b: int | None) -> InfluenceCurve:
    """That of a prior which knows its curve, or lists its quilts: a step function of their sizes then."""
    if isinstance(prior, Curved):
        given = prior.influence_curve(max_b)
        if not isinstance(given, InfluenceCurve):
            raise UsageError("influence_curve(max_b) of a prior must return an InfluenceCurve")
        return given
    if isinstance(prior, Quilted):
        points = curve(prior, max_b)
        least = lambda b: min((a for size, a in points if size <= b), default=float("inf"))  # noqa: E731
        return InfluenceCurve(least, len(prior.nodes), max_b)
    raise UsageError(
        f"no influence curve for {type(prior).__name__}: expected a MarkovChain, a ChainSet, DependentGroups, "
        "IndependentBlocks, a network or a joint table"
    )


@_curve.register
def _of_chain(chain: MarkovChain, max_b: int | None) -> InfluenceCurve:
    windows = Windows(chain) if chain.homogeneous else VaryingWindows(chain)
    return InfluenceCurve(windows.value, chain.length, max_b)


@_curve.register
def _of_several(priors: Several, max_b: int | None) -> InfluenceCurve:
    return largest_of([influence(prior, max_b) for prior in priors.members])


@singledispatch
def members(prior: object) -> tuple[Any, ...] | None:  # noqa: ARG001
    """The priors of which the worst counts: a set of beliefs, or independent blocks; None for a single prior."""
    return None


@members.register
def _of_set(prior: Several) -> tuple[Any, ...]:
    return prior.members


@members.register(list)
@members.register(tuple)
def _listed(priors: list[Any] | tuple[Any, ...]) -> tuple[Any, ...]:
    if not priors:
        raise UsageError("give at least one prior")
    return tuple(priors)


@members.register
def _named(priors: Mapping) -> tuple[Any, ...]:  # type: ignore[type-arg]
    return _listed(tuple(priors.values()))

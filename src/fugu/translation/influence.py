"""`fugu.influence`: the influence curve of any prior over a whole table."""

from __future__ import annotations

from typing import Any

from fugu.errors import UsageError
from fugu.priors.chain import MarkovChain
from fugu.priors.chains import ChainSet
from fugu.priors.curve import InfluenceCurve, largest_of, whole


def influence(prior: Any, max_b: int | None = None) -> InfluenceCurve:
    """a(b) = max over entries, ordered pairs of their values and priors of min over |H| <= b of the leakage.

    The leakage of H, which holds the entry i, is the largest log P(x_L | X_i = x) / P(x_L | X_i = x') over all x_L
    outside H that are possible given x; +inf if some of them is impossible given x' (Bai et al., Definition
    7 as corrected: the reading "possible under both" makes Theorem 6 false). H may differ by entry, pair and prior.
    Exact for chains up to rounding, which is upwards; values of probability 0 are skipped. Values come lazily:
    `max_b` says how far the curve is worth computing, and is how far `points` goes.

    >>> curve = influence(MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100))
    >>> [round(curve(b), 9) for b in (1, 2, 3, 100)]
    [2.197224577, 1.550597412, 0.903970247, 0.0]
    """
    if max_b is not None:
        whole(max_b, "max_b")
    if isinstance(prior, MarkovChain):
        return _of_chain(prior, max_b)
    if isinstance(prior, ChainSet):
        return largest_of([_of_chain(chain, max_b) for chain in prior])
    if callable(given := getattr(prior, "influence_curve", None)):
        return _checked(given(max_b))
    if callable(getattr(prior, "quilts", None)):
        return _of_quilts(prior, max_b)
    raise UsageError(
        f"no influence curve for {type(prior).__name__}: expected a MarkovChain, a ChainSet, DependentGroups, "
        "IndependentBlocks, a network or a joint table"
    )


def _of_chain(chain: MarkovChain, max_b: int | None) -> InfluenceCurve:
    if chain.homogeneous:
        from fugu.translation.windows import Windows

        return InfluenceCurve(Windows(chain).value, chain.length, max_b)
    from fugu.translation.varying import VaryingWindows

    return InfluenceCurve(VaryingWindows(chain).value, chain.length, max_b)


def _of_quilts(prior: Any, max_b: int | None) -> InfluenceCurve:
    """The curve of a prior that lists its quilts: a step function of its points."""
    from fugu.translation.quilts import curve

    points = curve(prior, max_b)
    length = len(prior.nodes)
    return InfluenceCurve(lambda b: min((a for size, a in points if size <= b), default=float("inf")), length, max_b)


def _checked(curve: Any) -> InfluenceCurve:
    if not isinstance(curve, InfluenceCurve):
        raise UsageError("influence_curve(max_b) of a prior must return an InfluenceCurve")
    return curve

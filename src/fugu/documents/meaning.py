"""What the confidence of a set of beliefs means, in the words of every certificate."""

from __future__ import annotations

from fugu.laws.sets.sampled import Sampled

BEGINS = "confidence "
"""How the line begins that states a confidence."""
_EVENT = (
    "over the draw of the reference, before it was seen, the promise holds for the true laws with at least this "
    "probability. It is one event, common to all rows and all releases that rest on this reference; it is spent once "
    "and is not a delta"
)
_ROWS = (
    "reference rows are independent draws given their secret, one row each, from the population of the protected rows, "
    "and independent of the protected rows"
)


def meaning(sampled: Sampled) -> tuple[str, ...]:
    """What must be true, and what is then true: docs/proofs/confidence.md#1-what-confidence-means has the theorem.

    If the reference is independent of the protected row and its secret, and the sets cover with probability at least
    1 - alpha, then P(A | s) <= e^epsilon P(A | t) + delta + alpha for every event A on (reference, output)."""
    shares = "independent rows" if sampled.disjoint else "a union bound, since rows may hold several secrets"
    declared = f"declared before the counts were looked at: {sampled.declared}; the error is shared among"
    said = [
        f"{BEGINS}{float(sampled.confidence) * 100:.10g} %: {_EVENT}",
        f"{declared} {len(sampled.counts)} secrets by {shares}",
        _ROWS,
    ]
    if sampled.shift:
        far = f"{float(sampled.shift):g}"
        said.append(f"the protected rows are within total variation {far} of the population of the reference")
    return tuple(said)

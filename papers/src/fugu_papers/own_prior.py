"""A prior by hand, in plain values: a chain, a network, contacts, a household, a field, hidden states; and what it is
worth: the influence of entries, and what privacy for each entry amounts to under it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import fugu
from fugu.errors import FuguError, UsageError
from fugu.guarantee.composition import promise
from fugu.numbers.exact import Real
from fugu.priors.network import contacts, household
from fugu.scenario.by_hand import Kinds, made_of
from fugu_papers.measure import Measured, tried

_NAMES = ("initial", "states", "protect", "met", "tables", "parents")
"""Keys that hold names, or numbers by name; all others hold numbers."""


def _contacts(met: Mapping[str, str], prior: Real, transmission: Real) -> Any:
    """Who met nobody before has an empty text."""
    return contacts({name: other or None for name, other in met.items()}, float(prior), float(transmission))


def _household(size: int, prior: Real, transmission: Real) -> Any:
    return household(size, float(prior), float(transmission))


KINDS: Kinds = {
    "chain": (fugu.MarkovChain, ("transition", "length"), ("initial", "states")),
    "network": (fugu.BayesianNetwork, ("tables",), ("parents",)),
    "contacts": (_contacts, ("met", "prior", "transmission"), ()),
    "household": (_household, ("size", "prior", "transmission"), ()),
    "field": (fugu.GaussianField, ("covariance", "width"), ()),
    "hidden": (fugu.HiddenMarkov, ("transition", "emission", "length"), ("initial", "protect")),
}
"""The kinds of priors."""


def prior_of(told: object) -> Any:
    """The prior that a table of plain values states.

    >>> prior_of({"kind": "chain", "transition": [[0.9, 0.1], [0.2, 0.8]], "length": 5}).length
    5
    """
    try:
        return made_of(told, "[prior]", KINDS, _NAMES)
    except FuguError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        raise UsageError("[prior]: a key does not hold what it needs, see the page of `fugu measure`") from None


_MOST_POINTS = 8
_CURVE = "the influence curve (docs/proofs/influence.md)"
_WORTH = "what is proved of this prior, the least bound (docs/proofs/translation.md)"


def worth(prior: Any, epsilon: Real | None, delta: Real, each: Real | None) -> Iterator[Measured]:
    """The influence a(b) for windows of b entries; the most for each entry that keeps epsilon, at a delta; what `each`,
    an epsilon per entry, is worth. For a field both are in rho, of zero-concentrated privacy.

    >>> chain = fugu.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 5)
    >>> [row.what for row in worth(chain, 1, 0, 0.1)][-2:]
    ['epsilon per entry that keeps epsilon 1', 'worth of epsilon 0.1 per entry']
    """
    about, field = repr(prior), isinstance(prior, fugu.GaussianField)
    unit = "rho" if field else "epsilon"
    if delta and not field:
        raise UsageError(
            "--delta goes with a field; for other priors it is a pure epsilon for each entry: leave it out"
        )
    curve = fugu.influence(prior)
    for b in range(1, min(_MOST_POINTS, prior.entries or _MOST_POINTS) + 1):
        yield tried(about, f"influence a({b})", _CURVE, partial(curve, b))
    if epsilon is not None:
        budget = fugu.Approx(epsilon, delta) if field else epsilon
        what = f"{unit} per entry that keeps {promise(budget)}"
        yield tried(about, what, _WORTH, lambda: _number(fugu.dp_budget(prior, budget)), "down")
    if each is not None:
        spent = fugu.ZCDP(each) if field else each
        yield tried(
            about, f"worth of {unit} {float(each):g} per entry", _WORTH, lambda: _number(fugu.translate(prior, spent))
        )


def _number(found: Any) -> Real:
    """A number, or the rho of a guarantee."""
    return found.rho if isinstance(found, fugu.ZCDP) else found

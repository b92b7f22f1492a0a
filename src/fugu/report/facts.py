"""The few numbers that a reader needs, read off a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fugu.documents.certificate import Certificate
from fugu.guarantee import Guarantee
from fugu.numbers.exact import as_fraction
from fugu.numbers.text import SECRET, VALUE
from fugu.report.amounts import Coordinate
from fugu.report.shapes import limit, why_unlimited
from fugu.report.views import RunningNoise, parts

PRIORS = (0.01, 0.1, 0.5, 0.9)
REMAINDER = 1e-6
"""The delta at which a Rényi promise is put in terms of odds."""


@dataclass(frozen=True)
class Empirical:
    """What the noise loses under the values that fitted beliefs were fitted to. The guarantee is not for these."""

    epsilon: float
    """inf where no finite one holds."""
    delta: float
    holds: bool
    """Whether the promise would hold for them too."""


@dataclass(frozen=True)
class Facts:
    """What the page states. Errors are in the units of the column and speak of the noise; rounding comes on top."""

    query: str
    secret: str
    epsilon: float
    delta: float
    proved: float
    """The proved epsilon, which may be below the promised one."""
    leak: float
    """max |ln(f_A / f_B)| over all values and all protected pairs; may be above epsilon if delta is positive."""
    unlimited: str
    """Why `leak` is inf: "only", "tails" or "error" (see `shapes.why_unlimited`); "" where it is finite."""
    error: float
    """E|N|; of a vector the sum over its coordinates."""
    half: float
    """At least 95 % of the noise lies within +-half, in all coordinates at once."""
    unchanged: float
    """Probability that the noise is 0."""
    silent: float
    """Probability that no noise is drawn at all: 1 for scale 0, the share of such a half in a mixture."""
    grid: float
    """The coarsest lattice on which values are published; 0 if they go out as they are."""
    pairs: int
    mixed: bool
    post: tuple[str, ...]
    noises: tuple[tuple[str, float], ...]
    """Each noise that may run in words, and its scale."""
    empirical: Empirical | None
    renyi: tuple[tuple[float, float], ...] = ()
    """(alpha, epsilon) of a Rényi promise; `epsilon` and `delta` are then what it implies for the odds."""
    left_out: float = 0.0
    """The delta of a Rényi promise itself."""
    dimension: int = 1
    """How many numbers are published together."""
    released: bool = True
    """Whether this noise is ever drawn; an analysis is on paper only."""
    coordinates: tuple[tuple[Coordinate, ...], ...] = ()
    """For each noise that may run, its coordinates; one line where all have the same."""
    remap: str = ""
    """The loss by which outputs are moved to the value where it is least; "" where they are not."""
    covariances: tuple[tuple[tuple[float, ...], ...], ...] = ()
    """For each correlated noise that may run, its covariance."""


@dataclass(frozen=True)
class Belief:
    """A prior probability of secret A against B and the least and largest that one published value can make of it."""

    prior: float
    low: float
    high: float


def facts(certificate: Certificate, query_name: str | None = None, secret_name: str | None = None) -> Facts:
    """Read a certificate; names not given come from the recipe in it, if it has one."""
    promise = certificate.budget.simplest()
    budget, divergences = odds_of(promise), _renyi(promise)
    running = parts(certificate)
    named, amounts = running[0].certificate, [part.amount for part in running]
    items = [(part, item) for part in running for item in part.certificate.laws]
    leaks = [(limit(item, part.noise), part.noise, item) for part, item in items]
    leak = max(most for most, _, _ in leaks)
    reasons = [why_unlimited(item, noise) for most, noise, item in leaks if math.isinf(most)]
    return Facts(
        query=query_name or _published(named) or VALUE,
        secret=secret_name or _protected(named) or SECRET,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        proved=float(budget.epsilon)
        if divergences
        else min(float(certificate.proved["epsilon"]), float(budget.epsilon)),
        leak=leak,
        unlimited="only" if "only" in reasons else reasons[0] if reasons else "",
        error=sum(_weighed(part, part.amount.error) for part in running),
        half=max(amount.half for amount in amounts),
        unchanged=sum(_weighed(part, part.amount.unchanged) for part in running),
        silent=float(sum(part.share for part in running if part.noise.silent)),
        grid=max(float(part.lattice.grid) if part.lattice and part.amount.released else 0.0 for part in running),
        pairs=sum(len(item.pairs) for _, item in items) // len(running),
        mixed=len(running) > 1,
        post=tuple(str(step) for step in certificate.body.get("post", ())),
        noises=tuple(dict.fromkeys((a.told, a.scale) for a in amounts if not a.noise.silent)),
        empirical=_empirical(running),
        renyi=divergences,
        left_out=float(promise.delta) if divergences else 0.0,
        dimension=certificate.dimension,
        released=all(amount.released for amount in amounts),
        coordinates=tuple(amount.coordinates for amount in amounts),
        remap=_remapped(running),
        covariances=tuple(amount.covariance for amount in amounts if amount.covariance),
    )


def _remapped(running: Sequence[RunningNoise]) -> str:
    """The losses by which outputs are moved, in words; "" where they are not."""
    stated = (part.certificate.body.get("remap") for part in running)
    return " or ".join(dict.fromkeys(str(found["loss"]) for found in stated if found is not None))


def _weighed(part: RunningNoise, amount: float) -> float:
    return float(part.share) * amount


def _renyi(promise: Guarantee) -> tuple[tuple[float, float], ...]:
    """(alpha, epsilon) of every order of a Rényi promise; nothing for others."""
    return tuple((float(a), float(e)) for a, e in promise.orders if not math.isinf(a))


def odds_of(promise: Guarantee) -> Guarantee:
    """What a promise says about odds: itself, or of a Rényi promise the best (epsilon, delta) that it implies.

    Outside the events that it leaves out, with a remainder of `REMAINDER`."""
    if not _renyi(promise):
        return promise
    left_out = as_fraction(promise.delta)
    return promise.to_approx(left_out + (1 - left_out) * as_fraction(REMAINDER))


def posterior(prior: float, loss: float) -> float:
    """The probability whose odds are e^loss times the prior odds: 1 / (1 + (1 - prior)/prior e^-loss).

    >>> round(posterior(0.5, 1.0), 4), round(posterior(0.5, -1.0), 4)
    (0.7311, 0.2689)
    """
    logit = math.log(prior / (1 - prior)) + loss
    small = math.exp(-abs(logit))
    return 1 / (1 + small) if logit >= 0 else small / (1 + small)


def beliefs(epsilon: float, priors: Sequence[float] = PRIORS) -> tuple[Belief, ...]:
    """Bayes' rule at its worst: posterior odds between e^-epsilon and e^epsilon times the prior odds."""
    return tuple(Belief(prior, posterior(prior, -epsilon), posterior(prior, epsilon)) for prior in priors)


def _empirical(running: tuple[RunningNoise, ...]) -> Empirical | None:
    """The worst of what the certificates say about the values behind fitted beliefs; None if they say nothing."""
    bodies = [found for part in running if (found := part.certificate.body.get("empirical"))]
    told = [
        Empirical(math.inf if b["epsilon"] is None else float(b["epsilon"]), float(b["delta"]), bool(b["holds"]))
        for b in bodies
    ]
    return max(told, key=lambda e: (not e.holds, e.epsilon, e.delta), default=None)


def _published(certificate: Certificate) -> str | None:
    query: Any = certificate.body.get("query")
    return str(query["publish"]) if isinstance(query, dict) and query.get("publish") else None


def _protected(certificate: Certificate) -> str | None:
    recipe: Any = certificate.body.get("recipe")
    protect = recipe.get("protect") if isinstance(recipe, dict) else None
    if isinstance(protect, str):
        return protect
    return ", ".join(map(str, protect)) if isinstance(protect, list) and protect else None

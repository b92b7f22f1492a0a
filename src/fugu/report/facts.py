"""The few numbers that a reader needs, read off a certificate; and the methods side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx, Guarantee, Pure, Renyi, RenyiCurve
from fugu.laws.family import Family
from fugu.mechanism.certificate import Certificate
from fugu.noise import LatticeNoise
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import as_fraction
from fugu.report.dense import limit, why_unlimited
from fugu.report.text import SECRET, VALUE
from fugu.report.views import Part, parts

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison, Row

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
    """Why `leak` is inf: "only", "tails" or "error" (see `dense.why_unlimited`); "" where it is finite."""
    error: float
    half: float
    """At least 95 % of the noise lies within +-half."""
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
    """Name and scale of each noise that may run."""
    empirical: Empirical | None
    renyi: tuple[tuple[float, float], ...] = ()
    """(alpha, epsilon) of a Rényi promise; `epsilon` and `delta` are then what it implies for the odds."""
    left_out: float = 0.0
    """The delta of a Rényi promise itself."""


@dataclass(frozen=True)
class Line:
    """One method in the comparison; `proved` is None where this page has no proof either way."""

    method: str
    noise: str
    scale: float
    error: float
    epsilon: float | None
    proved: bool | None
    note: str
    used: bool


@dataclass(frozen=True)
class Belief:
    """A prior probability of secret A against B and the least and largest that one published value can make of it."""

    prior: float
    low: float
    high: float


def facts(certificate: Certificate, query_name: str | None = None, secret_name: str | None = None) -> Facts:
    """Read a certificate; names not given come from the recipe in it, if it has one."""
    if certificate.runs != "additive":
        raise NotProvable(f"a page for certificates of kind {certificate.runs!r} is not available yet")
    promise = certificate.budget.simplest()
    budget = _odds(promise)
    running = parts(certificate)
    named = certificate if certificate.kind != "mixed" else running[0].certificate
    items = [(part, item) for part in running for item in part.certificate.items]
    leaks = [(limit(item, part.noise), part.noise, item) for part, item in items]
    leak = max(found for found, _, _ in leaks)
    reasons = [why_unlimited(item, noise) for found, noise, item in leaks if math.isinf(found)]
    return Facts(
        query=query_name or _published(named) or VALUE,
        secret=secret_name or _protected(named) or SECRET,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        proved=float(budget.epsilon)
        if _renyi(promise)
        else min(float(certificate.proved["epsilon"]), float(budget.epsilon)),
        leak=leak,
        unlimited="only" if "only" in reasons else reasons[0] if reasons else "",
        error=sum(float(part.share) * part.noise.expected_error() for part in running),
        half=max(part.noise.quantile(0.95) for part in running),
        unchanged=sum(float(part.share) * (1 - part.noise.tail(0)) for part in running),
        silent=float(sum(part.share for part in running if part.noise.scale == 0)),
        grid=max(float(part.lattice.grid) if part.lattice else 0.0 for part in running),
        pairs=sum(len(item.pairs) if isinstance(item, Family) else 1 for _, item in items) // len(running),
        mixed=len(running) > 1,
        post=tuple(str(step) for step in certificate.body.get("post", ())),
        noises=tuple(dict.fromkeys((noise_name(p.noise), float(p.noise.scale)) for p in running if p.noise.scale > 0)),
        empirical=_empirical(running),
        renyi=_renyi(promise),
        left_out=float(promise.delta) if _renyi(promise) else 0.0,
    )


def _renyi(promise: Guarantee) -> tuple[tuple[float, float], ...]:
    """(alpha, epsilon) of every order of a Rényi promise; nothing for others."""
    if isinstance(promise, RenyiCurve):
        return tuple((float(a), float(e)) for a, e in promise.points)
    return ((float(promise.alpha), float(promise.epsilon)),) if isinstance(promise, Renyi) else ()


def _odds(promise: Guarantee) -> Pure | Approx:
    """What a promise says about odds: itself, or of a Rényi promise the best (epsilon, delta) that it implies.

    Outside the events that it leaves out, with a remainder of `REMAINDER`."""
    if isinstance(promise, Pure | Approx):
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


def methods(certificate: Certificate, comparison: Comparison | None = None) -> tuple[Line, ...]:
    """The methods from the crudest to the exact one: from a comparison, else from the scales in the certificate.

    Without a comparison, a method counts as proved if its scale is at least the one used: more Laplace noise is a
    post-processing of less (docs/proofs/laplace.md#1-more-noise-is-a-post-processing-of-less). Of Gaussian noise on a
    lattice that is not true."""
    if comparison is not None:
        if comparison.budget != certificate.budget:
            raise UsageError(
                f"the comparison is for {comparison.budget!r} and the certificate for {certificate.budget!r}; "
                "compare with the budget of the mechanism"
            )
        return tuple(_compared(row, certificate) for row in comparison.rows)
    if certificate.kind == "mixed":
        return ()
    noise = certificate.noise
    lines = []
    for name, scale in certificate.scales.items():
        used = name == certificate.method
        size = math.inf if scale is None else float(noise.scale) if used else scale
        error = math.inf if math.isinf(size) else type(noise)(size, noise.grid).expected_error()
        more = size >= noise.scale and isinstance(noise, Laplace) and not math.isinf(size)
        note = "" if scale is not None else "no finite scale"
        lines.append(Line(name, noise_name(noise), size, error, None, True if used or more else None, note, used))
    return tuple(lines)


def noise_name(noise: LatticeNoise) -> str:
    """ "Laplace" or "Gaussian"."""
    return type(noise).__name__


def _compared(row: Row, certificate: Certificate) -> Line:
    """One row of a comparison; what no noise can do is said in its note."""
    refused = math.isinf(row.scale)
    name, used, reached = row.noise.capitalize(), False, row.epsilon
    if certificate.kind != "mixed" and row.method == certificate.method:
        used = name == noise_name(certificate.noise)
        if used:
            reached = min(reached, max(limit(item, certificate.noise) for item in certificate.items))
    note = row.note or (row.why if refused else "")
    return Line(
        row.method, name, row.scale, row.expected_absolute, None if refused else reached, row.proven, note, used
    )


def _empirical(running: tuple[Part, ...]) -> Empirical | None:
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

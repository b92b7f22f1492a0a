"""The few numbers that a reader needs, read off a certificate; and the methods side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Renyi
from fugu.loss.fast import pure_loss
from fugu.mechanism.certificate import Certificate
from fugu.noise.laplace import Laplace
from fugu.report.text import SECRET, VALUE
from fugu.report.views import Part, parts, scale_in_steps

if TYPE_CHECKING:
    from fugu.calibration.compare import Comparison

PRIORS = (0.01, 0.1, 0.5, 0.9)


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


@dataclass(frozen=True)
class Line:
    """One method in the comparison; `proved` is None where this page has no proof either way."""

    method: str
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
    budget = certificate.budget
    if isinstance(budget, Renyi):
        raise NotProvable("a page for Renyi guarantees is not available yet; convert with budget.to_approx(delta)")
    running = parts(certificate)
    named = certificate if certificate.kind != "mixed" else running[0].certificate
    families = [family for part in running for family in part.certificate.families]
    return Facts(
        query=query_name or _published(named) or VALUE,
        secret=secret_name or _protected(named) or SECRET,
        epsilon=float(budget.epsilon),
        delta=float(getattr(budget, "delta", 0)),
        proved=min(float(certificate.proved["epsilon"]), float(budget.epsilon)),
        leak=max(_leak(part) for part in running),
        error=sum(float(part.share) * part.noise.expected_error() for part in running),
        half=max(part.noise.quantile(0.95) for part in running),
        unchanged=sum(float(part.share) * _unchanged(part.noise) for part in running),
        silent=float(sum(part.share for part in running if part.noise.scale == 0)),
        grid=max(float(part.lattice.grid) if part.lattice else 0.0 for part in running),
        pairs=sum(len(family.pairs) for family in families) // len(running),
        mixed=len(running) > 1,
        post=tuple(str(step) for step in certificate.body.get("post", ())),
    )


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

    Without a comparison, a method counts as proved if its scale is at least the one used: more noise of this kind is
    a post-processing of less (theory F1)."""
    if comparison is not None:
        if comparison.budget != certificate.budget:
            raise UsageError(
                f"the comparison is for {comparison.budget!r} and the certificate for {certificate.budget!r}; "
                "compare with the budget of the mechanism"
            )
        return tuple(
            Line(r.method, r.scale, r.expected_absolute, r.epsilon, r.proven, r.note, r.method == certificate.method)
            for r in comparison.rows
        )
    if certificate.kind == "mixed":
        return ()
    noise = certificate.noise
    lines = []
    for name, scale in certificate.scales.items():
        used = name == certificate.method
        size = math.inf if scale is None else float(noise.scale) if used else scale
        error = math.inf if math.isinf(size) else Laplace(size, noise.grid).expected_error()
        covered = None if size < noise.scale or math.isinf(size) else True
        lines.append(Line(name, size, error, None, covered, "" if scale is not None else "no finite scale", used))
    return tuple(lines)


def _leak(part: Part) -> float:
    return max(pure_loss(family, scale_in_steps(part.noise)).value for family in part.certificate.families)


def _unchanged(noise: Laplace) -> float:
    """P(N = 0) = tanh(grid / (2 scale))."""
    return 1.0 if noise.scale == 0 else math.tanh(float(noise.rate) / 2)


def _published(certificate: Certificate) -> str | None:
    query: Any = certificate.body.get("query")
    return str(query["publish"]) if isinstance(query, dict) and query.get("publish") else None


def _protected(certificate: Certificate) -> str | None:
    recipe: Any = certificate.body.get("recipe")
    protect = recipe.get("protect") if isinstance(recipe, dict) else None
    if isinstance(protect, str):
        return protect
    return ", ".join(map(str, protect)) if isinstance(protect, list) and protect else None

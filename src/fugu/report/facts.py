"""The numbers that a reader needs, read off a certificate: how much what runs moves what is published, what is
promised, and the methods side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fugu.calibration.lattice import Problem, on
from fugu.calibration.offer import methods as registered
from fugu.calibration.offer import suited
from fugu.calibration.scales import scaled
from fugu.documents.certificate import Certificate
from fugu.documents.swap import EXCHANGE
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import odds_of
from fugu.noise.kind import kind_named
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import CorrelatedGaussian, DirectedLaplace, Matrix
from fugu.numbers.exact import read_number
from fugu.numbers.text import SECRET, VALUE
from fugu.report.shapes import limit, why_unlimited

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison, Row

LEVEL = 0.95
PRIORS = (0.01, 0.1, 0.5, 0.9)
_MOST_CELLS = 200_000
"""Points times pairs up to which the scales that a certificate does not list are worked out."""
_MOST_CELLS_OF_VECTORS = 400
"""The same for vectors, where methods compare every atom with every other."""


Coordinate = tuple[str, float, float, float]
"""The noise of one coordinate: its name, the scale, E|N|, and the half width: at least 95 % of the noise of this
coordinate alone lies within +-half."""


Facts = SimpleNamespace
"""What is read off a certificate: plain data, which templates and figures look at."""


def parts(certificate: Certificate, share: Fraction = Fraction(1)) -> tuple[Facts, ...]:
    """The noises that may run, and how much each moves what is published, in the units of the value, rounding apart; a
    mixture has several, and those of share 0 are left out. Outputs that a table moves have the errors of the table;
    values that a channel exchanges those of the laws."""
    if certificate.parts:
        first, second = certificate.parts
        coin = read_number(certificate.body["share"])
        return parts(first, share * coin) + parts(second, share * (1 - coin))
    if not share:
        return ()
    noise, d = certificate.noise, certificate.dimension
    scale, remap = math.nan if noise.tabled else float(noise.scale), certificate.remap
    if noise.tabled:
        errors = certificate.errors
        error, half, unchanged = errors.expected("absolute"), errors.quantile(LEVEL), errors.unchanged
    elif remap is not None:
        error, half, unchanged = remap.expected_error(), remap.quantile(LEVEL), remap.exact_chance()
    else:
        error, half = noise.total_error("absolute", d), noise.joint_quantile(LEVEL, d)
        if not noise.released or isinstance(noise, CorrelatedGaussian):
            unchanged = float(noise.silent)
        else:
            unchanged = noise.exact_chance() ** (1 if isinstance(noise, Matrix) else d)
    stated = noise.tabled or remap is not None
    lines = (("each", scale, error, half),) if stated else _coordinates(certificate, noise, d, scale)
    return (Facts(
        share=share,  # the probability with which it runs: 1, or that of a half of a mixture
        certificate=certificate,
        scale=scale,  # of correlated noise the largest standard deviation of a coordinate
        error=float(error),  # E ||N||_1: the sum over coordinates
        half=float(half),  # at least 95 % of the noise lies within +-half, in all coordinates at once
        unchanged=float(unchanged),  # the chance that the noise is 0
        coordinates=lines,  # coordinate by coordinate; one line where all have the same
        stated=stated,  # whether a table or laws state the errors in place of the noise
    ),)  # fmt: skip


def _coordinates(certificate: Certificate, noise: Any, d: int, scale: float) -> tuple[Coordinate, ...]:
    if not isinstance(noise, Matrix):
        return (("each", scale, float(noise.expected_error()), float(noise.quantile(LEVEL))),)
    spreads, halves = noise.deviations(d), noise.each_quantile(LEVEL, d)
    if isinstance(noise, DirectedLaplace):
        scales = noise.coordinate_scales()
        errors = [min(scale, spread) for scale, spread in zip(scales, spreads, strict=True)]
    else:
        scales, errors = spreads, [spread * math.sqrt(2 / math.pi) for spread in spreads]
    stated = [str(name) for name in (certificate.body.get("property") or {}).get("statistics", ())]
    names = stated if len(stated) == d else [str(j + 1) for j in range(d)]
    return tuple(zip(names, scales, errors, halves, strict=True))


def facts(certificate: Certificate, query_name: str | None = None, secret_name: str | None = None) -> Facts:
    """What the page states. Errors are in the units of the column and speak of the noise; rounding comes on top. Names
    not given come from the recipe in the certificate, if it has one."""
    promise = certificate.budget.simplest()
    budget, divergences = odds_of(promise), _renyi(promise)
    running = parts(certificate)
    bodies, noises = [part.certificate.body for part in running], [part.certificate.noise for part in running]
    query, recipe = bodies[0].get("query"), bodies[0].get("recipe")
    protect = recipe.get("protect") if isinstance(recipe, dict) else None
    hidden = ", ".join(map(str, protect)) if isinstance(protect, list) else protect if isinstance(protect, str) else ""
    each = [(part.certificate, item) for part in running for item in part.certificate.laws]
    leaks = [(_limit(certificate, item), certificate.in_steps, item) for certificate, item in each]
    reasons = [why_unlimited(item, noise) for most, noise, item in leaks if math.isinf(most)]
    lattices = [part.certificate.lattice if noise.released else None
                for part, noise in zip(running, noises, strict=True)]  # fmt: skip
    fitted = [
        {"epsilon": math.inf if b["epsilon"] is None else float(b["epsilon"]), "delta": float(b["delta"]),
         "holds": bool(b["holds"])}
        for b in (body.get("empirical") for body in bodies) if b
    ]  # fmt: skip
    named = dict.fromkeys(
        (str(noise.words), part.scale) for part, noise in zip(running, noises, strict=True) if not noise.silent
    )
    moved = [str(body["remap"]["loss"]) for body in bodies if body.get("remap") is not None]
    return Facts(
        query=query_name or str((query if isinstance(query, dict) else {}).get("publish") or VALUE),
        secret=secret_name or hidden or SECRET,
        # of a Rényi promise what it implies for the odds; its (alpha, epsilon), and the delta of itself
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        renyi=divergences,
        left_out=float(promise.delta) if divergences else 0.0,
        # the proved epsilon, which may be below the promised one
        proved=min(math.inf if divergences else float(certificate.proved["epsilon"]), float(budget.epsilon)),
        # max |ln(f_A / f_B)| over all values and all protected pairs, which may be above epsilon if delta is positive;
        # and why it is inf, "only", "tails" or "error" (see `shapes.why_unlimited`), "" where it is finite
        leak=max(most for most, _, _ in leaks),
        unlimited="only" if "only" in reasons else reasons[0] if reasons else "",
        # E|N|, of a vector the sum over its coordinates; at least 95 % of the noise lies within +-half, in all
        # coordinates at once; the chance that the noise is 0, and that none is drawn at all (of a half of a mixture)
        error=sum(float(part.share) * part.error for part in running),
        half=max(part.half for part in running),
        unchanged=sum(float(part.share) * part.unchanged for part in running),
        silent=float(sum(part.share for part, noise in zip(running, noises, strict=True) if noise.silent)),
        # the coarsest lattice on which values are published; 0 if they go out as they are
        grid=max(float(lattice.grid) if lattice else 0.0 for lattice in lattices),
        pairs=sum(len(item.pairs) for _, _, item in leaks) // len(running),
        mixed=len(running) > 1,
        post=tuple(str(step) for step in certificate.body.get("post", ())),
        # each noise that may run in words, and its scale; its coordinates, one line where all have the same; of
        # correlated ones the covariance; and whether all are ever drawn: an analysis is on paper only
        noises=tuple(named),
        coordinates=tuple(part.coordinates for part in running),
        covariances=tuple(
            tuple(tuple(map(float, row)) for row in noise.covariance())
            for noise in noises
            if isinstance(noise, CorrelatedGaussian)
        ),
        released=all(noise.released for noise in noises),
        dimension=certificate.dimension,
        # what the noise loses under the values that fitted beliefs were fitted to: epsilon (inf where no finite one
        # holds), delta, and whether the promise `holds` for them too; the guarantee is not for these
        empirical=max(fitted, key=lambda e: (not e["holds"], e["epsilon"], e["delta"]), default=None),
        # the losses by which outputs are moved to the value where they are least; "" where they are not
        remap=" or ".join(dict.fromkeys(moved)),
    )


def _renyi(promise: Guarantee) -> tuple[tuple[float, float], ...]:
    """(alpha, epsilon) of every order of a Rényi promise; nothing for others."""
    return tuple((float(a), float(e)) for a, e in promise.orders if not math.isinf(a))


def posterior(prior: float, loss: float) -> float:
    """The probability whose odds are e^loss times the prior odds: 1 / (1 + (1 - prior)/prior e^-loss).

    >>> round(posterior(0.5, 1.0), 4), round(posterior(0.5, -1.0), 4)
    (0.7311, 0.2689)
    """
    logit = math.log(prior / (1 - prior)) + loss
    small = math.exp(-abs(logit))
    return 1 / (1 + small) if logit >= 0 else small / (1 + small)


def beliefs(epsilon: float, priors: Sequence[float] = PRIORS) -> tuple[tuple[float, float, float], ...]:
    """(prior probability of secret A against B, the least and the largest that one published value can make of it).

    Bayes' rule at its worst: posterior odds between e^-epsilon and e^epsilon times the prior odds."""
    return tuple((prior, posterior(prior, -epsilon), posterior(prior, epsilon)) for prior in priors)


def _line(method: str, noise: str, scale: float, error: float | None, epsilon: float | None, proved: bool | None,
          note: str, used: bool) -> Facts:  # fmt: skip
    """One method in the comparison; `error` and `proved` are None where this page does not know."""
    return Facts(**locals())


def methods(certificate: Certificate, comparison: Comparison | None = None) -> tuple[Facts, ...]:
    """The methods from the crudest to the exact one: from a comparison, else from the certificate alone.

    A certificate lists the scales that were tried; those of other methods are worked out from its laws where they are
    few. Without a comparison, a method counts as proved if its scale is at least the one used and the noise is one of
    which more is a post-processing of less (docs/proofs/laplace.md#1-more-noise-is-a-post-processing-of-less)."""
    if comparison is not None:
        if comparison.budget != certificate.budget:
            raise UsageError(
                f"the comparison is for {comparison.budget!r} and the certificate for {certificate.budget!r}; "
                "compare with the budget of the mechanism"
            )
        return compared(comparison, certificate)
    if certificate.parts:
        return ()
    (amount,) = parts(certificate)
    noise, own = certificate.noise, amount.scale
    if isinstance(noise, Matrix):  # a certificate states the root of E ||N||_2^2 of noise that knows its coordinates
        own = math.sqrt(noise.expected_error("squared"))
    plain = not amount.stated and not isinstance(noise, Matrix)
    name = (noise.of_one if isinstance(noise, DirectedLaplace) else noise).name.capitalize()
    found, places = [], {m.name: m.place for m in registered()}
    scales = {**certificate.scales, **_worked_out(certificate)}
    for method in sorted(scales, key=lambda method: places.get(method, 0)):
        used, scale = method == certificate.method, scales[method]
        if scale is None or math.isinf(scale):
            found.append(_line(method, name, math.inf, math.inf, None, used or None, "no finite scale", used))
            continue
        size, error = (own, amount.error) if used else (scale, None)
        if not used and plain:
            error = float(certificate.dimension * noise.rescaled(size).expected_error())
        more = not noise.tabled and not isinstance(noise, Matrix) and noise.ordered and size >= own
        found.append(_line(method, name, size, error, None, used or more or None, "", used))
    return tuple(found)


def _limit(certificate: Certificate, item: Any) -> float:
    """The largest log ratio of two laws of a pair; of exchanged records, whose laws are of one of them, what is proved
    of all."""
    if EXCHANGE in certificate.body:
        return float(certificate.proved["epsilon"])
    return limit(item, certificate.in_steps)


def compared(comparison: Comparison, certificate: Certificate | None = None) -> tuple[Facts, ...]:
    """The rows of a comparison by itself, where the one that `calibrate` would take counts as used; or beside a
    `certificate`, where its own does, and reaches no more than its laws can lose.

    What a row says of itself when it is refused becomes its note: that no noise can do it, or by itself that it is not
    proved."""
    try:
        best: Row | None = comparison.best if certificate is None else None
    except NotProvable:
        best = None
    found = []
    for row in comparison.rows:
        refused = math.isinf(row.scale)
        name, used, reached = row.noise.capitalize(), row is best, row.epsilon
        if certificate is not None and not certificate.parts and row.method == certificate.method:
            noise = certificate.in_steps
            used = name == noise.name.capitalize()
            if used:
                reached = min(reached, max(_limit(certificate, item) for item in certificate.laws))
        silent = row.proven if certificate is None else not refused
        found.append(_line(
            row.method, name, row.scale, row.expected_absolute, None if refused else reached, row.proven,
            row.note or ("" if silent else row.why), used,
        ))  # fmt: skip
    return tuple(found)


def _worked_out(certificate: Certificate) -> dict[str, float]:
    """The scales of methods that the certificate does not list, where the problem is small and the certificate knows
    where the laws stand."""
    kind, ask = kind_named(certificate.in_steps.name), certificate.budget.simplest().asks()
    laws: tuple[Any, ...] = certificate.laws
    lattice, support = certificate.lattice, certificate.support
    if not certificate.of_values or kind is None:
        return {}
    if lattice is not None:
        where = Problem(laws, laws, lattice)
    elif support is None or len(laws) != 1 or not laws[0].atoms or (lattice := Lattice.holding([support])) is None:
        return {}
    else:
        where = on((laws[0].placed(support),), lattice)
    if where.cells > (_MOST_CELLS if where.dimension == 1 else _MOST_CELLS_OF_VECTORS):
        return {}
    wanted = [m for m in suited(where.items, ask, kind) if m.name not in certificate.scales]
    found = scaled(where, ask, kind, wanted)
    return {x.way.name: math.inf if math.isinf(x.proposal.steps) else x.rank("absolute")[1] for x in found}

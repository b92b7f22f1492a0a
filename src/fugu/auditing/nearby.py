"""`guarantee_within`: what a mechanism promises against every adversary whose beliefs are close to the assumed ones.

Two ways to be close, each for every secret and one and the same assumed belief:

- kind="wasserstein": the law of the raw value, as it stands in the table, can be turned into the assumed one by moving
  every value by at most `distance` (W_inf <= distance). Bins and rounding are accounted for (`reach`). Vectors move by
  at most that much in the norm of the noise: l1 for Laplace noise, l2 for Gaussian noise.
- kind="renyi": the Rényi divergence of that order between the two laws of the value is at most `distance`, both ways,
  before the query or after it (a query makes no divergence larger).

Several bounds are proved and the least is returned: the coupling that is lengthened by the distance on both sides
(`moved`), and the triangle inequalities of `theorems` from what is proved for the assumed laws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from fugu.auditing.against import conditioned, proved, pure_loss, running, stated, weakest
from fugu.auditing.moved import moved_delta, moved_renyi, vector_shift_renyi
from fugu.auditing.reach import Reach, checked, reach
from fugu.auditing.theorems import best_a4, proposition_a7, straight, theorem_5_6, theorem_a3
from fugu.documents.certificate import Certificate
from fugu.errors import NotProvable, UnknownName, UsageError
from fugu.guarantee import Approx, Divergences, Guarantee, Pure
from fugu.guarantee.asks import check_alpha, exact, outward
from fugu.laws.shapes import Shape
from fugu.loss.door import delta_bounds, shift_delta
from fugu.loss.leakage import require_exact
from fugu.loss.shifts import shift_renyi
from fugu.loss.vectors_gaussian import shift_delta as vector_shift_delta
from fugu.noise.kind import Noise
from fugu.numbers.exact import Real, as_fraction, float_up, meant_up
from fugu.verifier.verify import Source, certificate_of

KINDS = ("wasserstein", "renyi")
_SHARES = (Fraction(1, 8), Fraction(1, 4), Fraction(3, 8))


def guarantee_within(
    mechanism_or_certificate: Source,
    distance: Real,
    kind: Literal["wasserstein", "renyi"] = "wasserstein",
    order: Real = math.inf,
) -> Guarantee:
    """The guarantee, proved, against every adversary whose beliefs are within `distance` of the assumed ones.

    Parameters: `mechanism_or_certificate`, or the path of its file; `distance`, a number >= 0; `kind` says of what, of
    values that are moved ("wasserstein") or of a Rényi divergence ("renyi") of that `order` > 1, inf by default.

    Returns a guarantee; raises `NotProvable` where no bound is known, `UnknownName` and `UsageError` for arguments that
    make no sense.

    Pure and Rényi budgets give the same kind of guarantee. An Approx budget gives the delta at the same epsilon
    (wasserstein) or epsilon + 2 distance with e^distance delta (renyi). Where nothing finite is known, epsilon is inf.
    Places in an ordering of categories have no distance, and are refused. So are, for kind="wasserstein", normal laws
    of vectors (laws near a normal one need not be normal) and noise that is for analysis only.

    >>> import fugu
    >>> m = fugu.calibrate(fugu.Shifted(1), fugu.Pure(1))
    >>> guarantee_within(m, 0), guarantee_within(m, 1), guarantee_within(m, 0.125, kind="renyi")
    (Pure(epsilon=1.0), Pure(epsilon=3.0), Pure(epsilon=1.25))
    """
    certificate = certificate_of(mechanism_or_certificate)
    budget = certificate.budget
    if kind not in KINDS:
        raise UnknownName("kind of distance", kind, KINDS)
    check_alpha(order)
    if kind == "wasserstein":
        if not math.isinf(order):
            raise UsageError("a W_inf distance has no order; order belongs to kind='renyi'")
        return weakest([moved_within(half, budget, reach(half, distance)) for half in running(certificate)])
    return weakest([_diverged(half, budget, checked(distance), order) for half in running(certificate)])


def moved_within(half: Certificate, budget: Guarantee, far: Reach) -> Guarantee:
    """The guarantee for laws moved within the reach."""
    laws, noise, asked = half.laws, half.noise, budget.simplest()
    if far.steps == 0:
        return proved(laws, noise, budget)
    target = asked.asks()
    if isinstance(target, Divergences):
        pieces = [piece for item in laws for piece in conditioned(item, noise, target)]
        found = {}
        for alpha, _ in target.orders:
            each = (_moved_renyi(p.item, p.losses[alpha], noise, alpha, far) for p in pieces)
            found[alpha] = max(each)
        return stated(asked, found, max(piece.left_out for piece in pieces))
    if asked.delta == 0:
        _exact_laws(laws)
        return Pure(pure_within(laws, noise, far))
    pure = pure_within(laws, noise, far)
    if exact(pure) <= exact(asked.epsilon):
        return Pure(pure)
    delta = meant_up(delta_within(laws, noise, as_fraction(asked.epsilon), far))
    return Approx(asked.epsilon, delta) if 0 < delta < 1 else Pure(pure if delta else asked.epsilon)


def rate_of(noise: Noise) -> Fraction | None:
    """The most that the logarithm of the noise changes in one step of its norm; None where it has no limit."""
    return None if noise.silent else noise.rate


def pure_within(laws: Sequence[Shape], noise: Noise, far: Reach) -> float:
    """min(epsilon + 2 k rate, span rate) for Laplace noise, as D_inf(M'_s, M_s) <= k rate both ways; else inf.

    epsilon is the proved loss, or W_inf rate in exact rationals where that is less."""
    if (rate := rate_of(noise)) is None:
        return math.inf
    found = max((pure_loss(item, noise) for item in laws), key=lambda e: exact(math.inf) if e is None else e)
    ends = [] if far.span is None else [far.span * rate]
    if not any(item.inexact for item in laws) and found is not None:
        ends.append(found + 2 * far.steps * rate)
    return min((outward(end) for end in ends), default=math.inf)


def delta_within(laws: Sequence[Shape], noise: Noise, epsilon: Fraction, far: Reach) -> float:
    """The least delta at epsilon: by couplings, or by Theorem 5.6 from delta(epsilon - 2 l) of the assumed laws.

    Laplace: l = k rate and eta = 0 (Proposition A.7). Gaussian: some l < epsilon / 2, eta = HS_l of a shift by k."""
    found = max(moved_delta(item, noise, epsilon, far) for item in laws) if noise.added else 1.0
    if noise.silent:
        return found
    rate = rate_of(noise)
    tried = [epsilon * share for share in _SHARES] if rate is None else [far.steps * rate]
    for by in tried:
        if 2 * by > epsilon:
            continue
        rest = epsilon - 2 * by
        shifts = (_SHIFTS[item.shape](item.dimension, noise, far.steps, by) for item in laws)
        eta = 0.0 if rate is not None else max(shifts)
        assumed = max((loss.value for item in laws for loss in delta_bounds(item, noise, rest)), default=0.0)
        implied = theorem_5_6(rest, assumed, (by, eta), (by, eta))
        if isinstance(implied, Approx) and exact(implied.epsilon) <= epsilon:
            found = min(found, float(implied.delta))
    return found


_SHIFTS: dict[str, Callable[[int, Any, Any, Fraction], float]] = {
    "line": lambda _, noise, steps, by: shift_delta(noise, steps, by),
    "smooth": lambda _, noise, steps, by: shift_delta(noise, steps, by),
    "sets": lambda _, noise, steps, by: shift_delta(noise, steps, by),
    "space": lambda d, noise, steps, by: vector_shift_delta(float_up(steps), d, noise, by),
}
"""HS of a shift of d coordinates by that many steps, by the shape of the laws."""


def _moved_renyi(item: Shape, loss: float, noise: Noise, alpha: Fraction, far: Reach) -> float:
    """The least of the lengthened coupling, D_a + (2a-1)/(a-1) k rate (Laplace), and for numbers Theorem A.5."""
    found = moved_renyi(item, noise, alpha, far) if noise.added else math.inf
    if noise.silent:
        return found
    grid = noise.grid or Fraction(1)
    if (rate := rate_of(noise)) is not None:
        found = min(found, straight(loss, alpha, far.steps * rate))
    if item.dimension > 1 or not noise.added:
        return found
    return min(found, best_a4(item, noise, alpha, lambda order: shift_renyi(noise, far.steps * grid, order)))


def _diverged(half: Certificate, budget: Guarantee, distance: Fraction, order: Real) -> Guarantee:
    """The guarantee for laws whose divergence of that order from the assumed ones is at most `distance`, both ways."""
    laws, noise, asked, span = half.laws, half.in_steps, budget.simplest(), _span(half)
    target = asked.asks()
    if isinstance(target, Divergences):
        target = replace(target, delta=Fraction(0))  # likely events of one belief need not be so in another
        found = {}
        for alpha, _ in target.orders:
            each = [_diverged_renyi(piece.item, piece.losses[alpha], noise, alpha, distance, order, span)
                    for item in laws for piece in conditioned(item, noise, target)]  # fmt: skip
            found[alpha] = max(each)
        return stated(asked, found, Fraction(0))
    if not math.isinf(order):
        raise NotProvable("a divergence of finite order bounds no probability ratio; give order=inf, or a Renyi budget")
    known = proved(laws, noise, asked)
    if known.delta:
        return proposition_a7(known.epsilon, float(known.delta), distance, distance)
    capped = pure_within(laws, noise, Reach(2**62, span))
    return min(theorem_a3(known.epsilon, distance, distance), Pure(capped), key=lambda g: exact(g.epsilon))


def _span(half: Certificate) -> Any:
    """How far apart two published values can be before noise; None where no support confines them."""
    return None if half.support is None else reach(half, 0).span


def _diverged_renyi(
    item: Shape, loss: float, noise: Noise, alpha: Fraction, distance: Fraction, order: Real, span: Any
) -> float:
    """Theorem A.4 at the best exponents that stay within the order; for order inf also its limit. Values that are
    confined to a support lose no more than a shift by its span."""

    def apart(at: Real) -> float:
        return outward(distance) if exact(at) <= exact(order) else math.inf

    found = straight(loss, alpha, distance) if math.isinf(order) else math.inf
    if noise.silent:
        return found
    confined = math.inf if span is None else _CONFINED[item.shape](noise, span, alpha)
    return min(found, confined, best_a4(item, noise, alpha, apart))


_CONFINED: dict[str, Callable[[Any, Any, Fraction], float]] = {
    "line": lambda noise, span, alpha: shift_renyi(noise, span * (noise.grid or 1), alpha),
    "smooth": lambda noise, span, alpha: shift_renyi(noise, span * (noise.grid or 1), alpha),
    "sets": lambda noise, span, alpha: shift_renyi(noise, span * (noise.grid or 1), alpha),
    "space": vector_shift_renyi,
}
"""D_alpha of a shift by at most that many steps, by the shape of the laws."""


def _exact_laws(laws: Sequence[Any]) -> None:
    for item in laws:
        if item.inexact:
            require_exact(item)

"""Langevin dynamics: where a diffusion began, when it is seen later (corrected Proposition 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from flint import arb

from fugu.errors import UnknownName, UsageError
from fugu.numbers import balls
from fugu.numbers.checks import is_list
from fugu.numbers.exact import Real, number
from fugu.scenario.moves import ONCE, moves, said
from fugu.scenario.scenario import Scenario, builder

_BITS = 128
_MOST = 700
_NORMS = {
    "sum": (1, "the sum of the l2 distances at each time"),
    "stacked": (2, "the l2 distance of all times stacked"),
}
NORMS = tuple(_NORMS)


@builder
def langevin(
    strong_convexity: Real,
    times: Sequence[Real],
    diameter: Real,
    lipschitz: Real = 1,
    norm: Literal["sum", "stacked"] = "sum",
) -> Scenario:
    """dX = -grad V(X) dt + sqrt 2 dB with Hess V >= C; secret: X_0 in a set of l2 diameter D; published: f(X_t1, ...).

    Two solutions driven by the same B satisfy |X_t - Y_t|_2 <= e^(-C t) |X_0 - Y_0|_2 for all t at once, for any real C
    (d/dt |X - Y|^2 = -2 <X - Y, grad V(X) - grad V(Y)> <= -2 C |X - Y|^2, then Gronwall;
    docs/proofs/moves.md#langevin-dynamics). So a real-valued f that is
    L-Lipschitz moves by at most

    - L D sum_i e^(-C t_i)               for "sum": |f(x) - f(y)| <= L sum_i |x_i - y_i|_2,
    - L D (sum_i e^(-2 C t_i))^(1/2)     for "stacked": |f(x) - f(y)| <= L (sum_i |x_i - y_i|_2^2)^(1/2).

    Pierquin et al. 2024, Proposition 6.3, prints e^(-2 C t) with the l1 norm, and is unsound: for V = x^2 / 2 the laws
    at t = 1 are exactly e^-1 |a - b| apart; and l1 distances need not shrink by e^(-C t).

    >>> [float(langevin(1, [0.5, 1, 2], 2, norm=norm).law_pairs()[0].q.by) for norm in NORMS]
    [2.219490769, 1.444341184]
    """
    if norm not in NORMS:
        raise UnknownName("norm", norm, NORMS)
    if not is_list(times) or not times:
        raise UsageError("times must be a list of at least one number >= 0")
    rate = number(strong_convexity, "strong_convexity", least=None)
    seen = [number(t, "each of the times") for t in times]
    if len(set(seen)) < len(seen):
        raise UsageError("two of the times are equal; give each time once")
    if any(abs(rate * t) > _MOST for t in seen):
        raise UsageError(f"strong_convexity times a time must lie within +-{_MOST}; rescale the time")
    width, slope = number(diameter, "diameter"), number(lipschitz, "lipschitz")
    power, whole = _NORMS[norm]
    return moves(
        _bound(rate, seen, width * slope, power),
        ("one start", "another start"),
        (
            f"beliefs: dX = -grad V(X) dt + sqrt(2) dB with Hess V >= {said(rate)} everywhere, from the start on",
            f"the start lies in a set of l2 diameter at most {said(width)}",
            f"it is seen at the times {', '.join(said(t) for t in seen)}",
            f"the published value is one number, and {said(slope)}-Lipschitz for {whole}",
            ONCE,
        ),
    )


def _bound(rate: Fraction, times: Sequence[Fraction], factor: Fraction, power: int) -> Fraction:
    """An upper bound of the sum or of the root of the sum of squares, from balls."""
    if factor == 0:
        return Fraction(0)
    with balls.precision(_BITS):
        total = sum((balls.of(-power * rate * t).exp() for t in times), arb(0))
        end = balls.of(factor) * (total if power == 1 else total.sqrt())
        return Fraction(balls.upper(end))

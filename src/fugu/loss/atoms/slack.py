"""What a law that is known up to total variation adds to a loss.

Let |P - p| <= a and |Q - q| <= b in total variation, P and Q the true laws and p and q the computed ones. Noise and
rounding bring laws no farther apart, so for every set S of outputs
    P(S) - e^eps Q(S) <= p(S) + a - e^eps (q(S) - b) <= delta(eps) + a + e^eps b,
with delta(eps) that of p and q. Ratios are another matter: P may have mass where Q has none, so no pure loss is known.
"""

from __future__ import annotations

from flint import arb

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.family import Family
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction


def slack(family: Family, order: tuple[int, int], e: arb) -> arb:
    """a + e b for the laws P and Q of one order of a pair, e = e^eps; 0 for exact laws.

    >>> from fugu.laws import Discrete, LawPair, families
    >>> family = families([LawPair(Discrete([0]), Discrete([1]))])[0]
    >>> slack(family, (0, 1), arb(1)) == 0
    True
    """
    first, second = (arb(family.errors[k]) for k in order)
    return first + e * second if family.blurred(order) else arb(0)


def largest_slack(family: Family, epsilon: Real) -> float:
    """max over pairs and both orders of a + e^eps b, rounded up."""
    with balls.precision(64):
        e = balls.of(as_fraction(epsilon)).exp()
        orders = [order for pair in family.pairs for order in (pair, pair[::-1]) if family.blurred(pair)]
        return max((balls.upper(slack(family, order, e)) for order in orders), default=0.0)


def require_exact(family: Family) -> None:
    """Refuse to state a pure loss of laws that are known up to an error only."""
    if family.inexact:
        raise NotProvable(
            f"a law is known up to total variation {max(family.errors):.2g} only, and that bounds no ratio: "
            "use a budget with delta > 0, or the exact convolution (method='exact')"
        )


def require_room(family: Family, ask: Ask) -> None:
    """Refuse a budget that the errors of the laws exceed by themselves, whatever the noise."""
    if ask.pure:
        require_exact(family)
    elif (spent := largest_slack(family, ask.epsilon)) > ask.delta:
        raise NotProvable(
            f"the laws are known up to total variation {max(family.errors):.2g}, which costs delta {spent:.2g} at this "
            "epsilon whatever the noise: ask for a larger delta, or use the exact convolution (method='exact')"
        )

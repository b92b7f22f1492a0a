"""Both promises in one sentence, in one order everywhere: against those who hold the stated beliefs, against anybody.

"Anybody" holds any belief under which records are independent: the second promise is ordinary differential privacy for
each record (docs/proofs/metric-charges.md#sessions)."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

from fugu.drawing.text import shortened
from fugu.guarantee.curve import Guarantee
from fugu.guarantee.kinds import Approx, Pure, Renyi
from fugu.guarantee.zcdp import ZCDP
from fugu.numbers.exact import Real, as_fraction

REFERENCE = "the reference"
NONE = "none"
"""What is promised against anybody where no finite epsilon holds."""
ANYBODY, EACH_ENTRY = "against anybody", "for each entry against anybody to whom entries are independent"
"""What the second promise is about: records; or the entries of sequences, of which no others are independent."""
PUBLIC = "public: exact by declaration"
"""What is said of a number that is exact because whoever asked has declared it to be known."""
UNCHARGED = (
    "no ledger: nothing prevents a second release of this data, and two releases that are safe alone can reveal "
    "everything together"
)
"""Said of a release that no ledger knows of."""


def both(
    believed: Guarantee | Real, anybody: Guarantee | Real | None, believes: str = REFERENCE, whom: str = ANYBODY
) -> str:
    """The two promises of a release, both rounded up; `anybody`: None or infinity where nothing is promised.

    `believes`: what the first one is about, for beliefs that do not come from a reference; `whom`: what the second one
    is about.

    >>> both(Pure(1), 5)
    'epsilon 1 against whoever believes the reference; epsilon 5 against anybody'
    >>> both(Approx(1, 1e-6), None, "the stated laws")
    'epsilon 1 and delta 1e-6 against whoever believes the stated laws; none against anybody'
    """
    return f"{promise(believed)} against whoever believes {believes}; {promise(anybody)} {whom}"


def promise(guarantee: Guarantee | Real | None) -> str:
    """One promise in a few words, rounded up.

    >>> promise(Pure(0.1)), promise(1 / 3), promise(math.inf)
    ('epsilon 0.1', 'epsilon 0.333334', 'none')
    >>> promise(Renyi(2, 0.1)), promise(ZCDP(0.5))
    ('epsilon 0.1 at the Rényi order 2', 'rho 0.5 (zCDP)')
    """
    if isinstance(guarantee, ZCDP):
        return f"rho {_up(guarantee.rho)} (zCDP)"
    if isinstance(guarantee, Guarantee) and not isinstance(guarantee, Pure | Approx | Renyi):
        return repr(guarantee)
    epsilon = guarantee.epsilon if isinstance(guarantee, Guarantee) else guarantee
    if epsilon is None or math.isinf(epsilon):
        return NONE
    delta = guarantee.delta if isinstance(guarantee, Guarantee) else 0
    order = f" at the Rényi order {float(guarantee.alpha):g}" if isinstance(guarantee, Renyi) else ""
    return f"epsilon {_up(epsilon)}" + (f" and delta {_up(delta)}" if delta else "") + order


def called_exact(chance: float) -> str:
    """What is said of a number whose noise is 0 with a probability above one half.

    >>> called_exact(1.0)
    'exact: each number goes out without noise'
    """
    return "exact: each number goes out without noise" + (
        "" if chance == 1 else f" with probability {probability(chance)}"
    )


def probability(x: float) -> str:
    """A probability that must not be understated, in words: three digits of what is left to 1.

    >>> probability(0.98661), probability(1.0), probability(0.999995461)
    ('0.9867', '1', '0.99999547')
    """
    rest = shortened(Decimal(1) - Decimal(x), "down", 3)
    return f"{Decimal(1) - rest:f}" if rest else "1"


def _up(x: Real) -> str:
    """Six significant digits, not below x."""
    exact = as_fraction(x)
    above = Context(prec=30, rounding=ROUND_CEILING).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    short = shortened(above, "up", 6)
    return f"{short:f}" if short == 0 or -5 < short.adjusted() < 9 else f"{short:e}".replace("e+", "e")

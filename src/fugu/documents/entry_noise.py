"""Which numbers of sequences go out exact: those whose lattice noise is 0 with probability above one half."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fugu.documents.plain_json import reading
from fugu.guarantee.promises import called_exact
from fugu.noise.gaussian import at_least
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import read_number

HALF = 0.5
STATES = "the number of entries changed"
"""What the sensitivity of randomised response is of: it publishes states, and no number."""
_SHARP = Fraction(10**4)


def exact_numbers(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each question whose numbers are called exact, worked out from the noise that is claimed.

    Choices (`TopK`, `ArgMax`, `Select`) and randomised response publish no number; of a mechanism from outside no noise
    is known."""
    if claims["claimed by"] != "fugu":
        return ()
    parts = claims.get("parts") or [claims]
    with reading():
        chances = [(str(part["query"]), zero_chance(claims, part, k)) for k, part in enumerate(parts)]
    said = [(name, called_exact(chance)) for name, chance in chances if chance > HALF]
    return tuple(f"{name}: {words}" if len(parts) > 1 else words for name, words in said)


def zero_chance(claims: Mapping[str, Any], part: Mapping[str, Any], k: int) -> float:
    """P(N = 0) of the noise on a number of question k: tanh(r / 2) of Laplace noise of rate r; 0 of a choice."""
    if "method" in part or part.get("sensitivity of") == STATES:
        return 0.0
    if "lattice" in claims:
        return 1 - at_least(float(min(1 / (2 * read_number(claims["lattice"]["variance"][k])), _SHARP)), 1)
    step, share = read_number(part.get("rounded to multiples of", "1")), read_number(part.get("share", "1"))
    rate = read_number(claims["epsilon"]) * share * step / read_number(part["sensitivity"])
    return 1 - Laplace(1 / rate, grid=1).tail(0.0)

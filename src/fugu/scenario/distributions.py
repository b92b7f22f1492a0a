"""Distribution privacy in its own words: named distributions theta of the data, and pairs Psi that must look alike.

A mechanism M is (epsilon, delta)-distribution private for Psi if P(M(D) in S | D ~ theta) <= e^epsilon P(M(D') in S |
D' ~ theta') + delta for every event S and every (theta, theta') in Psi, over the data and the mechanism (Chen and
Ohrimenko 2023, Definition 3.2). What is published depends on the data through a query only, so the law of the query
under each theta is all that counts.

As a Pufferfish scenario: the data come with a label that names their distribution, the secret is the label, and whoever
attacks takes the two labels of a pair for equally likely; the mechanism does not look at the label. That is the same
promise (the paper's Theorem 3.1; a secret must be an event, so the label is needed: "drawn from theta" is none of the
data alone)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal

from flint import arb

from fugu.errors import BadBudget, UsageError
from fugu.guarantee import Approx, Pure
from fugu.laws import Discrete, Law
from fugu.numbers import balls
from fugu.numbers.checks import is_list
from fugu.numbers.exact import Real, as_fraction, decimal_up, is_whole
from fugu.scenario.scenario import Scenario, named_pairs

Distribution = Law | Sequence[Real]
OrderedPairs = Literal["all"] | Iterable[tuple[str, str]]
LABELS = (
    "as a Pufferfish scenario: the secret is the label that names the distribution, an adversary takes both labels of "
    "a pair for equally likely, and the mechanism does not look at it"
)


def from_distributions(
    distributions: Mapping[str, Distribution], psi: OrderedPairs = "all", symmetric: bool = True
) -> Scenario:
    """Distribution privacy: which of the named distributions the data come from.

    `distributions`: {name: law of the query}, or {name: its values}, whose frequencies are the law; `psi`: "all", or
    the ordered pairs of names that must look alike; `symmetric`: True adds (b, a) to each (a, b). False takes the pairs
    as they are; noise protects both orders anyway, and the assumptions say which were asked for and which come with it.

    >>> from fugu import Discrete
    >>> theta = {"mu": Discrete([1, 2], [1, 1]), "nu": Discrete([1, 2], [1, 2])}
    >>> from_distributions(theta, psi=[("mu", "nu")]).law_pairs()[0].label
    'mu vs nu'
    """
    if not isinstance(distributions, Mapping):
        raise UsageError("distributions must be a dict of names and laws of the query")
    laws: dict[str, Law] = {}
    for name, given in distributions.items():
        if not isinstance(given, Law) and not is_list(given) and not hasattr(given, "tolist"):
            raise UsageError(
                f"distribution {str(name)!r} needs the law of the query, or its values, got {type(given).__name__}"
            )
        laws[str(name)] = given if isinstance(given, Law) else Discrete(given)
    names = tuple(laws)
    found = named_pairs(psi, names, ("all",), "psi", "distribution")
    pairs = list(combinations(names, 2)) if isinstance(found, str) else found
    asked = set(pairs) | ({(b, a) for a, b in pairs} if symmetric else set())
    alone = [(a, b) for a, b in pairs if (b, a) not in asked]
    listed = "; ".join(f"({a}, {b})" for a, b in pairs)
    beside = "; ".join(f"({b}, {a})" for a, b in alone)
    orders = f"as ordered pairs; {beside} not asked for, and protected as well" if alone else "each in both orders"
    return Scenario(
        laws,
        pairs,
        assumptions=(
            f"distributions: the data are drawn from one of {', '.join(laws)}; the query then follows the law stated",
            f"Psi: {listed}, {orders}",
            LABELS,
            "the value is published once, computed from all records together",
        ),
    )


def chained(guarantee: Pure | Approx, steps: int = 2) -> Pure | Approx:
    """What follows for the ends of a chain of so many pairs of Psi, each with this guarantee.

    (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))): P <= e^e Q + d and Q <= e^e R + d give
    P <= e^2e R + (1 + e^e) d. Psi itself is not closed under chaining.

    >>> chained(Approx(1, 1e-3)).epsilon, float(chained(Approx(1, 1e-3)).delta)
    (2, 0.00371828182846)
    """
    if not isinstance(guarantee, Pure | Approx):
        raise BadBudget("a chain of pairs is worked out for an epsilon and a delta: fugu.Pure or fugu.Approx")
    if not is_whole(steps, least=1):
        raise UsageError(f"steps must be a whole number of at least 1, got {steps!r}")
    epsilon, delta = as_fraction(guarantee.epsilon), as_fraction(guarantee.delta)
    whole = epsilon * steps
    total: Real = whole.numerator if whole.denominator == 1 else float(decimal_up(float(whole), 15))
    if delta == 0:
        return Pure(total)
    with balls.precision(128):
        factor = sum(((balls.of(epsilon) * k).exp() for k in range(steps)), arb(0))
        worst = Fraction(balls.upper(factor * balls.of(delta)))
    if worst >= 1:
        raise BadBudget(f"over {steps} pairs the delta adds up to more than 1, which promises nothing")
    return Approx(total, float(decimal_up(float(worst), 12)))

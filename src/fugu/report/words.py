"""The sentences of the page: what was published, what it means, what the figures show, what is not promised."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from fugu.drawing.text import VALUE, clean, delta, epsilon, factor, least, number, percent, quoted
from fugu.guarantee import Guarantee
from fugu.report.facts import Facts
from fugu.report.methods import Line

METHODS = {
    "l1": "how far apart two possible values can lie; how likely they are is not used",
    "wasserstein": "how far probability must be moved to turn the values of one secret into those of the other",
    "closeness": "the same, leaving out the share of probability that δ allows",
    "relaxed-paper": "an average over how far probability is moved, as published",
    "relaxed": "the same average, with a sharper rule",
    "gaussian-prior-lambert": "how far the middles and the widths of two bell curves lie apart, by a simple formula",
    "gaussian-prior": "the same, with a sharper rule for the share of probability that δ allows",
    "mixture-coupling": "how far the bell curves that make up one law must be moved to give the other",
    "transport": "the average over how far probability must be moved, weighing far moves more",
    "partial-transport": "the same average, leaving out the share of probability that δ allows",
    "cauchy-moments": "averages of powers of how far probability must be moved",
    "exact": "the least noise for which the promise holds, computed from the two laws themselves",
    "group": "how far the whole data set can move the statistics",
    "record-group": "how far the records that may differ can move the statistics",
    "expected-value": "how far apart the middles of two bell curves lie, with the same noise in every direction",
    "directional": "noise only along the line between the middles of two bell curves",
    "directional-uncertainty": "the same, using how uncertain the values are by themselves",
    "eigenvector": "noise along the directions in which values already vary",
    "optimal-channel": "values are exchanged for each other in the proportions that cost least, for exactly these laws",
    "robust-channel": "the same, for every pair of laws within the stated sets",
    "optimal": "the correlated noise of least total size for which the promise holds",
}
UNLIMITED = {
    "only": "Here some values are possible under one answer only: whoever sees one of them knows.",
    "tails": "Here no value settles the question, but values far out, which are rare, may shift them by any factor.",
    "error": "How far a single value can shift them is not known, because the laws are known up to a small error only; "
    "δ includes that error.",
}
NOT_PROMISED = {
    "More than one release.": "The promise covers one release of this data. A second one, of the same column or of "
    "a related one, can reveal together with this one what neither reveals alone.",
    "Other beliefs.": "The promise is for observers with the beliefs stated in the certificate. Somebody who knows "
    "something else, for instance how rows depend on each other, may learn more.",
    "Other secrets.": "Only the stated pairs of secrets are protected, and only from this published value.",
    "Facts about people in general.": "What all values together say about a group is meant to be learnt.",
    "Side channels.": "How many rows there are, which of them are missing, other columns or files, timing, and "
    "access to the machine are outside the promise.",
}
NOT_BEYOND_THE_LEDGER = {
    "More than one release.": "The promise covers all questions listed here together, however they were chosen. "
    "Anything else that is released of this data, and is not listed, can reveal more together with them.",
}
"""In place of what is said of a single release, where questions are charged to each record."""


ANALYSIS = (
    "This is an analysis on paper. Its noise is a real number of unlimited precision, which no computer draws, and "
    "fugu refuses to release anything with it. The numbers and figures say what such noise would do. To publish, "
    "choose Laplace or Gaussian noise: it has a certificate and a page of its own."
)


def asked(budget: Guarantee) -> str:
    """A budget in words."""
    slip = f", apart from a remainder {delta(float(budget.delta))}" if budget.delta else ""
    if budget.renyi:
        orders = [(float(a), float(e)) for a, e in budget.orders]
        told = "; ".join(f"of order {number(a)} at most {number(e, 'up', 6)}" for a, e in orders)
        return f"a Rényi divergence between the published values under two answers {told}{slip}"
    most = float(budget.epsilon)
    return f"the odds between two answers change by at most a factor of {factor(most)} ({epsilon(most)}){slip}"


def headline(f: Facts) -> str:
    """What was published, and under which guarantee."""
    each = "value" if f.dimension == 1 else "coordinate"
    if f.silent == 1:
        how = "without any noise"
    elif f.silent:
        how = f"with random noise, but with probability {percent(f.silent)} without any"
    else:
        how = f"with random noise added to each {each}"
    slip = f", apart from a remainder {delta(f.delta)} explained below" if f.delta else ""
    if not f.released:
        return (
            f"Nothing was published. If {quoted(f.query)} were published {how}, which nobody can draw exactly, a "
            f"published value could change the odds between two protected answers about {quoted(f.secret)} by at most "
            f"a factor of {factor(f.epsilon)} ({epsilon(f.epsilon)}){slip}."
        )
    one = "A value" if f.dimension == 1 else f"A list of {f.dimension:,} numbers"
    what = one if f.query == VALUE else quoted(f.query)
    if f.dimension > 1:
        return (
            f"{what} was published {how}. All coordinates together can change the odds between two protected answers "
            f"about {quoted(f.secret)} by at most a factor of {factor(f.epsilon)} ({epsilon(f.epsilon)}){slip}."
        )
    return (
        f"{what} was published {how}. A published value can change the odds between two protected answers about "
        f"{quoted(f.secret)} by at most a factor of {factor(f.epsilon)} ({epsilon(f.epsilon)}){slip}."
    )


def accuracy(f: Facts) -> str:
    """The noise in the column's own units: E|N|, and h with P(|N| <= h) >= 95 %."""
    if f.silent == 1:
        rounded = f" after rounding to steps of {number(f.grid)}" if f.grid else ""
        return f"There is no noise: each published value is the exact one{rounded}."
    if f.dimension > 1:
        text = (
            f"On average the noise moves the coordinates by {number(f.error)} in total, and at least {percent(0.95)} "
            f"of the time every one of the {f.dimension:,} by {number(f.half, 'up')} or less, in the units of "
            f"{quoted(f.query)}."
        )
    elif math.isinf(f.error):
        text = (
            "The average of what the noise does is unlimited, because far values are too likely; at least "
            f"{percent(0.95)} of the time it moves a value by {number(f.half, 'up')} or less, in the units of "
            f"{quoted(f.query)}."
        )
    else:
        text = (
            f"On average the noise moves a value by {number(f.error)}, and at least {percent(0.95)} of the time by "
            f"{number(f.half, 'up')} or less, in the units of {quoted(f.query)}."
        )
    told = [f"{shape} {number(scale)}" for shape, scale in f.noises]
    text += f" It is {told[0]}." if len(told) == 1 else f" It is one of: {'; '.join(told)}."
    if f.unchanged >= 0.05:
        which = "it" if f.dimension == 1 else "any"
        text += f" With probability {percent(f.unchanged)} it does not move {which} at all."
    if f.grid:
        most = number(f.grid / 2, "up")
        text += f" Values come in steps of {number(f.grid, digits=6)}; others are rounded first, by at most {most}."
    return text


def coin(f: Facts) -> str:
    """Said of mixtures, else nothing."""
    if not f.mixed:
        return ""
    return " A coin that does not depend on the data chooses one of several noises; these numbers are for the mixture."


def after(f: Facts) -> str:
    """What was done with the released values afterwards, else nothing."""
    moved = (
        f" Outputs are moved to the value of least expected {f.remap} loss, by a table in the certificate that looks "
        "at the output alone, which cannot weaken the guarantee; errors here are after that, pictures before."
        if f.remap
        else ""
    )
    if not f.post:
        return moved
    steps = clean(", ".join(f.post), 300)
    return moved + (
        f" Afterwards the released values went through {steps}, which cannot weaken the guarantee; numbers and figures "
        "here are for the values before that."
    )


def noted(note: str) -> str:
    """What a method says of itself, in the words of the page.

    >>> noted("one lattice step is added, delta is 0")
    'one step is added, δ is 0'
    """
    return re.sub(r"\bdelta\b", "δ", re.sub(r"\bepsilon\b", "ε", note.replace("lattice step", "step")))


def choosing(lines: Sequence[Line]) -> str:
    """What a table of methods is."""
    several = len({line.noise for line in lines}) > 1
    apart = " Scales of different noises do not compare, average errors do." if several else ""
    return f"Each method finds an amount of noise that suffices for the same promise. Less is better.{apart}"


def odds(f: Facts) -> str:
    """e^-epsilon <= posterior odds / prior odds <= e^epsilon, in words."""
    pairs = "for the protected pair" if f.pairs == 1 else f"for each of the {f.pairs:,} protected pairs"
    every = "" if f.delta else ", and for every value that can be published"
    return (
        "Somebody with the stated beliefs looks at a published value. Whatever they took the odds of one answer about "
        f"{quoted(f.secret)} against another to be, afterwards these odds are at most {factor(f.epsilon)} times as "
        f"large, and at least {least(f.epsilon)} times as large. This holds {pairs}, in both directions{every}."
    )


def divergence(f: Facts) -> str:
    """A Rényi promise in words: e^D_alpha is the mean of order alpha - 1 of P/Q over P; nothing for others."""
    if not f.renyi:
        return ""
    told = "; ".join(f"of order {number(a)} at most {number(e, 'up', 6)}" for a, e in f.renyi)
    alpha, least = f.renyi[0]
    outside = f", outside events of probability {number(f.left_out, 'up')}," if f.left_out else ""
    return (
        "The promise itself is a limit on the Rényi divergence between the published values under two answers"
        f"{outside} {told}. It limits an average instead of every single value: how many times likelier a published "
        f"value is under one answer than under the other is, as a mean of order {number(alpha - 1)} over what is "
        f"published, at most {factor(least)}. The limit on the odds above is the best that follows from it with a "
        f"remainder {delta(f.delta)}."
    )


def proof(f: Facts, proved: dict[str, float]) -> str:
    """What was proved, with its numbers."""
    what = "Rényi divergence" if f.renyi else "ε"
    most = proved["epsilon"] if f.renyi else f.proved
    return f"{what} ≤ {number(most, 'up', 10)}, δ ≤ {number(proved['delta'], 'up', 4)}"


def remainder(f: Facts) -> str:
    """The exact meaning of delta: P(S) <= e^epsilon Q(S) + delta for every event S.

    Equivalently P = (1 - delta) P' + delta P'' and Q likewise, with P' and Q' within e^epsilon of each other: every
    such pair is a post-processing of randomised response that fails with probability delta (Kairouz, Oh, Viswanath
    2015). Single values may lie outside, by any factor; only the sum of the excess is bounded."""
    rate = f", that is 1 in {math.floor(1 / f.delta * (1 + 1e-12)):,}" if 1e-15 < f.delta < 0.5 else ""
    single = f"Here no single value can shift them by more than a factor of {factor(f.leak)}."
    single = UNLIMITED.get(f.unlimited, single)
    return (
        "Exactly: for every set of values, the probability that the published value falls into it under one answer is "
        f"at most {factor(f.epsilon)} times that under the other, plus {delta(f.delta)}{rate}. Put differently, the "
        "release is like one that keeps the limit on the odds except with probability at most δ, when anything may be "
        "revealed. A single value may therefore shift the odds beyond the limit; together, such values exceed it by at "
        f"most δ. {single}"
    )


def stronger(f: Facts) -> str:
    """A remark where what was proved is clearly better than what was promised, else nothing."""
    if f.delta or f.proved > 0.995 * f.epsilon:
        return ""
    return (
        "The proof gives more than was asked for: the odds change by at most a factor of "
        f"{factor(f.proved)} ({epsilon(f.proved)})."
    )


def beside(f: Facts) -> str:
    """What the noise does under the values that the beliefs were fitted to, else nothing: not part of the promise."""
    found = f.empirical
    if found is None:
        return ""
    text = (
        "The promise is for observers who believe in smooth curves that were fitted to reference values. It is not for "
        "the reference values as they are, one by one. For those, by the publisher’s own figures, the same noise "
    )
    if math.isinf(found.epsilon):
        return text + "gives no limit on the odds at all."
    change = f"by at most a factor of {factor(found.epsilon)} ({epsilon(found.epsilon)})"
    slip = f", apart from a remainder {delta(found.delta)}" if found.delta else ""
    if found.holds:
        return text + f"would keep the promise too: the odds would change {change}{slip}."
    asked = delta(f.delta) if f.delta and found.delta else epsilon(f.epsilon)
    return text + f"would not keep the promise: the odds would change {change}{slip}, where {asked} is promised."


def silence(f: Facts) -> str:
    """Said loudly when exact values go out."""
    often = "The exact value is published" if f.silent == 1 else f"In {percent(f.silent)} of releases it is exact"
    rounded = f", rounded to steps of {number(f.grid)}" if f.grid and f.silent == 1 else ""
    return (
        f"{often}{rounded}. No noise protects it: the guarantee rests on the beliefs alone. If values depend on "
        f"{quoted(f.secret)} in another way than the certificate states, nothing is promised."
    )


def together(f: Facts) -> str:
    """How the noises of the coordinates hang together."""
    if f.covariances:
        return (
            "The noises of the coordinates depend on each other. The table of covariances says how: a positive number "
            "means that two coordinates tend to be moved the same way, a negative one that they are moved opposite "
            "ways, and on the diagonal stand the squares of the standard deviations."
        )
    return f"Every one of the {f.dimension:,} coordinates gets noise of the same kind and scale, drawn by itself."

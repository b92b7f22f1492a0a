"""The sentences of the page. Bounds are written outward: an upper bound is never printed below what was proved."""

from __future__ import annotations

import math
import unicodedata
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from fugu.report.curves import Laws, Ratio
from fugu.report.facts import Facts
from fugu.report.views import View

METHODS = {
    "l1": "the farthest two possible values lie apart; how likely they are is not used",
    "wasserstein": "the farthest that probability must be moved to turn one secret's values into the other's",
    "closeness": "the same, leaving out the share of probability that delta allows",
    "relaxed-paper": "averages over how far probability is moved, as published",
    "relaxed": "the same average, with a sharper rule",
    "exact": "the least noise for which the promise holds, computed from the two laws themselves",
}
NOT_PROMISED = (
    ("More than one release.", "The promise covers one release of this data. A second one, of the same column or of a "
     "related one, can reveal together with this one what neither reveals alone."),
    ("Other beliefs.", "The promise is for observers whose beliefs are the ones stated in the certificate. Somebody who "
     "knows more, for instance how rows depend on each other, may learn more."),
    ("Other secrets.", "Only the listed pairs of secrets are protected, and only from this published value."),
    ("Facts about the whole group.", "What the values say about people in general is meant to be learnt, and is not hidden."),
    ("Side channels.", "How many rows there are, which of them are missing, other columns or files, timing, and access "
     "to the machine are outside the promise."),
)  # fmt: skip
_WAYS = {"near": ROUND_HALF_EVEN, "up": ROUND_CEILING, "down": ROUND_FLOOR}
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SLACK = 1e-12


def number(x: float, way: str = "near", digits: int = 3) -> str:
    """A number for people: `digits` significant digits, rounded up, down or to nearest, powers of ten written out.

    >>> number(1.34986, "up"), number(12345.6, digits=5), number(1e-9), number(0.1 + 0.2, "up")
    ('1.35', '12,346', '10⁻⁹', '0.3')
    """
    if not math.isfinite(x):
        return "unlimited" if x > 0 else "-unlimited"
    lean = {"up": 1 - math.copysign(_SLACK, x), "down": 1 + math.copysign(_SLACK, x)}.get(way, 1.0)
    short = Context(prec=digits, rounding=_WAYS[way]).create_decimal(Decimal(x * lean)).normalize()
    if short == 0 or -5 < short.adjusted() < 9:
        return f"{short:,f}"
    mantissa = short.scaleb(-short.adjusted()).normalize()
    power = f"10{str(short.adjusted()).translate(_SUPERSCRIPT)}"
    return power if mantissa == 1 else f"{mantissa} × {power}"


def percent(x: float, way: str = "near") -> str:
    """A probability in percent, precise near 0 and near 100 alike.

    >>> percent(0.5744, "up"), percent(0.99999, "down"), percent(0.00012345, "up")
    ('57.5 %', '99.999 %', '0.0124 %')
    """
    part = Decimal(x) * 100
    near_one = part > 99
    shown = 100 - part if near_one else part
    opposite = {"up": "down", "down": "up"}.get(way, "near")
    rounding = _WAYS[opposite if near_one else way]
    if shown < Decimal("1e-6"):
        shown = Decimal(0) if shown == 0 or rounding != ROUND_CEILING else Decimal("1e-6")
    short = Context(prec=3, rounding=rounding).create_decimal(shown * (1 - Decimal("1e-12")))
    return f"{((100 - short) if near_one else short).normalize():f} %"


def clean(text: object, most: int = 60) -> str:
    """A user's name on one line: no control characters, at most `most` characters."""
    line = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in str(text))
    line = " ".join(line.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def factor(epsilon: float) -> str:
    """e^epsilon, rounded up."""
    return number(math.exp(epsilon) if epsilon < 700 else math.inf, "up")


def headline(f: Facts) -> str:
    """What was published, and under which guarantee."""
    if f.silent == 1:
        what = f"“{clean(f.query)}” was published without any noise."
    elif f.silent:
        what = f"“{clean(f.query)}” was published, with probability {percent(f.silent)} without any noise."
    else:
        what = f"“{clean(f.query)}” was published with random noise added to each value."
    slip = f", apart from a remainder δ = {number(f.delta, 'up')} explained below" if f.delta else ""
    return (
        f"{what} A published value can change the odds between two protected answers about “{clean(f.secret)}” "
        f"by at most a factor of {factor(f.epsilon)} (ε = {number(f.epsilon, 'up', 6)}){slip}."
    )


def accuracy(f: Facts) -> str:
    """The noise in the column's own units."""
    if f.silent == 1:
        rounded = f" after rounding to steps of {number(f.grid)}" if f.grid else ""
        return f"There is no noise: each published value is the exact one{rounded}."
    typical = f"On average the noise moves a value by {number(f.error)}; at least 95 % of the time by {number(f.half, 'up')} or less"
    exact = f" With probability {percent(f.unchanged)} it moves it not at all." if f.unchanged >= 0.05 else ""
    steps = ""
    if f.grid:
        most = number(f.grid / 2, "up")
        steps = f" Values are published in steps of {number(f.grid, digits=6)}; one that lies between is rounded first, by at most {most}."
    return f"{typical} (in the units of “{clean(f.query)}”).{exact}{steps}"


def odds(f: Facts) -> str:
    """The promise as a statement about belief."""
    pairs = "for the protected pair" if f.pairs == 1 else f"for each of the {f.pairs:,} protected pairs"
    kept = "" if f.delta else ", and for every value that can be published"
    return (
        f"Somebody with the stated beliefs looks at one published value. Whatever they took the odds of one answer about "
        f"“{clean(f.secret)}” against another to be, the odds afterwards are at most {factor(f.epsilon)} times as large and "
        f"at least 1/{factor(f.epsilon)} as large. This holds {pairs}, in both directions{kept}."
    )


def stronger(f: Facts) -> str:
    """A remark where what was proved is clearly better than what was promised."""
    if f.delta or f.proved > 0.995 * f.epsilon:
        return ""
    return (
        f"In fact the proof gives more than was asked for: the odds change by at most a factor of {factor(f.proved)} "
        f"(ε = {number(f.proved, 'up')})."
    )


def remainder(f: Facts) -> str:
    """The exact meaning of delta: P(S) <= e^eps Q(S) + delta. The second sentence is Kairouz, Oh, Viswanath 2015, Theorem 2.1."""
    rate = f" (1 in {math.floor(1 / f.delta * (1 + _SLACK)):,})" if 1e-15 < f.delta < 0.5 else ""
    return (
        f"Exactly: for every set of values, the probability that the published value falls into it under one answer is at "
        f"most {factor(f.epsilon)} times the probability under the other, plus δ = {number(f.delta, 'up')}{rate}. "
        f"Put differently, the release behaves like one that keeps the limit on the odds except with probability at most δ, "
        f"when anything may be revealed. Single values may therefore shift the odds by more than the limit, but they are rare. "
        f"{_single(f.leak)}"
    )


def _single(leak: float) -> str:
    if math.isinf(leak):
        return "Here some values are possible under one answer only: whoever sees one of them knows."
    return f"Here no single value can shift them by more than a factor of {factor(leak)}."


def silence(f: Facts) -> str:
    """Said loudly when exact values go out."""
    if f.silent == 0:
        return ""
    how = "The exact value is published" if f.silent == 1 else f"With probability {percent(f.silent)} the exact value is published"
    rounded = f", rounded to steps of {number(f.grid)}" if f.grid and f.silent == 1 else ""
    return (
        f"{how}{rounded}. No noise protects it: the guarantee rests on the beliefs alone. If values depend on "
        f"“{clean(f.secret)}” in another way than the certificate states, nothing is promised."
    )


def laws_caption(view: View, curve: Laws, right: tuple[float, float]) -> str:
    """What the first figure shows, with the number that sums it up."""
    a, b = clean(view.first, 40), clean(view.second, 40)
    noisy = view.steps > 0
    text = (
        f"How likely each value is if the answer is “{a}” and if it is “{b}”, according to the stated beliefs"
        + (": above before noise, which nobody gets to see, below with noise, as published. " if noisy else ". No noise is added. ")
        + "The more alike the two look, the less a value says about the secret. Somebody who finds both answers equally "
        f"likely and guesses as well as possible is right {percent(right[0])} of the time from the value without noise"
        + (f", and {percent(right[1])} of the time from the published one." if noisy else ".")
    )
    if len(view.pair.points) == 2 and max(view.pair.weights[0].max(), view.pair.weights[1].max()) == 1:
        text += " Each answer has one value here; if the two laws are only known to be shifted copies of each other, this is the worst case."
    if view.lattice is None:
        text += " The certificate knows the possible values only by their order, so they are numbered."
    return text + _gathered(curve)


def _gathered(curve: Laws) -> str:
    if curve.group == 1:
        return ""
    return (
        f" For drawing, values were gathered into {len(curve.values)} groups of width {number(curve.width)}; "
        "the guarantee was proved on all of them, not on this picture."
    )


def ratio_caption(view: View, curve: Ratio, f: Facts) -> str:
    """What the second figure shows."""
    a, b = clean(view.first, 40), clean(view.second, 40)
    line = "The line shows what remains once noise is added" if view.steps > 0 else "The points are what is published"
    text = (
        f"How strongly each value speaks for “{a}” (upward) or for “{b}” (downward): the natural logarithm of how many times "
        f"likelier it is under one than under the other. {line}; the shaded band is the promise, ±{number(f.epsilon, 'up', 6)}. "
        f"For this pair the largest shift is {number(curve.largest)}, a factor of {factor(curve.largest)} on the odds."
    )
    if f.delta and curve.largest > f.epsilon:
        text += " Where the line leaves the band, the values are so rare that δ covers them."
    sure = [(p, x, y) for p, x, y in ((curve.only_first, a, b), (curve.only_second, b, a)) if p > 0]
    told = " and ".join(f"{percent(p)} of the values under “{x}” are impossible under “{y}”" for p, x, y in sure)
    if told:
        text += f" Without noise {told}: seeing one would settle the question. They are the triangles at the edge."
    return text

"""The words under the figures of a pair of laws: what is seen, and the number that sums it up."""

from __future__ import annotations

import math

from fugu.drawing.text import clean, factor, number, percent
from fugu.report.curves import Laws, Ratio
from fugu.report.facts import Facts
from fugu.report.kernels import FLOOR
from fugu.report.views import HIDDEN, View

HEAT = (
    "filled where two are moved the same way, in the other colour where they are moved opposite ways, blank where they "
    "are moved independently; the stronger the colour, the larger the number."
)


def laws_caption(view: View, curve: Laws, right: tuple[float, float]) -> str:
    """What the first figure shows, and the number that sums it up."""
    a, b, noisy = clean(view.first, 40), clean(view.second, 40), view.noisy
    text = f"How likely each value is if the answer is “{a}” and if it is “{b}”, according to the stated beliefs"
    text += ": above before noise, which nobody sees, below with noise, as published. " if noisy else ". "
    text += (
        "The more alike the two look, the less a value says about the secret. Somebody who finds both answers equally "
        f"likely and guesses as well as possible is right {percent(right[0], 'up')} of the time from the value without "
        "noise"
    )
    text += f", and {percent(right[1], 'up')} of the time from the published one." if noisy else "."
    if view.coordinate is not None:
        text += (
            f" This is coordinate {view.coordinate + 1} by itself; all coordinates together may say more, and the "
            "promise is for all of them together."
        )
    if view.kernel.about:
        text += " The noise of this analysis has no steps; for drawing it was gathered into narrow ones."
    if len(view.pair.points) == 2 and bool((view.pair.weights.max(axis=1) == 1).all()):
        text += " Each answer has one value here. Of two laws known only to be shifted copies, this is the worst case."
    if view.note:
        text += f" {view.note}"
    if any(view.endless):
        text += f" The picture leaves out the far ends of the curves, at most {percent(2 * HIDDEN)} of each."
    if any(view.pair.errors):
        text += f" The laws are known up to an error of {percent(max(view.pair.errors), 'up')}, which δ includes."
    if view.lattice is None:
        text += " The certificate knows the possible values by their order only, so they are numbered."
    gathered = [law for law in dict.fromkeys((curve.before, curve.after)) if law.group > 1]
    if gathered:
        how = " and ".join(f"{len(law.values)} groups of width {number(law.width)}" for law in gathered)
        text += f" For drawing, values were gathered into {how}; the guarantee was proved on all values."
    return text


def ratio_caption(view: View, curve: Ratio, f: Facts) -> str:
    """What the second figure shows."""
    a, b = clean(view.first, 40), clean(view.second, 40)
    line = "The line is what remains once noise is added" if view.noisy else "The points are what is published"
    text = (
        f"How strongly a value speaks for “{a}” (upward) or “{b}” (downward): the natural logarithm of how many times "
        f"likelier it is under one than under the other. {line}; the shaded band is the promise, "
        f"±{number(f.epsilon, 'up', 6)}. {_largest(view, curve)}"
    )
    if view.coordinate is not None:
        text += f" It is for coordinate {view.coordinate + 1} by itself."
    if f.delta and curve.largest > f.epsilon:
        text += " Where it leaves the band, what is in excess adds up to at most δ."
    sure = [(p, x, y) for p, x, y in ((curve.only_first, a, b), (curve.only_second, b, a)) if p > 0]
    if sure:
        told = " and ".join(f"{percent(p)} of the values under “{x}” are impossible under “{y}”" for p, x, y in sure)
        text += f" Without noise {told}: seeing one would settle the question. They are triangles at the edge."
    if curve.thinned:
        text += " Of many points only the lowest and highest of each stretch are drawn."
    return text


def _largest(view: View, curve: Ratio) -> str:
    """The largest shift, in the picture and beyond it."""
    most = f"{number(curve.largest, 'up', 4)}, a factor of {factor(curve.largest)} on the odds"
    drawn = f"{number(curve.drawn, 'up', 4)}, a factor of {factor(curve.drawn)} on the odds"
    if view.unlimited == "tails":
        return (
            "The largest shift for this pair is unlimited: farther out, where values are rare, it may grow on and on. "
            f"In the picture it reaches {drawn}; the picture stops before values that are less than {number(FLOOR)} "
            "times as likely as the likeliest."
        )
    if view.unlimited == "error":
        return f"For the laws as computed it reaches {drawn}; they are known up to an error, so that no limit is known."
    if math.isinf(curve.largest):
        return "The largest shift for this pair is unlimited."
    if not view.kernel.tight and curve.drawn < curve.largest:
        return f"The largest shift for this pair in the picture is {drawn}; for no value is it more than {most}."
    return f"The largest shift for this pair is {most}."

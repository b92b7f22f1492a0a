"""Privacy for each entry of fugu's own queries on sequences: the sensitivity is found by trying, not read.

Noise of mass ~ e^(-eps |k| / S) on every coordinate loses eps D / S, D the largest l1 distance of the statistics of two
data sets that differ in one entry. What changes in counts depends on the entry's old and new value and on its two
neighbours alone: four values and sequences of three entries show every change."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from fugu_verify.reading import Part, number, part, rows
from fugu_verify.result import Asked, BadCertificate, NotSummed, Second

Sequence = tuple[int, ...]
Statistic = Callable[[Sequence], "Counter[Sequence]"]


def prove_entry(content: Part) -> Second:
    """The epsilon for each entry, from the sensitivity that is found."""
    epsilon = entry_epsilon(content)
    found = None if epsilon <= 0 else loss_of_entry(content, epsilon)
    if found is None:
        raise NotSummed(f"the query {str(content['query'])[:40]!r} is not tried out here; counts and sums are")
    asked = Asked(epsilon, Fraction(0))
    holds = found <= epsilon
    why = f"the sensitivity of the query is {'at most' if holds else 'above'} what is stated, by trying every change"
    return Second("holds" if holds else "fails", why, (found, found), (Fraction(0), Fraction(0)), asked=asked)


def entry_epsilon(content: Part) -> Fraction:
    """What is stated, if it is fugu's own claim of a pure epsilon."""
    if content["claimed by"] != "fugu" or "sensitivity stated by" in content:
        raise NotSummed("privacy for each entry is somebody's word, which no document proves")
    if content["epsilon"] is None or "lattice" in content:
        raise NotSummed("Gaussian noise for each entry is not tried out here; a pure epsilon is")
    epsilon = number(content["epsilon"])
    if epsilon <= 0 or number(content["delta"]) != 0:
        raise BadCertificate("queries of sequences have a pure epsilon above 0 for each entry")
    return epsilon


def loss_of_entry(content: Part, epsilon: Fraction) -> Fraction | None:
    """eps D / S; None for queries that are not tried out. Several with shares w of epsilon: the sum of w eps D / S."""
    if "parts" in content:
        each = [part(found) for found in rows(content["parts"])]
        shares = [number(found["share"]) for found in each]
        if not each or min(shares) <= 0 or any("parts" in found for found in each):
            raise BadCertificate("the questions of the certificate have no shares of its epsilon")
        losses = [loss_of_entry(found, epsilon * share) for found, share in zip(each, shares, strict=True)]
        known = [loss for loss in losses if loss is not None]
        return sum(known, Fraction(0)) if len(known) == len(losses) else None
    found, stated = _sensitivity(content), number(content["sensitivity"])
    if stated <= 0:
        raise BadCertificate("the certificate states a sensitivity that is not positive")
    return None if found is None else epsilon * found / stated


def _sensitivity(content: Part) -> Fraction | None:
    name, entries = str(content["query"]), part(content["entries"])
    if name in ("sum", "mean"):
        low, high = (number(x) for x in rows(entries["clipped to"]))
        step = number(content["rounded to multiples of"])
        if step <= 0 or high < low:
            raise BadCertificate("the certificate's query has no range or no step")
        return math.ceil((high - low) / step) * step  # rounding to a step may add what is missing to a whole number
    if name not in _COUNTS and not name.startswith("count("):
        return None
    values = min(4, len(rows(entries["states"])))
    longest = content.get("longest sequence")
    most = 3 if longest is None else min(3, int(number(longest)))
    return Fraction(_largest_change(_COUNTS.get(name, _one), values, most))


def _largest_change(statistic: Statistic, values: int, longest: int) -> int:
    """The largest l1 distance over all sequences, places and new values."""
    largest = 0
    for length in range(1, longest + 1):
        for data in itertools.product(range(values), repeat=length):
            for place, value in itertools.product(range(length), range(values)):
                other = (*data[:place], value, *data[place + 1 :])
                one, two = statistic(data), statistic(other)
                largest = max(largest, sum(abs(one[k] - two[k]) for k in one.keys() | two.keys()))
    return largest


def _one(data: Sequence) -> Counter[Sequence]:
    return Counter((x,) for x in data if x == 0)


_COUNTS: dict[str, Statistic] = {
    "histogram": lambda data: Counter((x,) for x in data),
    "transitions": lambda data: Counter(itertools.pairwise(data)),
}

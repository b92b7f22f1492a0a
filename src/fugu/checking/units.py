"""Whether a column of numbers is in another unit than the reference: a constant factor between the two laws."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FAR, NEAR = 0.5, 0.2
"""Kolmogorov's distance: so far are two laws that do not belong together, so near those that do, up to chance."""
_CHANCE: Final = 1.63
"""Kolmogorov's distance of n draws is below 1.63 / sqrt(n) with probability .99."""
_LEAST: Final = 10
"""Fewer values say nothing of a law."""
_CLOSE: Final = 0.06
"""How far the factor between two medians may be from that of two units, for one to be named after the other."""
_FACTORS: Final = {
    "1000 (g and kg, or thousands)": 1000.0,
    "365.25 (days and years)": 365.25,
    "100 (cm and m, cents, or per cent)": 100.0,
    "88.5 (mg/dl and mmol/l of triglycerides; mg/dl and \u00b5mol/l of creatinine)": 88.5,
    "60 (minutes and hours, or seconds)": 60.0,
    "38.67 (mg/dl and mmol/l of cholesterol)": 38.67,
    "18.02 (mg/dl and mmol/l of glucose)": 18.02,
    "17.1 (mg/dl and \u00b5mol/l of bilirubin)": 17.1,
    "12 (months and years)": 12.0,
    "10 (mm and cm)": 10.0,
    "7 (days and weeks)": 7.0,
    "3.28 (feet and metres)": 3.2808,
    "2.54 (cm and inches)": 2.54,
    "2.2 (pounds and kg)": 2.2046,
    "1.61 (km and miles; mmol/l and g/dl of haemoglobin)": 1.6093,
}


def other_unit(values: Floats, known: Floats) -> str | None:
    """In words, by which factor the values differ from the known ones; None where their laws are near, or no factor
    brings them near. `values`, `known`: finite numbers.

    >>> body = np.arange(50.0, 110.0)
    >>> other_unit(body * 2.2046, body)
    'about 2.205 times the reference: 2.2 (pounds and kg)'
    >>> other_unit(body[::2], body) is None
    True
    """
    if min(len(values), len(known)) < _LEAST or distance(values, known) < FAR:
        return None
    allowed = NEAR + _CHANCE * math.sqrt(1 / len(values) + 1 / len(known))
    factor = _middle(values) / (_middle(known) or math.nan)
    tried = {
        "degrees Fahrenheit, where the reference has Celsius": distance((values - 32) / 1.8, known),
        "degrees Celsius, where the reference has Fahrenheit": distance(values * 1.8 + 32, known),
    }
    if math.isfinite(factor) and factor != 0 and not 2 / 3 < factor < 3 / 2:
        tried |= {_named(factor): distance(values / factor, known)}
    best = min(tried, key=lambda words: tried[words])
    return best if tried[best] < allowed else None


def _named(factor: float) -> str:
    """A factor in words, with two units that it is between."""
    wide = max(abs(factor), 1 / abs(factor))
    units = min(_FACTORS, key=lambda words: abs(math.log(wide / _FACTORS[words])))
    close = abs(math.log(wide / _FACTORS[units])) < _CLOSE
    times = f"about {factor:.4g} times" if abs(factor) > 1 else f"about 1/{1 / factor:.4g} of"
    return f"{times} the reference" + (f": {units}" if close else "")


def distance(one: Floats, other: Floats) -> float:
    """Kolmogorov's distance of two samples: the largest difference of their distribution functions."""
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(x), points, side="right") / len(x) for x in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _middle(values: Floats) -> float:
    """The median; of the numbers that are not 0 where more than half are."""
    middle = float(np.median(values))
    rest = values[values != 0]
    return middle if middle or not len(rest) else float(np.median(rest))

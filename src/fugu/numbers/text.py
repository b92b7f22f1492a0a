"""Numbers and names as text. Bounds are rounded outward, so that no printed limit is below the proved one."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from fugu.visible import visible

VALUE, SECRET = "the value", "the secret"
"""What a column and a secret are called that have no name."""
_WAYS = {"near": ROUND_HALF_EVEN, "up": ROUND_CEILING, "down": ROUND_FLOOR}
_OPPOSITE = {"near": "near", "up": "down", "down": "up"}
_SLACK = Decimal("1e-12")
"""Relative: 0.1 + 0.2 rounded up is 0.3, not 0.301."""
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPACE = "\N{NO-BREAK SPACE}"


def number(x: float, way: str = "near", digits: int = 3) -> str:
    """`digits` significant digits, rounded "up", "down" or "near"; far from 1 as a power of ten.

    >>> number(1.34986, "up"), number(12345.6, digits=5), number(1e-9), number(0.1 + 0.2, "up")
    ('1.35', '12,346', '10⁻⁹', '0.3')
    """
    if not math.isfinite(x):
        return "unlimited" if x > 0 else "-unlimited"
    short = shortened(Decimal(x), way, digits)
    if short == 0 or -5 < short.adjusted() < 9:
        return f"{short:,f}"
    mantissa = short.scaleb(-short.adjusted()).normalize()
    power = power_of_ten(short.adjusted())
    return power if mantissa == 1 else f"{mantissa}{_SPACE}×{_SPACE}{power}"


def power_of_ten(exponent: int) -> str:
    """10 to a whole power.

    >>> power_of_ten(-9)
    '10⁻⁹'
    """
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"


def percent(x: float, way: str = "near") -> str:
    """A probability in percent, as precise near 100 as near 0.

    >>> [p.replace("\\xa0", " ") for p in (percent(0.5744, "up"), percent(0.99999, "down"), percent(0.00012345, "up"))]
    ['57.5 %', '99.999 %', '0.0124 %']
    """
    part = 100 * Decimal(x)
    if part > 99:
        return f"{(100 - _part(100 - part, _OPPOSITE[way])).normalize():f}{_SPACE}%"
    return f"{_part(part, way):f}{_SPACE}%"


def _part(part: Decimal, way: str) -> Decimal:
    """Three digits of a percentage; below a millionth, 0 or that millionth."""
    least = Decimal("1e-6")
    if part >= least:
        return shortened(part, way, 3)
    return least if part > 0 and way == "up" else Decimal(0)


def shortened(x: Decimal, way: str, digits: int) -> Decimal:
    """`digits` significant digits, rounded that way."""
    lean = {"up": -abs(x), "down": abs(x), "near": Decimal(0)}[way] * _SLACK
    return Context(prec=digits, rounding=_WAYS[way]).create_decimal(x + lean).normalize()


def factor(loss: float) -> str:
    """e^loss, rounded up: what a log-ratio does to the odds."""
    return number(math.exp(loss) if loss < 700 else math.inf, "up")


def least(loss: float) -> str:
    """e^-loss, rounded down: the least that a log-ratio leaves of the odds.

    >>> factor(0.3), least(0.3)
    ('1.35', '0.74')
    """
    return number(math.exp(-loss), "down")


def epsilon(value: float) -> str:
    """ε = value on one line."""
    return f"ε{_SPACE}={_SPACE}{number(value, 'up', 6)}"


def delta(value: float) -> str:
    """δ = value on one line."""
    return f"δ{_SPACE}={_SPACE}{number(value, 'up')}"


def clean(text: object, most: int = 60) -> str:
    """A user's name on one line: blanks as one blank, what cannot be seen spelled out, at most `most` characters.

    >>> clean("a  b\\n\\x1b"), clean("abcdef", 4)
    ('a b\\\\n\\\\x1b', 'abc…')
    """
    line = " ".join(visible(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def quoted(name: str) -> str:
    """A user's name in quotation marks; what has no name, without."""
    return name if name in (VALUE, SECRET) else f"“{clean(name)}”"

"""Cut points: every number has a bin, whatever it is, and the bins have names."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise

from fugu.data.cells import number_text
from fugu.errors import UsageError
from fugu.numbers.checks import is_real
from fugu.numbers.exact import Real, read_number
from fugu.visible import brief

_MOST = 4096


def read_cuts(said: object) -> tuple[float, ...]:
    """Cut points from a list, from "0,200,400", or from "LOW:HIGH:STEP", whose outer bins reach on for ever.

    >>> read_cuts("0,200"), read_cuts("0:800:200"), read_cuts([0.5])
    ((0.0, 200.0), (200.0, 400.0, 600.0), (0.5,))
    """
    found: list[Real]
    if isinstance(said, str):
        found = _equal(said) if ":" in said else [_exact(part) for part in said.split(",")]
    elif isinstance(said, list | tuple) and all(is_real(cut) for cut in said):
        found = list(said)
    else:
        raise UsageError('bins must be cut points such as "0,200,400", or "LOW:HIGH:STEP"')
    cuts = [_double(cut) for cut in found]
    if any(not math.isfinite(cut) for cut in cuts) or any(a >= b for a, b in pairwise(cuts)):
        raise UsageError("the cut points of --bins must be finite numbers that rise")
    if len(cuts) >= _MOST:
        raise UsageError(f"--bins: at most {_MOST} bins are states of a chain")
    return tuple(cut + 0.0 for cut in cuts)


def labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """The names of the bins (-inf, c1), [c1, c2), ..., [cm, inf), from low to high; none without cut points."""
    if not cuts:
        return ()
    texts = [number_text(cut) for cut in cuts]
    return (f"<{texts[0]}", *(f"{a}..{b}" for a, b in pairwise(texts)), f">={texts[-1]}")


def bin_of(number: float, cuts: tuple[float, ...], names: tuple[str, ...]) -> str:
    """The name of the bin of a number that is not NaN; a cut point belongs to the bin above it.

    >>> [bin_of(x, (0.0, 10.0), labels((0.0, 10.0))) for x in (-math.inf, -1.0, 0.0, 9.5, 10.0, math.inf)]
    ['<0', '<0', '0..10', '0..10', '>=10', '>=10']
    """
    return names[bisect_right(cuts, number)]


def _equal(said: str) -> list[Real]:
    parts = said.split(":")
    if len(parts) != 3:
        raise UsageError(f"bins of one width are LOW:HIGH:STEP, such as 0:4000:200, not {brief(said, 40)}")
    low, high, step = (_exact(part) for part in parts)
    if step <= 0 or high - low < 2 * step or (high - low) % step:
        raise UsageError("--bins LOW:HIGH:STEP: HIGH must lie two or more whole steps above LOW")
    if (high - low) / step > _MOST:
        raise UsageError(f"--bins: at most {_MOST} bins are states of a chain")
    return [low + i * step for i in range(1, int((high - low) / step))]


def _double(cut: Real) -> float:
    try:
        return float(cut)
    except OverflowError:
        return math.inf


def _exact(text: str) -> Fraction:
    try:
        return read_number(text.strip())
    except (UsageError, ValueError):
        raise UsageError(f"--bins: {brief(text.strip(), 40)} is not a number") from None

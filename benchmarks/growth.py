"""How the time grows with the number of atoms; writes docs/scaling.svg and docs/scaling.md."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import fugu
from benchmarks.inputs import GAP, atoms, pair, rounded, shuffled
from benchmarks.measure import Row, Side, Size, race
from benchmarks.rows import section
from benchmarks.svg import Series, chart
from fugu.calibration.lattice import least
from fugu.loss.atoms import prove_pure
from fugu.noise.laplace import LatticeLaplaceSampler

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_UNIT = 10**6
_LARGEST = 10**7
_PROVED = 10**6
"""Ball arithmetic takes microseconds an atom: ten million atoms would take minutes, and show nothing new."""
_BUDGET = fugu.Pure(1)
_NAMES = {
    "epsilon": "tight epsilon",
    "search": "exact search",
    "proof": "proof in balls",
    "draws": "exact draws",
    "sort": "np.sort",
}
_NOTES = {
    "epsilon": "fugu.epsilon, end to end",
    "search": "the least scale, 11 digits",
    "proof": "every pair, both orders",
    "draws": "n noise values",
    "sort": "for comparison",
}

Times = dict[str, dict[int, float]]


def growth(size: Size) -> Iterator[Row]:
    """Each task at n = 100, 1000, ..., in units of sorting a million doubles; a quick run writes no file."""
    largest = _LARGEST // 100 if size.quick else _LARGEST
    sizes = [10**k for k in range(2, round(math.log10(largest)) + 1)]
    random = np.random.default_rng(1).random(_UNIT)
    times: Times = {name: {} for name in _NAMES}
    for n in sizes:
        laps = 3 if n >= 10**6 else 15
        sides = _sides(n)
        took = race(laps, unit=lambda: np.sort(random), **sides)
        for name in sides:
            times[name][n] = took[name] / took["unit"]
        if n <= _PROVED:
            times["proof"][n] = _proof(n, random, 1 if n >= 10**6 else 3)
    if not size.quick:
        (_DOCS / "scaling.svg").write_text(_picture(times), encoding="utf-8")
        page = _DOCS / "scaling.md"
        page.write_text(f"{_page(times)}\n{section(page.read_text(encoding='utf-8'))}", encoding="utf-8")
    for name, found in times.items():
        last = max(found)
        yield Row("growth", f"{_NAMES[name]}, n = {last:,}", found[last], "x sort of 1e6")
        yield Row("growth", f"{_NAMES[name]}, exponent of n from {last // 100:,} on", slope(found), "")


def slope(found: dict[int, float]) -> float:
    """The exponent of n over the last two decades: time ~ n^slope."""
    last = max(found)
    return math.log10(found[last] / found[last // 100]) / 2


def _sides(n: int) -> dict[str, Side]:
    """The tasks on n atoms, everything they need prepared."""
    given = pair(n, "lattice")
    loose = shuffled(atoms(n, "lattice"))
    noise = fugu.Laplace(10 * GAP)
    family = rounded(given, _BUDGET)
    sampler = LatticeLaplaceSampler(Fraction(1, 16))
    sampler.draw(1000)
    return {
        "epsilon": lambda: fugu.epsilon(noise, given),
        "search": lambda: least(family, _BUDGET.asks(), fugu.Laplace),
        "draws": lambda: sampler.draw(n),
        "sort": lambda: np.sort(loose),
    }


def _proof(n: int, random: np.ndarray, laps: int) -> float:
    """The ball proof of the scale that the search finds."""
    family = rounded(pair(n, "lattice"), _BUDGET)
    rate = 1 / Fraction(least(family, _BUDGET.asks(), fugu.Laplace) * (1 + 1e-9))
    sort = race(7, sort=lambda: np.sort(random))["sort"]
    return race(laps, proof=lambda: prove_pure(family, rate))["proof"] / sort


def _picture(times: Times) -> str:
    lines = [
        Series(_NAMES[name], _NOTES[name], tuple(sorted(found.items())), dashed=name == "sort")
        for name, found in times.items()
    ]
    return chart(
        "How the time grows with the number of atoms",
        "CPU time of each task on two laws with n atoms; 1 is np.sort of a million doubles",
        "n, the number of atoms (or of draws)",
        lines,
    )


def _page(times: Times) -> str:
    """The numbers behind the picture."""
    sizes = sorted({n for found in times.values() for n in found})
    head = "| n | " + " | ".join(_NAMES[name] for name in times) + " |"
    rule = "|---:|" + "---:|" * len(times)
    rows = [f"| {n:,} | " + " | ".join(_cell(found.get(n)) for found in times.values()) + " |" for n in sizes]
    slopes = "| exponent | " + " | ".join(f"{slope(found):.2f}" for found in times.values()) + " |"
    return "\n".join([_ABOVE, head, rule, *rows, slopes, _BELOW])


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


_ABOVE = """# How the time grows

![Time against the number of atoms, both on logarithmic axes](scaling.svg)

Two laws with random counts on n atoms of a decimal lattice. Times are CPU times of one core, the best of
several laps, divided by the time `numpy.sort` takes for a million random doubles in the same run, so that
the figures carry over from one machine to another.
"""
_BELOW = f"""
The exponent is that of n over the last two decades: 1 is proportional growth. Below some ten thousand atoms
the fixed cost of a call dominates, which is why most lines are flat on the left. At ten million atoms every
array has 80 MB and comes fresh from the operating system each time. Preparing those pages can cost more than
the arithmetic and varies from run to run, most visibly in tight epsilon, a single pass; the time spent in the
computation itself stays the same per atom.

- **tight epsilon**: `fugu.epsilon(noise, pair)` at a scale of ten mean gaps, from laws to number.
- **exact search**: the least scale that meets `Pure(1)`, to 11 digits, before any proof.
- **proof in balls**: the bound that the certificate states, for the scale found. It grows in proportion to n
  throughout; it is measured up to {_PROVED:,} atoms.
- **exact draws**: n lattice Laplace values at a scale of 16 grid steps, from the operating system's bits.
- **np.sort**: n doubles in random order.

`python -m benchmarks growth` measures all this again and writes this part of the page and its picture.
"""

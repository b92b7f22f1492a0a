"""What is drawn: pairs of laws with the noise that was added to them, the pair that loses most first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.documents.certificate import Certificate
from fugu.documents.said import secrets_named
from fugu.laws.family import Family
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number
from fugu.report.amounts import Amount
from fugu.report.kernels import Floats, Kernel, kernel_of
from fugu.report.shapes import NUMBERS, PICTURES, Margin

MOST = 12
HIDDEN = 1e-4
"""How much of a law that has no ends is left out on each side of a picture."""


@dataclass(frozen=True)
class Part:
    """One noise of a mechanism, and the probability with which it runs: 1, or the share of a half of a mixture."""

    share: Fraction
    certificate: Certificate

    @cached_property
    def noise(self) -> Any:
        """The noise of this part, as the laws in lattice indices see it."""
        return self.certificate.in_steps

    @cached_property
    def amount(self) -> Amount:
        """How much the noise moves what is published."""
        return Amount(self.certificate)

    @property
    def lattice(self) -> Lattice | None:
        """The lattice of this part; None if the value goes out as it is."""
        return self.certificate.lattice


@dataclass(frozen=True, eq=False)
class View:
    """Two laws on lattice indices (or on numbered atoms, if there is no lattice), and the noise added to both."""

    label: str
    first: str
    second: str
    pair: Family
    """The two laws, as a family of one pair."""
    lattice: Lattice | None
    noise: Any
    endless: tuple[bool, bool]
    """Which of the laws spread over the whole line; of these `pair` holds what doubles can see."""
    limit: float
    """max |ln(f_A / f_B)| over all values, drawn or not, from above; inf where no limit is known."""
    unlimited: str
    """Why `limit` is inf: "only", "tails" or "error" (see `shapes.why_unlimited`); "" where it is finite."""
    coordinate: int | None = None
    """Which coordinate of a vector this is."""
    note: str = ""
    """What a caption adds, where these are two laws of many."""

    @property
    def gathered(self) -> bool:
        """Whether the noise has no steps and was gathered into narrow ones for drawing."""
        return bool(self.kernel.about)

    @property
    def tight(self) -> bool:
        """Whether `limit` is reached."""
        return bool(self.kernel.tight)

    @property
    def points(self) -> bool:
        """Whether each law is one value."""
        return len(self.pair.points) == 2 and bool((self.pair.weights.max(axis=1) == 1).all())

    @property
    def inexact(self) -> float:
        """Up to which error the laws are known."""
        return max(self.pair.errors)

    @property
    def steps(self) -> float:
        """The scale of the noise in lattice steps."""
        return self.kernel.steps(self.noise)

    @property
    def kernel(self) -> Kernel:
        """How the noise is drawn."""
        return kernel_of(self.noise)

    @property
    def noisy(self) -> bool:
        """Whether anything is added."""
        return self.kernel.adds

    @cached_property
    def shown(self) -> tuple[int, int]:
        """The lattice indices between which the laws are drawn: all atoms, or all but the far ends of endless laws."""
        points = self.pair.points
        if not any(self.endless):
            return int(points[0]), int(points[-1])
        sums = np.cumsum(self.pair.weights, axis=1)
        ends = [np.searchsorted(row, (HIDDEN, 1 - HIDDEN)) for row in sums]
        first, last = min(int(a) for a, _ in ends), max(int(b) for _, b in ends)
        return int(points[first]), int(points[min(last, len(points) - 1)])

    @cached_property
    def noised(self) -> tuple[int, Floats]:
        """Both laws with noise: the first lattice index and the masses from there on."""
        return self.kernel.noised(self.pair, self.noise)

    def values(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """The column's values at lattice indices; 1, 2, 3, ... where the certificate only knows the order."""
        return self.lattice.value(index) if self.lattice else index.astype(np.float64) + 1


def parts(certificate: Certificate, share: Fraction = Fraction(1)) -> tuple[Part, ...]:
    """The noises that may run, each with its probability; a mixture has several, and those of share 0 are left out."""
    if not certificate.parts:
        return (Part(share, certificate),) if share else ()
    first, second = certificate.parts
    coin = read_number(certificate.body["share"])
    return parts(first, share * coin) + parts(second, share * (1 - coin))


def views(certificate: Certificate, most: int = MOST) -> tuple[View, ...]:
    """At most `most` views: the certificate's worst pair first, then the pairs by what they lose, largest first."""
    listed: list[tuple[bool, float, tuple[Margin, str, Part, str]]] = []
    running = parts(certificate)
    epsilon = float(certificate.budget.epsilon)
    for part in running:
        chance = f"noise of scale {part.amount.scale:.4g}, " if len(running) > 1 else ""
        for item in part.certificate.laws:
            losses = PICTURES[item.shape].losses(item, part.noise, epsilon)
            marked = np.array([label == certificate.worst_pair for label in item.labels])
            for k in np.lexsort((-losses, ~marked))[:most].tolist():
                label = item.labels[k] or f"pair {k + 1}"
                for margin, loss in _margins(item, k, part, epsilon, float(losses[k])):
                    listed.append((not marked[k], -loss, (margin, label, part, chance)))
            listed = sorted(listed, key=lambda entry: entry[:2])[:most]
    return tuple(_view(*chosen) for _, _, chosen in listed)


def _margins(item: Any, k: int, part: Part, epsilon: float, loss: float) -> Iterator[tuple[Margin, float]]:
    """The pair itself with its loss, or its coordinates, each with what it loses by itself."""
    for margin in PICTURES[item.shape].margins(item, k, part.noise, part.lattice):
        if margin.coordinate is None:
            yield margin, loss
            continue
        yield margin, float(PICTURES[margin.item.shape].losses(margin.item, margin.noise, epsilon)[0])


def secrets_of(label: str) -> tuple[str, str]:
    """The names of the two secrets of a pair labelled "a vs b"; neutral ones if the label is not of that form.

    >>> secrets_of("adversary 2: F vs M"), secrets_of("shift by 3")
    (('F', 'M'), ('the first secret', 'the second secret'))
    """
    if (named := secrets_named(label)) is not None and named[1] != named[2]:
        return named[1], named[2]
    return "the first secret", "the second secret"


def _view(margin: Margin, label: str, part: Part, chance: str) -> View:
    number = NUMBERS[margin.item.shape]
    shown, noise, factor = number.drawable(margin.item, margin.noise)
    lattice = part.lattice
    if factor != 1 and lattice is not None:
        lattice = Lattice(lattice.grid * factor, lattice.origin)
    pair, endless = number.atoms(shown, noise)
    most = number.limit(margin.item, margin.noise)
    which = "" if margin.coordinate is None else f", coordinate {margin.coordinate + 1}"
    return View(
        chance + label + which, *secrets_of(label), pair=pair, lattice=lattice, noise=noise,
        endless=endless, limit=most, coordinate=margin.coordinate, note=margin.note,
        unlimited=number.why_unlimited(margin.item, margin.noise) if np.isinf(most) else "")  # fmt: skip

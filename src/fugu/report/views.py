"""What is drawn: pairs of laws with the noise that was added to them, the pair that loses most first."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.laws import secrets_named
from fugu.laws.family import Family
from fugu.noise.lattice import Lattice
from fugu.noised import Noised
from fugu.numbers.exact import read_number
from fugu.report.amounts import Amount
from fugu.report.shapes import (
    Floats,
    Indices,
    Margin,
    atoms,
    decay,
    drawable,
    limit,
    losses,
    margins,
    noised,
    visited,
    why_unlimited,
)

MOST = 12
HIDDEN = 1e-4
"""How much of a law that has no ends is left out on each side of a picture."""


@dataclass(frozen=True)
class RunningNoise:
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

    @cached_property
    def noisy(self) -> bool:
        """Whether anything is added."""
        return not self.noise.silent

    @cached_property
    def steps(self) -> float:
        """The scale in lattice steps at which ratios of the noise decay; 0 where they do not."""
        return decay(self.noise)

    @cached_property
    def tight(self) -> bool:
        """Whether `limit` is reached: noise is summed along the atoms, and not over every lattice point."""
        return not visited(self.noise)

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
    def noised(self) -> tuple[Indices, Floats]:
        """Where noise that is not summed along the atoms goes: lattice indices, and the masses of both laws there."""
        if self.noise.added:
            return noised(self.pair, self.noise)
        return Noised(self.pair.points, self.pair.weights, self.noise).masses

    def values(self, index: Indices) -> Floats:
        """The column's values at lattice indices; 1, 2, 3, ... where the certificate only knows the order."""
        return self.lattice.value(index) if self.lattice else index.astype(np.float64) + 1


def parts(certificate: Certificate, share: Fraction = Fraction(1)) -> tuple[RunningNoise, ...]:
    """The noises that may run, each with its probability; a mixture has several, and those of share 0 are left out."""
    if not certificate.parts:
        return (RunningNoise(share, certificate),) if share else ()
    first, second = certificate.parts
    coin = read_number(certificate.body["share"])
    return parts(first, share * coin) + parts(second, share * (1 - coin))


def views(certificate: Certificate, most: int = MOST) -> tuple[View, ...]:
    """At most `most` views: the certificate's worst pair first, then the pairs by what they lose, largest first; a pair
    of vectors as its coordinates, each with what it loses by itself."""
    listed: list[tuple[bool, float, tuple[Margin, str, RunningNoise, str]]] = []
    running = parts(certificate)
    epsilon = float(certificate.budget.epsilon)
    for part in running:
        chance = f"noise of scale {part.amount.scale:.4g}, " if len(running) > 1 else ""
        for item in part.certificate.laws:
            lost = losses(item, part.noise, epsilon)
            marked = np.array([label == certificate.worst_pair for label in item.labels])
            for k in np.lexsort((-lost, ~marked))[:most].tolist():
                label = item.labels[k] or f"pair {k + 1}"
                for margin in margins(item, k, part.noise, part.lattice):
                    whole = margin.coordinate is None
                    loss = lost[k] if whole else losses(margin.item, margin.noise, epsilon)[0]
                    listed.append((not marked[k], -float(loss), (margin, label, part, chance)))
            listed = sorted(listed, key=lambda entry: entry[:2])[:most]
    return tuple(_view(*chosen) for _, _, chosen in listed)


def secrets_of(label: str) -> tuple[str, str]:
    """The names of the two secrets of a pair labelled "a vs b"; neutral ones if the label is not of that form.

    >>> secrets_of("adversary 2: F vs M"), secrets_of("shift by 3")
    (('F', 'M'), ('the first secret', 'the second secret'))
    """
    if (named := secrets_named(label)) is not None and named[1] != named[2]:
        return named[1], named[2]
    return "the first secret", "the second secret"


def _view(margin: Margin, label: str, part: RunningNoise, chance: str) -> View:
    shown, noise, factor = drawable(margin.item, margin.noise)
    lattice = part.lattice
    if factor != 1 and lattice is not None:
        lattice = Lattice(lattice.grid * factor, lattice.origin)
    pair, endless = atoms(shown, noise)
    most = limit(margin.item, margin.noise)
    which = "" if margin.coordinate is None else f", coordinate {margin.coordinate + 1}"
    return View(
        chance + label + which, *secrets_of(label), pair=pair, lattice=lattice, noise=noise,
        endless=endless, limit=most, coordinate=margin.coordinate, note=margin.note,
        unlimited=why_unlimited(margin.item, margin.noise) if np.isinf(most) else "")  # fmt: skip

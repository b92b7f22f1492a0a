"""What is drawn: pairs of laws with the noise that was added to them, the pair that loses most first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.scan import decayed_sums, log_decayed_sums
from fugu.mechanism.certificate import Certificate
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice

MOST = 12
_TINY = 1e-280
_ADVERSARY = re.compile(r"adversary \d+: ")

Logs = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One noise of a mechanism, and the probability with which it runs: 1, or the share of a half of a mixture."""

    share: Fraction
    certificate: Certificate

    @property
    def noise(self) -> Laplace:
        """The noise of this part."""
        return self.certificate.noise

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
    noise: Laplace

    @property
    def steps(self) -> float:
        """The scale of the noise in lattice steps."""
        return scale_in_steps(self.noise)

    def values(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """The column's values at lattice indices; 1, 2, 3, ... where the certificate only knows the order."""
        return self.lattice.value(index) if self.lattice else index.astype(np.float64) + 1


def parts(certificate: Certificate, share: Fraction = Fraction(1)) -> tuple[Part, ...]:
    """The noises that may run, each with its probability; a mixture has several, and those of share 0 are left out."""
    if certificate.kind != "mixed":
        return (Part(share, certificate),) if share else ()
    first, second = certificate.parts
    coin = Fraction(certificate.body["share"])
    return parts(first, share * coin) + parts(second, share * (1 - coin))


def views(certificate: Certificate, most: int = MOST) -> tuple[View, ...]:
    """At most `most` views: the certificate's worst pair first, then the pairs by what they lose, largest first."""
    found: list[tuple[bool, float, View]] = []
    running = parts(certificate)
    for part in running:
        for family in part.certificate.families:
            steps = scale_in_steps(part.noise)
            losses = _losses(family, steps)
            marked = np.array([label == certificate.worst_pair for label in family.labels])
            for k in np.lexsort((-losses, ~marked))[:most].tolist():
                chance = f"noise of scale {float(part.noise.scale):.4g}, " if len(running) > 1 else ""
                found.append((not marked[k], -float(losses[k]), _view(family, k, part, chance)))
    return tuple(view for _, _, view in sorted(found, key=lambda entry: entry[:2])[:most])


def log_sums(family: Family, steps: float, extra: NDArray[np.int64] | None = None) -> tuple[NDArray[np.int64], Logs]:
    """Points, and ln sum_j p_j e^{-|x_k - x_j| / steps} at them, one row a law; without noise it is ln p_k.

    The points are the atoms, and `extra` ones if given. Right to about 1e-12."""
    points, weights = family.points, family.weights
    if steps == 0:
        return points, _logs(family)
    if extra is not None:
        points, weights = spread(family, extra, weights)
    total = decayed_sums(points, weights, steps).total(weights)
    if not family.minute and float(total.min()) > _TINY:
        return points, np.log(total)
    logs = _logs(family)
    if extra is not None:
        points, logs = spread(family, extra, logs, empty=-np.inf)
    return points, log_decayed_sums(points, logs, steps)


def spread(
    family: Family, extra: NDArray[np.int64], rows: NDArray[np.float64], empty: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Atoms and extra points together, sorted; rows of numbers at the atoms continued by `empty` elsewhere."""
    points = np.union1d(family.points, extra)
    wide = np.full((len(rows), len(points)), empty)
    wide[:, np.searchsorted(points, family.points)] = rows
    return points, wide


def _logs(family: Family) -> Logs:
    return np.stack([law.logs() for law in family.laws])


def scale_in_steps(noise: Laplace) -> float:
    """scale / grid."""
    return 0.0 if noise.scale == 0 else float(1 / noise.rate)


def secrets_of(label: str) -> tuple[str, str]:
    """The names of the two secrets of a pair labelled "a vs b"; neutral ones if the label is not of that form.

    >>> secrets_of("adversary 2: F vs M"), secrets_of("shift by 3")
    (('F', 'M'), ('the first secret', 'the second secret'))
    """
    names = _ADVERSARY.sub("", label, count=1).split(" vs ")
    if len(names) == 2 and all(name.strip() for name in names) and names[0] != names[1]:
        return names[0], names[1]
    return "the first secret", "the second secret"


def _losses(family: Family, steps: float) -> NDArray[np.float64]:
    """max over atoms of |ln(S_i / S_j)| of each pair; inf where a value is possible under one secret only."""
    _, logs = log_sums(family, steps)
    found = np.zeros(len(family.pairs))
    for k, (i, j) in enumerate(family.pairs):
        with np.errstate(invalid="ignore"):
            found[k] = np.nanmax(np.abs(logs[i] - logs[j]))
    return found


def _view(family: Family, k: int, part: Part, chance: str) -> View:
    i, j = family.pairs[k]
    label = family.labels[k] or f"pair {k + 1}"
    first, second = family.laws[i], family.laws[j]
    held = (first.parts > 0) | (second.parts > 0)  # atoms of other laws say nothing of this pair
    both = Masses(first.parts[held], first.total), Masses(second.parts[held], second.total)
    pair = Family(family.points[held], both, ((0, 1),), (label,))
    return View(chance + label, *secrets_of(label), pair=pair, lattice=part.lattice, noise=part.noise)

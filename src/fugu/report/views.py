"""What is drawn: pairs of laws with the noise that was added to them, the pair that loses most first."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.masses import Masses
from fugu.loss.search.scan import decayed_sums, log_decayed_sums
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.labels import secrets_named
from fugu.noise import LatticeNoise
from fugu.noise.gaussian import Gaussian
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number
from fugu.report.dense import atoms_of, drawable, limit, steps_of, why_unlimited, with_gaussian

MOST = 12
HIDDEN = 1e-4
"""How much of a law that has no ends is left out on each side of a picture."""
_TINY = 1e-280
_MANY = 40_000_000

Logs = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One noise of a mechanism, and the probability with which it runs: 1, or the share of a half of a mixture."""

    share: Fraction
    certificate: Certificate

    @property
    def noise(self) -> LatticeNoise:
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
    noise: LatticeNoise
    endless: tuple[bool, bool]
    """Which of the laws spread over the whole line; of these `pair` holds what doubles can see."""
    limit: float
    """max |ln(f_A / f_B)| over all values, drawn or not, from above; inf where no limit is known."""
    unlimited: str
    """Why `limit` is inf: "only", "tails" or "error" (see `dense.why_unlimited`); "" where it is finite."""

    @property
    def steps(self) -> float:
        """The scale of the noise in lattice steps."""
        return steps_of(self.noise)

    @property
    def gaussian(self) -> bool:
        """Whether Gaussian noise is added."""
        return isinstance(self.noise, Gaussian) and self.noise.scale > 0

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
    def noised(self) -> tuple[int, NDArray[np.float64]]:
        """Both laws with Gaussian noise: the first lattice index and the masses from there on."""
        return with_gaussian(self.pair.points, self.pair.weights, self.steps)

    def values(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """The column's values at lattice indices; 1, 2, 3, ... where the certificate only knows the order."""
        return self.lattice.value(index) if self.lattice else index.astype(np.float64) + 1


def parts(certificate: Certificate, share: Fraction = Fraction(1)) -> tuple[Part, ...]:
    """The noises that may run, each with its probability; a mixture has several, and those of share 0 are left out."""
    if certificate.kind != "mixed":
        return (Part(share, certificate),) if share else ()
    first, second = certificate.parts
    coin = read_number(certificate.body["share"])
    return parts(first, share * coin) + parts(second, share * (1 - coin))


def views(certificate: Certificate, most: int = MOST) -> tuple[View, ...]:
    """At most `most` views: the certificate's worst pair first, then the pairs by what they lose, largest first."""
    found: list[tuple[bool, float, tuple[Item, int, Part, str]]] = []
    running = parts(certificate)
    epsilon = float(getattr(certificate.budget, "epsilon", 0))
    for part in running:
        chance = f"noise of scale {float(part.noise.scale):.4g}, " if len(running) > 1 else ""
        for item in part.certificate.items:
            labels = item.labels if isinstance(item, Family) else (item.label,)
            losses = _losses(item, part.noise, epsilon)
            marked = np.array([label == certificate.worst_pair for label in labels])
            ranked = np.lexsort((-losses, ~marked))[:most].tolist()
            found += [(not marked[k], -float(losses[k]), (item, k, part, chance)) for k in ranked]
            found = sorted(found, key=lambda entry: entry[:2])[:most]
    return tuple(_view(*chosen) for _, _, chosen in found)


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


def secrets_of(label: str) -> tuple[str, str]:
    """The names of the two secrets of a pair labelled "a vs b"; neutral ones if the label is not of that form.

    >>> secrets_of("adversary 2: F vs M"), secrets_of("shift by 3")
    (('F', 'M'), ('the first secret', 'the second secret'))
    """
    if (named := secrets_named(label)) is not None and named[1] != named[2]:
        return named[1], named[2]
    return "the first secret", "the second secret"


def _losses(item: Item, noise: LatticeNoise, epsilon: float) -> NDArray[np.float64]:
    """What each pair loses, to rank them: max over atoms of |ln(S_i / S_j)|, or under Gaussian noise delta(epsilon)."""
    gaussian = isinstance(noise, Gaussian) and noise.scale > 0
    if isinstance(item, Analytic) and not gaussian:
        return np.array([limit(item, noise)])
    item, noise, _ = drawable(item, noise)
    steps = steps_of(noise)
    family = item if isinstance(item, Family) else atoms_of(item, noise)
    found = np.zeros(len(family.pairs))
    if gaussian and len(family.laws) * int(family.points[-1] - family.points[0]) > _MANY:
        return found  # as they come
    rows = with_gaussian(family.points, family.weights, steps)[1] if gaussian else log_sums(family, steps)[1]
    for k, (i, j) in enumerate(family.pairs):
        if gaussian:
            e = np.exp(min(epsilon, 700.0))
            found[k] = max(np.maximum(rows[a] - e * rows[b], 0).sum() for a, b in ((i, j), (j, i)))
        else:
            with np.errstate(invalid="ignore"):
                found[k] = np.nanmax(np.abs(rows[i] - rows[j]))
    return found


def _view(item: Item, k: int, part: Part, chance: str) -> View:
    held = _alone(item, k) if isinstance(item, Family) else item
    shown, noise, factor = drawable(held, part.noise)
    lattice = part.lattice
    if factor > 1 and lattice is not None:
        lattice = Lattice(lattice.grid * factor, lattice.origin)
    if isinstance(shown, Analytic):
        pair, endless = atoms_of(shown, noise), (bool(shown.p.stds.any()), bool(shown.q.stds.any()))
    else:
        pair, endless = shown, (False, False)
    label = pair.labels[0] or f"pair {k + 1}"
    most = limit(held, part.noise)
    return View(
        chance + label, *secrets_of(label), pair=pair, lattice=lattice, noise=noise, endless=endless,
        limit=most, unlimited=why_unlimited(held, part.noise) if np.isinf(most) else "")  # fmt: skip


def _alone(family: Family, k: int) -> Family:
    """One pair of a family on its own atoms: those of other laws say nothing of it."""
    pair = family.pairs[k]
    first, second = (family.laws[i] for i in pair)
    held = (first.parts > 0) | (second.parts > 0)
    both = Masses(first.parts[held], first.total), Masses(second.parts[held], second.total)
    errors = tuple(family.errors[i] if family.blurred(pair) else 0.0 for i in pair)
    return Family(family.points[held], both, ((0, 1),), (family.labels[k],), errors=errors)

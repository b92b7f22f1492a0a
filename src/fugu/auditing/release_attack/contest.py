"""`Contest`: two laws that must look alike, as an attacker sees them; every pair of a certificate as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.bounds import Curve
from fugu.auditing.release_attack.channel import Channel, channel_of, worst_exchanged
from fugu.auditing.shadows import Floats
from fugu.documents.certificate import Certificate
from fugu.errors import NotAttackable
from fugu.laws.cells import CellFamily
from fugu.laws.components import Components
from fugu.laws.family import Family, SetFamily
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.laws.normal import Analytic
from fugu.loss.search.sets import worst_laws
from fugu.loss.sets_extremes import DecayKernel
from fugu.noise.lattice import Lattice
from fugu.noised import CHUNK, log_sums

# `Contest`: two laws that must look alike, as an attacker sees them: inputs to draw, and the score of an output.


CELLS, _MOST_CELLS, _OF_VECTORS = 20_000_000, 200_000, 4_000_000
"""(output, atom) cells of all windows, outputs of a window of numbers, outputs of one of vectors."""


class Contest(ABC):
    """P is side 0, Q is side 1."""

    label: str
    note: str = ""
    """What a reader must know of the scores; empty if they are the exact ratio."""

    @abstractmethod
    def inputs(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        """Values drawn from one of the two laws, as the table would hold them."""

    @abstractmethod
    def score(self, outputs: Floats) -> Floats:
        """ln p/q of every output, in doubles."""

    @property
    @abstractmethod
    def curves(self) -> tuple[Curve, Curve] | None:
        """How likely the best events are, P against Q and Q against P; None where that is not worked out."""

    @property
    def values(self) -> tuple[float, float] | None:
        """Two different numbers, a likely one under each law, where there are such."""
        return None

    @property
    def cost(self) -> int:
        """How many numbers the score of one output takes, where every output must be scored by itself."""
        return 1

    def finest(self) -> Contest:
        """The same contest, its curves worked out as finely as can be."""
        return self


@dataclass(frozen=True, eq=False)
class Atoms(Contest):
    """Two laws with atoms (or normal laws, seen as atoms) and noise on a lattice."""

    label: str
    atoms: Floats
    weights: tuple[Floats, Floats]
    channel: Channel
    spreads: tuple[Components, Components] | None = None
    """The laws that inputs are drawn from, if they have a spread; else the atoms are."""
    note: str = ""
    cells: int = CELLS
    """(output, atom) cells of the window at most."""

    @property
    def cost(self) -> int:
        """Of vectors: every coordinate of every atom. Outputs that are numbers repeat, or are read off the window."""
        return 1 if self.atoms.ndim == 1 else self.atoms.size

    def finest(self) -> Atoms:
        """With a window of full size."""
        return replace(self, cells=CELLS)

    def inputs(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        """Atoms by their weights; normal numbers where the law has a spread."""
        if self.spreads is None:
            weights = self.weights[side]
            return np.asarray(self.atoms[rng.choice(len(weights), size=count, p=weights / weights.sum())])
        law = self.spreads[side]
        which = rng.choice(len(law.weights), size=count, p=law.weights / law.weights.sum())
        return np.asarray(law.means[which] + law.stds[which] * rng.standard_normal(count))

    def score(self, outputs: Floats) -> Floats:
        """The exact ratio; read off the window between its outputs where there are too many of them."""
        if len(outputs) * len(self.atoms) > 10 * CELLS and outputs.ndim == 1 and self._known is not None:
            seen, p, q, _ = self._known
            return np.interp(outputs, seen, _ratio(p, q))
        return _ratio(*self._logs(outputs))

    def _logs(self, outputs: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            logs = np.log(np.stack(self.weights))
        blocks = np.array_split(outputs, 1 + outputs.size * len(self.atoms) // CHUNK)
        both = np.concatenate([log_sums(self.channel.log_mass(self.atoms, block), logs) for block in blocks], axis=1)
        return both[0], both[1]

    @cached_property
    def _known(self) -> tuple[Floats, Floats, Floats, float] | None:
        """The outputs of the window with ln of both masses, and how many lattice points each stands for."""
        numbers = self.atoms.ndim == 1
        most = min(_MOST_CELLS if numbers else _OF_VECTORS, max(2000, self.cells // len(self.atoms)))
        if (window := self.channel.window(self.atoms, most)) is None:
            return None
        outputs, each = window
        p, q = self._logs(outputs)
        return outputs, p + np.log(each), q + np.log(each), each

    @cached_property
    def curves(self) -> tuple[Curve, Curve] | None:
        """From the masses of the window."""
        if self._known is None:
            return None
        _, p, q, _ = self._known
        scores = np.round(_ratio(p, q), 12)
        p, q = np.exp(p), np.exp(q)
        return Curve.of(scores, p, q), Curve.of(-scores, q, p)

    @property
    def masses(self) -> tuple[Floats, Floats, Floats] | None:
        """Outputs of numbers with their masses under both laws, where every lattice point is listed."""
        if self._known is None or self.atoms.ndim > 1 or self._known[3] != 1:
            return None
        outputs, p, q, _ = self._known
        return outputs, np.exp(p), np.exp(q)

    @property
    def values(self) -> tuple[float, float] | None:
        """The likeliest atoms of both laws, or other two if those are one."""
        if self.atoms.ndim > 1 or len(self.atoms) < 2:
            return None
        one = int(np.argmax(self.weights[0]))
        other = int(np.argmax(np.where(np.arange(len(self.atoms)) == one, -1.0, self.weights[1])))
        return float(self.atoms[one]), float(self.atoms[other])


@dataclass(frozen=True, eq=False)
class Normals(Contest):
    """Two normal laws of a vector and correlated lattice noise, scored as the normal laws of their sum."""

    label: str
    laws: tuple[MultivariateNormal, MultivariateNormal]
    noise: Floats
    """The covariance of noise and rounding."""
    note: str = "scored as normal laws, which lattice noise is to some digits"

    def inputs(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        """mean + root z, in doubles."""
        law = self.laws[side]
        values, vectors = np.linalg.eigh(law.cov_array)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(law.mean_array + rng.standard_normal((count, law.dimension)) @ root.T)

    def score(self, outputs: Floats) -> Floats:
        """The difference of two quadratic forms."""
        p, q = (self._log_density(law, outputs) for law in self.laws)
        return np.asarray(p - q)

    def _log_density(self, law: MultivariateNormal, outputs: Floats) -> Floats:
        cov = law.cov_array + self.noise
        z = outputs - law.mean_array
        return np.asarray(-0.5 * (np.einsum("ni,ni->n", z @ np.linalg.inv(cov), z) + np.linalg.slogdet(cov)[1]))

    @cached_property
    def curves(self) -> tuple[Curve, Curve] | None:
        """With one covariance ln p/q is normal, with variance m^2 and mean +- m^2 / 2."""
        one, other = self.laws
        if one.cov != other.cov:
            return None
        from scipy.special import ndtr

        gap = one.mean_array - other.mean_array
        m = float(np.sqrt(gap @ np.linalg.solve(one.cov_array + self.noise, gap)))
        t = np.linspace(-9, 9, 20_001)
        curve = Curve(ndtr(t + m), ndtr(t))
        return curve, curve


def _ratio(p: Floats, q: Floats) -> Floats:
    """p - q, between -700 and 700; 0 where neither has mass."""
    with np.errstate(invalid="ignore"):
        found = np.where(np.isinf(p) & np.isinf(q), 0.0, p - q)
    return np.clip(found, -700.0, 700.0)


# `contests`: every pair of laws of a certificate as a contest that an attacker can fight.


_SPREAD, _ATOMS = 9.0, 2000
"""A normal law is scored as at most so many atoms within so many standard deviations."""
_MOST_COUNTS = 200
"""So many counts of a histogram are drawn, no more."""


def contests(certificate: Certificate) -> Iterator[Contest]:
    """Every pair of the certificate that differs; the more there are, the coarser their windows."""
    cells = CELLS // max(1, sum(item.differing for item in certificate.laws))
    for item in certificate.laws:
        for alone in item.alone():
            found = _contest(alone, certificate)
            yield replace(found, cells=cells) if isinstance(found, Atoms) else found


_NO_NOISE = "not attackable, because no noise is added: the exact value goes out, and the beliefs alone hide it"


@singledispatch
def _contest(item: object, certificate: Certificate) -> Contest:  # noqa: ARG001
    raise NotAttackable(f"not attackable, because there is no sampler of laws of kind {type(item).__name__}")


@_contest.register
def _(item: Family, certificate: Certificate) -> Contest:
    (pair,), (label,) = item.pairs, item.labels
    p, q = (item.laws[k].floats() for k in pair)
    used = (p > 0) | (q > 0)
    blurred = "the laws are known up to an error only; inputs follow the masses stated" if item.blurred(pair) else ""
    points = item.points[used]
    return Atoms(label, _values(points, certificate), (p[used], q[used]), channel_of(certificate), note=blurred)


@_contest.register
def _(item: CellFamily, certificate: Certificate) -> Contest:
    """One record alone, as the counts that it makes: others that are known change nothing."""
    if item.dimension > _MOST_COUNTS:
        raise NotAttackable(
            f"not attackable, because there are {item.dimension} counts, and at most {_MOST_COUNTS} are drawn"
        )
    (pair,), (label,) = item.pairs, item.labels
    p, q = (item.laws[k] / item.laws[k].sum() for k in pair)
    used = (p > 0) | (q > 0)
    return Atoms(label, np.eye(item.dimension)[used], (p[used], q[used]), channel_of(certificate))


@_contest.register
def _(item: SetFamily, certificate: Certificate) -> Contest:
    """The two laws of the sets that are worst at one output, the one that tells most."""
    (label,) = item.labels
    runs = certificate.parts[0] if certificate.parts else certificate
    p, q = worst_exchanged(item, runs) if runs.kind == "channel" else worst_laws(item, DecayKernel.of(runs.noise))
    note = "inputs follow two laws of the sets that are worst at one output; for all outputs together others may be"
    return Atoms(label, _values(item.points, certificate), (p, q), channel_of(certificate), note=note)


@_contest.register
def _(item: Analytic, certificate: Certificate) -> Contest:
    if certificate.lattice is None:
        raise NotAttackable(_NO_NOISE)
    atoms, weights = _as_atoms((item.p, item.q), certificate.lattice)
    note = "normal inputs are doubles; scores see them as atoms"
    return Atoms(item.label, atoms, weights, channel_of(certificate), (item.p, item.q), note)


@_contest.register
def _(item: NormalPair, certificate: Certificate) -> Contest:
    if certificate.kind == "mixed":
        raise NotAttackable("not attackable, because mixtures of correlated noise have no score yet; audit each half")
    grid = float(certificate.noise.grid)
    cov = np.array([[float(x) for x in row] for row in certificate.noise.covariance()])
    return Normals(item.label, (item.p, item.q), cov + np.eye(len(cov)) * grid**2 / 12)


def _values(points: NDArray[np.int64], certificate: Certificate) -> Floats:
    """Values that the release rounds to these lattice points: supported ones, where values are moved to such first."""
    lattice, support = certificate.lattice, certificate.support
    if lattice is None:
        if support is None:  # the exact sum goes out, and the certificate only numbers its values
            raise NotAttackable(_NO_NOISE)
        return np.asarray(support[points])
    if support is None or certificate.body.get("support") == "lattice":
        return lattice.value(points)
    places = lattice.index(support)
    found = {tuple(np.atleast_1d(place).tolist()): k for k, place in enumerate(places)}
    return np.asarray(support[[found[tuple(np.atleast_1d(point).tolist())] for point in points]])


def _as_atoms(laws: tuple[Components, Components], lattice: Lattice) -> tuple[Floats, tuple[Floats, Floats]]:
    """The probabilities that the laws give to stretches of the lattice, at their middles."""
    from scipy.special import ndtr

    ends = [(law.means - _SPREAD * law.stds, law.means + _SPREAD * law.stds) for law in laws]
    low, high = min(a.min() for a, _ in ends), max(b.max() for _, b in ends)
    first, last = (int(k) for k in lattice.index(np.array([low, high])))
    stride = max(1, -(-(last - first + 1) // _ATOMS))
    starts = np.arange(first, last + 1, stride)
    edges = float(lattice.origin) + (np.append(starts, starts[-1] + stride) - 0.5) * float(lattice.grid)
    weights = []
    for law in laws:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (edges[:, None] - law.means) / law.stds
        below = np.where(law.stds > 0, ndtr(z), edges[:, None] > law.means)
        weights.append(np.maximum(np.diff(below @ law.weights), 0.0))
    return lattice.value(starts + stride // 2), (weights[0], weights[1])

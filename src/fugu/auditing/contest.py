"""`Contest`: two laws that must look alike, as an attacker sees them; every pair of a certificate as one, and what its
noise makes of a value. In doubles: no proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.bounds import EventCurve
from fugu.auditing.guessers import Hypothesis, Protection, Score, normal_draws
from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.errors import NotAttackable
from fugu.laws.cells import CellFamily
from fugu.laws.components import Components, nearest
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, SetFamily
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.laws.normal import Analytic
from fugu.loss.search.sets import worst_laws
from fugu.loss.sets_extremes import DecayKernel
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import Floats, Noise
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.noised import CHUNK, log_sums
from fugu.numbers.exact import read_number

_REACH, _REACH_OF_VECTORS = 40.0, 25.0
"""Outputs beyond exp(-this) are left out of a window."""
_COARSEST = 4
"""Of vectors, a window takes at most every fourth output per coordinate."""
ChanceTable = tuple[Floats, Floats, Floats]
"""Finitely many inputs and outputs, both increasing, and P(output | input), one row for each input."""


@dataclass(frozen=True, eq=False)
class Transfer:
    """From a value to the law of what goes out: a table, one of two by a coin, or else rounding and noise on lattice
    indices, of numbers (n,) or of vectors (n, d)."""

    noise: Noise
    lattice: Lattice | None
    support: Floats | None
    table: ChanceTable | None = None
    halves: tuple[Transfer, ...] = ()
    share: float = 1.0
    """How likely the first half is."""

    @staticmethod
    def of(certificate: Certificate) -> Transfer:
        """What the certificate states, for numbers and vectors with lattice noise, and mixtures of such."""
        if halves := tuple(map(Transfer.of, certificate.parts)):
            return replace(halves[0], halves=halves, share=float(read_number(certificate.body["share"])))
        table, noise, support = None, certificate.noise, certificate.support
        if noise.tabled:
            assert support is not None
            table = (support, np.array(noise.outputs), noise.conditional())
        elif (remap := certificate.remap) is not None:
            table = remapped(remap)
        return Transfer(noise, certificate.lattice, support, table)

    def log_mass(self, atoms: Floats, outputs: Floats) -> Floats:
        """ln P(output | value), one row per output, one column per atom; none off the lattice, or out of the table."""
        if self.halves:
            with np.errstate(divide="ignore"):
                ahead, behind = np.log(self.share), np.log1p(-self.share)
            first, second = (half.log_mass(atoms, outputs) for half in self.halves)
            return np.asarray(np.logaddexp(ahead + first, behind + second))
        if self.table is not None:
            inputs, listed, chances = self.table
            rows = np.searchsorted(inputs, nearest(inputs, atoms))
            columns = np.minimum(np.searchsorted(listed, outputs), len(listed) - 1)
            with np.errstate(divide="ignore"):
                found = np.log(chances)[rows][:, columns].T
            found[listed[columns] != outputs] = -np.inf
            return np.asarray(found)
        clean: Any = self._clean(atoms)
        seen: Any = outputs
        if self.lattice is not None:
            clean, seen = self.lattice.index(self.lattice.within(clean)), self.lattice.index(outputs)
        if self.lattice is None or self.noise.silent:
            same = seen[:, None] == clean[None]
            found = np.where(same if same.ndim == 2 else same.all(axis=2), 0.0, -np.inf)
        else:
            found = self.noise.log_kernel(clean, seen)
        off = self._shown(seen) != outputs
        found[off if off.ndim == 1 else off.any(axis=1)] = -np.inf
        return np.asarray(found)

    def window(self, atoms: Floats, most: int) -> tuple[Floats, float] | None:
        """Nearly all outputs that these values can give, at most `most`, and how many lattice points each stands for;
        None if that many say too little, or where one half shows only some of its outputs."""
        if self.halves:
            both = [half.window(atoms, most // 2) for half in self.halves]
            whole = [window[0] for window in both if window is not None and window[1] == 1]
            return (np.unique(np.concatenate(whole), axis=0), 1.0) if len(whole) == 2 else None
        if self.table is not None:
            return self.table[1], 1.0
        clean = self._clean(atoms)
        if self.lattice is None or self.noise.silent:
            shown = clean if self.lattice is None else self.lattice.value(self.lattice.index(clean))
            return np.unique(shown, axis=0), 1.0
        at = self.lattice.index(self.lattice.within(clean))
        if at.ndim == 1:
            seen, stride = self.noise.outputs(at, _REACH, most)
            return self._shown(seen), float(stride)
        reach, d = self.noise.reach(_REACH_OF_VECTORS), at.shape[1]
        ends = [(int(row.min()) - reach, int(row.max()) + reach) for row in at.T]
        wide = math.prod(high - low + 1 for low, high in ends)
        stride = max(1, math.ceil((wide / most) ** (1 / d)))
        axes = [np.arange(low, high + 1, stride) for low, high in ends]
        return None if stride > _COARSEST else (self.lattice.value(np.array(list(product(*axes)))), float(stride**d))

    def _clean(self, atoms: Floats) -> Floats:
        return atoms if self.support is None else nearest(self.support, atoms)

    def _shown(self, index: Any) -> Floats:
        """What indices are published as: noise that is not added goes back to the values of the support."""
        if self.lattice is None:
            return np.asarray(index)
        shown = self.lattice.value(index)
        return shown if self.noise.added else self._clean(shown)


def remapped(remap: Remap) -> ChanceTable:
    """Outputs that a table moves: those that become the same value are one."""
    to, where = np.unique(remap.to, return_inverse=True)
    chances = np.zeros((len(remap.shown), len(to)))
    for column, chance in zip(where.tolist(), remap.chances().T, strict=True):
        chances[:, column] += chance
    return remap.shown, to, np.maximum(chances, 0.0)


CELLS, _MOST_CELLS, _OF_VECTORS = 20_000_000, 200_000, 4_000_000
"""(output, atom) cells of all windows, outputs of a window of numbers, outputs of one of vectors."""
Curves = tuple[EventCurve, EventCurve]
"""How likely the best events are, P against Q and Q against P."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Two laws with atoms (or normal laws, seen as atoms) and noise on a lattice: inputs to draw, and the score of an
    output. P is side 0, Q is side 1."""

    label: str
    atoms: Floats
    weights: tuple[Floats, Floats]
    channel: Transfer
    spreads: tuple[Components, Components] | None = None
    """The laws that inputs are drawn from, if they have a spread; else the atoms are."""
    note: str = ""
    """What a reader must know of the scores; empty if they are the exact ratio."""
    cells: int = CELLS
    """(output, atom) cells of the window at most."""

    @property
    def cost(self) -> int:
        """How many numbers the score of one output takes. Of vectors: every coordinate of every atom. Outputs that are
        numbers repeat, or are read off the window."""
        return 1 if self.atoms.ndim == 1 else self.atoms.size

    def inputs(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        """Values drawn from one of the two laws: atoms by their weights; normal numbers where the law has a spread."""
        law, weights = None if self.spreads is None else self.spreads[side], self.weights[side]
        weights = weights if law is None else law.weights
        which = rng.choice(len(weights), size=count, p=weights / weights.sum())
        if law is None:
            return np.asarray(self.atoms[which])
        return np.asarray(law.means[which] + law.stds[which] * rng.standard_normal(count))

    def score(self, outputs: Floats) -> Floats:
        """ln p/q of every output; read off the window between its outputs where there are too many of them."""
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
    def curves(self) -> Curves | None:
        """From the masses of the window; None where that is not worked out."""
        if self._known is None:
            return None
        _, p, q, _ = self._known
        scores = np.round(_ratio(p, q), 12)
        return EventCurve.both(scores, np.exp(p), np.exp(q))

    @property
    def masses(self) -> tuple[Floats, Floats, Floats] | None:
        """Outputs of numbers with their masses under both laws of atoms, where every lattice point is listed."""
        if self.spreads is not None or self._known is None or self.atoms.ndim > 1 or self._known[3] != 1:
            return None
        outputs, p, q, _ = self._known
        return outputs, np.exp(p), np.exp(q)

    @property
    def values(self) -> tuple[float, float] | None:
        """Two different numbers, the likeliest atoms of both laws, or other two if those are one; None of vectors."""
        if self.atoms.ndim > 1 or len(self.atoms) < 2:
            return None
        one = int(np.argmax(self.weights[0]))
        other = int(np.argmax(np.where(np.arange(len(self.atoms)) == one, -1.0, self.weights[1])))
        return float(self.atoms[one]), float(self.atoms[other])


@dataclass(frozen=True, eq=False)
class Normals:
    """Two normal laws of a vector and correlated lattice noise, scored as the normal laws of their sum."""

    label: str
    laws: tuple[MultivariateNormal, MultivariateNormal]
    noise: Floats
    """The covariance of noise and rounding."""
    note: str = "scored as normal laws, which lattice noise is to some digits"
    cells: int = CELLS
    cost: ClassVar[int] = 1
    masses: ClassVar[None] = None
    values: ClassVar[None] = None

    def inputs(self, side: int, count: int, rng: np.random.Generator) -> Floats:
        """Vectors of one of the two laws."""
        return normal_draws(self.laws[side], count, rng)

    def score(self, outputs: Floats) -> Floats:
        """The difference of two quadratic forms."""
        logs = []
        for law in self.laws:
            cov, z = law.cov_array + self.noise, outputs - law.mean_array
            logs.append(-0.5 * (np.einsum("ni,ni->n", z @ np.linalg.inv(cov), z) + np.linalg.slogdet(cov)[1]))
        return np.asarray(logs[0] - logs[1])

    @cached_property
    def curves(self) -> Curves | None:
        """With one covariance ln p/q is normal, with variance m^2 and mean +- m^2 / 2; None with two."""
        one, other = self.laws
        if one.cov != other.cov:
            return None
        from scipy.special import ndtr

        gap = one.mean_array - other.mean_array
        m = float(np.sqrt(gap @ np.linalg.solve(one.cov_array + self.noise, gap)))
        t = np.linspace(-9, 9, 20_001)
        curve = EventCurve(ndtr(t + m), ndtr(t))
        return curve, curve


Contest = Atoms | Normals


def _ratio(p: Floats, q: Floats) -> Floats:
    """p - q, between -700 and 700; 0 where neither has mass."""
    with np.errstate(invalid="ignore"):
        found = np.where(np.isinf(p) & np.isinf(q), 0.0, p - q)
    return np.clip(found, -700.0, 700.0)


_SPREAD, _ATOMS = 9.0, 2000
"""A normal law is scored as at most so many atoms within so many standard deviations."""
_MOST_COUNTS = 200
"""So many counts of a histogram are drawn, no more."""


def contests(certificate: Certificate) -> Iterator[Contest]:
    """Every pair of the certificate that differs; the more there are, the coarser their windows."""
    cells = CELLS // max(1, sum(item.differing for item in certificate.laws))
    for item in certificate.laws:
        for alone in item.alone():
            yield replace(_contest(alone, certificate), cells=cells)


_NO_NOISE = "not attackable, because no noise is added: the exact value goes out, and the beliefs alone hide it"


def _contest(item: object, certificate: Certificate) -> Contest:
    """One pair: of a histogram one record alone, as the counts that it makes (others that are known change nothing); of
    sets the two laws that are worst at one output, the one that tells most."""
    lattice, note, spreads = certificate.lattice, "", None
    if isinstance(item, NormalPair):
        if certificate.parts:
            raise NotAttackable(
                "not attackable, because mixtures of correlated noise have no score yet; audit each half"
            )
        grid = float(certificate.noise.grid)
        cov = np.array([[float(x) for x in row] for row in certificate.noise.covariance()])
        return Normals(item.label, (item.p, item.q), cov + np.eye(len(cov)) * grid**2 / 12)
    if isinstance(item, Analytic):
        if lattice is None:
            raise NotAttackable(_NO_NOISE)
        atoms, (p, q) = _as_atoms((item.p, item.q), lattice)
        label, spreads, note = item.label, (item.p, item.q), "normal inputs are doubles; scores see them as atoms"
    elif isinstance(item, SetFamily):
        (label,), runs = item.labels, certificate.parts[0] if certificate.parts else certificate
        tabled = runs.noise.tabled
        p, q = worst_exchanged(item, runs) if tabled else worst_laws(item, DecayKernel.of(runs.noise))
        atoms = _values(item.points, certificate)
        note = "inputs follow two laws of the sets that are worst at one output; for all outputs together others may be"
    elif isinstance(item, Family | CellFamily):
        (pair,), (label,) = item.pairs, item.labels
        if isinstance(item, Family):
            p, q = (item.laws[k].floats() for k in pair)
            used = (p > 0) | (q > 0)
            atoms = _values(item.points[used], certificate)
            if item.blurred(pair):
                note = "the laws are known up to an error only; inputs follow the masses stated"
        else:
            if item.dimension > _MOST_COUNTS:
                raise NotAttackable(
                    f"not attackable, because there are {item.dimension} counts, and at most {_MOST_COUNTS} are drawn"
                )
            p, q = (item.laws[k] / item.laws[k].sum() for k in pair)
            used = (p > 0) | (q > 0)
            atoms = np.eye(item.dimension)[used]
        p, q = p[used], q[used]
    else:
        raise NotAttackable(f"not attackable, because there is no sampler of laws of kind {type(item).__name__}")
    return Atoms(label, atoms, (p, q), Transfer.of(certificate), spreads, note)


def exact_score(laws: tuple[Hypothesis, Hypothesis], mechanism: Protection) -> Score | None:
    """ln p/q of outputs, where both laws have atoms that are numbers and the noise is of the lattice, or none; else
    None."""
    p, q = laws
    if not isinstance(p, Discrete) or not isinstance(q, Discrete) or p.dimension > 1:
        return None
    channel = Transfer(Laplace(0), None, None)
    if mechanism is not None:
        if not isinstance(mechanism, Mechanism) or mechanism.post or mechanism.lattice is None:
            return None
        noise, remap = mechanism.noise, mechanism.remap
        if noise.silent or noise.tabled or noise.halves:
            return None
        channel = Transfer(noise, mechanism.lattice, mechanism.support, None if remap is None else remapped(remap))
    atoms = np.union1d(p.values, q.values)
    weights = np.zeros((2, len(atoms)))
    for row, law in zip(weights, (p, q), strict=True):
        np.add.at(row, np.searchsorted(atoms, law.values), law.weights)
    return Atoms("", atoms, (weights[0], weights[1]), channel).score


def worst_exchanged(item: SetFamily, certificate: Certificate) -> tuple[Floats, Floats]:
    """The laws of the first pair between which the most telling output of a channel tells most."""
    i, j = item.pairs[0]
    table = certificate.noise.conditional()[item.points]
    ends = [(one.tops(table.T), -one.tops(-table.T)) for one in (item.sets[i], item.sets[j])]
    with np.errstate(divide="ignore", invalid="ignore"):
        told = [np.nan_to_num(ends[a][0] / np.maximum(ends[b][1], 0.0), nan=0.0) for a, b in ((0, 1), (1, 0))]
    turned = bool(told[0].max() < told[1].max())
    column = table[:, int(np.argmax(told[turned]))] * (-1 if turned else 1)
    p, q = (np.maximum(law, 0.0) for law in (item.sets[i].extreme(column), item.sets[j].extreme(-column)))
    return p / p.sum(), q / q.sum()


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

"""`Contest`: two laws that must look alike, as an attacker sees them: inputs to draw, and the score of an output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fugu.auditing.curve import Curve
from fugu.auditing.release_attack.channel import Channel
from fugu.auditing.shadows import Floats
from fugu.laws.components import Components
from fugu.laws.multinormal import MultivariateNormal

CELLS, _MOST_CELLS, _OF_VECTORS = 20_000_000, 200_000, 4_000_000
"""(output, atom) cells of all windows, outputs of a window of numbers, outputs of one of vectors."""
_BLOCK = 2_000_000


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
        found: list[tuple[Floats, Floats]] = []
        with np.errstate(divide="ignore"):
            logs = [np.log(w) for w in self.weights]
        for block in np.array_split(outputs, 1 + outputs.size * len(self.atoms) // _BLOCK):
            mass = self.channel.log_mass(self.atoms, block)
            found.append((_summed(mass, logs[0]), _summed(mass, logs[1])))
        return np.concatenate([p for p, _ in found]), np.concatenate([q for _, q in found])

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


def _summed(mass: Floats, logs: Floats) -> Floats:
    """ln sum exp over the atoms, -inf where nothing is."""
    terms = mass + logs[None, :]
    top = np.max(terms, axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - safe[:, None]).sum(axis=1)) + safe)


def _ratio(p: Floats, q: Floats) -> Floats:
    """p - q, between -700 and 700; 0 where neither has mass."""
    with np.errstate(invalid="ignore"):
        found = np.where(np.isinf(p) & np.isinf(q), 0.0, p - q)
    return np.clip(found, -700.0, 700.0)

"""`contests`: every pair of laws of a certificate as a contest that an attacker can fight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.release_attack.channel import channel_of, worst_exchanged
from fugu.auditing.release_attack.contest import CELLS, Atoms, Contest, Normals
from fugu.auditing.release_attack.on_atoms import ratios_of
from fugu.auditing.shadows import Floats
from fugu.documents.certificate import Certificate
from fugu.errors import NotAttackable
from fugu.laws.analytic import Analytic
from fugu.laws.cells import CellFamily
from fugu.laws.components import Components
from fugu.laws.family import Family
from fugu.laws.multinormal import NormalPair
from fugu.laws.set_family import SetFamily
from fugu.loss.search.sets_pure import worst_laws
from fugu.noise.lattice import Lattice

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
    p, q = worst_exchanged(item, runs) if runs.kind == "channel" else worst_laws(item, ratios_of(runs))
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
    grid = float(certificate.correlated.grid)
    cov = np.array([[float(x) for x in row] for row in certificate.correlated.covariance()])
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

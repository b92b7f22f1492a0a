"""The joint law of a value and what is published of it, from the laws and the noise in a certificate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.errors import NotProvable
from fugu.laws.analytic import Analytic
from fugu.laws.components import Components
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.laws.mean import mean_law
from fugu.laws.places import nearest
from fugu.laws.set_family import SetFamily
from fugu.loss.channel.outputs import law_list
from fugu.noise.atoms import AtomLaplace
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.utility.added import Added
from fugu.utility.joint import Floats, Joint, Law, Moved

COUNTED = "the rows of the reference"
MEAN = "the mean of the stated beliefs"
UNKNOWN = "the beliefs say how far a value may move, and not how values vary: the noise stands beside nothing"
_MOST = 4_000_000
"""Most (value, output) cells of a table that is looked at."""


@dataclass(frozen=True, eq=False)
class Believed:
    """A joint law, and what it rests on: `basis` in words, `rows` where it is the counts of a reference."""

    joint: Joint
    basis: str
    rows: int | None


def believed(certificate: Certificate) -> Believed:
    """What one number of a certificate that is not a mixture is, and becomes; `NotProvable` where no law is known."""
    if certificate.runs == "channel":
        return _exchanged(certificate)
    items = certificate.items
    noise = certificate.drawn
    if any(isinstance(item, Analytic) for item in items):
        return Believed(Added.to_normals(list(_components(items)), _added(noise)), MEAN, None)
    families = [item for item in items if isinstance(item, Family | SetFamily) and not item.translates]
    if not families or len(families) < len(items) or all(translates(family) for family in families):
        raise NotProvable(UNKNOWN)
    points, shares, rows = _weighted(certificate, families)
    basis = MEAN if rows is None else COUNTED
    shown = _shown(certificate, points)
    if (remap := Remap.in_certificate(certificate)) is not None:
        _require_small(len(points), len(remap.to))
        return Believed(Moved(Law(shown, shares), remap.to, remap.chances()), basis, rows)
    if isinstance(noise, AtomLaplace):
        _require_small(len(points), len(points))
        return Believed(Moved(Law(shown, shares), shown, noise.matrix()), basis, rows)
    lattice = certificate.lattice
    if lattice is None:
        return Believed(Moved(Law(shown, shares), shown, np.eye(len(shown))), basis, rows)
    added = Added(points, shares, float(lattice.grid), float(lattice.origin), _added(noise))
    return Believed(added, basis, rows)


def counted(certificate: Certificate) -> bool:
    """Whether the laws are the frequencies of a reference, so that their counts weigh them."""
    recipe = certificate.body.get("recipe")
    return isinstance(recipe, dict) and recipe.get("prior") == "empirical"


def _weighted(
    certificate: Certificate, families: list[Family | SetFamily]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats, int | None]:
    """Points, the share of each, and how many rows they were counted on: the pooled counts of a reference, or the
    average of the laws."""
    points, mean = mean_law(families)
    plain = [family for family in families if isinstance(family, Family)]
    laws = [law for family in plain for law in family.laws]
    if counted(certificate) and len(plain) == len(families) == 1 and all(law.parts.dtype == np.int64 for law in laws):
        sums = np.sum([law.parts for law in laws], axis=0)
        return points, np.asarray(sums / sums.sum()), int(sums.sum())
    total = sum(mean)
    return points, np.array([part / total for part in mean]), None


def _shown(certificate: Certificate, points: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """The values at these points: on the lattice, of the support, or, where nothing is rounded, numbered in it."""
    lattice, support = certificate.lattice, certificate.support if certificate.body.get("support") != [] else None
    if lattice is None:
        if support is None or len(support) != len(points):
            raise NotProvable("the certificate numbers the values, and does not say where they lie")
        return np.asarray(support, dtype=np.float64)
    shown = lattice.value(points)
    return shown if support is None or support.ndim > 1 else nearest(support, shown)


def _exchanged(certificate: Certificate) -> Believed:
    """Through a channel: under the pooled counts of a reference, or the average of the laws."""
    support = np.array(certificate.body["support"], dtype=np.float64)
    outputs = np.array(certificate.channel.outputs, dtype=np.float64)
    _require_small(len(support), len(outputs))
    items = [item for item in certificate.items if isinstance(item, Family | SetFamily)]
    laws = [law for item in items for law in law_list(item)]
    counts = [law.parts for law in laws if isinstance(law, Masses) and law.parts.dtype == np.int64]
    rows: int | None = None
    if counted(certificate) and len(counts) == len(laws):
        sums = np.sum(np.stack(counts), axis=0)
        shares, rows = np.asarray(sums / sums.sum()), int(sums.sum())
    else:
        _, mean = mean_law(items)
        shares = np.array([part / sum(mean) for part in mean])
    joint = Moved(Law(support, shares), outputs, certificate.channel.conditional())
    return Believed(joint, MEAN if rows is None else COUNTED, rows)


def _components(items: Iterable[object]) -> Iterable[Components]:
    for item in items:
        if isinstance(item, Analytic):
            yield from (item.p, item.q)
        else:
            raise NotProvable(UNKNOWN)


def translates(family: Family | SetFamily) -> bool:
    """One pair of two single values: what a law that moves by so much is written as in a certificate."""
    if isinstance(family, SetFamily) or len(family.pairs) > 1:
        return False
    return all(np.count_nonzero(law.parts) == 1 for law in family.laws)


def _added(noise: object) -> Laplace | Gaussian:
    if not isinstance(noise, Laplace | Gaussian):
        raise NotProvable("the noise is for analysis only: nothing is published with it")
    return noise


def _require_small(values: int, outputs: int) -> None:
    if values * outputs > _MOST:
        raise NotProvable(f"not worked out for {values:,} values and {outputs:,} outputs")

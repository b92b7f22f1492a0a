"""The laws of certificates: what the labels of their pairs promise, and what a release does to laws, its own or
others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.documents.plain_json import reading
from fugu.errors import BadNoise, CertificateError
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily
from fugu.laws.normal import Analytic
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.shapes import Shape, shapes

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

_ADVERSARY = re.compile(r"^adversary \d+: ")
Place = tuple[Shape, int]
"""A family and the number of a law in it, or a pair and which of its two laws."""


def secrets_named(label: str) -> tuple[str, str, str] | None:
    """(adversary, secret, secret) of a label "a vs b" or "adversary 2: a vs b"; None if it is of another form.

    >>> secrets_named("adversary 2: F vs M"), secrets_named("F vs M"), secrets_named("shift by 3")
    (('adversary 2: ', 'F', 'M'), ('', 'F', 'M'), None)
    """
    prefix = found[0] if (found := _ADVERSARY.match(label)) else ""
    names = label[len(prefix) :].split(" vs ")
    return (prefix, *names) if len(names) == 2 and all(name.strip() for name in names) else None  # type: ignore[return-value]


def misnamed(laws: Sequence[Shape], comparable: bool) -> str | None:
    """What is wrong with the labels: a secret compared with itself, or a name that stands for two laws.

    Of two pairs labelled "a vs b" and "b vs c" the second law of the one is the first of the other; else some pair that
    the labels promise is not among those proved. Labels that name no secrets promise nothing. Atoms of two families are
    compared if `comparable`: they are where a lattice says, and not merely numbered."""
    known: dict[tuple[str, str], list[Place]] = {}
    labelled = ((label, pair, item) for item in laws for pair, label in zip(item.pairs, item.labels, strict=True))
    for label, pair, item in labelled:
        if (named := secrets_named(label)) is None:
            continue
        adversary, *names = named
        if names[0] == names[1]:
            return f"the pair {label!r} compares a secret with itself"
        for name, number in zip(names, pair, strict=True):
            place = (item, number)
            others = known.setdefault((adversary, name), [])
            if any(_differ(place, other, comparable) for other in others):
                return f"two different laws are called {name!r}: each label must name the secrets that it compares"
            if not any(other[0] is place[0] and other[1] == place[1] for other in others):
                others.append(place)
    return None


def _differ(one: Place, other: Place, comparable: bool) -> bool:
    """Whether two laws are surely not the same."""
    (a, i), (b, j) = one, other
    return not (a is b and i == j) and a.differs(i, b, j, comparable)


def check_lattice(certificate: Certificate) -> None:
    """Noise is drawn in steps of the lattice that values are rounded onto; no lattice means no noise."""
    noise, lattice = certificate.noise, certificate.lattice
    if not noise.released:
        raise CertificateError(f"this version of fugu draws no noise {noise.name!r}")
    if (lattice is None and noise.scale > 0) or (lattice is not None and lattice.grid != noise.grid):
        raise CertificateError("the noise of the certificate is not on its lattice")


def check_support(certificate: Certificate) -> None:
    """Sorted finite numbers, or "lattice" where there is one."""
    placed = certificate.lattice is not None and any(item.atoms for item in certificate.laws)
    if certificate.body.get("support") == "lattice" and not placed:
        raise CertificateError("the certificate's support is on a lattice that it does not have")
    if (support := certificate.support) is None:
        return
    if support.ndim != 1 or not support.size or not np.all(np.isfinite(support)) or not np.all(np.diff(support) > 0):
        raise CertificateError("the certificate's support is not a list of increasing numbers")


def pushed(given: Sequence[Shape], certificate: Certificate) -> tuple[Shape, ...]:
    """The laws of a value, as the certified mechanism sees it: to the nearest supported one, then onto the lattice."""
    support, lattice = certificate.support, certificate.lattice
    if certificate.runs == "channel":
        return tuple(_by_row(item, certificate) for item in given)
    seen = given if support is None else [item.push(support) for item in given]
    return tuple(item.numbered() if lattice is None else item.on(lattice) for item in seen)


def _by_row(item: Shape, certificate: Certificate) -> Shape:
    """The laws of the numbers of the channel's rows: each value moved to the nearest that has one."""
    support = certificate.support
    if support is None or not isinstance(item, Family | SetFamily):
        raise BadNoise("a channel has rows for stated values, and these laws have other ones")
    seen = item.push(support)
    places = np.searchsorted(support, seen.points)
    return seen.placed(places)


def through_bins(items: Sequence[Shape], certificate: Certificate) -> Sequence[Shape]:
    """Laws with atoms, each atom moved to the middle of its bin, as the query does; middles stay where they are.

    So laws of raw values and laws of published ones give the same. Laws without atoms are of the published value."""
    with reading():
        stated = (certificate.body.get("query") or {}).get("edges")
        edges = None if stated is None else tuple(float(edge) for edge in stated)
    if edges is None:
        return items
    if len(edges) < 2 or not all(a < b for a, b in pairwise(edges)):
        raise CertificateError("the edges of the bins in the certificate are not in order")
    from fugu.data.moments import middles

    if any(item.translates for item in items):
        raise BadNoise("it puts every value into a bin, and these laws say nothing of where the value is")
    places, inner = middles(edges), np.array(edges[1:-1])
    return [
        moved_to(item, places[np.searchsorted(inner, item.points, "right")])
        if isinstance(item, Family | SetFamily)
        else item
        for item in items
    ]


def moved_to(family: Family | SetFamily, to: NDArray[np.float64]) -> Family | SetFamily:
    """The laws with each atom moved to another value; masses that meet are added exactly."""
    if isinstance(family, SetFamily):
        return family.placed(to)
    points, where = np.unique(to, return_inverse=True)
    return replace(family, points=points, laws=tuple(law.scatter(where, len(points)) for law in family.laws))


def laws_given(scenario_or_pairs: PairsLike, certificate: Certificate) -> tuple[Shape, ...]:
    """The laws given, pushed through what a release does to a value: into its bin if there are bins, to the nearest
    supported one, onto the lattice. BadNoise if they do not fit."""
    given = shapes(as_pairs(scenario_or_pairs))
    if given[0].dimension != certificate.dimension:
        raise BadNoise("they are laws of values of another dimension")
    running = certificate.parts[0] if certificate.parts else certificate
    if {item.shape for item in given} - running.SHAPES:
        raise BadNoise("they are laws of another kind than its own")
    if certificate.runs == "vector" and {item.shape for item in given} != {item.shape for item in certificate.laws}:
        raise BadNoise("they are laws of another kind than its own")
    return pushed(through_bins(given, certificate), certificate)


def halves_agree(whole: Certificate, half: Certificate) -> bool:
    """Whether a half of a mixture is for the laws of the whole: they are what it makes of them.

    p P_1 + (1 - p) P_2 <= e^epsilon (p Q_1 + (1 - p) Q_2) + delta needs both halves proved for one pair of laws. A half
    with another grid, or none, sees the same laws rounded otherwise; a half whose laws are no image of the whole's may
    be for anything. Normal laws of vectors are stated before rounding, so halves with other grids state the same."""
    if whole.runs != half.runs:
        return False
    same = whole.fingerprint == half.fingerprint
    if whole.runs == "channel":  # rows are for the values of the support: there the numbers of laws say too little
        return same and list(whole.body["support"]) == list(half.body["support"])
    if whole.runs == "correlated" or (same and whole.body["lattice"] == half.body["lattice"]):
        return same
    try:
        if (stated := _in_values(whole)) is None:  # its atoms have a number only, and those of the half the same
            return all(item.atoms for item in half.laws) and _same([item.numbered() for item in half.laws], whole.laws)
        return _same(pushed(stated, half), half.laws)
    except BadNoise:
        return False


def _in_values(certificate: Certificate) -> tuple[Shape, ...] | None:
    """The laws of a certificate on the values themselves; None if it only says how they are ordered."""
    lattice, support, laws = certificate.lattice, certificate.support, certificate.laws
    if lattice is not None:
        return tuple(f.placed(lattice.value(f.points)) if isinstance(f, Family | SetFamily) else f for f in laws)
    if support is None or len(laws) != 1 or not isinstance(laws[0], Family | SetFamily):
        return None
    return (laws[0].placed(support),) if len(laws[0].points) == len(support) else None


def _same(one: Sequence[Shape], other: Sequence[Shape]) -> bool:
    return len(one) == len(other) and all(one_law(a, b) for a, b in zip(one, other, strict=True))


def one_law(a: Shape, b: Shape) -> bool:
    """Whether two items state the same laws, exactly, for the same pairs."""
    if isinstance(a, Analytic) and isinstance(b, Analytic):
        return a.label == b.label and a.exact == b.exact
    if isinstance(a, SetFamily) and isinstance(b, SetFamily):
        return np.array_equal(a.points, b.points) and (a.pairs, a.labels, a.sets) == (b.pairs, b.labels, b.sets)
    if isinstance(a, CellFamily) and isinstance(b, CellFamily):
        alike = (a.pairs, a.labels) == (b.pairs, b.labels) and len(a.laws) == len(b.laws)
        return alike and not any(a.differs(k, b, k, comparable=True) for k in range(len(a.laws)))
    if not isinstance(a, Family) or not isinstance(b, Family):
        return False
    alike = (a.pairs, a.labels, a.errors) == (b.pairs, b.labels, b.errors) and len(a.laws) == len(b.laws)
    return (
        alike and np.array_equal(a.points, b.points) and all(p.same_as(q) for p, q in zip(a.laws, b.laws, strict=True))
    )

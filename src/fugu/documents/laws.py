"""`LawsDocument`: what every certificate with laws holds, read once: budget, lattice, laws, noise, support; what the
labels of its pairs promise; and what a release does to laws, its own or others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.documents.document import Stated
from fugu.documents.plain_json import reading
from fugu.documents.promises import Promising
from fugu.errors import BadNoise, CertificateError
from fugu.fixed import fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.curve import budget_from
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily
from fugu.laws.normal import Analytic
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.shapes import Shape, item_from, shapes
from fugu.noise.kind import Noise, noise_from
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.channels.problem import Errors
    from fugu.documents.certificate import Certificate
    from fugu.documents.channel import Optimum

Laws = tuple[Shape, ...]


class LawsDocument(Promising):
    """What a certificate with laws states, each part read when it is first asked for."""

    method = Stated(str)
    """How the scale was found."""
    theorem = Stated(str)
    """What the method stands on."""
    worst_pair = Stated(str)
    """The pair that needs the noise most."""
    proved = Stated[dict[str, float]](dict)
    """The proved upper bounds on epsilon and delta."""
    assumptions = Stated[tuple[str, ...]](tuple)
    """What must be true for the guarantee to mean what it says."""
    fingerprint: Stated[str] = Stated(str)
    """SHA-256 of the laws: two certificates with one fingerprint speak of the same beliefs."""

    @cached_property
    def budget(self) -> Guarantee:
        """The guarantee that was asked for and proved."""
        return budget_from(self.body["budget"])

    @cached_property
    def lattice(self) -> Lattice | None:
        """Where values are rounded before noise is added; None if the value itself goes out."""
        stated = self.body.get("lattice")
        return None if stated is None else Lattice(read_number(stated["grid"]), read_number(stated["origin"]))

    @cached_property
    def laws(self) -> Laws:
        """The laws as they were proved, on lattice indices: of numbers, of vectors, of counts in cells, normal ones."""
        return tuple(self.law_from(stated, self.lattice) for stated in self.body["families"])

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        """One item of the laws, of a shape that the kind is for."""
        return item_from(stated, lattice)

    @cached_property
    def noise(self) -> Any:
        """What is drawn, in the units of the laws' values: noise of any kind, or a channel. Noise of an analysis is
        never drawn; a mixture draws that of one of its `parts`, and has none of its own."""
        return noise_from(self.body["noise"])

    @property
    def in_steps(self) -> Any:
        """The noise as the laws in lattice indices see it: continuous noise in units of the grid."""
        lattice, noise = self.lattice, self.noise
        return noise if lattice is None or not isinstance(noise, Noise) else noise.in_steps(lattice.grid)

    @cached_property
    def support(self) -> NDArray[np.float64] | None:
        """The values that others are moved to before anything else; None if values are taken as they are."""
        stated = self.body.get("support")
        if stated is None:
            return None
        if stated != "lattice":
            return fixed(np.array(stated, dtype=np.float64))
        assert self.lattice is not None
        points = [item.points for item in self.laws if isinstance(item, Family | SetFamily)]
        return fixed(self.lattice.value(np.unique(np.concatenate(points))))

    @property
    def optimum(self) -> Optimum:
        """How good a channel is proved to be."""
        raise CertificateError("a bound on the loss is known of channels alone")

    @property
    def errors(self) -> Errors:
        """How far a channel takes values."""
        raise CertificateError("the errors of single values are known of channels alone")

    @property
    def dimension(self) -> int:
        """1 for a published number, d for a vector."""
        return read_whole(self.body.get("dimension", 1))

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates of the two halves of a mixture; none for others."""
        return ()

    @property
    def runs(self) -> str:
        """The kind of what runs: that of the halves for a mixture, else its own."""
        return self.kind

    @property
    def spatial(self) -> bool:
        """Whether noise is drawn around values that have a distance: numbers, or vectors without correlations."""
        return self.runs in ("additive", "vector")

    @property
    def scales(self) -> dict[str, float | None]:
        """The scale each method would have needed."""
        return dict(self.body.get("scales") or {})

    def check_lattice(self) -> None:
        """Noise is drawn in steps of the lattice that values are rounded onto; no lattice means no noise."""
        noise, lattice = self.noise, self.lattice
        if not noise.released:
            raise CertificateError(f"this version of fugu draws no noise {noise.name!r}")
        if (lattice is None and noise.scale > 0) or (lattice is not None and lattice.grid != noise.grid):
            raise CertificateError("the noise of the certificate is not on its lattice")

    def check_support(self) -> None:
        """Sorted finite numbers, or "lattice" where there is one."""
        placed = self.lattice is not None and any(item.atoms for item in self.laws)
        if self.body.get("support") == "lattice" and not placed:
            raise CertificateError("the certificate's support is on a lattice that it does not have")
        if (support := self.support) is None:
            return
        if (
            support.ndim != 1
            or not support.size
            or not np.all(np.isfinite(support))
            or not np.all(np.diff(support) > 0)
        ):
            raise CertificateError("the certificate's support is not a list of increasing numbers")


# Labels of pairs: each names the two secrets that it compares, and one name stands for one law.


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


# What a release does to the laws of a value: into its bin, to the nearest supported one, then onto the lattice.


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

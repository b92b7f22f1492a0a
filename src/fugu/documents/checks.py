"""What a certificate must satisfy before anything is proved from it: parts that can be read and belong together.

One list of checks for each kind; `Certificate.parse` runs it and refuses at the first that fails, `fugu.verify` names
them in its verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fugu.documents.labels import misnamed
from fugu.documents.remap import Remap
from fugu.documents.shares import check_shares
from fugu.documents.swap import SWAP, check_swap
from fugu.errors import CertificateError
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, reached
from fugu.laws.set_family import SetFamily
from fugu.noise.atoms import AtomLaplace
from fugu.noise.directed import DirectedLaplace
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

_LARGEST = sys.float_info.max
Check = tuple[str, str, Callable[["Certificate"], None]]
"""The name of a check, what is true if it passes, and the check: a CertificateError if it does not."""


def check_parts(certificate: Certificate) -> None:
    """Whatever the kind asks for."""
    for _, _, check in CHECKS[certificate.kind]:
        check(certificate)


def check_laws(certificate: Certificate) -> None:
    """A budget and laws that can be read; every law is a probability law, of which encoding takes care."""
    _ = certificate.budget
    if not certificate.laws:
        raise CertificateError("the certificate holds no laws")


def check_labels(certificate: Certificate) -> None:
    """Each label names the two secrets that it compares."""
    if (wrong := misnamed(certificate.laws, comparable=certificate.lattice is not None)) is not None:
        raise CertificateError(f"the certificate's labels are wrong: {wrong}")


def check_lattice(noise: Noise, lattice: Lattice | None) -> None:
    """Noise is drawn in steps of the lattice that values are rounded onto; no lattice means no noise."""
    if (lattice is None and noise.scale > 0) or (lattice is not None and lattice.grid != noise.grid):
        raise CertificateError("the noise of the certificate is not on its lattice")


def check_support(certificate: Certificate) -> None:
    """Sorted finite numbers, or "lattice" where there is one."""
    placed = certificate.lattice is not None and any(item.atoms for item in certificate.items)
    if certificate.body.get("support") == "lattice" and not placed:
        raise CertificateError("the certificate's support is on a lattice that it does not have")
    support = certificate.support
    if support is not None and (
        support.ndim != 1 or not support.size or not np.all(np.isfinite(support)) or not np.all(np.diff(support) > 0)
    ):
        raise CertificateError("the certificate's support is not a list of increasing numbers")


def check_atoms(certificate: Certificate) -> None:
    """Noise on atoms starts from atoms: every value is moved to one, and every law lives on them."""
    noise, lattice, support = certificate.drawn, certificate.lattice, certificate.support
    if not isinstance(noise, AtomLaplace):
        return
    known = support is not None and all(item.atoms for item in certificate.items)
    places = [item.points for item in certificate.items if isinstance(item, Family | SetFamily)]
    if support is not None and lattice is not None:
        places.append(lattice.index(support))
    if not known or not set(np.concatenate(places).tolist()) <= set(noise.atoms):
        raise CertificateError("the certificate's values or laws are not on the atoms of its noise")


def check_places(certificate: Certificate) -> None:
    """Without a lattice, laws are on the numbers of the supported values."""
    support = certificate.support
    if certificate.lattice is not None or support is None:
        return
    for item in certificate.items:
        if isinstance(item, Family | SetFamily) and not np.all((item.points >= 0) & (item.points < len(support))):
            raise CertificateError("the certificate's laws have a value that its support does not")


def check_moves(certificate: Certificate) -> None:
    """Where values are moved before noise, and outputs after it: a support, atoms, and a table of outputs alone."""
    check_support(certificate)
    check_places(certificate)
    check_atoms(certificate)
    _ = Remap.in_certificate(certificate)


def check_correlated(certificate: Certificate) -> None:
    """Noise, lattice and laws of one dimension and one grid."""
    noise, lattice = certificate.correlated, certificate.lattice
    dimensions = {noise.dimension, *(law.dimension for pair in certificate.normal_pairs for law in (pair.p, pair.q))}
    if lattice is None or lattice.grid != noise.grid or dimensions != {certificate.body["dimension"]}:
        raise CertificateError("the certificate's noise, lattice and laws do not belong together")


def check_analysed(certificate: Certificate) -> None:
    """Noise that this version of fugu analyses."""
    _ = certificate.analysed


def check_mixed(certificate: Certificate) -> None:
    """Two halves that publish the same thing, and a number that says how likely the first one is."""
    halves = certificate.parts
    if len(halves) != 2:
        raise CertificateError("a mixture has two halves")
    if abs(read_number(certificate.body["share"])) > _LARGEST:
        raise CertificateError("the share of the first half of a mixture is beyond the range of doubles")
    if len({half.runs for half in halves}) > 1:
        raise CertificateError("the halves of a mixture are of different kinds")
    for part in ("dimension", "property"):
        stated = [half.body.get(part) for half in halves]
        stated += [certificate.body[part]] if part in certificate.body else []  # version 0.1 left it to the halves
        if any(other != stated[0] for other in stated):
            raise CertificateError(f"the part {part!r} of a mixture is not that of its halves")


def check_vectors(certificate: Certificate) -> None:
    """Laws and support of the dimension stated, and a lattice, onto which vectors are always rounded."""
    if certificate.lattice is None:
        raise CertificateError("the certificate is for vectors, and has no lattice that they are rounded onto")
    stated = certificate.body["dimension"]
    support = certificate.body.get("support")
    rows = None if support is None else np.array(support, dtype=np.float64)
    wrong = rows is not None and (rows.ndim != 2 or rows.shape[1] != stated or not np.all(np.isfinite(rows)))
    if wrong or any(family.dimension != stated for family in certificate.vectors):
        raise CertificateError("the certificate's vectors are not of the dimension that it states")
    drawn = certificate.released_noise
    if isinstance(drawn, DirectedLaplace) and (rows is not None or drawn.dimension != stated):
        raise CertificateError("the certificate's noise along directions is not of the dimension that it states")
    cells = [family for family in certificate.vectors if isinstance(family, CellFamily)]
    if cells and (rows is not None or certificate.lattice.grid != 1 or len(certificate.vectors) > 1):
        raise CertificateError("the certificate is for counts of records: whole numbers that are not moved anywhere")
    if rows is not None and not reached(_with_points(certificate), certificate.lattice, rows):
        raise CertificateError("the certificate's laws have atoms that its support does not lead to")


def _with_points(certificate: Certificate) -> list[Family]:
    return [family for family in certificate.vectors if isinstance(family, Family)]


def check_channel(certificate: Certificate) -> None:
    """One row for each supported value, laws on the numbers of these rows, no lattice, and a dual that can be read."""
    channel, support = certificate.channel, certificate.support
    if certificate.lattice is not None or support is None or len(support) != len(channel.rows):
        raise CertificateError("a channel has one row for each value of the certificate's support, and no lattice")
    for item in certificate.laws:
        if not item.atoms or not np.all((item.points >= 0) & (item.points < len(support))):  # type: ignore[union-attr]
            raise CertificateError("the certificate's laws have a value that the channel has no row for")
    if not 0 <= certificate.optimum.theta <= 1:
        raise CertificateError("the share of a constant output in the channel is not a probability")


_LAWS: Check = ("laws", "every law is a probability law, and every pair compares two of them", check_laws)
_LABELS: Check = ("labels", "each label names the two secrets that its pair compares", check_labels)
_LATTICE: Check = (
    "noise and lattice",
    "noise is drawn on the lattice that values are rounded onto",
    lambda certificate: check_lattice(certificate.released_noise, certificate.lattice),
)
PROPERTY = "property"
"""Named in a verdict where the secret is a property of the whole."""
_SHARES: Check = (PROPERTY, "shares, statistics and their ends are those of the laws", check_shares)
_SWAP: Check = (SWAP, "plan, noise, shares and counted lengths of the record swap belong together", check_swap)
SOMETIMES = (PROPERTY, SWAP)
"""Checks of a part that not every certificate of the kind has: named in a verdict where it has."""
CHECKS: dict[str, tuple[Check, ...]] = {
    "additive": (
        _LAWS, _LABELS, _LATTICE,
        ("support", "values are moved to increasing finite numbers, or to none", check_moves), _SHARES, _SWAP,
    ),
    "vector": (
        _LAWS, _LABELS, _LATTICE,
        ("dimension", "laws, support and noise are of the dimension stated", check_vectors), _SHARES, _SWAP,
    ),
    "analysis": (
        _LAWS, _LABELS,
        ("noise", "noise that is analysed in real arithmetic, and never drawn", check_analysed),
        _SHARES,
    ),
    "correlated": (
        _LAWS, _LABELS,
        ("noise and lattice", "noise, lattice and laws are of one dimension and grid", check_correlated), _SHARES,
    ),
    "channel": (
        _LAWS, _LABELS,
        ("support", "values are moved to increasing finite numbers", check_support),
        ("channel", "one row of whole numbers for each value, all of one sum", check_channel),
    ),
    "mixed": (
        ("halves", "two halves that publish the same thing, and a coin between them", check_mixed), _LAWS, _LABELS,
        _SHARES,
    ),
}  # fmt: skip

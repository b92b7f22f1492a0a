"""What a certificate must satisfy before anything is proved from it: parts that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fugu.errors import CertificateError
from fugu.laws.vectors import reached
from fugu.mechanism.labels import misnamed
from fugu.mechanism.shares import check_shares
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number

if TYPE_CHECKING:
    from fugu.mechanism.certificate import Certificate


def check_parts(certificate: Certificate) -> None:
    """Whatever the kind: a budget, laws and halves that can be read; then what the kind asks for."""
    _, halves, kind = certificate.budget, certificate.parts, certificate.kind
    if not (laws := certificate.laws):
        raise CertificateError("the certificate holds no laws")
    if (wrong := misnamed(laws, comparable=certificate.lattice is not None)) is not None:
        raise CertificateError(f"the certificate's labels are wrong: {wrong}")
    if kind in ("additive", "vector"):
        check_lattice(certificate.noise, certificate.lattice)
    if kind == "additive":
        check_support(certificate)
    if kind == "vector":
        check_vectors(certificate)
    if kind == "mixed":
        check_mixed(halves, certificate.body["share"])
    if kind == "analysis":
        _ = certificate.analysed
    if kind == "correlated":
        check_correlated(certificate)
    check_shares(certificate)


def check_lattice(noise: Laplace | Gaussian, lattice: Lattice | None) -> None:
    """Noise is drawn in steps of the lattice that values are rounded onto; no lattice means no noise."""
    if (lattice is None and noise.scale > 0) or (lattice is not None and lattice.grid != noise.grid):
        raise CertificateError("the noise of the certificate is not on its lattice")


def check_support(certificate: Certificate) -> None:
    """Sorted finite numbers, or "lattice" where there is one."""
    if certificate.body.get("support") == "lattice" and (certificate.lattice is None or not certificate.families):
        raise CertificateError("the certificate's support is on a lattice that it does not have")
    support = certificate.support
    if support is not None and (
        support.ndim != 1 or not np.all(np.isfinite(support)) or not np.all(np.diff(support) > 0)
    ):
        raise CertificateError("the certificate's support is not a list of increasing numbers")


def check_correlated(certificate: Certificate) -> None:
    """Noise, lattice and laws of one dimension and one grid."""
    noise, lattice = certificate.correlated, certificate.lattice
    dimensions = {noise.dimension, *(law.dimension for pair in certificate.normal_pairs for law in (pair.p, pair.q))}
    if lattice is None or lattice.grid != noise.grid or dimensions != {certificate.body["dimension"]}:
        raise CertificateError("the certificate's noise, lattice and laws do not belong together")


def check_mixed(halves: tuple[Certificate, ...], share: str) -> None:
    """Two halves, and a number that says how likely the first one is."""
    if len(halves) != 2:
        raise CertificateError("a mixture has two halves")
    read_number(share)


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
    if rows is not None and not reached(certificate.vectors, certificate.lattice, rows):
        raise CertificateError("the certificate's laws have atoms that its support does not lead to")

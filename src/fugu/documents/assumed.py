"""What the proof of a certificate with laws rests on by its very parts, and what it holds no proof of.

Beliefs are in somebody's own words, and no list knows them. These lines, which none may leave out, follow from what
runs: one release; no noise; normal vectors, declared exactly normal where noise lets a direction through; exact
translates where noise lies along their differences alone; real numbers that no computer draws; draws of records inside
the release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fugu.documents.swap import SWAP, WORD
from fugu.errors import CertificateError
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.directed import DirectedLaplace

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

ONE_RELEASE = "one release of this data; Pufferfish guarantees do not add up by themselves"
NO_NOISE = "no noise is added: the guarantee rests on the beliefs alone"
GAUSSIAN_MODEL = "Gaussian model: given each secret the published vector is normal, with the mean and covariance stated"
EXACTLY_NORMAL = (
    "the laws are declared exactly normal: noise of deficient rank hides nothing of a statistic that is not"
)
TRANSLATES = "the laws are declared exact translates: noise along their differences hides nothing beside them"
ANALYSIS_ONLY = "analysis only: the noise is a real number of unlimited precision, which no computer draws"
DRAWN_INSIDE = (
    "the size of the noise comes from draws of such records, made once inside the release by the operating system's "
    "randomness; they mislead with probability at most beta, which is a part of delta"
)


def needed(certificate: Certificate) -> Iterator[str]:
    """The lines that follow from the parts of a certificate; of a mixture those of both halves."""
    if certificate.kind == "mixed":
        for half in certificate.parts:
            yield from needed(half)
        return
    yield ONE_RELEASE
    noise = certificate.drawn
    if certificate.kind == "analysis":
        yield ANALYSIS_ONLY
    elif noise.silent:
        yield NO_NOISE
    if isinstance(noise, CorrelatedGaussian):
        yield GAUSSIAN_MODEL
        if not noise.base and not noise.silent:
            yield EXACTLY_NORMAL
    if isinstance(noise, DirectedLaplace) and not (noise.axes and all(sum(map(abs, b)) == 1 for b in noise.columns)):
        yield TRANSLATES
    if SWAP in certificate.body:
        yield DRAWN_INSIDE


def check_assumed(certificate: Certificate) -> None:
    """CertificateError if a line is left out that the proof rests on."""
    for line in needed(certificate):
        if line not in certificate.assumptions:
            raise CertificateError(f"the certificate leaves out what its proof rests on: {line!r}")


def on_their_word(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What a certificate with laws holds no proof of, by name, and why: draws of records, and how far one record moves
    a statistic that has no ends. Where there are ends, `documents.shares` holds the shift against them."""
    if SWAP in certificate.body:
        yield "draws", WORD
    stated = certificate.body.get("property")
    if stated is None or certificate.runs == "correlated":  # laws of the statistics are in it
        return
    free = [name for name, ends in zip(stated["statistics"], stated["limits"], strict=True) if ends is None]
    if free:
        why = (
            f"how far one record moves {', '.join(free)} is the range of its column in the reference, by the "
            "publisher's word: no bounds were declared, to which records are clipped and shifts are held against"
        )
        yield "reach of a record", why

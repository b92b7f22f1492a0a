"""The mechanism of a certificate, made again, and its draws: the path of a release, without its token.

A release takes its token, then runs `_column`, the clip to stated ends, and `_draw`. Here the same three run, each row
by itself, with the operating system's bits unless others are given. No token is taken, no ledger is opened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fugu.auditing.shadows import Floats
from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.mechanism.additive import Additive
from fugu.mechanism.channel import ChannelMechanism
from fugu.mechanism.context import Context
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.mechanism.directed import DirectedAdditive
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.mixed import Mixed
from fugu.mechanism.shares import clipped
from fugu.mechanism.vector import VectorAdditive
from fugu.noise.bits import BitSource, bernoulli
from fugu.noise.directed import DirectedLaplace
from fugu.numbers.exact import read_number
from fugu.progress import report

_CHUNK = 250_000
NEVER_DRAWN = (
    "not attackable, because this noise is for analysis only and is never drawn; calibrate with noise='laplace' or "
    "'gaussian'"
)


def rebuilt(certificate: Certificate) -> Mechanism:
    """What the certificate says it runs, with a token of its own; functions that follow it are in no document."""
    body = certificate.body
    context = Context(
        assumptions=certificate.assumptions,
        unit=str(body["unit"]),
        query=body.get("query"),
        schema=body.get("reading"),
        shares=body.get("property"),
    )
    if certificate.kind == "mixed":
        first, second = map(rebuilt, certificate.parts)
        share = read_number(body["share"])
        return Mixed(certificate=certificate, context=context, first=first, second=second, share=share)
    if certificate.kind == "correlated":
        lattice = certificate.lattice
        assert lattice is not None
        return CorrelatedAdditive(
            certificate=certificate, context=context, noise=certificate.correlated, lattice=lattice
        )
    lattice, support = certificate.lattice, certificate.support
    if certificate.kind == "channel":
        assert support is not None
        return ChannelMechanism(certificate=certificate, context=context, noise=certificate.channel, support=support)
    if certificate.kind == "vector" and isinstance(directed := certificate.released_noise, DirectedLaplace):
        assert lattice is not None
        return DirectedAdditive(certificate=certificate, context=context, noise=directed, lattice=lattice)
    if certificate.kind == "vector":
        return VectorAdditive(
            certificate=certificate, context=context, noise=certificate.noise, lattice=lattice,
            dimension=certificate.dimension, support=support,
        )  # fmt: skip
    noise, remap = certificate.number_noise, Remap.in_certificate(certificate)
    return Additive(
        certificate=certificate, context=context, noise=noise, lattice=lattice, support=support, remap=remap
    )


def bare(mechanism: Mechanism) -> Mechanism:
    """The mechanism without the functions that follow it: what they are given can only tell more."""
    if isinstance(mechanism, Mixed):
        return replace(mechanism, first=bare(mechanism.first), second=bare(mechanism.second), post=())
    return replace(mechanism, post=()) if mechanism.post else mechanism


def followed(mechanism: Mechanism) -> bool:
    """Whether a function follows the mechanism, or one of its halves."""
    if mechanism.post or mechanism.certificate.body.get("post"):
        return True
    return isinstance(mechanism, Mixed) and (followed(mechanism.first) or followed(mechanism.second))


def run(mechanism: Mechanism, values: Floats, source: BitSource) -> Floats:
    """One independent output per row of inputs, through the intake, the clip and the draw of a release."""
    parts = []
    for start in range(0, len(values), _CHUNK):
        column, _ = mechanism._column(values[start : start + _CHUNK], True)
        parts.append(_drawn(mechanism, clipped(column, mechanism.context.shares), source))
        report("drawing", start + len(column), len(values))
    return np.concatenate(parts)


def _drawn(mechanism: Mechanism, column: Floats, source: BitSource) -> Floats:
    """A column's rows share the one coin of a mixture; here each row is a release of its own, with its own coin."""
    if not isinstance(mechanism, Mixed):
        return mechanism._draw(column, source)
    heads = np.array([bernoulli(mechanism.share, source) for _ in range(len(column))], dtype=bool)
    out = np.empty_like(column)
    for part, rows in ((mechanism.first, heads), (mechanism.second, ~heads)):
        if rows.any():
            out[rows] = _drawn(part, column[rows], source)
    return out

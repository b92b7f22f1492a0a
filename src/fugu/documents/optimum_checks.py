"""What the certificate of a channel says beside its guarantee, held against its whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fugu.channels.bounds import lower, value
from fugu.channels.errors import MEAN, WEIGHINGS, WORST, mean_weight
from fugu.channels.repair import holds
from fugu.documents.certificate import Certificate
from fugu.documents.optimum import problem_of
from fugu.documents.plain_json import proving, reading
from fugu.errors import CertificateError
from fugu.loss.channel.outputs import law_list
from fugu.noise.kind import OBJECTIVES
from fugu.numbers.exact import read_number

_SAME = 1e-9
"""Errors and weights are sums of doubles: less than this part is rounding."""


def check_value(certificate: Certificate) -> None:
    """CertificateError if the channel loses more than it says, or weighs values otherwise than it says."""
    stated, problem = certificate.optimum.value, problem_of(certificate)
    check_weight(certificate)
    if certificate.method != ("robust-channel" if problem.robust else "optimal-channel"):
        raise CertificateError("the certificate does not say whether its channel is for single laws or for sets")
    with reading(), proving():
        found = value(problem, certificate.channel.rows)
        errors = {name: certificate.errors.expected(name) for name in OBJECTIVES}
    if Fraction(stated) < found:
        raise CertificateError(f"the channel's expected loss is {float(found):.10g}, and {stated:.10g} is stated")
    for name, error in errors.items():
        with reading():
            told = read_number(certificate.body["expected_error"][name])
        if not told >= error * (1 - _SAME):
            raise CertificateError(f"the certificate states an {name} error below that of its channel")


def check_weight(certificate: Certificate) -> None:
    """CertificateError if the weight is not the mean of the laws, or there is one, against what is said of it."""
    said, weight = certificate.optimum.weighing, certificate.channel.weight
    if said not in WEIGHINGS or (said == WORST) != (weight is None):
        raise CertificateError("the certificate does not say how the values are weighed where a loss is expected")
    if said == MEAN and weight is not None:
        mean = mean_weight([law for item in certificate.laws for law in law_list(item)])  # type: ignore[arg-type]
        if not np.allclose(mean, np.array(weight) / sum(weight), rtol=0, atol=_SAME):
            raise CertificateError("the weight of the values is not the mean of the certificate's laws")


def check_limits(certificate: Certificate) -> None:
    """CertificateError unless K(y|x) <= e^cap K(y|x') and the rows rise, where that is stated."""
    with reading(), proving():
        kept = holds(problem_of(certificate), certificate.channel.rows)
    if not kept:
        raise CertificateError("the channel does not keep the cap, or the order, that the certificate states")


def check_lower(certificate: Certificate) -> None:
    """CertificateError if the dual numbers do not prove the stated bound on all other channels."""
    least, prices = certificate.optimum.lower, certificate.optimum.prices
    if least is None:
        return
    if prices is None:
        raise CertificateError("a bound on other channels is stated without the dual numbers that would prove it")
    with reading(), proving():
        found = lower(problem_of(certificate), prices)
    if found < Fraction(least):
        raise CertificateError(f"the dual numbers prove a bound of {float(found):.10g}, and {least:.10g} is stated")


def check_names(certificate: Certificate) -> None:
    """CertificateError if a category would go out under the name of another."""
    channel, query = certificate.channel, certificate.body.get("query") or {}
    known = {float(k): name for k, name in enumerate(query["categories"] if query.get("nominal") else ())}
    if channel.names is None or [known.get(y) for y in channel.outputs] != list(channel.names):
        raise CertificateError("the channel's outputs are not called what the query calls these categories")

"""`remapped`: a mechanism whose outputs are moved to the value of least expected loss, by a public table."""

from __future__ import annotations

from typing import Any

from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.documents.sentences import remapped
from fugu.documents.weighed import weighed, weight_on
from fugu.errors import PriorNotPublic, UsageError
from fugu.laws.discrete import Discrete
from fugu.mechanism.context import Context
from fugu.noise.kind import OBJECTIVES
from fugu.visible import brief


def remap_of(
    certificate: Certificate, context: Context, loss: str, weight: Discrete | str
) -> tuple[Certificate, Remap]:
    """The table for a certified mechanism, and the certificate that holds it, its errors worked out anew."""
    declared = isinstance(weight, Discrete)
    if not declared and weight != "mean":
        raise UsageError(f"the weight of a remap is 'mean' or a fugu.Discrete, got {brief(str(weight), 40)}")
    if not declared and context.reference_digest is not None and context.public_prior:
        raise PriorNotPublic(
            "with public_prior=True the beliefs are counted in the private table, and a remap by their mean would "
            "publish what it counts: of a table with one row, every output would become that row. Give a declared "
            "weight=fugu.Discrete(...), or fit the beliefs on a reference table"
        )
    if certificate.body.get("post"):
        raise UsageError("a remap comes before other post-processing: call remapped() first, then then()")
    if certificate.body.get("remap") is not None:
        raise UsageError("these outputs are remapped already")
    plain = weighed(certificate)
    given = None
    if isinstance(weight, Discrete):
        assert certificate.lattice is not None
        given = weight_on(weight, plain.points, certificate.support, certificate.lattice)
    found = Remap.of(weighed(certificate, given), loss, declared)
    body: dict[str, Any] = certificate.unsealed
    body["remap"] = found.to_json()
    body["expected_error"] = {objective: found.expected_error(objective) for objective in OBJECTIVES}
    body["assumptions"] = [*body["assumptions"], remapped(loss, declared)]
    return Certificate.seal(body, certificate.laws), found

"""A Gaussian field in a certificate: the belief in numbers, what the release is worth under it, and read back.

Whoever reads the document translates the guarantee per entry under the field *as written*, and compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fugu.errors import CertificateError
from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from, budget_json
from fugu.numbers.exact import read_number
from fugu.priors.gaussian_field import GaussianField
from fugu.translation.translate import FULL_DOMAIN, INDEPENDENT_BLOCKS, translate

SECRETS = "x_i = u against x_i = v for every entry i of every user and all |u - v| <= width, in both orders"


def belief_claims(field: GaussianField, guarantee: Guarantee) -> dict[str, Any]:
    """The field, what is protected, what `guarantee` per entry is worth under it, and what that takes for granted."""
    return {
        "kind": "gaussian field",
        "covariance": [[str(x) for x in row] for row in field.covariance],
        "width": str(field.wide()),
        "secrets": SECRETS,
        "worth": budget_json(translate(field, guarantee)),
        "assumptions": [*field.assumptions, INDEPENDENT_BLOCKS, FULL_DOMAIN],
    }


def field_from(stated: Mapping[str, Any]) -> GaussianField:
    """The field that `belief_claims` wrote."""
    if stated["kind"] != "gaussian field":
        raise CertificateError("the certificate's belief is of a kind that this version of fugu does not know")
    rows = [[read_number(x) for x in row] for row in stated["covariance"]]
    return GaussianField(rows, read_number(stated["width"]))


def check_belief(claims: Mapping[str, Any], guarantee: Guarantee) -> None:
    """CertificateError unless the belief in a document, if there is one, writes itself as the document does, and what
    is stated as its worth is not below what is proved now."""
    if "belief" not in claims:
        return
    stated = claims["belief"]
    own = belief_claims(field_from(stated), guarantee)
    if any(stated.get(name) != part for name, part in own.items() if name not in ("worth", "assumptions")):
        raise CertificateError("the belief in the certificate is not what its numbers say")
    if not set(own["assumptions"]) <= set(stated["assumptions"]):
        raise CertificateError("the certificate leaves out assumptions that its proof needs")
    if not budget_from(own["worth"]) <= budget_from(dict(stated["worth"])):
        raise CertificateError("what is stated under the belief is below what is proved now")

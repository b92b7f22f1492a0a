"""`PerEntryCertificate`: what is claimed of a mechanism that is differentially private for each entry.

A mechanism is (epsilon, delta)-DP per entry if, for all data sets D, D' of the *full product domain* that differ in
one entry and all events E, P(M(D) in E) <= e^epsilon P(M(D') in E) + delta. In the Rényi sense the divergences of M(D)
and M(D') are bounded, and the document holds a "guarantee" in place of the two numbers. "Full product" matters: data
sets of prior probability zero count too. On {00, 11} alone no two data sets are neighbours, and publishing all is 0-DP.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from fugu.documents.document import SEAL
from fugu.documents.entry_noise import exact_numbers
from fugu.documents.parts import PER_ENTRY
from fugu.documents.promising import Promising
from fugu.errors import BadBudget, CertificateError
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.encoding import budget_from, budget_json
from fugu.guarantee.numbers import check_epsilon
from fugu.guarantee.promises import EACH_ENTRY, promise
from fugu.numbers.exact import as_fraction, read_number

NEIGHBOURS = "one entry replaced by any other value"
DOMAIN = "full product"


def positive_epsilon(epsilon: Any) -> Fraction:
    """The exact epsilon > 0 that a number, or a `Pure`, means; zero and infinity are refused.

    >>> positive_epsilon(0.1)
    Fraction(1, 10)
    """
    number = epsilon.epsilon if isinstance(epsilon, Pure) else epsilon
    check_epsilon(number)
    if number == 0 or math.isinf(number):
        raise BadBudget(f"a per-entry epsilon must be a finite number above 0, got {number!r}")
    return as_fraction(number)


def promised(prior: Any, guarantee: Pure) -> dict[str, Any]:
    """What a certificate says of an epsilon for each entry under a prior: its Pufferfish epsilon, and what is left out.

    log P(output | X_i = x) / P(output | X_i = x') <= epsilon for all entries i and all values x, x' that entry i takes
    with positive probability. `skipped` names the others: nobody who holds this belief can hold them for true.

    >>> from fugu.priors import MarkovChain
    >>> said = promised(MarkovChain([[0.5, 0.5], [0, 1]], 2, [1, 0], ["well", "dead"]), Pure(0.5))
    >>> round(said["epsilon"], 12), said["skipped"]
    (0.5, ["'dead' at entry 1"])
    """
    from fugu.priors.skipped import skipped
    from fugu.translation.translate import translate

    return {"epsilon": translate(prior, guarantee.epsilon), "skipped": list(skipped(prior))}


class PerEntryCertificate(Promising):
    """What is claimed of one mechanism that is private for each entry, and by whom; no private value.

    What fugu claims of its own queries can be worked out again from the document; the word of a user or of a library
    cannot, and `fugu.verify` says so."""

    SCHEMA = "fugu/per-entry/1"
    REQUIRED = ("epsilon", "delta", "query", "sensitivity", "neighbours", "domain", "claimed by")
    KINDS: ClassVar = {"per-entry": ()}
    PARTS = PER_ENTRY
    WHOM = EACH_ENTRY

    @staticmethod
    def of(claims: Mapping[str, Any]) -> PerEntryCertificate:
        """The claims, sealed; those of version 0.1 were not, and are the same without it."""
        return PerEntryCertificate.sealed({"kind": "per-entry", **{k: v for k, v in claims.items() if k not in SEAL}})

    @staticmethod
    def renyi(guarantee: Guarantee, claims: Mapping[str, Any]) -> PerEntryCertificate:
        """The claims of a mechanism whose guarantee per entry is a Rényi one: `guarantee` in place of two numbers."""
        return PerEntryCertificate.of(
            {"epsilon": None, "delta": None, "guarantee": budget_json(guarantee), **claims},
        )

    def check(self) -> None:
        """Numbers that can be read, and the neighbours that every per-entry guarantee is about."""
        _ = self.guarantee
        if self["neighbours"] != NEIGHBOURS or self["domain"] != DOMAIN:
            raise CertificateError(f"a guarantee per entry is about {NEIGHBOURS!r} on the {DOMAIN} domain")

    @property
    def guarantee(self) -> Guarantee:
        """What one release costs per entry."""
        if "guarantee" in self.body:
            found = budget_from(dict(self["guarantee"]))
            if not found.renyi or found.delta or self["epsilon"] is not None or self["delta"] is not None:
                raise CertificateError("a guarantee in place of epsilon and delta is a Rényi one, without a delta")
            return found
        epsilon, delta = positive_epsilon(read_number(self["epsilon"])), read_number(self["delta"])
        return Approx(epsilon, delta) if delta else Pure(epsilon)

    @property
    def believed(self) -> Guarantee:
        """The one promise there is."""
        return self.guarantee

    @property
    def anybody(self) -> Guarantee:
        """It uses no belief but that entries are independent."""
        return self.guarantee

    @property
    def exact_values(self) -> tuple[str, ...]:
        return exact_numbers(self.body)

    def promised(self, found: Guarantee) -> str:
        """The one promise; what it is worth where entries depend on each other follows from a belief."""
        return f"{promise(found)} {self.WHOM}"

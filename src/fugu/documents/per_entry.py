"""Guarantees for each entry of a sequence or a field in a certificate, and the belief under which they are
translated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from fugu.documents import reading as of
from fugu.documents.document import SEAL, Check, NotChecked, Proved, later, no_laws
from fugu.documents.promises import HALF, OnePromise
from fugu.documents.reading import reading
from fugu.documents.sentences import Told
from fugu.errors import BadBudget, CertificateError
from fugu.guarantee import Approx, Composed, Guarantee, Pure
from fugu.guarantee.asks import check_epsilon
from fugu.guarantee.composition import EACH_ENTRY, called_exact
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.pair import PairsLike
from fugu.noise.gaussian import at_least
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import as_fraction, read_number
from fugu.visible import Json

# A mechanism is (epsilon, delta)-DP per entry if, for all data sets D, D' of the *full product domain* that differ in
# one entry and all events E, P(M(D) in E) <= e^epsilon P(M(D') in E) + delta. In the Rényi sense the divergences of
# M(D) and M(D') are bounded, and the document holds a "guarantee" in place of the two numbers. "Full product" matters:
# data sets of prior probability zero count too. On {00, 11} alone no two data sets are neighbours, and publishing all
# is 0-DP.


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


def promises(guarantee: Guarantee) -> bool:
    """Whether a composition, or a Rényi guarantee, says anything of two data sets, and is not that they look the same.

    >>> from fugu.guarantee import compose
    >>> promises(compose([Pure(1)])), promises(compose([Pure(0)])), promises(compose([Pure(math.inf)]))
    (True, False, False)
    """
    if isinstance(guarantee, Composed):
        wholes = [part.whole for part, _ in guarantee.parts]
        finite = all(any(e < math.inf for _, e in g.orders) for g in wholes)
        return finite and any(e > 0 or g.delta for g in wholes for _, e in g.orders)
    return any(0 < e < math.inf for _, e in guarantee.orders)


CLAIMS = of.listed(
    {"claimed by": of.PartForm(of.text, of.PUBLISHER, checked="fugu")},
    proof={
        "epsilon": of.maybe(of.exact), "delta": of.maybe(of.exact), "guarantee": of.GUARANTEE, "query": of.text,
        "entries": of.thing, "longest sequence": of.maybe(of.whole), "rounded to multiples of": of.exact,
        "method": of.text, "parts": of.each(of.thing, 1000),
    },
    derived={
        "sensitivity": of.maybe(of.exact), "lattice": of.thing, "belief": of.thing,
        **dict.fromkeys(("neighbours", "domain", "sensitivity of"), of.text),
    },
    publisher={
        "stated": of.exact, "dimension": of.maybe(of.whole), "candidates": of.items,
        **dict.fromkeys(("sensitivity stated by", "function", "utility"), of.text),
    },
)  # fmt: skip
"""What is claimed of a mechanism that is private for each entry."""


class PerEntryCertificate(OnePromise):
    """What is claimed of one mechanism that is private for each entry, and by whom; no private value.

    What fugu claims of its own queries can be worked out again from the document; the word of a user or of a library
    cannot, and `fugu.verify` says so."""

    SCHEMA = "fugu/per-entry/1"
    KINDS = ("per-entry",)
    NEEDS: ClassVar[tuple[str, ...]] = (
        "epsilon", "delta", "query", "sensitivity", "neighbours", "domain", "claimed by",
    )  # fmt: skip
    PARTS = of.listed({**of.SEALED, **CLAIMS})
    WHOM = EACH_ENTRY

    @staticmethod
    def of(claims: Mapping[str, Any]) -> PerEntryCertificate:
        """The claims, sealed; those of version 0.1 were not, and are the same without it."""
        return PerEntryCertificate.sealed({"kind": "per-entry", **{k: v for k, v in claims.items() if k not in SEAL}})

    @staticmethod
    def whole(guarantee: Guarantee, claims: Mapping[str, Any]) -> PerEntryCertificate:
        """The claims of a mechanism whose guarantee per entry is a composition or a Rényi one, in place of two
        numbers."""
        return PerEntryCertificate.of(
            {"epsilon": None, "delta": None, "guarantee": budget_json(guarantee), **claims},
        )

    def check_parts(self) -> None:
        """Numbers that can be read, and the neighbours that every per-entry guarantee is about."""
        _ = self.guarantee
        if self["neighbours"] != NEIGHBOURS or self["domain"] != DOMAIN:
            raise CertificateError(f"a guarantee per entry is about {NEIGHBOURS!r} on the {DOMAIN} domain")

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The epsilon of a query whose sensitivity fugu works out; nothing where somebody's word is all there is."""
        no_laws(given, "a mechanism that is private for each entry")
        try:
            self.same_query()
        except NotChecked as why:
            return Proved.nothing(str(why), "not checked", NEIGHBOURS)
        except CertificateError as error:
            return Proved.nothing(str(error), worst_pair=NEIGHBOURS)
        found, belief, words = self.guarantee, self.body.get("belief"), ""
        if "guarantee" in self.body:
            worth = "" if belief is None else f", worth {budget_from(dict(belief['worth']))} under its belief"
            words = f": {budget_from(dict(self['guarantee']))} per entry{worth}"
        epsilon = math.inf if found.renyi else float(found.epsilon)  # a divergence is no epsilon: the words say it
        reason = f"noise for the sensitivity {self['sensitivity']} of {self['query']}{words}"
        return Proved(epsilon, float(found.delta), NEIGHBOURS, "holds", reason)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """The query, made again from its name."""
        del proved, given
        yield "query", "the query named has the sensitivity stated", self.same_query
        yield from self.own_words()

    def same_query(self) -> None:
        """CertificateError unless the query that is named says of itself what the claims say."""
        from fugu.documents.kinds import SAME_QUERY

        later(SAME_QUERY)(self.claims)

    def told(self) -> Told:
        """One entry against any other value; the query stands for the noise."""
        return Told(
            budget=budget_json(self.guarantee), unit="one entry", secrets=(), pairs=(NEIGHBOURS,),
            method=str(self["claimed by"]), theorem=f"noise for the sensitivity of {self['query']}",
            proof="docs/proofs/translation.md", noise=entry_noise(self.claims),
            figures={"epsilon": self["epsilon"], "delta": self["delta"]}, worst_pair=NEIGHBOURS, assumptions=(),
            about={"query": self["query"]},
        )  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """What one release costs per entry."""
        if "guarantee" in self.body:
            found = budget_from(dict(self["guarantee"]))
            whole = promises(found) if isinstance(found, Composed) else found.renyi and not found.delta
            if not whole or self["epsilon"] is not None or self["delta"] is not None:
                raise CertificateError(
                    "a guarantee in place of epsilon and delta is a composition, or a Rényi one without a delta"
                )
            return found
        epsilon, delta = positive_epsilon(read_number(self["epsilon"])), read_number(self["delta"])
        return Approx(epsilon, delta) if delta else Pure(epsilon)

    @property
    def believed(self) -> Guarantee:
        """The one promise there is."""
        return self.guarantee

    anybody = believed  # it uses no belief but that entries are independent

    @property
    def exact_values(self) -> tuple[str, ...]:
        return exact_numbers(self.body)

    def secret(self, name: str = "") -> str:
        del name
        return "one entry"


STATES = "the number of entries changed"
"""What the sensitivity of randomised response is of: it publishes states, and no number."""
_SHARP = Fraction(10**4)


def exact_numbers(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each question whose numbers are called exact, worked out from the noise that is claimed.

    Choices (`TopK`, `ArgMax`, `Select`) and randomised response publish no number; of a mechanism from outside no noise
    is known."""
    if claims["claimed by"] != "fugu":
        return ()
    parts = claims.get("parts") or [claims]
    with reading():
        chances = [(str(part["query"]), zero_chance(claims, part, k)) for k, part in enumerate(parts)]
    said = [(name, called_exact(chance)) for name, chance in chances if chance > HALF]
    return tuple(f"{name}: {words}" if len(parts) > 1 else words for name, words in said)


def zero_chance(claims: Mapping[str, Any], part: Mapping[str, Any], k: int) -> float:
    """P(N = 0) of the noise on a number of question k: tanh(r / 2) of Laplace noise of rate r; 0 of a choice."""
    if "method" in part or part.get("sensitivity of") == STATES:
        return 0.0
    if "lattice" in claims:
        return 1 - at_least(float(min(1 / (2 * read_number(claims["lattice"]["variance"][k])), _SHARP)), 1)
    step, share = read_number(part.get("rounded to multiples of", "1")), read_number(part.get("share", "1"))
    rate = read_number(claims["epsilon"]) * share * step / read_number(part["sensitivity"])
    return 1 - Laplace(1 / rate, grid=1).tail(0.0)


def entry_noise(claims: Mapping[str, Any]) -> Json:
    """What is drawn for a query of sequences: noise for its sensitivity at its epsilon for each entry."""
    sensitivity = claims["sensitivity"]
    made = "a draw" if sensitivity is None else f"noise for a sensitivity of {float(read_number(sensitivity)):.4g}"
    figures = {"epsilon per entry": claims["epsilon"], "sensitivity": sensitivity}
    if (noise := claims.get("lattice")) is not None:
        spread = ", ".join(f"{float(read_number(variance)) ** 0.5:.4g}" for variance in noise["variance"])
        rho = float(read_number(noise["rho"]))
        words = f"lattice Gaussian noise with a standard deviation of {spread} steps, rho {rho:.4g}-zCDP"
        return {**figures, "rho": noise["rho"], "words": f"{words} for each entry"}
    if "parts" in claims:
        each = [f"{part['query']} with {float(read_number(part['share'])):.4g} of it" for part in claims["parts"]]
        epsilon = float(read_number(claims["epsilon"]))
        return {**figures, "words": f"noise at epsilon {epsilon:.4g} for each entry, shared: {', '.join(each)}"}
    return {**figures, "words": f"{made} at epsilon {float(read_number(claims['epsilon'])):.4g} for each entry"}

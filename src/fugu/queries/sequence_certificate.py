"""`SequenceCertificate`: what a release of sequences promises under its prior, with the chain, or its limits, in it.

The guarantee is per entry first and translated once. A document holds the query, its epsilon for each entry, the chain
(transition, start, length), and the Pufferfish epsilon that `fugu.translate` proves for that chain *as written*:
whoever reads the chain back translates to the same number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from fugu.data.layout import MODELLED, PLAIN, SAID, Layout
from fugu.data.schema import Schema
from fugu.documents.disclosure import PRIVATE_NUMBERS
from fugu.documents.entry_noise import exact_numbers
from fugu.documents.parts import SEQUENCE
from fugu.documents.per_entry import DOMAIN, NEIGHBOURS, PerEntryCertificate, positive_epsilon, promised
from fugu.documents.plain_json import check_plain, reading
from fugu.documents.promising import Promising
from fugu.documents.sentences import APART
from fugu.errors import CertificateError, NotProvable, PriorNotPublic
from fugu.guarantee import ZCDP, Approx, Guarantee, Pure, Renyi
from fugu.guarantee.encoding import budget_from, budget_json
from fugu.guarantee.numbers import exact, outward
from fugu.guarantee.promises import EACH_ENTRY
from fugu.guarantee.weakness import weaknesses
from fugu.numbers.exact import Real, meant_up, read_number
from fugu.priors.interval_chain import IntervalChain
from fugu.priors.interval_counts import RESTS
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_prior import Chain, chain_from, chain_json, is_written
from fugu.queries.sequence_promise import Budget, Entry, keeps, left_out, worth
from fugu.queries.sequence_query import SequenceMechanism
from fugu.translation.translate import FULL_DOMAIN, INDEPENDENT_BLOCKS, dp_budget, translate

OWN_TABLE = (
    "confidence is over the draw of a reference that is independent of the protected sequences, and these limits were "
    "found on the published sequences themselves; give another reference, or no confidence"
)
BUDGETED = "fugu/sequence/2"
SECRETS = "the state of each entry of each user, every value against every other, in both orders"
REFERENCE = "the reference"
THE_TABLE = "the published sequences themselves, counted as public"
_GAPS = {
    SAID: "The users, the numbers of their entries and the order of these are public; gaps in time are not modelled.",
    MODELLED: "The users and the times of their entries are public; entries that are missing on the grid of times are "
    "entries of the chain that are not published: steps across them are powers of its step.",
}
_LENGTH = "The length of the prior is that of the longest sequence, if not stated: lengths are public."
_ALONE = ("This is the only release.", "All releases of these users together are in one ledger.")


@dataclass(frozen=True)
class Issue:
    """What a certificate says beside the query and the chain."""

    asked: Real
    reading: Schema
    odd: str
    """What entries count as that are not what was expected, in words."""
    fitted_on: str
    smoothing: float
    prior_digest: str | None
    ledger: Mapping[str, str] | None
    spacing: tuple[str, ...] = ()
    """What is said of the times, which are public."""
    budget: Approx | Renyi | None = None
    """What was asked, where that is not the pure epsilon `asked`."""


class SequenceCertificate(Promising):
    """What is promised of one statistic of sequences, and why; the chain and the query can be read back."""

    SCHEMA = "fugu/sequence/1"
    SCHEMAS = (BUDGETED,)
    REQUIRED = ("pufferfish", "epsilon", "delta", "query", "sensitivity", "neighbours", "domain", "entries",
                "claimed by", "reading", "odd entries", "prior", "assumptions")  # fmt: skip
    KINDS: ClassVar = {"sequence": ()}
    PARTS = SEQUENCE
    WHOM = EACH_ENTRY

    @staticmethod
    def issue(chain: Chain, mechanism: SequenceMechanism | LatticeMechanism, said: Issue) -> SequenceCertificate:
        """What the mechanism promises under the chain as the document states it."""
        if isinstance(chain, IntervalChain) and chain.counted is not None and said.fitted_on != REFERENCE:
            raise PriorNotPublic(OWN_TABLE)
        prior = chain_json(chain)
        stated = chain_from(prior) if is_written(prior) else chain
        claims = {k: v for k, v in mechanism.certificate.claims.items() if k != "kind"}
        fitted = {"smoothing": said.smoothing, "fitted on": said.fitted_on, "digest": said.prior_digest}
        begins = starting(chain)
        ahead, behind = needed_assumptions({**prior, **fitted}, said.ledger is not None, said.reading.sequence)
        apart = (APART,) if said.fitted_on == REFERENCE else ()
        kind = SequenceCertificate if said.budget is None else BudgetedSequenceCertificate
        made = kind.sealed(
            {
                "kind": "sequence",
                "pufferfish": {"secrets": SECRETS, **_promise(stated, mechanism, said)},
                **claims,
                "reading": said.reading.to_json(),
                "odd entries": said.odd,
                "prior": {**prior, **fitted},
                "assumptions": [*ahead, *begins, *behind, *said.spacing, *apart],
                "ledger": None if said.ledger is None else dict(said.ledger),
            }
        )
        if not keeps(made.proved, made.budget):
            raise NotProvable("under the prior as it is written more than was asked is proved; nothing was released")
        return made

    @classmethod
    def parse(cls, content: Any) -> SequenceCertificate:
        """As every document; those of version 0.1 have no schema and no digest, and are read without them."""
        if cls is SequenceCertificate and isinstance(content, dict) and content.get("schema") == BUDGETED:
            return BudgetedSequenceCertificate.parse(content)
        if not is_unsealed(content):
            return super().parse(content)
        check_plain(content)
        if missing := [key for key in cls.REQUIRED if key not in content]:
            raise CertificateError(f"the certificate lacks {', '.join(missing)}; it may be truncated")
        return cls._read(content)

    def own_lines(self) -> list[str]:
        """The assumptions that do not follow from chain, layout and ledger."""
        with reading():
            layout = Schema.from_json(self["reading"]).sequence
        ahead, behind = needed_assumptions(self["prior"], self.body.get("ledger") is not None, layout)
        begins = () if self.chain is None else map(_line, self.chain.assumptions)
        follow = {*ahead, *behind, *begins}
        return [line for line in self["assumptions"] if line not in follow]

    def check(self) -> None:
        """Numbers that can be read, and the neighbours that every per-entry guarantee is about."""
        _ = self.epsilon, self.asked, self.stated
        if self["neighbours"] != NEIGHBOURS or self["domain"] != DOMAIN or read_number(self["delta"]) != 0:
            raise CertificateError(f"sequences are released with a pure epsilon for {NEIGHBOURS!r} on the {DOMAIN}")

    @property
    def kind(self) -> str:
        """ "sequence"; version 0.1 called it as it calls the mechanism."""
        return "sequence"

    @property
    def is_sealed(self) -> bool:
        """Whether there is a digest that was checked."""
        return "digest" in self.body

    @property
    def epsilon(self) -> Fraction:
        """The epsilon for each entry, exactly."""
        return positive_epsilon(read_number(self["epsilon"]))

    @property
    def asked(self) -> Fraction:
        """The Pufferfish epsilon that was asked for."""
        return positive_epsilon(read_number(self["pufferfish"]["asked"]))

    @property
    def stated(self) -> Fraction:
        """The Pufferfish epsilon that the document says is proved."""
        return read_number(self["pufferfish"]["epsilon"])

    @property
    def budget(self) -> Budget:
        """What was asked for."""
        return Pure(self.asked)

    @property
    def proved(self) -> Guarantee:
        """What the document says is proved."""
        return Pure(self.stated)

    @property
    def entry(self) -> Entry:
        """What is promised for each entry."""
        return Pure(self.epsilon)

    @property
    def believed(self) -> Guarantee:
        """What was asked for, which is never below what is proved, but in documents that do not hold."""
        return self.budget if keeps(self.proved, self.budget) else self.proved

    @property
    def believes(self) -> str:
        """The chain, or any between limits."""
        return "one of the chains" if "limits" in self["prior"] else "the chain"

    @property
    def anybody(self) -> Entry:
        """What is promised for each entry, whatever is believed of entries that are independent of each other."""
        return self.entry

    @property
    def exact_values(self) -> tuple[str, ...]:
        return exact_numbers(self.body)

    def warnings(self, rows: int | None = None) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, with the numbers that are called exact; `rows`: all entries."""
        return (*self.exact_values, *weaknesses(self.budget, rows))

    def overstates(self, found: Guarantee) -> bool:  # noqa: ARG002
        """Whether more is stated than what is proved now implies; one number is compared as a figure."""
        return False

    @cached_property
    def chain(self) -> Chain | None:
        """The prior, as written; None if its transitions, or their limits, are not in the document."""
        with reading():
            return chain_from(self["prior"]) if is_written(self["prior"]) else None


class BudgetedSequenceCertificate(SequenceCertificate):
    """The same for a budget with a delta, or of a Rényi order: what was asked and what is proved are guarantees.

    `pufferfish` holds both, as `budget_json` writes them; for each entry the guarantee is pure, (epsilon, delta) or at
    an order `alpha`, and `noise` says which lattice Gaussian noise keeps it, if any does."""

    SCHEMA = BUDGETED

    def check(self) -> None:
        """Guarantees that can be read, and the neighbours that every per-entry guarantee is about."""
        _ = self.budget, self.proved, self.entry
        if self["neighbours"] != NEIGHBOURS or self["domain"] != DOMAIN:
            raise CertificateError(f"sequences are released for {NEIGHBOURS!r} on the {DOMAIN}")

    @property
    def asked(self) -> Fraction:
        """The epsilon that was asked for; of a Rényi budget, that of its order."""
        return exact(self.budget.epsilon)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon for each entry, exactly; of zCDP its rho."""
        found = self.entry
        return exact(found.rho if isinstance(found, ZCDP) else found.epsilon)

    @property
    def stated(self) -> Fraction:
        """The epsilon of what the document says is proved, at the order asked for."""
        return exact(numbers_of(self.proved, self.budget)[0])

    @property
    def budget(self) -> Budget:
        found = budget_from(self["pufferfish"]["asked"])
        if not isinstance(found, Approx | Renyi):
            raise CertificateError("a budget of this schema has a delta or an order")
        return found

    @property
    def proved(self) -> Guarantee:
        return budget_from(self["pufferfish"]["proved"])

    def overstates(self, found: Guarantee) -> bool:
        """At every order that is stated; what is proved at one order says nothing of a larger one."""
        return not found <= self.proved

    @property
    def entry(self) -> Entry:
        found = PerEntryCertificate(self.body).guarantee
        if not isinstance(found, Pure | Approx | ZCDP):
            raise CertificateError("for each entry a guarantee is pure, (epsilon, delta) or zCDP")
        return found


def numbers_of(found: Guarantee, budget: Budget) -> tuple[Real, Real]:
    """(epsilon, delta) of what is proved; at the order of a Rényi budget."""
    return found.divergence_at(budget.alpha) if isinstance(budget, Renyi) else found.epsilon, found.delta


def _promise(chain: Chain, mechanism: SequenceMechanism | LatticeMechanism, said: Issue) -> dict[str, Any]:
    """What is proved and what was asked."""
    if said.budget is None:
        assert isinstance(mechanism.guarantee, Pure)
        return {**promised(chain, mechanism.guarantee), "asked": str(said.asked)}
    found = worth(chain, mechanism.guarantee, said.budget)
    if not keeps(found, said.budget):
        raise NotProvable("the noise found does not keep the budget under the chain as written; ask for a larger one")
    return {"proved": budget_json(found), "skipped": left_out(chain), "asked": budget_json(said.budget)}


def is_unsealed(content: Any) -> bool:
    """Whether this is what version 0.1 wrote for sequences: no schema, no digest."""
    return isinstance(content, dict) and "schema" not in content and {"pufferfish", "prior"} <= content.keys()


def needed_assumptions(
    prior: Mapping[str, Any], ledger: bool, layout: Layout = PLAIN
) -> tuple[Sequence[str], Sequence[str]]:
    """What must be said of a prior: before what the chain says of its own start, and after it."""
    private = (PRIVATE_NUMBERS,) if prior["fitted on"] != REFERENCE else ()
    behind = (FULL_DOMAIN, _GAPS[layout.gaps], _LENGTH, *layout.sentences(), _ALONE[ledger], *private)
    if not {"limits", "confidence"}.isdisjoint(prior):
        source = f"found on {prior['fitted on']}" if "confidence" in prior else "declared"
        follows = f"Every user follows a chain between the limits stated, {source}; the guarantee is for all of them."
        told = prior.get("confidence")
        return (INDEPENDENT_BLOCKS, follows, *(() if told is None else (_line(told["means"]), _line(RESTS)))), behind
    added = f"smoothed by {prior['smoothing']:g} for each transition" if prior["smoothing"] else "not smoothed"
    fitted = f"fitted on {prior['fitted on']}, {added}"
    follows = f"Every user follows the chain stated, {fitted}; the guarantee is for this prior."
    return (INDEPENDENT_BLOCKS, follows), behind


def starting(chain: Chain | None) -> list[str]:
    """What a chain says of its own start; nothing of one that is not in the document."""
    return [] if chain is None else [_line(line) for line in chain.assumptions if "first entry" in line]


def _line(words: str) -> str:
    return words[0].upper() + words[1:] + "."


def entry_budget(chain: Chain, epsilon: Real) -> float:
    """The largest epsilon found for each entry that a ledger and a reader both translate to at most `epsilon`.

    Parameters: `chain`, the prior of the release; `epsilon`, the Pufferfish epsilon asked for, finite and above 0.

    A ledger translates the chain, a reader the chain as a certificate writes it; the two differ, if at all, in the last
    digit of a law. A ledger also rounds up what it adds, and what it finds. In its last digits a translation can fall
    where x rises, so an x that one of them allows is tried on all, and lowered by growing steps until all allow it.
    That n entries reveal at most n times as much as one makes this end."""
    x, written = dp_budget(chain, epsilon), chain_json(chain)
    chains = (chain, chain_from(written)) if "transition" in written else (chain,)
    wanted, part = exact(epsilon), 2.0**-53

    def over(x: float) -> bool:
        tried = {x, outward(exact(x))}
        return any(exact(meant_up(translate(each, y))) > wanted for each in chains for y in tried)

    while over(x):
        x, part = min(math.nextafter(x, 0), x * (1 - part)), min(2 * part, 0.5)
    return x

"""`SequenceCertificate`: what a release of sequences promises under its prior, with the chain, or its limits, in it.

The guarantee is per entry first and translated once. A document holds the query, its epsilon for each entry, the chain
(transition, start, length), and the Pufferfish epsilon that `fugu.translate` proves for that chain *as written*:
whoever reads the chain back translates to the same number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

from fugu.data.layout import Layout
from fugu.data.schema import Schema
from fugu.documents import reading as of
from fugu.documents.document import Check, Checked, NotChecked, Proved, canonical_json, is_unsealed, no_laws
from fugu.documents.per_entry import CLAIMS, PerEntryCertificate, entry_noise, positive_epsilon
from fugu.documents.promises import Promising
from fugu.documents.reading import check_plain, reading
from fugu.documents.sentences import APART, Told
from fugu.errors import CertificateError, NotProvable, PriorNotPublic
from fugu.guarantee import ZCDP, Approx, Guarantee, Pure, Renyi
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import fits, weaknesses
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.pair import PairsLike
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.priors.interval_chain import IntervalChain
from fugu.queries.sequence_prior import (
    CHAIN,
    REFERENCE,
    Chain,
    chain_from,
    chain_json,
    check_belief,
    is_written,
    line_of,
    needed_assumptions,
    starting,
)
from fugu.queries.sequence_promise import Budget, Entry, numbers_of, worth
from fugu.queries.sequence_query import EntryMechanism, LatticeMechanism
from fugu.queries.sequences import query_from
from fugu.visible import Json

OWN_TABLE = (
    "confidence is over the draw of a reference that is independent of the protected sequences, and these limits were "
    "found on the published sequences themselves; give another reference, or no confidence"
)
BUDGETED = "fugu/sequence/2"
SECRETS = "the state of each entry of each user, every value against every other, in both orders"
THE_TABLE = "the published sequences themselves, counted as public"


_LONGEST, _MOST_WORK = 20_000, 3e7
"""Chains of more steps, or more states squared times steps, would take minutes to translate."""
_ROUNDING = 1e-12
"""Version 0.1 wrote the law of a start through its logarithm: the figure it stated is for a law this near."""


def same_query(claims: Mapping[str, Any]) -> None:
    """CertificateError unless the query that the claims name says of itself what they say, and the guarantee is what
    the noise that is named keeps, worth what is stated under the belief beside it; without a word about noise, a pure
    epsilon.

    fugu's own queries are drawn for the sensitivity they state; of anything else the document holds no proof."""
    if claims["claimed by"] != "fugu" or is_users_own(claims):
        who = claims["claimed by"] if claims["claimed by"] != "fugu" else "the user, who states the sensitivity"
        raise NotChecked(f"privacy per entry is the word of {str(who)[:80]}; nothing in the document proves it")
    with reading():
        query = query_from(claims)
        if _differs(claims, query.claims()):
            raise CertificateError("the query that the certificate names has another sensitivity or domain")
        if "lattice" not in claims:
            if claims["delta"] != "0" or "guarantee" in claims or "belief" in claims:
                raise CertificateError("this query of sequences has a pure epsilon, and something else is stated")
            return
        found = PerEntryCertificate(dict(claims)).guarantee
        if not isinstance(found, Approx | ZCDP):
            raise CertificateError("Gaussian noise has no pure epsilon for each entry, and one is stated")
        own = LatticeMechanism(query, read_number(claims["lattice"]["rho"]), found).certificate.claims
        if _differs(claims, {name: part for name, part in own.items() if name != "kind"}):
            raise CertificateError("the noise is not that of its own figures")
        if "belief" in claims:
            check_belief(claims["belief"], found)


def is_users_own(claims: Mapping[str, Any]) -> bool:
    """Whether the sensitivity is the word of the user: a function or utility that no document holds."""
    return "sensitivity stated by" in claims


def _differs(claims: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    return any(canonical_json(claims.get(name)) != canonical_json(part) for name, part in own.items())


_PUFFERFISH = of.parts(
    {"secrets": of.text, "skipped": of.TEXTS, "asked": of.either(of.exact, of.GUARANTEE)},
    {"epsilon": of.exact, "proved": of.GUARANTEE},
)
SEQUENCE = of.listed(
    {**of.SEALED, **CLAIMS},
    proof={"reading": of.SCHEMA, "prior": CHAIN},
    derived={"pufferfish": _PUFFERFISH, "assumptions": of.TEXTS},
    publisher={"odd entries": of.text, "ledger": of.maybe(of.named(of.text))},
    inside={
        "pufferfish": {"asked": of.PROOF},
        "prior": {"smoothing": of.PUBLISHER, "fitted on": of.PUBLISHER, "digest": of.PUBLISHER},
    },
)


class SequenceCertificate(PerEntryCertificate):
    """What is promised of one statistic of sequences, and why; the chain and the query can be read back."""

    SCHEMA = "fugu/sequence/1"
    KINDS = ("sequence",)
    NEEDS = ("pufferfish", "epsilon", "delta", "query", "sensitivity", "neighbours", "domain", "entries",
             "claimed by", "reading", "odd entries", "prior", "assumptions")  # fmt: skip
    PARTS = SEQUENCE

    @staticmethod
    def issue(
        chain: Chain, mechanism: EntryMechanism, asked: Real, schema: Schema, odd: str, fitted_on: str,
        smoothing: float, prior_digest: str | None, ledger: Mapping[str, str] | None,
        spacing: tuple[str, ...] = (), budget: Approx | Renyi | None = None,
    ) -> SequenceCertificate:  # fmt: skip
        """What the mechanism promises under the chain as the document states it.

        `schema`: how entries are read; `odd`: what those count as that are not what was expected, in words; `spacing`:
        what is said of the times, which are public; `budget`: what was asked, where it is not the pure `asked`."""
        if isinstance(chain, IntervalChain) and chain.counted is not None and fitted_on != REFERENCE:
            raise PriorNotPublic(OWN_TABLE)
        prior = chain_json(chain)
        stated = chain_from(prior) if is_written(prior) else chain
        found = worth(stated, mechanism.guarantee, Pure(asked) if budget is None else budget)
        skipped = list(stated.skipped)
        if budget is None:
            assert isinstance(mechanism.guarantee, Pure)  # and nothing else keeps a pure budget
            promise: Json = {"epsilon": found.epsilon, "skipped": skipped, "asked": str(asked)}
        elif not fits(found, budget):
            raise NotProvable(
                "the noise found does not keep the budget under the chain as written; ask for a larger one"
            )
        else:
            promise = {"proved": budget_json(found), "skipped": skipped, "asked": budget_json(budget)}
        fitted = {"smoothing": smoothing, "fitted on": fitted_on, "digest": prior_digest}
        ahead, behind = needed_assumptions({**prior, **fitted}, ledger is not None, schema.sequence)
        apart = (APART,) if fitted_on == REFERENCE else ()
        kind = SequenceCertificate if budget is None else BudgetedSequenceCertificate
        made = kind.sealed(
            {
                "kind": "sequence",
                "pufferfish": {"secrets": SECRETS, **promise},
                **{name: part for name, part in mechanism.certificate.claims.items() if name != "kind"},
                "reading": schema.to_json(),
                "odd entries": odd,
                "prior": {**prior, **fitted},
                "assumptions": [*ahead, *starting(chain), *behind, *spacing, *apart],
                "ledger": None if ledger is None else dict(ledger),
            }
        )
        if not fits(made.proved, made.budget):
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
        if missing := [key for key in cls.NEEDS if key not in content]:
            raise CertificateError(f"the certificate lacks {', '.join(missing)}; it may be truncated")
        return cls._read(content)

    def own_lines(self) -> list[str]:
        """The assumptions that do not follow from chain, layout and ledger."""
        begins = () if self.chain is None else map(line_of, self.chain.assumptions)
        follow = {*self._needed(), *begins}
        return [line for line in self["assumptions"] if line not in follow]

    def _needed(self) -> set[str]:
        """The assumptions that follow from prior, layout and ledger."""
        with reading():
            layout = Schema.from_json(self["reading"]).sequence
        ahead, behind = needed_assumptions(self["prior"], self.body.get("ledger") is not None, layout)
        return {*ahead, *behind}

    def check_parts(self) -> None:
        """Numbers that can be read, and the neighbours that every per-entry guarantee is about."""
        super().check_parts()
        _ = self.budget, self.proved, self.entry

    def seals(self) -> Iterator[Checked]:
        if "digest" in self.body:
            yield from super().seals()
            return
        yield "digest", "not checked", "version 0.1 wrote sequences without a digest: edits of words show nowhere"
        yield "kind and schema", "holds", "sequence, as version 0.1 wrote it"

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The translation of the epsilon for each entry under the chain as written."""
        no_laws(given, "sequences; their prior is in it")
        try:
            with reading():
                same_query(self.claims)
                found = worth(self.checked_chain(), self.entry, self.budget)
        except NotChecked as why:
            return Proved.nothing(str(why), "not checked", SECRETS)
        except CertificateError as error:
            return Proved.nothing(str(error), worst_pair=SECRETS)
        if self.SCHEMA == BUDGETED and not found <= self.proved:  # one number is compared as a figure
            return Proved.nothing("it states more than is proved, at one order or more", worst_pair=SECRETS)
        holds = fits(found, self.budget)
        where = "within" if holds else "above"
        reason = f"the translated epsilon is {where} the {float(self.asked):.10g} that was asked for"
        epsilon, delta = (float(x) for x in numbers_of(found, self.budget))
        return Proved(epsilon, delta, SECRETS, "holds" if holds else "fails", reason)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """Query, reading, prior, secrets, assumptions and figures, each against what the parameters say."""
        del given
        yield "query", "the query named has the sensitivity stated", self.same_query
        yield "reading", "entries are read by a schema that can be read back", self._check_schema
        yield "prior", "the words about the chain are those of its numbers", self._check_prior
        yield "secrets", "every secret is protected or named as skipped", self._check_secrets
        yield "assumptions", "nothing that the proof rests on is left out", self._check_assumptions
        says = "what is stated as proved is not below what is proved now"
        yield "stated figures", says, lambda: self._check_figures(proved)
        yield from self.own_words()

    def checked_chain(self) -> Chain:
        """The chain in the document, if it is there and not beyond what is worked through here."""
        stated = self["prior"]
        if "confidence" in stated and stated["fitted on"] != REFERENCE:
            raise CertificateError(OWN_TABLE)
        if (chain := self.chain) is None:
            raise NotChecked("the transitions of a prior with so many states are not in the document")
        if chain.length > _LONGEST or chain.length * chain.size**2 > _MOST_WORK:
            raise NotChecked("so long a chain takes minutes to translate; give it to fugu.translate in Python")
        return chain

    def _check_schema(self) -> None:
        schema = Schema.from_json(self["reading"])
        schema.sequence.require(self["prior"]["states"])
        if "publisher" in self.body and schema.to_json() != self["reading"]:
            raise CertificateError("the part 'reading' of the certificate is not a schema that fugu writes")

    def _check_prior(self) -> None:
        """The chain writes itself as the document does, up to the digits of its laws."""
        stated, own = self["prior"], chain_json(self.checked_chain())
        if more := sorted(set(stated) - set(own) - {"smoothing", "fitted on", "digest"}):
            raise CertificateError(f"the prior of the certificate has a part {more[0][:40]!r} that no chain has")
        for name in ("class", "states", "length", "forbidden transitions"):
            if canonical_json(stated.get(name)) != canonical_json(own[name]):
                raise CertificateError(f"the part {name!r} of the prior is not what its transitions say")
        if self["entries"].get("states", own["states"]) != own["states"]:
            raise CertificateError("the states of the query are not those of the prior")

    def _check_secrets(self) -> None:
        stated = self["pufferfish"]
        if stated["secrets"] != SECRETS or stated["skipped"] != list(self.checked_chain().skipped):
            raise CertificateError("the certificate does not name the secrets that its prior gives no mass to")

    def _check_assumptions(self) -> None:
        begins = starting(self.chain) if "publisher" in self.body else ()  # before 0.4 it could be left out
        if not {*self._needed(), *begins} <= set(self["assumptions"]):
            raise CertificateError("the certificate leaves out assumptions that its proof needs")

    def _check_figures(self, proved: Proved) -> None:
        if proved.budget == "not checked":
            raise NotChecked(proved.reason)
        stated = self.stated
        if proved.epsilon == float("inf"):
            raise CertificateError("nothing is proved, and an epsilon is stated")
        if exact(proved.delta) > exact(self.proved.delta):
            raise CertificateError("it states a smaller delta than is proved")
        if exact(proved.epsilon) > stated:
            if "digest" not in self.body and exact(proved.epsilon) <= stated * (1 + read_number(_ROUNDING)):
                raise NotChecked(
                    "version 0.1 stated it for a start that differs from the one written in the last digit"
                )
            raise CertificateError(f"it states epsilon {float(stated):.16g}, and proved is {proved.epsilon:.16g}")

    def told(self) -> Told:
        """Every state of every entry; what each entry costs is noise for the query's sensitivity."""
        stated, prior, entry = self["pufferfish"], self["prior"], self.guarantee
        belief = "all Markov chains between limits" if {"limits", "confidence"} & set(prior) else "a Markov chain"
        return Told(
            budget=budget_json(self.budget), unit="the state of each entry of each user",
            secrets=tuple(map(str, prior["states"])), pairs=(SECRETS,),
            method=f"{self['query']}, private for each entry, translated under {belief}",
            theorem="per-entry privacy under a prior: translation of epsilon", proof="docs/proofs/translation.md",
            noise=entry_noise(self.claims),
            figures={
                "epsilon": stated.get("epsilon", float(self.stated)), "delta": float(self.proved.delta),
                "per entry": str(self.epsilon),
                **({"per entry delta": str(as_fraction(entry.delta))} if entry.delta else {}),
                **({"confidence": prior["confidence"]["confidence"]} if "confidence" in prior else {}),
            },
            worst_pair=SECRETS, assumptions=tuple(self["assumptions"]), reading=self["reading"],
            about={"query": self["query"]},
        )  # fmt: skip

    def answers(self, recipe: Json, group: str) -> bool:
        del group
        if recipe["what"] != "sequence" or recipe["query"] != self["query"]:
            return False
        columns = {recipe[name] for name in ("by", "order", "state") if recipe[name] is not None}
        said = Layout.from_json((recipe["schema"] or {}).get("sequence", {}))
        laid_out = said.agrees(Layout.from_json(self["reading"].get("sequence", {})))  # rows became entries so
        return columns | set(recipe.get("features", ())) <= set(self["reading"]["columns"]) and laid_out

    @property
    def left_out(self) -> str:
        return ", ".join(self["pufferfish"]["skipped"])

    @property
    def kind(self) -> str:
        """ "sequence"; version 0.1 called it as it calls the mechanism."""
        return "sequence"

    @property
    def entry(self) -> Entry:
        """What is promised for each entry."""
        found = self.guarantee
        if isinstance(found, Pure) or (self.SCHEMA == BUDGETED and isinstance(found, Approx | ZCDP)):
            return found
        raise CertificateError("for each entry a guarantee is pure; with a budget also (epsilon, delta) or zCDP")

    @property
    def epsilon(self) -> Fraction:
        """The epsilon for each entry, exactly; of zCDP its rho."""
        found = self.entry
        return exact(found.rho if isinstance(found, ZCDP) else found.epsilon)

    @property
    def budget(self) -> Budget:
        """What was asked for: a pure epsilon, or by the schema with budgets a guarantee with a delta or an order."""
        asked = self["pufferfish"]["asked"]
        if self.SCHEMA != BUDGETED:
            return Pure(positive_epsilon(read_number(asked)))
        if not isinstance(found := budget_from(asked), Approx | Renyi):
            raise CertificateError("a budget of this schema has a delta or an order")
        return found

    @property
    def proved(self) -> Guarantee:
        """What the document says is proved."""
        said = self["pufferfish"]
        return budget_from(said["proved"]) if self.SCHEMA == BUDGETED else Pure(read_number(said["epsilon"]))

    @property
    def asked(self) -> Fraction:
        """The Pufferfish epsilon that was asked for; of a Rényi budget, that of its order."""
        return exact(self.budget.epsilon)

    @property
    def stated(self) -> Fraction:
        """The Pufferfish epsilon that the document says is proved, at the order asked for."""
        return exact(numbers_of(self.proved, self.budget)[0])

    @property
    def believed(self) -> Guarantee:
        """What was asked for, which is never below what is proved, but in documents that do not hold."""
        return self.budget if fits(self.proved, self.budget) else self.proved

    @property
    def believes(self) -> str:
        """The chain, or any between limits."""
        return "one of the chains" if "limits" in self["prior"] else "the chain"

    def promised(self, found: Guarantee) -> str:
        """Both promises: against whoever believes the chain, and for each entry."""
        return Promising.promised(self, found)

    def quoted(self, found: Guarantee | None = None, about: str = "") -> tuple[str, ...]:
        return Promising.quoted(self, found, about)

    def warnings(self, rows: int | None = None) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, with the numbers that are called exact; `rows`: all entries."""
        return (*self.exact_values, *weaknesses(self.budget, rows))

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

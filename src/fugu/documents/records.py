"""`RecordsCertificate`: what several statistics of one table of independent records promise together, and why.

For a record of public type z (the groups it is in) let Lam_z(x, x') be the sum of what every question charges for
changing the record from x to x'. Against somebody who believes the laws p, q of the record given two secrets, all
answers together lose at most T_Lam(p, q) <= ln max_x' sum_x e^Lam(x, x') pi(x, x') / q(x') for any plan pi with row
sums p. A document holds the noise of every question, the charges that follow from it, the laws in whole numbers, and
one plan, or a simpler proof, for every law, load of charges and ordered pair of secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.documents import fields as of
from fugu.documents.document import Stated, no_laws, proved_by
from fugu.documents.plain_json import proving, reading
from fugu.documents.promises import Promising
from fugu.documents.sentences import RECORDS as KIND
from fugu.documents.sentences import UNPROTECTED, Told
from fugu.documents.verdict import Check, NotChecked, Outcome, Proved
from fugu.errors import CertificateError
from fugu.guarantee import Pure
from fugu.guarantee.asks import exact as exactly
from fugu.guarantee.asks import plain
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.pair import PairsLike
from fugu.numbers.exact import Real, as_fraction, read_number, read_whole
from fugu.priors.records import ASSUMPTIONS, REFERENCE
from fugu.translation.records.checking import said
from fugu.visible import Json, brief


def _figure(x: Real) -> float | str:
    """A number as a document states it: as a float where one means exactly this, else as a fraction."""
    return float(x) if as_fraction(float(x)) == as_fraction(x) else str(as_fraction(x))


def _text(stated: Any) -> str:
    if not isinstance(stated, str):
        raise CertificateError("what should be a text in the certificate is none")
    return stated


def _texts(stated: Any) -> tuple[str, ...]:
    if not isinstance(stated, list | tuple):
        raise CertificateError("what should be a list of texts in the certificate is none")
    return tuple(map(_text, stated))


def _at_least_zero(stated: Any) -> Fraction:
    found = read_number(stated)
    if found < 0:
        raise CertificateError("an epsilon of the certificate is negative")
    return found


def _whole(stated: Any) -> NDArray[np.int64]:
    """Whole numbers below 2^53, so that sums and products of two stay within 64 bits of what is checked."""
    if not isinstance(stated, list) or any(type(x) is not int or abs(x) >= 2**53 for x in stated):
        raise CertificateError("what should be a list of whole numbers in the certificate is none")
    return np.array(stated, dtype=np.int64)


def _pure(stated: Any) -> Pure:
    if not isinstance(found := budget_from(stated), Pure):
        raise CertificateError("sessions on tables have a pure budget, and the certificate states another")
    return found


@dataclass(frozen=True)
class ChargedQuestion:
    """One question: its words, kind and groups; what is drawn for it; what that charges, by group.

    `features`: the functions of one record that it looks at, by name. `law`: the noise; `rates`: for each group ("" for
    the only one) the rate of each noise. `charges`: for each group, as `RecordCharge.to_json` writes them."""

    query: str
    kind: str
    by: str | None
    features: tuple[str, ...]
    law: str
    rates: Mapping[str, tuple[Fraction, ...]]
    charges: Mapping[str, Sequence[Json]]

    def to_json(self) -> Json:
        """In JSON types."""
        return {
            "query": self.query, "kind": self.kind, "by": self.by, "features": list(self.features), "law": self.law,
            "rates": {group: [str(rate) for rate in rates] for group, rates in self.rates.items()},
            "charges": {group: list(listed) for group, listed in self.charges.items()},
        }  # fmt: skip

    @staticmethod
    def read(stated: Any) -> ChargedQuestion:
        """What a document says; CertificateError, or any error of reading, for anything else."""
        by = None if stated["by"] is None else _text(stated["by"])
        query, kind, law = (_text(stated[part]) for part in ("query", "kind", "law"))
        rates = {group: tuple(map(read_number, listed)) for group, listed in stated["rates"].items()}
        charges = {group: list(listed) for group, listed in stated["charges"].items()}
        if not rates or set(charges) != set(rates) or any(rate <= 0 for listed in rates.values() for rate in listed):
            raise CertificateError(f"the question {brief(query)} has no noise, or is not charged in each of its groups")
        return ChargedQuestion(query, kind, by, _texts(stated["features"]), law, rates, charges)


@dataclass(frozen=True)
class Type:
    """Records in the same groups of all questions: how many there are, and whether no belief is used of them."""

    groups: Mapping[str, str]
    rows: int
    plain: bool

    def to_json(self) -> Json:
        """In JSON types."""
        return {"groups": dict(self.groups), "rows": self.rows, "plain": self.plain}


@dataclass(frozen=True, eq=False)
class StatedLaw:
    """Whole-number counts of one record's features given each secret, for whoever knows these groups of it.

    `known`: for which adversaries it is the law, each {by column: group}; {} is the law of the whole reference.
    `states`: of each feature its value at each state; `given`: of each secret the count of each state."""

    known: tuple[Mapping[str, str], ...]
    states: Mapping[str, NDArray[np.int64]]
    given: Mapping[str, NDArray[np.int64]]

    def to_json(self) -> Json:
        """In JSON types."""
        states = {name: np.asarray(column).tolist() for name, column in self.states.items()}
        given = {secret: np.asarray(counts).tolist() for secret, counts in self.given.items()}
        return {"known": [dict(groups) for groups in self.known], "states": states, "given": given}

    @property
    def who(self) -> str:
        """Whose law it is, in words."""
        first = ", ".join(f"{by} {group!r}" for by, group in self.known[0].items())
        more = f" and {len(self.known) - 1} more" if len(self.known) > 1 else ""
        return f"somebody who knows {first or 'no group'}{more}"

    @staticmethod
    def read(stated: Any) -> StatedLaw:
        """What a document says: arrays of one length, no count below 0, every law with some mass."""
        states = {name: _whole(column) for name, column in stated["states"].items()}
        given = {secret: _whole(counts) for secret, counts in stated["given"].items()}
        known = tuple({by: _text(group) for by, group in groups.items()} for groups in stated["known"])
        lengths = {len(array) for array in (*states.values(), *given.values())}
        if len(lengths) != 1 or lengths == {0} or not known:
            raise CertificateError("a law of the certificate does not have one count for each state and secret")
        if any(int(counts.min()) < 0 or int(counts.sum()) <= 0 for counts in given.values()):
            raise CertificateError("a law of the certificate has a negative count, or no mass")
        return StatedLaw(known, states, given)


@dataclass(frozen=True)
class ProofStep:
    """The proof of one order of one pair of secrets, under one law and for one load of charges; `epsilon` is what it
    was found to prove, and is not believed."""

    law: int
    load: int
    pair: tuple[str, str]
    epsilon: float
    proof: Json

    def to_json(self) -> Json:
        """In JSON types."""
        found: Json = {"law": self.law, "load": self.load, "pair": list(self.pair)}
        return found | {"epsilon": self.epsilon, "proof": self.proof}


RECORDS = of.listed(
    of.SEALED,
    proof={
        "budget": of.GUARANTEE, "cap": of.exact, "protect": of.maybe(of.either(of.text, of.items, of.thing)),
        "secrets": of.TEXTS, "skipped": of.TEXTS, "reading": of.SCHEMA, "features": of.named(of.thing),
        "questions": of.each(of.thing), "types": of.each(of.thing, 200_000), "loads": of.each(of.each(of.thing)),
        "laws": of.each(of.thing, 200_000), "proofs": of.each(of.thing, 1_000_000),
    },
    derived={
        "warnings": of.TEXTS, "spent": of.exact, "any belief": of.exact, "unit": of.maybe(of.text),
        "assumptions": of.TEXTS,
    },
    publisher={"elsewhere": of.exact, "columns": of.TEXTS},
    inside={"proofs": {"*/epsilon": of.DERIVED}},
)  # fmt: skip


class RecordsCertificate(Promising):
    """What all questions of a session promise together; everything that the proof needs can be read back."""

    SCHEMA = "fugu/records/1"
    KINDS = (KIND,)
    NEEDS = ("budget", "spent", "any belief", "elsewhere", "protect", "secrets", "skipped", "unit", "reading",
             "columns", "features", "questions", "types", "loads", "laws", "proofs", "assumptions")  # fmt: skip
    PARTS = RECORDS
    INDENT = None
    budget = Stated(_pure)
    """What all questions together may spend."""
    spent = Stated(_at_least_zero)
    """The epsilon of all questions together, as the document states it."""
    any_belief = Stated(_at_least_zero, "any belief")
    """The second promise as the document states it: against any belief under which records are independent."""
    elsewhere = Stated(_at_least_zero)
    """The epsilons of other releases of the same records, which add to everything."""

    @staticmethod
    def issue(
        *, budget: Pure, cap: Fraction | None, spent: Real, any_belief: Fraction, elsewhere: Fraction, protect: object,
        secrets: Sequence[str], skipped: Sequence[str], unit: str | None, reading: Json, columns: Sequence[str],
        features: Mapping[str, Json], questions: Sequence[ChargedQuestion], types: Sequence[Type],
        loads: Sequence[Sequence[Json]], laws: Sequence[StatedLaw], proofs: Sequence[ProofStep],
        assumptions: Sequence[str], warnings: Sequence[str] = (),
    ) -> RecordsCertificate:  # fmt: skip
        """The document of a session as it stands.

        Parameters:

        - `budget`: the pure budget of the session; `cap`: what the second promise may come to, None where none was set;
          `spent`: the proved epsilon of all questions, rounded up;
          `any_belief`: the largest sum of the questions' own epsilons over all types of records; `elsewhere`: the
          epsilons of other releases in the ledger, of which nothing more is known.
        - `protect`: as it was declared, None for a predicate in code; `secrets`: by label; `skipped`: secrets without a
          row in the reference; `unit`: the column that names the person.
        - `reading`: the schema; `columns`: those that the reference has; `features`: the functions of one record that
          are drawn on, by name.
        - `questions`, `types`, `laws`: see there; `loads`: the distinct lists of charges that were priced; `proofs`:
          for every law and ordered pair of secrets that a type which is not plain needs, one for a load at least its
          own.
        - `assumptions`: those that every such document states, and what this one adds; `warnings`: the numbers that go
          out exact, with the probability of that."""
        return RecordsCertificate.sealed(
            {
                "kind": KIND, "budget": budget_json(budget), "spent": _figure(spent),
                **({} if cap is None else {"cap": str(cap)}), **({"warnings": list(warnings)} if warnings else {}),
                "any belief": str(any_belief), "elsewhere": str(elsewhere), "protect": protect,
                "secrets": list(secrets), "skipped": list(skipped), "unit": unit, "reading": reading,
                "columns": list(columns), "features": dict(features),
                "questions": [asked.to_json() for asked in questions],
                "types": [found.to_json() for found in types], "loads": [list(load) for load in loads],
                "laws": [law.to_json() for law in laws], "proofs": [step.to_json() for step in proofs],
                "assumptions": list(assumptions),
            }
        )  # fmt: skip

    def own_lines(self) -> list[str]:
        """The assumptions beside those that every such document states, and what is said of the reference."""
        follow = {*ASSUMPTIONS, UNPROTECTED + ", ".join(self["skipped"])} - {REFERENCE}
        return [line for line in self["assumptions"] if line not in follow]

    def check_parts(self) -> None:
        """Every part can be read, within limits; a pure budget; whether it holds together is for `fugu.verify`."""
        _ = self.budget, self.spent, self.any_belief, self.elsewhere, self.questions, self.types, self.laws, self.steps
        _ = self.cap, _texts(self.body.get("warnings", ()))
        _ = _texts(self["assumptions"]), _texts(self["columns"]), dict(self["features"]), list(self["loads"])
        if not {name for asked in self.questions for name in asked.features} <= set(self["features"]):
            raise CertificateError("a question of the certificate is about a feature that it does not describe")
        if len(set(_texts(self["secrets"]))) < len(self["secrets"]) or len(self["secrets"]) < 2:
            raise CertificateError("the certificate does not name two or more different secrets")
        if set(_texts(self["skipped"])) & set(self["secrets"]):
            raise CertificateError("a secret of the certificate is named as protected and as skipped")

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The largest of what is proved for any type of records: its plans summed anew, or its own epsilons."""
        no_laws(given, "many statistics of one table; its laws are in it")
        try:
            with reading(), proving():
                least, pair = proved_by("worst")(self)
        except CertificateError as error:
            return Proved.nothing(str(error))
        holds = least <= exactly(self.budget.epsilon)
        reason = f"all questions together are {'within' if holds else 'above'} the budget, for every law and pair"
        outcome: Outcome = "holds" if holds else "fails"
        if holds and proved_by("on_their_word")(self):
            outcome, reason = "not checked", f"{reason}, if what fugu did not draw is as private as was said of it"
        return Proved(said(least), 0.0, pair, outcome, reason, least)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """Each part against what follows from the questions and their noise, then the figures."""
        del given
        for name, says, step in proved_by("checks"):
            yield name, says, partial(step, self)
        says = "what is stated is not below what is proved now, and not above the budget"
        yield "stated figures", says, lambda: self._check_figures(proved)
        yield from self.own_words()

    def _check_figures(self, proved: Proved) -> None:
        if proved.least is None:
            raise NotChecked(proved.reason)
        own = proved_by("largest_own")(self)
        if self.spent < proved.least or self.spent > exactly(self.budget.epsilon):
            spent = f"{float(self.spent):.10g} is stated as spent, and {proved.epsilon:.10g} is proved"
            raise CertificateError(f"{spent}, of {float(self.budget.epsilon):.10g}")
        if self.any_belief < own:
            raise CertificateError("against any belief less is stated than the epsilons of the questions add up to")

    def told(self) -> Told:
        told: Told = proved_by("told")(self)
        return told

    def answers(self, recipe: Json, group: str) -> bool:
        del group
        return recipe["what"] == KIND and bool(proved_by("answers_recipe")(recipe, self.body))

    @property
    def composes(self) -> bool:
        return True

    @property
    def left_out(self) -> str:
        return ", ".join(self["skipped"])

    @property
    def rows(self) -> int:
        return sum(kind.rows for kind in self.types)

    @property
    def cap(self) -> Fraction | None:
        """What all questions together may promise away against anybody; None where none was set, as before 0.4."""
        return _at_least_zero(self["cap"]) if "cap" in self.body else None

    @property
    def exact_values(self) -> tuple[str, ...]:
        """The questions whose numbers are called exact; `fugu.verify` works them out."""
        return tuple(map(str, self.body.get("warnings", ())))

    @property
    def believed(self) -> Pure:
        """What all questions together have spent."""
        return Pure(plain(self.spent))

    @property
    def anybody(self) -> Pure:
        """The second promise, as a guarantee."""
        return Pure(plain(self.any_belief))

    @cached_property
    def questions(self) -> tuple[ChargedQuestion, ...]:
        """In the order in which they were asked, which changes nothing."""
        return tuple(map(ChargedQuestion.read, self["questions"]))

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The public types of records."""
        found = []
        for stated in self["types"]:
            groups = {by: _text(group) for by, group in stated["groups"].items()}
            rows = read_whole(stated["rows"])
            if rows < 1 or type(stated["plain"]) is not bool:
                raise CertificateError("a type of records in the certificate has no rows, or is not plain or otherwise")
            found.append(Type(groups, rows, stated["plain"]))
        return tuple(found)

    @cached_property
    def laws(self) -> tuple[StatedLaw, ...]:
        """What is believed, with and without knowing groups."""
        return tuple(map(StatedLaw.read, self["laws"]))

    @cached_property
    def steps(self) -> tuple[ProofStep, ...]:
        """The proofs, in no order."""
        found = []
        for stated in self["proofs"]:
            first, second = _texts(stated["pair"])
            law, load = read_whole(stated["law"]), read_whole(stated["load"])
            if not (0 <= law < len(self["laws"]) and 0 <= load < len(self["loads"])):
                raise CertificateError("a proof of the certificate is about a law or a load that there is not")
            _at_least_zero(stated["epsilon"])
            found.append(ProofStep(law, load, (first, second), float(stated["epsilon"]), stated["proof"]))
        return tuple(found)

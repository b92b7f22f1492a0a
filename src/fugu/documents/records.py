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
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.documents.document import Document
from fugu.errors import CertificateError
from fugu.guarantee import Pure
from fugu.guarantee.encoding import budget_from
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

ON = ("sum", "cells", "choice", "columns")
"""What a draw falls on: the sum of a feature; every cell of features; a choice among candidates; an outside release."""
MOST_TYPES, MOST_LAWS, MOST_PROOFS = 200_000, 200_000, 1_000_000
"""Limits on what a document may ask to be worked through; none that fugu writes comes near them."""


@dataclass(frozen=True)
class Draw:
    """What is drawn for a question, in every group: the law and place of the noise, and its rate.

    `law`: "laplace" (mass ~ e^(-rate |k|) at whole k), "permute-and-flip" (rate is its epsilon), or "outside" (the
    epsilon of a mechanism that fugu does not draw). `features`: what the draw reads of a record, by name. `modelled`:
    whether the laws speak of them. `rates`: by group; "" is the only group of a question without groups."""

    law: str
    on: str
    features: tuple[str, ...]
    modelled: bool
    rates: Mapping[str, Fraction]

    def to_json(self) -> Json:
        """In JSON types."""
        rates = {group: str(rate) for group, rate in self.rates.items()}
        kept: Json = {"law": self.law, "on": self.on, "features": list(self.features)}
        return kept | {"modelled": self.modelled, "rates": rates}

    @staticmethod
    def read(stated: Any) -> Draw:
        """What a document says; CertificateError, or any error of reading, for anything else."""
        rates = {group: read_number(rate) for group, rate in stated["rates"].items()}
        if not rates or min(rates.values()) <= 0 or stated["on"] not in ON or type(stated["modelled"]) is not bool:
            raise CertificateError("a draw of the certificate has no positive rate, or falls on nothing that is known")
        return Draw(_text(stated["law"]), stated["on"], _texts(stated["features"]), stated["modelled"], rates)


@dataclass(frozen=True)
class Question:
    """One question: its words, kind, columns and groups; what is drawn for it; what that charges, by group.

    `charges`: for every group the charges of the draws, in their order, as `RecordCharge.to_json` writes them; a
    question about public numbers only (how many rows there are) draws and charges nothing."""

    query: str
    kind: str
    columns: tuple[str, ...]
    by: str | None
    groups: Mapping[str, int]
    draws: tuple[Draw, ...]
    charges: Mapping[str, Sequence[Json]]
    cells: tuple[str, ...] | None = None

    def to_json(self) -> Json:
        """In JSON types; `groups` are public sizes, `cells` the labels of a table of counts."""
        return {
            "query": self.query, "kind": self.kind, "columns": list(self.columns), "by": self.by,
            "groups": dict(self.groups), "draws": [draw.to_json() for draw in self.draws],
            "charges": {group: list(listed) for group, listed in self.charges.items()},
            "cells": None if self.cells is None else list(self.cells),
        }  # fmt: skip

    @staticmethod
    def read(stated: Any) -> Question:
        """What a document says; CertificateError, or any error of reading, for anything else."""
        sizes = {group: read_whole(rows) for group, rows in stated["groups"].items()}
        by, cells = stated["by"], stated["cells"]
        if not sizes or min(sizes.values()) < 1 or (by is None and set(sizes) != {""}):
            raise CertificateError("a question of the certificate has no groups, or groups without rows")
        found = Question(
            _text(stated["query"]), _text(stated["kind"]), _texts(stated["columns"]), None if by is None else _text(by),
            sizes, tuple(map(Draw.read, stated["draws"])),
            {group: list(listed) for group, listed in stated["charges"].items()},
            None if cells is None else _texts(cells),
        )  # fmt: skip
        if set(found.charges) != set(sizes) or any(set(draw.rates) != set(sizes) for draw in found.draws):
            raise CertificateError(f"the question {found.query[:80]!r} is not drawn and charged in each of its groups")
        return found


@dataclass(frozen=True)
class Type:
    """Records in the same groups of all questions: how many; whether no belief is used of them; their load."""

    groups: Mapping[str, str]
    rows: int
    plain: bool
    load: int

    def to_json(self) -> Json:
        """In JSON types; `load` is a place in the document's list of joined charges."""
        return {"groups": dict(self.groups), "rows": self.rows, "plain": self.plain, "load": self.load}


@dataclass(frozen=True, eq=False)
class Law:
    """Whole-number counts of one record's features given each secret, for whoever knows these groups of it.

    `group` is empty for the pooled law. States are the places of all arrays."""

    who: str
    group: Mapping[str, str]
    states: Mapping[str, NDArray[np.int64]]
    given: Mapping[str, NDArray[np.int64]]

    def to_json(self) -> Json:
        """In JSON types."""
        states = {name: np.asarray(column).tolist() for name, column in self.states.items()}
        given = {secret: np.asarray(counts).tolist() for secret, counts in self.given.items()}
        return {"who": self.who, "group": dict(self.group), "states": states, "given": given}

    @staticmethod
    def read(stated: Any) -> Law:
        """What a document says: arrays of one length, no count below 0, every law with some mass."""
        states = {name: _whole(column) for name, column in stated["states"].items()}
        given = {secret: _whole(counts) for secret, counts in stated["given"].items()}
        lengths = {len(array) for array in (*states.values(), *given.values())}
        if len(lengths) != 1 or lengths == {0} or len(given) < 2:
            raise CertificateError("a law of the certificate does not have one count for each state and secret")
        if any(int(counts.min()) < 0 or int(counts.sum()) <= 0 for counts in given.values()):
            raise CertificateError("a law of the certificate has a negative count, or no mass")
        return Law(_text(stated["who"]), {k: _text(v) for k, v in stated["group"].items()}, states, given)


@dataclass(frozen=True)
class Step:
    """The proof of one order of one pair of secrets, under one law and one load; `epsilon` is what it was found to
    prove, and is not believed."""

    law: int
    load: int
    pair: tuple[str, str]
    epsilon: float
    proof: Json

    def to_json(self) -> Json:
        """In JSON types."""
        found: Json = {"law": self.law, "load": self.load, "pair": list(self.pair)}
        return found | {"epsilon": self.epsilon, "proof": self.proof}


class RecordsCertificate(Document):
    """What all questions of a session promise together; everything that the proof needs can be read back."""

    SCHEMA = "fugu/records/1"
    REQUIRED = ("budget", "spent", "any belief", "protect", "secrets", "skipped", "unit", "reading", "features",
                "questions", "types", "loads", "laws", "proofs", "assumptions")  # fmt: skip
    KINDS: ClassVar = {"records": ()}
    INDENT = None

    @staticmethod
    def issue(
        *, budget: Pure, spent: float, any_belief: Fraction, protect: object, secrets: Sequence[str],
        skipped: Sequence[str], unit: str | None, reading: Json, features: Mapping[str, Json],
        questions: Sequence[Question], types: Sequence[Type], loads: Sequence[Sequence[Json]], laws: Sequence[Law],
        proofs: Sequence[Step], assumptions: Sequence[str],
    ) -> RecordsCertificate:  # fmt: skip
        """The document of a session as it stands.

        Parameters:

        - `budget`: the pure budget of the session; `spent`: the proved epsilon of all questions, rounded up;
          `any_belief`: the largest sum of the questions' own epsilons over all types of records.
        - `protect`: as it was declared, None for a predicate in code; `secrets`: by label; `skipped`: secrets without a
          row in the reference; `unit`: the column that names the person.
        - `reading`: the schema; `features`: the functions of one record that are drawn on, by name.
        - `questions`, `types`, `laws`: see there; `loads`: the distinct joined charges; `proofs`: for every law, load
          and ordered pair of secrets that a type which is not plain needs.
        - `assumptions`: those that every such document states, and what this one adds."""
        from fugu.guarantee.encoding import budget_json

        return RecordsCertificate.sealed(
            {
                "kind": "records", "budget": budget_json(budget), "spent": spent, "any belief": str(any_belief),
                "protect": protect, "secrets": list(secrets), "skipped": list(skipped), "unit": unit,
                "reading": reading, "features": dict(features), "questions": [asked.to_json() for asked in questions],
                "types": [found.to_json() for found in types], "loads": [list(load) for load in loads],
                "laws": [law.to_json() for law in laws], "proofs": [step.to_json() for step in proofs],
                "assumptions": list(assumptions),
            }
        )  # fmt: skip

    def check(self) -> None:
        """Every part can be read, within limits; a pure budget; whether it holds together is for `fugu.verify`."""
        if len(self["types"]) > MOST_TYPES or len(self["laws"]) > MOST_LAWS or len(self["proofs"]) > MOST_PROOFS:
            raise CertificateError("the certificate has more types, laws or proofs than are worked through")
        _ = self.budget, self.spent, self.any_belief, self.questions, self.types, self.laws, self.steps
        _texts(self["assumptions"])
        if len(set(_texts(self["secrets"]))) < len(self["secrets"]) or len(self["secrets"]) < 2:
            raise CertificateError("the certificate does not name two or more different secrets")
        if set(_texts(self["skipped"])) & set(self["secrets"]):
            raise CertificateError("a secret of the certificate is named as protected and as skipped")

    @property
    def budget(self) -> Pure:
        """What all questions together may spend."""
        found = budget_from(self["budget"])
        if not isinstance(found, Pure):
            raise CertificateError("sessions on tables have a pure budget, and the certificate states another")
        return found

    @property
    def spent(self) -> Fraction:
        """The epsilon of all questions together, as the document states it."""
        return _at_least_zero(self["spent"])

    @property
    def any_belief(self) -> Fraction:
        """The second promise as the document states it: against any belief under which records are independent."""
        return _at_least_zero(self["any belief"])

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """In the order in which they were asked, which changes nothing."""
        return tuple(map(Question.read, self["questions"]))

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The public types of records."""
        return tuple(self._types())

    def _types(self) -> Iterator[Type]:
        for stated in self["types"]:
            groups = {by: _text(group) for by, group in stated["groups"].items()}
            rows, load = read_whole(stated["rows"]), read_whole(stated["load"])
            if rows < 1 or not 0 <= load < len(self["loads"]) or type(stated["plain"]) is not bool:
                raise CertificateError("a type of records in the certificate has no rows, or no load of charges")
            yield Type(groups, rows, stated["plain"], load)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """What is believed, with and without knowing groups."""
        return tuple(map(Law.read, self["laws"]))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The proofs, in no order."""
        found = []
        for stated in self["proofs"]:
            first, second = _texts(stated["pair"])
            law, load = read_whole(stated["law"]), read_whole(stated["load"])
            if not (0 <= law < len(self["laws"]) and 0 <= load < len(self["loads"])):
                raise CertificateError("a proof of the certificate is about a law or a load that there is not")
            _at_least_zero(stated["epsilon"])
            found.append(Step(law, load, (first, second), float(stated["epsilon"]), stated["proof"]))
        return tuple(found)


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

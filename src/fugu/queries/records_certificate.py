"""`RecordsCertificate`: what several statistics of one table of independent records promise together, and why.

For a record of public type z (the groups it is in) let Lam_z(x, x') be the sum of what every question charges for
changing the record from x to x'. Against somebody who believes the laws p, q of the record given two secrets, all
answers together lose at most T_Lam(p, q) <= ln max_x' sum_x e^Lam(x, x') pi(x, x') / q(x') for any plan pi with row
sums p. A document holds the noise of every question, the charges that follow from it, the laws in whole numbers, and
one plan, or a simpler proof, for every law, load of charges and ordered pair of secrets.

Which features a question looks at follows from its words; what it charges, from its noise; which laws a record needs,
from the groups it is in. Nothing that the document states of these is believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from typing import Any

from fugu.data import Schema
from fugu.data.secrets import OF_NUMBERS, rules
from fugu.documents.document import Check, NotChecked, Outcome, Proved, Stated, canonical_json, no_laws
from fugu.documents.promises import Promising
from fugu.documents.reading import proving, reading
from fugu.documents.sentences import APART, UNPROTECTED, Told, one_row, ranges_said
from fugu.errors import CertificateError
from fugu.guarantee import Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import both, weaknesses
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.pair import PairsLike
from fugu.numbers.exact import Real, as_fraction, float_up, read_number
from fugu.priors.records import ASSUMPTIONS, LEAST_ROWS, REFERENCE
from fugu.queries.features import Feature, Is, feature_from
from fugu.queries.kinds import OUTSIDE
from fugu.queries.record_proofs import RECORDS, Load, ProofStep, ProvedPair, StatedLaw, Type, largest_proved
from fugu.queries.statistic import NoisedQuestion, StatisticQuestion, exact_numbers, modelled, own_of, question_told
from fugu.translation.records.bounds import said
from fugu.translation.records.problem import Apart, charge_from, joined
from fugu.visible import Json, brief, shortened


def _at_least_zero(stated: Any) -> Fraction:
    number = read_number(stated)
    if number < 0:
        raise CertificateError("an epsilon of the certificate is negative")
    return number


KIND = "records"
"""What many questions to one table are called: their recipe, their document, and the noise of all of them."""


class RecordsCertificate(Promising):
    """What all questions of a session promise together; everything that the proof needs can be read back."""

    SCHEMA = "fugu/records/1"
    KINDS = (KIND,)
    NEEDS = ("budget", "spent", "any belief", "elsewhere", "protect", "secrets", "skipped", "unit", "reading",
             "columns", "features", "questions", "types", "loads", "laws", "proofs", "assumptions")  # fmt: skip
    PARTS = RECORDS
    INDENT = None
    budget = Stated(budget_from)
    """What all questions together may spend: a pure epsilon."""
    spent = Stated(_at_least_zero)
    """The epsilon of all questions together, as the document states it."""
    any_belief = Stated(_at_least_zero, "any belief")
    """The second promise as the document states it: against any belief under which records are independent."""
    elsewhere = Stated(_at_least_zero)
    """The epsilons of other releases of the same records, which add to everything."""

    @staticmethod
    def issue(
        *, budget: Pure, cap: Fraction | None, spent: Real, any_belief: Fraction, elsewhere: Fraction, protect: object,
        secrets: Sequence[str], skipped: Sequence[str], unit: str | None, schema: Schema, columns: Sequence[str],
        questions: Sequence[NoisedQuestion], types: Sequence[Type], laws: Sequence[StatedLaw],
        proofs: Sequence[ProvedPair], ranged: Sequence[str] = (),
    ) -> RecordsCertificate:  # fmt: skip
        """The document of a session as it stands.

        Parameters:

        - `budget`: the pure budget of the session; `cap`: what the second promise may come to, None where none was set;
          `spent`: the proved epsilon of all questions, rounded up; `any_belief`: the largest sum of the questions' own
          epsilons over all types of records; `elsewhere`: the epsilons of other releases in the ledger, of which
          nothing more is known.
        - `protect`: as it was declared, None for a predicate in code; `secrets`: by label; `skipped`: secrets without a
          row in the reference, of which nothing is promised; `unit`: the column that names the person.
        - `schema`: how records are read; `columns`: those that the reference has: the others cost their epsilon.
        - `questions`, `types`, `laws`: see there; `proofs`: for every law and ordered pair of secrets that a type which
          is not plain needs, one for charges at least its own; `ranged`: which bounds are the reference's range."""
        features = {feature.name: feature for asked in questions for feature in asked.features}
        known, loads, priced, steps = modelled(features, columns), dict[str, int](), list[list[Json]](), []
        for law, pair, charges, epsilon, proof in proofs:
            load = [charge.to_json() for charge in charges]
            if (key := canonical_json(load)) not in loads:
                loads[key] = len(priced)
                priced.append(load)
            steps.append(ProofStep(law, loads[key], pair, epsilon, proof).to_json())
        exact_spent, lines = as_fraction(spent), (UNPROTECTED + ", ".join(skipped),) if skipped else ()
        warnings = exact_numbers(questions)
        return RecordsCertificate.sealed(
            {
                "kind": KIND, "budget": budget_json(budget),
                "spent": float(spent) if as_fraction(float(spent)) == exact_spent else str(exact_spent),
                **({} if cap is None else {"cap": str(cap)}), **({"warnings": list(warnings)} if warnings else {}),
                "any belief": str(any_belief), "elsewhere": str(elsewhere), "protect": protect,
                "secrets": list(secrets), "skipped": list(skipped), "unit": unit, "reading": schema.to_json(),
                "columns": list(columns), "features": {name: feature.to_json() for name, feature in features.items()},
                "questions": [asked.stated(asked.each_charge(known)) for asked in questions],
                "types": [kind.to_json() for kind in types], "loads": priced,
                "laws": [law.to_json() for law in laws], "proofs": steps,
                "assumptions": [*ASSUMPTIONS, one_row(unit), *lines, *ranged, APART],
            }
        )  # fmt: skip

    # What the document holds, read once

    @property
    def cap(self) -> Fraction | None:
        """What all questions together may promise away against anybody; None where none was set, as before 0.4."""
        return _at_least_zero(self["cap"]) if "cap" in self.body else None

    @cached_property
    def features(self) -> dict[str, Feature]:
        """The functions of one record that questions look at, each under the one name that it has."""
        features = {name: feature_from(stated) for name, stated in self["features"].items()}
        if any(feature.name != name for name, feature in features.items()):
            raise CertificateError("a feature of the certificate has the name of another: its coding does not match")
        return features

    @cached_property
    def questions(self) -> tuple[NoisedQuestion, ...]:
        """The questions with their features and noise, in the order in which they were asked, which changes nothing;
        CertificateError where these do not fit."""
        questions = []
        for stated in self["questions"]:
            features = tuple(self.features[name] for name in stated["features"])
            rates = {group: tuple(map(read_number, listed)) for group, listed in stated["rates"].items()}
            words = (stated["query"], stated["kind"], stated["by"])
            questions.append(NoisedQuestion(*words, features, stated["law"], rates))
        return tuple(questions)

    @cached_property
    def modelled(self) -> frozenset[str]:
        """The features that laws speak of."""
        return modelled(self.features, self["columns"])

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The public types of records."""
        return tuple(map(Type.read, self["types"]))

    @cached_property
    def laws(self) -> tuple[StatedLaw, ...]:
        """What is believed, with and without knowing groups."""
        return tuple(map(StatedLaw.read, self["laws"]))

    @cached_property
    def steps(self) -> tuple[ProofStep, ...]:
        """The proofs, in no order."""
        laws, loads, steps = len(self["laws"]), len(self["loads"]), []
        for stated in self["proofs"]:
            _at_least_zero(stated["epsilon"])
            step = ProofStep(**{**stated, "pair": tuple(stated["pair"]), "epsilon": float(stated["epsilon"])})
            if not (0 <= step.law < laws and 0 <= step.load < loads):
                raise CertificateError("a proof of the certificate is about a law or a load that there is not")
            steps.append(step)
        return tuple(steps)

    @cached_property
    def charged(self) -> list[tuple[Type, Load]]:
        """What all questions together charge a record, for every type of records."""
        charged = []
        for kind in self.types:
            each = (a.charges("" if a.by is None else kind.groups[a.by], self.modelled) for a in self.questions)
            charged.append((kind, joined([*chain.from_iterable(each), Apart(self.elsewhere)])))
        return charged

    @property
    def rows(self) -> int:
        return sum(kind.rows for kind in self.types)

    def warnings(self) -> tuple[str, ...]:
        """Why the budget protects hardly anybody, if so."""
        return weaknesses(self.budget, self.rows)

    @property
    def composes(self) -> bool:
        return True

    @property
    def left_out(self) -> str:
        return ", ".join(self["skipped"])

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

    # What must hold between its parts, worked out from its questions and their noise alone

    def check_parts(self) -> None:
        """Every part can be read, within limits; a pure budget; whether it holds together is for `fugu.verify`."""
        if not isinstance(self.budget, Pure):
            raise CertificateError("sessions on tables have a pure budget, and the certificate states another")
        _ = self.spent, self.any_belief, self.elsewhere, self.types, self.laws, self.steps, self.cap
        for stated in self["questions"]:
            rates = [read_number(rate) for listed in stated["rates"].values() for rate in listed]
            if (
                not stated["rates"]
                or set(stated["charges"]) != set(stated["rates"])
                or any(rate <= 0 for rate in rates)
            ):
                query = brief(stated["query"])
                raise CertificateError(f"the question {query} has no noise, or is not charged in each of its groups")
            if not set(stated["features"]) <= set(self["features"]):
                raise CertificateError("a question of the certificate is about a feature that it does not describe")
        if len(set(self["secrets"])) < len(self["secrets"]) or len(self["secrets"]) < 2:
            raise CertificateError("the certificate does not name two or more different secrets")
        if set(self["skipped"]) & set(self["secrets"]):
            raise CertificateError("a secret of the certificate is named as protected and as skipped")

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The largest of what is proved for any type of records: its plans summed anew, or its own epsilons."""
        no_laws(given, "many statistics of one table; its laws are in it")
        try:
            with reading(), proving():
                loads = [joined([charge_from(charge) for charge in load]) for load in self["loads"]]
                least, pair = largest_proved(self["secrets"], self.charged, self.laws, self.steps, loads)
                trusted = self.elsewhere > 0 or any(asked.kind == OUTSIDE for asked in self.questions)
        except CertificateError as error:
            return Proved.nothing(str(error))
        holds = least <= exact(self.budget.epsilon)
        reason = f"all questions together are {'within' if holds else 'above'} the budget, for every law and pair"
        outcome: Outcome = "holds" if holds else "fails"
        if holds and trusted:  # an epsilon in it is somebody's word: of a mechanism from outside, or of another release
            outcome, reason = "not checked", f"{reason}, if what fugu did not draw is as private as was said of it"
        return Proved(said(least), 0.0, pair, outcome, reason, least)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """Each part against what follows from the questions and their noise, then the figures."""
        del given
        yield "writing", "every part, read and written again, is what the document says", self._check_written
        yield "questions", "features are those that the words name, read by a schema", self._check_questions
        yield "charges", "what each question is charged follows from its noise", self._check_charges
        yield "records", "every record is in one group of each question", self._check_types
        yield "laws", "every secret has its law, which rests on enough rows", self._check_laws
        yield "assumptions", "nothing that the proof rests on is left out", self._check_assumptions
        says = "within the cap; numbers with noise that is mostly 0 are called exact"
        yield "against anybody", says, self._check_second
        says = "what is stated is not below what is proved now, and not above the budget"
        yield "stated figures", says, lambda: self._check_figures(proved)
        yield from self.own_words()

    def _check_written(self) -> None:
        """And the person is named by a column that is read."""
        own = {
            "budget": budget_json(self.budget),
            "reading": Schema.from_json(self["reading"]).to_json(),
            "features": {name: feature.to_json() for name, feature in self.features.items()},
            "questions": [
                asked.stated(stated["charges"]) for asked, stated in zip(self.questions, self["questions"], strict=True)
            ],
            "types": [kind.to_json() for kind in self.types],
            "laws": [law.to_json() for law in self.laws],
            "proofs": [step.to_json() for step in self.steps],
        }
        for name, part in own.items():
            if canonical_json(self[name]) != canonical_json(part):
                raise CertificateError(f"the part {name!r} of the certificate is not as fugu writes it: it says more")
        known = self["reading"]["columns"]
        if self["unit"] is not None and known.get(self["unit"], {}).get("kind") != "identifier":
            raise CertificateError("the certificate names the person by a column that is not read as an identifier")

    def _check_questions(self) -> None:
        """Every question looks at what its words say, each feature once, read by the schema."""
        schema = Schema.from_json(self["reading"])
        for asked in self.questions:
            if asked.kind == OUTSIDE:
                continue
            words, columns = StatisticQuestion.parse(asked.query), [feature.columns for feature in asked.features]
            kinds = tuple(type(feature) for feature in asked.features)
            if (words.kind, words.by) != (asked.kind, asked.by) or kinds not in asked.facts.features:
                raise CertificateError(f"the question {brief(asked.query)} is answered as if it were another")
            if any(read != words.columns for read in columns) or not set(words.columns) <= set(schema.fields):
                raise CertificateError(f"the question {brief(asked.query)} looks at other columns than it names")
            first = asked.features[0]
            if isinstance(first, Is) and schema.fields[first.column].label(words.equals) != first.label:
                raise CertificateError(f"the question {brief(asked.query)} counts another value than it names")
            if len({canonical_json(feature.told()) for feature in asked.features}) > 1:
                raise CertificateError(f"the question {brief(asked.query)} has features that do not belong together")

    def _check_charges(self) -> None:
        for asked, stated in zip(self.questions, self["questions"], strict=True):
            for group, own in asked.each_charge(self.modelled).items():
                if canonical_json(own) != canonical_json(stated["charges"][group]):
                    where = f"{brief(asked.query)} is charged{f' in group {brief(group)}' if group else ''}"
                    raise CertificateError(f"what {where} does not follow from its noise")

    def _check_types(self) -> None:
        """Every record is in one group of each question, and every group has its records."""
        types = self.types
        every = set(types[0].groups) if types else set()
        if not types or any(set(kind.groups) != every for kind in types):
            raise CertificateError("the types of records in the certificate are not in the same questions' groups")
        if len({canonical_json(kind.groups) for kind in types}) < len(types):
            raise CertificateError("a type of records is stated twice")
        there = {by: {kind.groups[by] for kind in types} for by in every}
        for asked in self.questions:
            if asked.by is not None and not (asked.by in every and set(asked.rates) <= there[asked.by]):
                raise CertificateError(f"the question {brief(asked.query)} is by groups that no record is in")

    def _check_laws(self) -> None:
        """Each law has every secret, enough rows of each, and states within range."""
        features, secrets, stated = self.features, set(self["secrets"]), set[tuple[str, ...]]()
        protect = self["protect"]  # the columns that it names, where it names them outright
        named = {protect} if isinstance(protect, str) else set(map(str, protect or ()))
        if isinstance(protect, Mapping):
            named = {
                str(name) for condition in protect.values() if isinstance(condition, Mapping) for name in condition
            }
        if named & {by for kind in self.types for by in kind.groups}:
            raise CertificateError(
                "the records are grouped by what the secret is worked out from, which makes it public"
            )
        for law in self.laws:
            who = shortened(law.who)
            if set(law.given) != secrets:
                raise CertificateError(f"the law of {who} leaves out a secret")
            if any(int(counts.sum()) < LEAST_ROWS for counts in law.given.values()):
                raise CertificateError(f"the law of {who} rests on fewer than {LEAST_ROWS} rows of a secret")
            if not set(law.states) <= self.modelled:
                raise CertificateError(f"the law of {who} speaks of what the reference has no column for")
            own = {(canonical_json(groups), *sorted(law.states)) for groups in law.known}
            if own & stated or len(own) < len(law.known):
                raise CertificateError(f"the law of {who} is stated twice")
            stated |= own
            for name, column in law.states.items():
                if int(column.min()) < 0 or int(column.max()) > features[name].top:
                    raise CertificateError(f"the law of {who} has a state beyond the range of its feature")

    def _check_assumptions(self) -> None:
        left_out = [UNPROTECTED + ", ".join(self["skipped"])] if self["skipped"] else []
        left_out += (
            [APART, one_row(self["unit"])] if "publisher" in self.body else []
        )  # versions before said less of the reference
        if missing := set(ASSUMPTIONS).union(left_out) - set(self["assumptions"]):
            raise CertificateError(
                f"the certificate leaves out assumptions that its proof needs: {brief(min(missing))}"
            )

    def _check_second(self) -> None:
        """No more is stated against anybody than the cap allows; and the numbers that are called exact are those whose
        noise is 0 with probability above one half. Documents without a cap are from before 0.4: what they state is
        their second promise, and nothing was called exact."""
        if self.cap is not None and self.any_belief > self.cap:
            raise CertificateError("what is stated against anybody is above the cap")
        stated = tuple(self.body.get("warnings", ()))
        said = self.cap is not None or "publisher" in self.body or bool(stated)
        if said and stated != exact_numbers(self.questions):
            raise CertificateError("the certificate calls other numbers exact than those whose noise is mostly 0")

    def _check_figures(self, proved: Proved) -> None:
        if proved.least is None:
            raise NotChecked(proved.reason)
        if self.spent < proved.least or self.spent > exact(self.budget.epsilon):
            spent = f"{float(self.spent):.10g} is stated as spent, and {proved.epsilon:.10g} is proved"
            raise CertificateError(f"{spent}, of {float(self.budget.epsilon):.10g}")
        if self.any_belief < max((own_of(load) for _, load in self.charged), default=Fraction(0)):
            raise CertificateError("against any belief less is stated than the epsilons of the questions add up to")

    # In words

    def own_lines(self) -> list[str]:
        """The assumptions beside those that every such document states, and what is said of the reference."""
        follow = {*ASSUMPTIONS, one_row(self["unit"]), UNPROTECTED + ", ".join(self["skipped"])} - {REFERENCE}
        return [line for line in self["assumptions"] if line not in follow]

    def told(self) -> Told:
        """One mechanism for all questions: their charges are added first and translated once."""
        since = "publisher" in self.body  # before 0.4 nothing was called exact, and the promises in other words
        questions, number = [question_told(asked, since) for asked in self.questions], len(self.questions)
        any_belief = float_up(self.any_belief)
        worst = f"spent {both(self.spent, self.any_belief)}"
        if not since:
            spent = float_up(self.spent)
            worst = f"spent {spent:.6g} of the budget; at most {any_belief:.6g} against any belief about one record"
        each = [(asked.kind, name) for asked in self.questions for f in asked.features for name in f.columns]
        counted = {name for kind, name in each if kind not in OF_NUMBERS}
        summary = "no noise: numbers of rows are public"
        if questions:
            rest = f"; and {number - 1} more question{'' if number == 2 else 's'}, listed below" if number > 1 else ""
            summary = f"{questions[0]['query']}: {questions[0]['words']}{rest}"
        return Told(
            budget=self["budget"], unit="one record", secrets=tuple(self["secrets"]),
            pairs=tuple(f"{s} vs {t}" for s, t in combinations(self["secrets"], 2)),
            method=f"{number} question{'' if number == 1 else 's'}, charged to each record and translated together",
            theorem="charges of independent records add as distances, and any plan between two laws bounds their worth",
            proof="docs/proofs/metric-charges.md",
            noise={"kind": KIND, "questions": questions, "words": summary},
            figures={"epsilon": self["spent"], "delta": 0.0, "any belief": any_belief},
            worst_pair=worst, assumptions=tuple(self["assumptions"]), reading=self["reading"],
            about={"query": ", ".join(asked.query for asked in self.questions) or "public numbers of rows"},
            rules=(
                *rules(Schema.from_json(self["reading"]), dict.fromkeys(name for _, name in each), counted),
                *ranges_said(self["assumptions"]),
            ),
        )  # fmt: skip

    def answers(self, recipe: Json, group: str) -> bool:
        """Whether it charges the questions of a recipe, in any order; it may charge earlier ones of the same ledger
        too, and numbers of rows are public and in none."""
        del group
        if recipe["what"] != KIND:
            return False
        asked = (str(question["query"]) for question in recipe["questions"])
        wanted = Counter(query for query in asked if StatisticQuestion.parse(query).columns)
        charged = Counter(str(question["query"]) for question in self["questions"])
        alone = wanted == charged and self["elsewhere"] == "0" and "epsilon" in recipe
        if alone and self.spent > read_number(recipe["epsilon"]):
            return False  # what was asked for is at least what all of it cost
        named = (recipe["protect"], recipe["unit"]) == (self["protect"], self["unit"])
        return wanted <= charged and named and recipe["rows"] == self.rows

"""`TrainingCertificate`: why a trained model keeps its promise, as a JSON document that anybody can re-check.

It holds the budget, what was proved, every parameter of the training and of the prior, who is protected against whom,
and what is taken for granted; no weight and no datum. The proof is never taken from the document: `verify` builds the
accountant anew from the parameters and proves again, and it writes the document anew, words included, and compares: a
document that says more than its numbers prove is refused. The digest detects edits; it is not a signature.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from fugu.data.schema import Schema
from fugu.documents.document import canonical_json
from fugu.documents.parts import TRAINING
from fugu.documents.plain_json import reading
from fugu.documents.promising import Promising
from fugu.errors import CertificateError, NotProvable
from fugu.guarantee import Approx
from fugu.guarantee.encoding import budget_from, budget_json
from fugu.guarantee.numbers import exact
from fugu.numbers.checks import is_texts
from fugu.numbers.exact import read_number
from fugu.priors.groups import Independent
from fugu.progress import within
from fugu.training.accountant import NoisySGD
from fugu.training.claims import MODELS, SECRETS, assumptions, neighbours
from fugu.training.losses import Hinge, Logistic, Loss, Squared
from fugu.training.reading import prior_of
from fugu.training.training import Objective, keeps

VERSION = 1
_MOST = {"steps": 2 * 10**6, "records": 10**7, "batch_size": 10**7}
_PATIENCE = 20.0
"""Seconds for one proof. To find the noise that a certificate states takes dozens of them."""
WHOLE = "both"
"""What is private of a record where all of it is."""
_READING = "reading"
"""How cells become numbers, a schema: in certificates of the estimators, not in those issued for other trainings."""
_NUMBERS = ("learning_rate", "lipschitz", "smoothness", "strong_convexity", "noise", "domain", "sensitivity")
_LOSSES: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "squared": (Squared, ("clip",)),
    "logistic": (Logistic, ()),
    "hinge": (Hinge, ("width",)),
}


class TrainingCertificate(Promising):
    """What is promised of one training, and why; read its parts through the properties, re-prove it with `verify`.

    `body`: the document, JSON that cannot be changed. `TrainingCertificate.load(path)` reads one, `save` writes it."""

    SCHEMA = "fugu/training/1"
    REQUIRED = ("version", "fugu", "model", "budget", "proved", "objective", "accountant", "prior", "neighbours",
                "assumptions")  # fmt: skip
    KINDS: ClassVar = {"training": ()}
    PARTS = TRAINING

    @staticmethod
    def issue(
        model: str,
        budget: Approx,
        objective: Objective,
        accountant: NoisySGD,
        more: tuple[str, ...] = (),
        reading: Schema | None = None,
    ) -> TrainingCertificate:
        """State what the accountant proves at the budget's epsilon, and refuse if that is not the budget.

        `model`: its name; `budget`: what was asked for; `objective`: what was minimised; `accountant`: a `NoisySGD`
        with its noise. `more`: further assumptions, such as where a chain comes from. `reading`: how every record was
        read; without one, that the data could be trained on is told to be public."""
        proved = Approx(budget.epsilon, accountant.delta_at(budget.epsilon))
        if not _within(proved, budget) or not keeps(objective, accountant):
            raise NotProvable("this training is not proved to meet the budget; take the noise from for_budget")
        if any((getattr(accountant, name) or 0) > most for name, most in _MOST.items()):
            raise NotProvable(f"certificates are for at most {_MOST['steps']:g} steps and {_MOST['records']:g} records")
        parameters, private = accountant.belief.parameters(), objective.private
        body = {
            "kind": "training",
            "version": VERSION,
            "model": model,
            "budget": budget_json(budget),
            "proved": budget_json(proved),
            "objective": _objective_json(objective),
            "accountant": _accountant_json(accountant),
            "prior": {"words": prior_of(parameters).words(), "parameters": parameters},
            "neighbours": neighbours(private, accountant.belief),
            "assumptions": [*assumptions(private, accountant.belief, reading is not None), *more],
            **({} if reading is None else {_READING: reading.to_json()}),
        }
        return TrainingCertificate.sealed(body)

    @property
    def budget(self) -> Approx:
        """The guarantee that was asked for."""
        return _approx(self.body["budget"])

    @property
    def proved(self) -> Approx:
        """The guarantee that was proved: the budget's epsilon with a delta that is no larger."""
        return _approx(self.body["proved"])

    @property
    def for_each_record(self) -> bool:
        """Whether it is differential privacy for each record: the prior is independent, whole records are private, and
        every record has a reading. The proof then bounds two runs on *any* two tables that differ in one record."""
        independent = self.body["prior"]["parameters"].get("kind") == Independent.kind
        return independent and self.body["objective"]["private"] == WHOLE and _READING in self.body

    @property
    def believed(self) -> Approx:
        """What was asked for, with a delta that is not below what was proved."""
        return self.budget

    @property
    def believes(self) -> str:
        """The prior about the other records."""
        return "the stated prior"

    @property
    def anybody(self) -> Approx | None:
        """The same, where it is for each record; under another prior nothing more is proved."""
        return self.budget if self.for_each_record else None

    @property
    def neighbours(self) -> str:
        """Who is protected against whom."""
        return str(self.body["neighbours"])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the guarantee to mean what it says."""
        return tuple(self.body["assumptions"])

    @property
    def prior(self) -> str:
        """What adversaries are taken to believe about the other records, in words."""
        return str(self.body["prior"]["words"])

    @property
    def objective(self) -> Objective:
        """What was minimised."""
        with reading():
            return self._objective()

    def _objective(self) -> Objective:
        found = self.body["objective"]
        if found["loss"]["kind"] not in _LOSSES:
            raise CertificateError("the certificate names a loss that this version of fugu does not know")
        kind, fields = _LOSSES[found["loss"]["kind"]]
        loss: Loss = kind(**{name: float(found["loss"][name]) for name in fields})
        numbers = {name: float(found[name]) for name in ("clip", "penalty", "radius", "width")}
        if found["private"] not in SECRETS:
            raise CertificateError("the certificate does not say what is private")
        if numbers["width"] not in (2.0, math.sqrt(2)):
            raise CertificateError("the certificate's width is none that scaled records have")
        return Objective(loss, private=found["private"], **numbers)

    @cached_property
    def accountant(self) -> NoisySGD:
        """The accountant of the training, built from the document."""
        with reading():
            return self._accountant()

    def _accountant(self) -> NoisySGD:
        found = self.body["accountant"]
        numbers = {name: _number(found[name]) for name in _NUMBERS}
        whole = {name: found[name] for name in _MOST}
        if any(type(x) is not int or x > _MOST[name] for name, x in whole.items()):
            raise CertificateError(f"steps and records must be whole numbers, of at most {_MOST['steps']:g} steps")
        return NoisySGD(**whole, **numbers, prior=prior_of(self.body["prior"]["parameters"]))

    def own_lines(self) -> list[str]:
        """What was assumed beside what the proof needs, such as where a chain comes from."""
        needed = assumptions(self.objective.private, self.accountant.belief, _READING in self.body)
        return [line for line in self.assumptions if line not in needed]

    def check(self) -> None:
        """The version that this version of fugu writes."""
        if self.body["version"] != VERSION:
            raise CertificateError("the certificate is of a version that this version of fugu does not know")

    def verify(self) -> Approx:
        """The guarantee, proved anew from the parameters; CertificateError if any part does not hold."""
        TrainingCertificate.parse(self.body)
        found = Approx(math.inf, 0)
        with within(_PATIENCE):
            for _, _, step in STEPS:
                found = self.timed(step) or found
        return found

    def timed(self, step: Callable[[TrainingCertificate], Approx | None]) -> Approx | None:
        """One step of the verification; whatever goes wrong, or takes too long, is a CertificateError."""
        with within(_PATIENCE), reading():
            return step(self)

    def check_constants(self) -> None:
        """The constants that the accountant was given are those of the objective, or larger."""
        if not keeps(self.objective, self.accountant):
            raise CertificateError("the certificate's constants are smaller than those of its objective")

    def prove(self) -> Approx:
        """What is proved now at the epsilon stated; CertificateError if that is not what is stated."""
        stated = self.proved
        found = Approx(stated.epsilon, self.accountant.delta_at(stated.epsilon))
        if not _within(found, stated):
            raise CertificateError("the certificate states a smaller epsilon or delta than can be proved")
        return found

    def check_budget(self) -> None:
        """What is stated as proved meets the budget."""
        if not _within(self.proved, self.budget):
            raise CertificateError("what is proved does not meet the budget that the certificate states")

    def check_words(self) -> None:
        """Every part must be written, to the letter, as the parameters would have it written."""
        accountant, objective = self.accountant, self.objective
        body, private = self.body, objective.private
        parts = {
            "budget": budget_json(self.budget),
            "proved": budget_json(self.proved),
            "objective": _objective_json(objective),
            "accountant": _accountant_json(accountant),
            "prior": {"words": accountant.belief.words(), "parameters": body["prior"]["parameters"]},
            "neighbours": neighbours(private, accountant.belief),
        }
        for name, part in parts.items():
            if canonical_json(body[name]) != canonical_json(part):
                raise CertificateError(f"the part {name!r} of the certificate is not what its parameters prove")
        if _READING in body and Schema.from_json(body[_READING]).to_json() != body[_READING]:
            raise CertificateError("the part 'reading' of the certificate is not a schema that fugu writes")
        needed = list(assumptions(private, accountant.belief, _READING in body))
        said = body["assumptions"]
        if not isinstance(said, list) or said[: len(needed)] != needed or not is_texts(said):
            raise CertificateError("the certificate leaves out assumptions that its proof needs")
        own = MODELS[objective.loss.name]
        if not isinstance(body["model"], str) or (body["model"] != own and body["model"] in MODELS.values()):
            raise CertificateError("the certificate names another model than the one it was proved for")


Step = tuple[str, str, Callable[[TrainingCertificate], Approx | None]]
"""The name of a step of the verification, what is true if it passes, and the step: a CertificateError if it does not;
the step that proves answers with what is proved."""
STEPS: tuple[Step, ...] = (
    ("words", "every part is written as the parameters would have it", TrainingCertificate.check_words),
    ("constants", "the constants are those of the objective, or larger", TrainingCertificate.check_constants),
    ("stated figures", "what is stated as proved is not below what is proved now", TrainingCertificate.prove),
    ("budget", "what is proved is within the budget", TrainingCertificate.check_budget),
)


def _objective_json(objective: Objective) -> dict[str, Any]:
    fields = _LOSSES[objective.loss.name][1]
    loss = {"kind": objective.loss.name, **{name: float(getattr(objective.loss, name)) for name in fields}}
    rest = {name: float(getattr(objective, name)) for name in ("clip", "penalty", "radius", "width")}
    return {"loss": loss, **rest, "private": objective.private}


def _accountant_json(accountant: NoisySGD) -> dict[str, Any]:
    whole = {name: int(getattr(accountant, name)) for name in ("steps", "records", "batch_size")}
    return {**whole, **{name: _number_json(getattr(accountant, name)) for name in _NUMBERS}}


def _number_json(x: Any) -> Any:
    """Floats as they are (JSON keeps every digit), rationals as "p/q"."""
    if x is None:
        return None
    return str(x) if isinstance(x, Fraction) else float(x)


def _number(x: Any) -> Any:
    if x is None:
        return None
    return read_number(x) if isinstance(x, str) else float(read_number(x))


def _approx(found: dict[str, str]) -> Approx:
    with reading():
        guarantee = budget_from(found)
    if not isinstance(guarantee, Approx):
        raise CertificateError("a training is certified for epsilon and delta")
    return guarantee


def _within(found: Approx, limit: Approx) -> bool:
    return exact(found.epsilon) <= exact(limit.epsilon) and exact(found.delta) <= exact(limit.delta)

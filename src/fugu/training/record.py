"""`TrainingCertificate`: why a trained model keeps its promise; its claims in words, and its charge to a ledger."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar

import numpy as np

from fugu.data.schema import Schema
from fugu.data.secrets import rules
from fugu.documents import reading as of
from fugu.documents.document import Check, Proved, Stated, canonical_json, no_laws
from fugu.documents.promises import Promising
from fugu.documents.reading import reading
from fugu.documents.sentences import Told
from fugu.errors import CertificateError, NotProvable
from fugu.guarantee import Approx
from fugu.guarantee.asks import plain
from fugu.guarantee.composition import fits
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.pair import PairsLike
from fugu.numbers.checks import is_texts
from fugu.numbers.exact import as_fraction, read_number
from fugu.priors.coupling import Coupled, Independent
from fugu.progress import within
from fugu.question import RECORDS
from fugu.training.accountant import NoisySGD, prior_of
from fugu.training.allocation import Floats
from fugu.training.losses import FLOAT_MODEL, ConvexLoss, Hinge, Logistic, Objective, Squared, keeps
from fugu.visible import Json

# What a training promises and what it takes for granted, in words: made from its parameters, for the certificate.
#
# `TrainingCertificate.verify` makes them again, so that no document says more than its numbers prove.

SECRETS = {
    "both": "any two values of one whole record, features and target",
    "features": "any two values of the features of one record; all targets are public",
    "target": "any two values of the target of one record; all features are public",
}
_PUBLIC = {"features": "targets", "target": "features"}
MODELS = {"squared": "LinearRegression", "logistic": "LogisticRegression", "hinge": "LinearSVC"}
_CHOSEN = (
    "public, and chosen without looking at private values: the number of records, their order, groups, the two labels, "
    "the declared bounds, all parameters"
)
_FIT = "that the data are fit to train on (finite numbers, a target with more than one value) is public"
_READ = (
    "each record is read by itself, whatever it holds, by the public rules under 'reading': a number beyond its bounds "
    "counts as the bound unless it says missing, a cell that is missing or no number as the number named there, a "
    "label that is neither of the two, or missing, as the one of them named there"
)
_LAST = (
    "only the final model is published: no weights in between, no second training on the same records",
    FLOAT_MODEL,
)


def neighbours(private: str, prior: Coupled) -> str:
    """Who is protected against whom; a normal prior speaks of values that are a bounded distance apart.

    >>> from fugu.priors.correlated import AR1
    >>> neighbours("target", AR1(0.3, 0.5)).partition("; ")[2]
    'all features are public; both within the declared bounds, and at most 0.5 times their range apart'
    """
    said = SECRETS[private]
    if prior.distance is None:
        return said
    share = plain(as_fraction(prior.distance))
    return f"{said}; both within the declared bounds, and at most {share} times their range apart"


def assumptions(private: str, prior: Coupled, reading: bool) -> tuple[str, ...]:
    """What must be true for the guarantee to mean what it says; `reading`: whether every record has a reading."""
    said = [_CHOSEN, _READ if reading else _FIT, *_LAST]
    if prior.gaussian:
        said.append("the unit of the prior's distances is the declared range, of the features and of the target alike")
        said.append(
            "if one record changes, the prior moves the mean of another by the same share of that change in every "
            "coordinate, features and target"
        )
    if (public := _PUBLIC.get(private)) is not None:
        said.append(f"the prior speaks of the private part of the records, given the public {public}")
    return tuple(said)


# `TrainingCertificate`: why a trained model keeps its promise, as a JSON document that anybody can re-check.
#
# It holds the budget, what was proved, every parameter of the training and of the prior, who is protected against whom,
# and what is taken for granted; no weight and no datum. The proof is never taken from the document: `verify` builds the
# accountant anew from the parameters and proves again, and it writes the document anew, words included, and compares: a
# document that says more than its numbers prove is refused. The digest detects edits; it is not a signature.

T = TypeVar("T")
VERSION = 1
_MOST = {"steps": 2 * 10**6, RECORDS: 10**7, "batch_size": 10**7}
_SHORT = "batch_size is above the number of records: no batch has so many, and a sum divided by more needs less noise"
"""Why: a step divides by batch_size, so one that nothing ever fills would shrink every gradient, and its noise."""
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


_OBJECTIVE = of.parts(
    {"loss": of.parts({"kind": of.text}, {"clip": of.figure, "width": of.figure}), "private": of.text,
     **dict.fromkeys(("clip", "penalty", "radius", "width"), of.figure)}
)  # fmt: skip
_ACCOUNTANT = of.parts(
    {**dict.fromkeys(_MOST, of.whole), **dict.fromkeys(("learning_rate", "noise"), of.exact),
     **dict.fromkeys(("lipschitz", "smoothness", "strong_convexity", "domain", "sensitivity"), of.maybe(of.exact))}
)  # fmt: skip
TRAINING = of.listed(
    of.SEALED,
    seal={"version": of.whole},
    proof={
        "budget": of.GUARANTEE, "objective": _OBJECTIVE, "accountant": _ACCOUNTANT, "reading": of.SCHEMA,
        "prior": of.parts({"words": of.text, "parameters": of.thing}),
    },
    derived={"proved": of.GUARANTEE, "neighbours": of.text, "assumptions": of.TEXTS},
    publisher={"model": of.text},
    inside={"prior": {"words": of.DERIVED}},
)  # fmt: skip


def _approx(found: dict[str, str]) -> Approx:
    with reading():
        guarantee = budget_from(found)
    if not isinstance(guarantee, Approx):
        raise CertificateError("a training is certified for epsilon and delta")
    return guarantee


class TrainingCertificate(Promising):
    """What is promised of one training, and why; read its parts through the properties, re-prove it with `verify`.

    `body`: the document, JSON that cannot be changed. `TrainingCertificate.load(path)` reads one, `save` writes it."""

    SCHEMA = "fugu/training/1"
    KINDS = ("training",)
    WHOLE_RUN = True
    NEEDS = ("version", "fugu", "model", "budget", "proved", "objective", "accountant", "prior", "neighbours",
             "assumptions")  # fmt: skip
    PARTS = TRAINING
    budget = Stated(_approx)
    """The guarantee that was asked for."""
    proved = Stated(_approx)
    """The guarantee that was proved: the budget's epsilon with a delta that is no larger."""
    neighbours = Stated(str)
    """Who is protected against whom."""
    assumptions = Stated[tuple[str, ...]](tuple)
    """What must be true for the guarantee to mean what it says."""

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
        if not fits(proved, budget) or not keeps(objective, accountant):
            raise NotProvable("this training is not proved to meet the budget; take the noise from for_budget")
        if any((getattr(accountant, name) or 0) > most for name, most in _MOST.items()):
            raise NotProvable(f"certificates are for at most {_MOST['steps']:g} steps and {_MOST['records']:g} records")
        if accountant.records is not None and accountant.batch_size > accountant.records:
            raise NotProvable(_SHORT)
        stated = parts(budget, proved, objective, accountant, accountant.belief.parameters())
        needed = assumptions(objective.private, accountant.belief, reading is not None)
        body = {"kind": "training", "version": VERSION, "model": model, **stated, "assumptions": [*needed, *more]}
        return TrainingCertificate.sealed(body | ({} if reading is None else {_READING: reading.to_json()}))

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

    def secret(self, name: str = "") -> str:
        del name
        return "one record"

    @property
    def anybody(self) -> Approx | None:
        """The same, where it is for each record; under another prior nothing more is proved."""
        return self.budget if self.for_each_record else None

    @property
    def prior(self) -> str:
        """What adversaries are taken to believe about the other records, in words."""
        return str(self.body["prior"]["words"])

    @property
    def objective(self) -> Objective:
        """What was minimised."""
        with reading():
            found = self.body["objective"]
            if found["loss"]["kind"] not in _LOSSES:
                raise CertificateError("the certificate names a loss that this version of fugu does not know")
            kind, fields = _LOSSES[found["loss"]["kind"]]
            loss: ConvexLoss = kind(**{name: float(found["loss"][name]) for name in fields})
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
            found = self.body["accountant"]
            numbers = {name: _number(found[name]) for name in _NUMBERS}
            whole = {name: found[name] for name in _MOST}
            if any(type(x) is not int or x > _MOST[name] for name, x in whole.items()):
                raise CertificateError(f"steps and records must be whole numbers, of at most {_MOST['steps']:g} steps")
            if whole["batch_size"] > whole[RECORDS]:
                raise CertificateError(_SHORT)
            return NoisySGD(**whole, **numbers, prior=prior_of(self.body["prior"]["parameters"]))

    def own_lines(self) -> list[str]:
        """What was assumed beside what the proof needs, such as where a chain comes from."""
        needed = assumptions(self.objective.private, self.accountant.belief, _READING in self.body)
        return [line for line in self.assumptions if line not in needed]

    def check_parts(self) -> None:
        """The version that this version of fugu writes."""
        if self.body["version"] != VERSION:
            raise CertificateError("the certificate is of a version that this version of fugu does not know")

    def verify(self) -> Approx:
        """The guarantee, proved anew from the parameters; CertificateError if any part does not hold."""
        TrainingCertificate.parse(self.body)
        with within(_PATIENCE):
            self.timed(self.check_words)
            self.timed(self.check_constants)
            return self.timed(self.proved_now)

    def timed(self, step: Callable[[], T]) -> T:
        """One step of the verification; whatever goes wrong, or takes too long, is a CertificateError."""
        with within(_PATIENCE), reading():
            return step()

    def check_constants(self) -> None:
        """The constants that the accountant was given are those of the objective, or larger."""
        if not keeps(self.objective, self.accountant):
            raise CertificateError("the certificate's constants are smaller than those of its objective")

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The delta at the epsilon stated, from an accountant that is built anew; the figures stated must cover it."""
        no_laws(given, "a training")
        try:
            found = self.timed(self.proved_now)
            with reading():
                reason = f"a training, for adversaries who believe: {self.prior}"
        except CertificateError as error:
            return Proved.nothing(str(error), worst_pair=self.neighbours)
        return Proved(float(found.epsilon), float(found.delta), self.neighbours, "holds", reason)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """The words and the constants; what is stated as proved was compared with the proof."""
        del given

        def figures() -> None:
            if proved.budget != "holds":
                raise CertificateError(proved.reason)

        yield "words", "every part is written as the parameters would have it", partial(self.timed, self.check_words)
        constants = partial(self.timed, self.check_constants)
        yield "constants", "the constants are those of the objective, or larger", constants
        yield "stated figures", "what is stated as proved is not below what is proved now", figures
        yield from self.own_words()

    def told(self) -> Told:
        """Who is protected stands in the document; the noise is that of every step."""
        steps, noise, size = self["accountant"]["steps"], self["accountant"]["noise"], "Gaussian noise of standard"
        words = f"{size} deviation {float(read_number(noise)):.4g} on the weights in each of {steps} steps"
        stated = self.body.get(_READING)
        return Told(
            budget=self["budget"], unit="one record", secrets=(), pairs=(self.neighbours,), method=str(self["model"]),
            theorem="the last iterate of a noisy contraction", proof="docs/proofs/iterations.md",
            noise={"noise": noise, "steps": steps, "words": words}, figures=self["proved"], worst_pair=self.neighbours,
            assumptions=self.assumptions, reading=stated, about={"model": self["model"]},
            rules=() if stated is None else rules(Schema.from_json(stated)),
        )  # fmt: skip

    def answers(self, recipe: Json, group: str) -> bool:
        del group
        if recipe["what"] != "training" or recipe["model"] != self["model"]:
            return False
        columns = {*recipe.get("features", ()), *([] if recipe["target"] is None else [recipe["target"]])}
        return columns <= set(self[_READING]["columns"])

    @property
    def rows(self) -> int:
        return int(self["accountant"][RECORDS])

    def proved_now(self) -> Approx:
        """What is proved now at the epsilon stated; CertificateError if that is not what is stated, or if that does not
        meet the budget."""
        stated = self.proved
        found = Approx(stated.epsilon, self.accountant.delta_at(stated.epsilon))
        if not fits(found, stated):
            raise CertificateError("the certificate states a smaller epsilon or delta than can be proved")
        if not fits(stated, self.budget):
            raise CertificateError("what is proved does not meet the budget that the certificate states")
        return found

    def check_words(self) -> None:
        """Every part must be written, to the letter, as the parameters would have it written."""
        accountant, objective, body = self.accountant, self.objective, self.body
        stated = parts(self.budget, self.proved, objective, accountant, body["prior"]["parameters"])
        for name, part in stated.items():
            if canonical_json(body[name]) != canonical_json(part):
                raise CertificateError(f"the part {name!r} of the certificate is not what its parameters prove")
        if _READING in body and Schema.from_json(body[_READING]).to_json() != body[_READING]:
            raise CertificateError("the part 'reading' of the certificate is not a schema that fugu writes")
        needed = list(assumptions(objective.private, accountant.belief, _READING in body))
        said = body["assumptions"]
        if not isinstance(said, list) or said[: len(needed)] != needed or not is_texts(said):
            raise CertificateError("the certificate leaves out assumptions that its proof needs")
        own = MODELS[objective.loss.name]
        if not isinstance(body["model"], str) or (body["model"] != own and body["model"] in MODELS.values()):
            raise CertificateError("the certificate names another model than the one it was proved for")


def parts(
    budget: Approx, proved: Approx, objective: Objective, accountant: NoisySGD, parameters: dict[str, Any]
) -> dict[str, Any]:
    """What a certificate states of a training under a prior of these `parameters`: floats as they are (JSON keeps every
    digit), rationals as "p/q"."""
    named, belief = objective.loss.name, prior_of(parameters)
    loss = {"kind": named, **{name: float(getattr(objective.loss, name)) for name in _LOSSES[named][1]}}
    rest = {name: float(getattr(objective, name)) for name in ("clip", "penalty", "radius", "width")}
    given = {name: getattr(accountant, name) for name in _NUMBERS}
    numbers = {n: x if x is None else str(x) if isinstance(x, Fraction) else float(x) for n, x in given.items()}
    return {
        "budget": budget_json(budget), "proved": budget_json(proved),
        "objective": {"loss": loss, **rest, "private": objective.private},
        "accountant": {**{name: int(getattr(accountant, name)) for name in _MOST}, **numbers},
        "prior": {"words": belief.words(), "parameters": parameters},
        "neighbours": neighbours(objective.private, belief),
    }  # fmt: skip


def _number(x: Any) -> Any:
    if x is None:
        return None
    return read_number(x) if isinstance(x, str) else float(read_number(x))


# Training through a ledger: the charge is on disk before the first step, and a question has one model.
#
# `fugu.Ledger` is what `Keeper` describes. What a training is charged as follows from its certificate alone, see
# `fugu.ledger.charge.Charge.of_training`.


class Keeper(Protocol):
    """Who keeps the books: a `fugu.Ledger`."""

    def recognise(self, data: Any) -> None:
        """Refuse `data` that is known otherwise, or that is not what this budget is for."""

    def spend(self, request: str, mechanism: Any, produce: Callable[[], T]) -> T:
        """Charge `mechanism` under the name `request`, run `produce` once; what is stored for the request."""


def charged(
    keeper: Keeper | None, certificate: TrainingCertificate, columns: Mapping[str, Any], produce: Callable[[], Floats]
) -> Floats:
    """The weights that `produce` makes; through a ledger those of the first time, if the same was asked before.

    The request is named by what is asked, so the same training on the same rows is the same request. Any other one on
    these rows is a further charge, under whatever name they come."""
    if keeper is None:
        return produce()
    keeper.recognise(columns)
    asked = hashlib.sha256(canonical_json(certificate.claims).encode()).hexdigest()[:16]
    return np.asarray(keeper.spend(f"fit {certificate.body['model']} {asked}", certificate, produce), dtype=np.float64)

"""`TrainingCertificate`: why a trained model keeps its promise, as a JSON document that anybody can re-check.

It holds the budget, what was proved, every parameter of the training and of the prior, who is protected against whom,
and what is taken for granted; no weight and no datum. The proof is never taken from the document: `verify` builds the
accountant anew from the parameters and proves again, and it writes the document anew, words included, and compares: a
document that says more than its numbers prove is refused. The digest detects edits; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fugu._version import __version__
from fugu.data.schema import Schema
from fugu.errors import CertificateError, NotProvable
from fugu.files import write_text
from fugu.guarantee import Approx
from fugu.guarantee.encoding import budget_from, budget_json
from fugu.guarantee.numbers import exact
from fugu.mechanism.documents import check_plain, load_json, reading
from fugu.numbers.exact import read_number
from fugu.progress import within
from fugu.training.accountant import NoisySGD
from fugu.training.claims import MODELS, assumptions, neighbours
from fugu.training.losses import Hinge, Logistic, Loss, Squared
from fugu.training.reading import prior_of
from fugu.training.training import Objective, keeps
from fugu.visible import visible_json

SCHEMA = "fugu/training/1"
VERSION = 1
_MAX_BYTES = 512 * 1024**2
_MOST = {"steps": 2 * 10**6, "records": 10**7, "batch_size": 10**7}
_PATIENCE = 20.0
"""Seconds for one proof. To find the noise that a certificate states takes dozens of them."""
_REQUIRED = ("schema", "kind", "version", "fugu", "model", "budget", "proved", "objective", "accountant", "prior",
             "neighbours", "assumptions", "digest")  # fmt: skip
_READING = "reading"
"""How cells become numbers, a schema: in certificates of the estimators, not in those issued for other trainings."""
_NUMBERS = ("learning_rate", "lipschitz", "smoothness", "strong_convexity", "noise", "domain", "sensitivity")
_LOSSES: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "squared": (Squared, ("clip",)),
    "logistic": (Logistic, ()),
    "hinge": (Hinge, ("width",)),
}


@dataclass(frozen=True)
class TrainingCertificate:
    """The document; read its parts through the properties, re-prove it with `verify`."""

    body: dict[str, Any]

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

        `more`: further assumptions, such as where a chain comes from. `reading`: how every record was read; without
        one, that the data could be trained on is told to be public."""
        proved = Approx(budget.epsilon, accountant.delta_at(budget.epsilon))
        if not _within(proved, budget) or not keeps(objective, accountant):
            raise NotProvable("this training is not proved to meet the budget; take the noise from for_budget")
        if any((getattr(accountant, name) or 0) > most for name, most in _MOST.items()):
            raise NotProvable(f"certificates are for at most {_MOST['steps']:g} steps and {_MOST['records']:g} records")
        parameters, private = accountant.prior.parameters(), objective.private
        body = {
            "schema": SCHEMA,
            "kind": "training",
            "version": VERSION,
            "fugu": __version__,
            "model": model,
            "budget": budget_json(budget),
            "proved": budget_json(proved),
            "objective": _objective_json(objective),
            "accountant": _accountant_json(accountant),
            "prior": {"words": prior_of(parameters).words(), "parameters": parameters},
            "neighbours": neighbours(private, accountant.prior),
            "assumptions": [*assumptions(private, accountant.prior, reading is not None), *more],
            **({} if reading is None else {_READING: reading.to_json()}),
        }
        return TrainingCertificate({**body, "digest": _digest(body)})

    @property
    def budget(self) -> Approx:
        """The guarantee that was asked for."""
        return _approx(self.body["budget"])

    @property
    def proved(self) -> Approx:
        """The guarantee that was proved: the budget's epsilon with a delta that is no larger."""
        return _approx(self.body["proved"])

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
        found = self.body["objective"]
        if found["loss"]["kind"] not in _LOSSES:
            raise CertificateError("the certificate names a loss that this version of fugu does not know")
        kind, fields = _LOSSES[found["loss"]["kind"]]
        loss: Loss = kind(**{name: float(found["loss"][name]) for name in fields})
        numbers = {name: float(found[name]) for name in ("clip", "penalty", "radius", "width")}
        if found["private"] not in ("both", "features", "target"):
            raise CertificateError("the certificate does not say what is private")
        if numbers["width"] not in (2.0, math.sqrt(2)):
            raise CertificateError("the certificate's width is none that scaled records have")
        return Objective(loss, private=found["private"], **numbers)

    @property
    def accountant(self) -> NoisySGD:
        """The accountant of the training, built from the document."""
        found = self.body["accountant"]
        numbers = {name: _number(found[name]) for name in _NUMBERS}
        whole = {name: found[name] for name in _MOST}
        if any(type(x) is not int or x > _MOST[name] for name, x in whole.items()):
            raise CertificateError(f"steps and records must be whole numbers, of at most {_MOST['steps']:g} steps")
        return NoisySGD(**whole, **numbers, prior=prior_of(self.body["prior"]["parameters"]))

    def verify(self) -> Approx:
        """The guarantee, proved anew from the parameters; CertificateError if any part does not hold."""
        check(self.body)
        with within(_PATIENCE), reading():
            accountant, objective, budget, stated = self.accountant, self.objective, self.budget, self.proved
            self._check_words(accountant, objective, budget, stated)
            if not keeps(objective, accountant):
                raise CertificateError("the certificate's constants are smaller than those of its objective")
            found = Approx(stated.epsilon, accountant.delta_at(stated.epsilon))
        if not _within(found, stated):
            raise CertificateError("the certificate states a smaller epsilon or delta than can be proved")
        if not _within(stated, budget):
            raise CertificateError("what is proved does not meet the budget that the certificate states")
        return found

    def _check_words(self, accountant: NoisySGD, objective: Objective, budget: Approx, stated: Approx) -> None:
        """Every part must be written, to the letter, as the parameters would have it written."""
        body, private = self.body, objective.private
        parts = {
            "budget": budget_json(budget),
            "proved": budget_json(stated),
            "objective": _objective_json(objective),
            "accountant": _accountant_json(accountant),
            "prior": {"words": accountant.prior.words(), "parameters": body["prior"]["parameters"]},
            "neighbours": neighbours(private, accountant.prior),
        }
        for name, part in parts.items():
            if _text(body[name]) != _text(part):
                raise CertificateError(f"the part {name!r} of the certificate is not what its parameters prove")
        if _READING in body and _text(Schema.from_json(body[_READING]).to_json()) != _text(body[_READING]):
            raise CertificateError("the part 'reading' of the certificate is no schema that fugu writes")
        needed = list(assumptions(private, accountant.prior, _READING in body))
        said = body["assumptions"]
        if not isinstance(said, list) or said[: len(needed)] != needed or not all(isinstance(x, str) for x in said):
            raise CertificateError("the certificate leaves out assumptions that its proof needs")
        own = MODELS[objective.loss.name]
        if not isinstance(body["model"], str) or (body["model"] != own and body["model"] in MODELS.values()):
            raise CertificateError("the certificate names another model than the one it was proved for")

    def to_json(self) -> str:
        """The document as text."""
        return visible_json(json.dumps(self.body, ensure_ascii=False, indent=1))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document, whole or not at all."""
        write_text(path, self.to_json())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> TrainingCertificate:
        """Read a document; refuses one that is truncated, edited, or of another kind. It proves nothing yet."""
        body = load_json(path, _MAX_BYTES)
        check(body)
        return TrainingCertificate(body)


def check(body: Any) -> None:
    """Plain data of this schema, with every part and a digest that matches."""
    check_plain(body)
    if not isinstance(body, dict) or body.get("schema") != SCHEMA or body.get("kind") != "training":
        raise CertificateError(f"not a certificate of schema {SCHEMA}")
    missing = [key for key in _REQUIRED if key not in body]
    if missing:
        raise CertificateError(f"the certificate lacks {', '.join(missing)}; it may be truncated")
    if type(body["version"]) is not int or body["version"] != VERSION:
        raise CertificateError("the certificate is of a version that this version of fugu does not know")
    if not body.keys() <= {*_REQUIRED, _READING}:
        raise CertificateError("the certificate has parts that this version of fugu does not know")
    if _digest({k: v for k, v in body.items() if k != "digest"}) != body["digest"]:
        raise CertificateError("the certificate's content does not match its digest: it was edited after sealing")


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
    guarantee = budget_from(found)
    if not isinstance(guarantee, Approx):
        raise CertificateError("a training is certified for epsilon and delta")
    return guarantee


def _within(found: Approx, limit: Approx) -> bool:
    return exact(found.epsilon) <= exact(limit.epsilon) and exact(found.delta) <= exact(limit.delta)


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _digest(content: Any) -> str:
    return hashlib.sha256(_text(content).encode()).hexdigest()

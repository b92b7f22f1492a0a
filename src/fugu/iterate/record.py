"""`TrainingCertificate`: why a trained model keeps its promise, as a JSON document that anybody can re-check.

It holds the budget, what was proved, every parameter of the training and of the prior, who is protected against whom,
and what is taken for granted; no weight and no datum. The proof is never taken from the document: `verify` builds the
accountant anew from the parameters and proves again. The digest detects edits; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fugu._version import __version__
from fugu.errors import CertificateError, FuguError, NotProvable
from fugu.guarantee import Approx
from fugu.guarantee.numbers import exact
from fugu.iterate.accountant import NoisySGD
from fugu.iterate.losses import Hinge, Logistic, Loss, Squared
from fugu.iterate.reading import prior_of
from fugu.iterate.training import Objective, keeps
from fugu.mechanism.encoding import budget_from, budget_json

SCHEMA = "fugu/training/1"
VERSION = 1
_MAX_BYTES = 512 * 1024**2
_REQUIRED = ("schema", "kind", "version", "fugu", "model", "budget", "proved", "objective", "accountant", "prior",
             "neighbours", "assumptions", "digest")  # fmt: skip
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
        neighbours: str,
        assumptions: tuple[str, ...],
    ) -> TrainingCertificate:
        """State what the accountant proves at the budget's epsilon, and refuse if that is not the budget."""
        proved = Approx(budget.epsilon, accountant.delta_at(budget.epsilon))
        if not _within(proved, budget) or not keeps(objective, accountant):
            raise NotProvable("this training is not proved to meet the budget; take the noise from for_budget")
        parameters = accountant.prior.parameters()
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
            "neighbours": neighbours,
            "assumptions": list(assumptions),
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
        return Objective(loss, private=found["private"], **numbers)

    @property
    def accountant(self) -> NoisySGD:
        """The accountant of the training, built from the document."""
        found = self.body["accountant"]
        numbers = {name: _number(found[name]) for name in _NUMBERS}
        whole = {name: int(found[name]) for name in ("steps", "records", "batch_size")}
        return NoisySGD(**whole, **numbers, prior=prior_of(self.body["prior"]["parameters"]))

    def verify(self) -> Approx:
        """The guarantee, proved anew from the parameters; CertificateError if any part does not hold."""
        check(self.body)
        try:
            accountant, objective, budget, stated = self.accountant, self.objective, self.budget, self.proved
            if self.body["prior"]["words"] != accountant.prior.words():
                raise CertificateError("the certificate describes another prior than the one it was proved for")
            if not keeps(objective, accountant):
                raise CertificateError("the certificate's constants are smaller than those of its objective")
            found = Approx(stated.epsilon, accountant.delta_at(stated.epsilon))
        except CertificateError:
            raise
        except (FuguError, KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError) as error:
            raise CertificateError(f"the certificate cannot be read: {type(error).__name__}") from error
        if not _within(found, stated):
            raise CertificateError("the certificate states a smaller epsilon or delta than can be proved")
        if not _within(stated, budget):
            raise CertificateError("what is proved does not meet the budget that the certificate states")
        return found

    def to_json(self) -> str:
        """The document as text."""
        return json.dumps(self.body, ensure_ascii=False, indent=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document, whole or not at all."""
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        partial.write_text(self.to_json(), encoding="utf-8")
        partial.replace(target)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> TrainingCertificate:
        """Read a document; refuses one that is truncated, edited, or of another kind. It proves nothing yet."""
        source = Path(path)
        if not source.is_file():
            raise CertificateError(f"no certificate file {source.name!r}")
        if source.stat().st_size > _MAX_BYTES:
            raise CertificateError(f"{source.name!r} is larger than any certificate of a training")
        try:
            body = json.loads(source.read_text(encoding="utf-8"))
        except (ValueError, UnicodeDecodeError, RecursionError) as error:
            raise CertificateError(f"{source.name!r} is not a whole JSON document; it may be truncated") from error
        check(body)
        return TrainingCertificate(body)


def check(body: Any) -> None:
    """Schema, required parts and digest."""
    if not isinstance(body, dict) or body.get("schema") != SCHEMA or body.get("kind") != "training":
        raise CertificateError(f"not a certificate of schema {SCHEMA}")
    missing = [key for key in _REQUIRED if key not in body]
    if missing:
        raise CertificateError(f"the certificate lacks {', '.join(missing)}; it may be truncated")
    if body["version"] != VERSION:
        raise CertificateError("the certificate is of a version that this version of fugu does not know")
    if _digest({k: v for k, v in body.items() if k != "digest"}) != body["digest"]:
        raise CertificateError("the certificate's content does not match its digest: it was edited after sealing")


def _objective_json(objective: Objective) -> dict[str, Any]:
    fields = _LOSSES[objective.loss.name][1]
    loss = {"kind": objective.loss.name, **{name: getattr(objective.loss, name) for name in fields}}
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
    found = Fraction(x) if isinstance(x, str) else float(x)
    if not math.isfinite(found):
        raise CertificateError("the certificate holds a number that is not finite")
    return found


def _approx(found: dict[str, str]) -> Approx:
    guarantee = budget_from(found)
    if not isinstance(guarantee, Approx):
        raise CertificateError("a training is certified for epsilon and delta")
    return guarantee


def _within(found: Approx, limit: Approx) -> bool:
    return exact(found.epsilon) <= exact(limit.epsilon) and exact(found.delta) <= exact(limit.delta)


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()

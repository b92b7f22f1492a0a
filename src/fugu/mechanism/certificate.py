"""`Certificate`: why a mechanism keeps its promise, as a JSON document that anybody can re-check.

It embeds everything a proof needs (the exact laws on the lattice, the exact noise, the budget) and everything a
reader needs (method, theorem, worst pair, assumptions, unit of privacy). The digest detects edits; the proof itself
is never taken from the file: `fugu.verify` computes it anew."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu._version import __version__
from fugu.errors import BadLaw, CertificateError, FuguError, UsageError
from fugu.files import write_text
from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from
from fugu.laws.encoding import (
    item_from,
    normal_pair_from,
    shape_json,
    vectors_from,
)
from fugu.laws.family import Family
from fugu.laws.items import Item, Shape
from fugu.laws.multinormal import NormalPair
from fugu.laws.vectors import VectorFamily
from fugu.mechanism.checks import check_parts
from fugu.mechanism.documents import check_plain, load_json, reading
from fugu.mechanism.labels import misnamed
from fugu.mechanism.weakness import warnings_of
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import visible_json

Laws = tuple[Shape, ...] | tuple[Item, ...] | tuple[NormalPair, ...]
SCHEMA = "fugu/certificate/1"
_MAX_BYTES = 2 * 1024**3
_REQUIRED = ("schema", "kind", "beliefs", "budget", "method", "theorem", "proved", "worst_pair", "assumptions", "unit",
             "families", "fingerprint", "digest")  # fmt: skip
_NOISES: dict[str, type[Laplace] | type[Gaussian]] = {"laplace": Laplace, "gaussian": Gaussian}
_KINDS = {"additive": ("noise", "lattice"), "mixed": ("share", "parts"), "vector": ("noise", "lattice", "dimension"),
          "analysis": ("noise", "lattice"), "correlated": ("noise", "lattice", "dimension")}  # fmt: skip


@dataclass(frozen=True)
class Certificate:
    """The document; read its parts through the properties."""

    body: dict[str, Any]

    @staticmethod
    def seal(body: dict[str, Any], items: Laws) -> Certificate:
        """Complete a body with schema, laws, their fingerprint and the digest of the whole."""
        if (wrong := misnamed(items, comparable=body.get("lattice") is not None)) is not None:
            raise BadLaw(f"{wrong}; give every LawPair a label of its own, or none")
        laws = [_law_json(item) for item in items]
        body = {k: v for k, v in body.items() if k != "warnings"}
        full = {"schema": SCHEMA, "fugu": __version__, **body, "families": laws, "fingerprint": _sha256(laws)}
        with suppress(FuguError, KeyError, TypeError, ValueError):  # what cannot be read is refused by `parse`
            full |= {"warnings": list(said)} if (said := Certificate(full).warnings) else {}
        return Certificate({**full, "digest": _sha256(full)})

    @property
    def budget(self) -> Guarantee:
        """The guarantee that was asked for and proved."""
        return budget_from(self.body["budget"])

    @property
    def analysed(self) -> GeneralizedCauchy:
        """The noise of an analysis that is never drawn, in steps of the lattice that holds the laws."""
        noise, lattice = self.body["noise"], self.lattice
        if noise["kind"] != "cauchy" or lattice is None:
            raise CertificateError("this version of fugu analyses generalised Cauchy noise only")
        return GeneralizedCauchy(read_number(noise["scale"]) / lattice.grid, read_number(noise["tail"]))

    @property
    def noise(self) -> Laplace | Gaussian:
        """The noise that is drawn."""
        noise = self.body["noise"]
        if noise["kind"] not in _NOISES:
            raise CertificateError(f"this version of fugu knows no noise {str(noise['kind'])[:40]!r}")
        return _NOISES[noise["kind"]](float(read_number(noise["scale"])), read_number(noise["grid"]))

    @property
    def lattice(self) -> Lattice | None:
        """Where values are rounded before noise is added; None if the value itself goes out."""
        found = self.body.get("lattice")
        return None if found is None else Lattice(read_number(found["grid"]), read_number(found["origin"]))

    @property
    def items(self) -> tuple[Item, ...]:
        """The laws as they were proved: families of atoms on lattice indices, and pairs with Gaussian components."""
        return tuple(item_from(found, self.lattice) for found in self.body["families"])

    @property
    def vectors(self) -> tuple[VectorFamily, ...]:
        """The laws of a certificate for vectors, on lattice indices."""
        return tuple(vectors_from(found) for found in self.body["families"])

    @property
    def normal_pairs(self) -> tuple[NormalPair, ...]:
        """The laws of a certificate for normal vectors."""
        return tuple(normal_pair_from(found) for found in self.body["families"])

    @property
    def correlated(self) -> CorrelatedGaussian:
        """The correlated noise that is drawn."""
        noise = self.body["noise"]
        if noise["kind"] != "correlated":
            raise CertificateError(f"this version of fugu knows no correlated noise {str(noise['kind'])[:40]!r}")
        columns = tuple(tuple(column) for column in noise["columns"])
        scales = tuple(read_number(x) for x in noise["scales"])
        grid, dimension = read_number(noise["grid"]), read_whole(self.body["dimension"])
        return CorrelatedGaussian(read_number(noise["base"]), columns, scales, grid, dimension)

    @property
    def laws(self) -> Laws:
        """The laws, whatever their dimension."""
        if self.kind == "correlated":
            return self.normal_pairs
        return self.vectors if self.kind == "vector" else self.items

    @property
    def families(self) -> tuple[Family, ...]:
        """The laws with atoms."""
        return tuple(item for item in self.items if isinstance(item, Family))

    @property
    def support(self) -> NDArray[np.float64] | None:
        """The values that others are moved to before anything else; None if values are taken as they are."""
        stated = self.body.get("support")
        if stated is None:
            return None
        if stated != "lattice":
            return np.array(stated, dtype=np.float64)
        assert self.lattice is not None
        return self.lattice.value(np.unique(np.concatenate([family.points for family in self.families])))

    @property
    def kind(self) -> str:
        """ "additive", "vector", "analysis" (never drawn), or "mixed" with two parts."""
        return str(self.body["kind"])

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates of the two halves of a mixture; none for an additive mechanism."""
        return tuple(Certificate.parse(part) for part in self.body.get("parts", ()))

    @property
    def method(self) -> str:
        """How the scale was found."""
        return str(self.body["method"])

    @property
    def theorem(self) -> str:
        """What the method stands on."""
        return str(self.body["theorem"])

    @property
    def worst_pair(self) -> str:
        """The pair that needs the noise most."""
        return str(self.body["worst_pair"])

    @property
    def proved(self) -> dict[str, float]:
        """The proved upper bounds on epsilon and delta."""
        return dict(self.body["proved"])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the guarantee to mean what it says."""
        return tuple(self.body["assumptions"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, if so: worked out from the budget and the noise, not read."""
        return warnings_of(self)

    @property
    def scales(self) -> dict[str, float | None]:
        """The scale each method would have needed."""
        return dict(self.body.get("scales", {}))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the laws: two certificates with one fingerprint speak of the same beliefs."""
        return str(self.body["fingerprint"])

    def amended(
        self,
        assumptions: tuple[str, ...],
        unit: str,
        reading: dict[str, Any] | None = None,
        statistic: dict[str, Any] | None = None,
    ) -> Certificate:
        """The same proof for values that are not moved to the support, other words for assumptions, sealed anew."""
        sealed = ("schema", "fugu", "families", "fingerprint", "digest")
        body = {k: v for k, v in self.body.items() if k not in sealed}
        stated = [*assumptions, *(a for a in self.assumptions if a.startswith(("one release", "no noise")))]
        changed = {"assumptions": stated, "unit": unit, "support": None, "reading": reading, "statistic": statistic}
        return Certificate.seal({**body, **changed}, self.laws)

    def to_json(self) -> str:
        """The document as text."""
        return visible_json(json.dumps(self.body, ensure_ascii=False, separators=(",", ":")))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document, whole or not at all."""
        write_text(path, self.to_json())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Certificate:
        """Read a document; refuses one that is truncated, edited, or of another schema."""
        return Certificate.parse(load_json(path, _MAX_BYTES))

    @staticmethod
    def parse(body: Any) -> Certificate:
        """Check a decoded document: schema, required parts, digest, fingerprint, and that its numbers can be read."""
        check_plain(body)
        if not isinstance(body, dict) or body.get("schema") != SCHEMA:
            raise CertificateError(f"not a certificate of schema {SCHEMA}")
        if not isinstance(body.get("kind"), str) or body["kind"] not in _KINDS:
            raise CertificateError("the certificate is of a kind that this version of fugu does not know")
        missing = [key for key in (*_REQUIRED, *_KINDS[body["kind"]]) if key not in body]
        if missing:
            raise CertificateError(f"the certificate lacks {', '.join(missing)}; it may be truncated")
        if _sha256({k: v for k, v in body.items() if k != "digest"}) != body["digest"]:
            raise CertificateError("the certificate's content does not match its digest: it was edited after sealing")
        if _sha256(body["families"]) != body["fingerprint"]:
            raise CertificateError("the certificate's laws do not match their fingerprint")
        certificate = Certificate(body)
        with reading():
            check_parts(certificate)
        return certificate


def _law_json(item: Shape) -> dict[str, Any]:
    return shape_json(item)


def _sha256(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    try:
        return hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError:
        raise UsageError("a name or label holds half of a surrogate pair, which is not text; rename it") from None

"""What an answer states, as plain data: a string is compared exactly, a number up to a relative 1e-12."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import fugu

VOLATILE = ("fugu", "digest", "families", "salt", "commitment")
"""Keys of a certificate that change with the version or by chance, and the laws, for which the fingerprint stands."""
_LONG = 400


def plain(value: Any) -> Any:
    """Numbers that JSON has no word for as text; sequences as lists; anything else by its repr."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    return repr(value)


def nine(x: Any) -> str:
    """Nine digits: as much as a search over matrices repeats on every machine."""
    return f"{float(x):.9g}"


def guarded(answer: Callable[[], Any]) -> Any:
    """The answer, or the refusal: its class and its whole message."""
    try:
        return plain(answer())
    except Exception as error:
        return {"refused": type(error).__name__, "message": str(error)}


def statement(body: Any, matrices: bool = False) -> Any:
    """What a certificate states. Long lists become their SHA-256; the columns of correlated noise are left to the
    covariance, and other numbers that come from a search over matrices (`matrices`) are held to nine digits. Digests of
    laws that a Fourier transform found are left out: their last bits differ from one processor to another."""
    if isinstance(body, dict):
        searched = matrices or body.get("kind") == "correlated"
        kept = {key: item for key, item in body.items() if key not in VOLATILE}
        if '"error"' in json.dumps(body.get("families", [])):
            kept = {key: item for key, item in kept.items() if key not in ("beliefs", "fingerprint")}
        if body.get("kind") == "correlated" and "columns" in body:
            kept = {key: body[key] for key in ("kind", "grid")}
        return {key: statement(item, searched) for key, item in kept.items()}
    if isinstance(body, list):
        text = json.dumps(body, sort_keys=True)
        if len(text) > _LONG and not any(isinstance(item, dict | str) for item in body):
            return f"{len(body)} items, sha256 {hashlib.sha256(text.encode()).hexdigest()}"
        return [statement(item, matrices) for item in body]
    return nine(body) if matrices and isinstance(body, float) else body


def noise(given: Any) -> dict[str, Any]:
    """The noise that is drawn: its class, exact scale, grid; for correlated noise the covariance to nine digits."""
    stated: dict[str, Any] = {"class": type(given).__name__, "grid": str(given.grid)}
    if hasattr(given, "covariance"):
        return stated | {"scale": nine(given.scale), "covariance": [[nine(x) for x in r] for r in given.covariance()]}
    return (
        stated
        | {"scale": repr(given.scale)}
        | ({"tail": repr(given.tail)} if isinstance(given, fugu.GeneralizedCauchy) else {})
    )


def errors(mechanism: Any) -> dict[str, Any]:
    """Expected errors and intervals."""
    return {
        "absolute": guarded(mechanism.expected_error),
        "squared": guarded(lambda: mechanism.expected_error("squared")),
        "interval": guarded(mechanism.interval),
        "interval-0.5": guarded(lambda: mechanism.interval(0.5)),
    }


def verdict(source: Any, laws: Any = None) -> Any:
    """What `verify` says."""

    def answer() -> dict[str, Any]:
        found = fugu.verify(source) if laws is None else fugu.verify(source, laws)
        names = ("holds", "epsilon", "delta", "worst_pair", "reason")
        return {name: getattr(found, name) for name in names}

    return guarded(answer)


def again(certificate: Any) -> fugu.Certificate:
    """The certificate after a round trip through its text."""
    return fugu.Certificate.parse(certificate.to_json())


def mechanism(given: Any) -> dict[str, Any]:
    """Everything that a mechanism states, and what `verify` finds of its certificate after a round trip."""
    certificate = given.certificate
    return plain(
        {
            "method": certificate.method,
            "noise": noise(given.noise) if hasattr(given, "noise") else None,
            "guarantee": repr(given.guarantee),
            "certificate": statement(certificate.to_json()),
            "errors": errors(given),
            "verify": guarded(lambda: verdict(again(certificate))),
        }
    )


def comparison(found: Any) -> dict[str, Any]:
    """Every row of a comparison, and which is best; scales exactly, those of matrices to nine digits."""
    rows = {}
    for row in found.rows:
        matrix = row.noise not in ("laplace", "gaussian", "cauchy") or row.method in MATRIX
        number = nine if matrix else (lambda x: x)
        rows[f"{row.method} {row.noise}"] = {
            "scale": nine(row.scale) if matrix else repr(float(row.scale)),
            "absolute": number(row.expected_absolute),
            "squared": number(row.expected_squared),
            "epsilon": number(row.epsilon),
            "proven": row.proven,
            "why": row.why,
            "note": row.note,
            "released": row.released,
        }
    order = ", ".join(f"{row.method} {row.noise}" for row in found.rows)
    return plain({"order": order, "best": guarded(lambda: f"{found.best.method} {found.best.noise}"), "rows": rows})


MATRIX = (
    "group", "record-group", "expected-value", "directional", "eigenvector", "directional-uncertainty", "optimal",
)  # fmt: skip

"""Releases as JSON and back, without losing a bit: doubles in hexadecimal, arrays as their bytes.

What a ledger returns is always what it read back, so the first call and every retry return the same value."""

from __future__ import annotations

import base64
import json
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.errors import LedgerBroken, Unstorable
from fugu.guarantee.encoding import budget_from, budget_json
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.per_entry import PerEntryCertificate, PerEntryRelease
from fugu.mechanism.release import Release
from fugu.queries.sequence_query import SequenceAnswer

_KINDS = "biufU"
_MOST = 256 * 1024**2
_DEEP = 50


def encode(value: object) -> str:
    """The value as text; `Unstorable` for anything but numbers, texts, arrays of them, releases, lists and dicts.

    >>> decode(encode({"count": 0.1, "cells": [1, None]}))
    {'count': 0.1, 'cells': [1, None]}
    """
    text = json.dumps(_tagged(value, 0), ensure_ascii=True, separators=(",", ":"))
    if len(text) > _MOST:
        raise Unstorable(f"the release takes more than {_MOST} characters; release a summary, or several parts")
    return text


def decode(text: str) -> Any:
    """What `encode` wrote."""
    try:
        return _plain(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LedgerBroken("a stored release cannot be read: the ledger was edited or damaged") from error


def _tagged(value: Any, depth: int) -> Any:  # noqa: PLR0911
    if depth > _DEEP:
        raise Unstorable(f"the release is nested more than {_DEEP} deep")
    if isinstance(value, np.generic):
        return _tagged(value.item(), depth) if value.dtype.kind in _KINDS else _refuse(value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"int": hex(value)} if abs(value) >= 2**53 else int(value)
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Release):
        ends = [float(end).hex() for end in value.interval]
        return {"release": [_array(value.values), bool(value.scalar), ends, value.certificate.body]}
    if type(value) in (PerEntryRelease, SequenceAnswer):
        more = [value.labels, value.interval] if isinstance(value, SequenceAnswer) else []
        parts = [_tagged(part, depth + 1) for part in (value.value, value.certificate.body, *more)]
        return {"per-entry": [budget_json(value.guarantee), *parts]}
    if isinstance(value, tuple):
        return {"tuple": [_tagged(item, depth + 1) for item in value]}
    if isinstance(value, list):
        return [_tagged(item, depth + 1) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _tagged(item, depth + 1) for key, item in value.items()}}
    return _refuse(value)


def _refuse(value: object) -> Any:
    raise Unstorable(
        f"a ledger stores a release, an array, a number, a text, a list or a dict with text keys, not a "
        f"{type(value).__name__}; return one of these from produce()"
    )


def _array(value: np.ndarray[Any, Any]) -> dict[str, Any]:
    if value.dtype.kind not in _KINDS or (value.dtype.itemsize > 8 and value.dtype.kind == "f"):
        raise Unstorable(f"a ledger stores arrays of numbers, truth values or texts, not of {value.dtype}")
    ordered = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    content = base64.b64encode(ordered.tobytes()).decode("ascii")
    return {"array": [ordered.dtype.str, list(value.shape), content]}


def _plain(found: Any) -> Any:  # noqa: PLR0911
    if isinstance(found, list):
        return [_plain(item) for item in found]
    if not isinstance(found, dict):
        return found
    ((tag, content),) = found.items()
    if tag == "float":
        return float.fromhex(content)
    if tag == "int":
        return int(content, 16)
    if tag == "fraction":
        return Fraction(int(content[0], 16), int(content[1], 16))
    if tag == "array":
        kind, shape, text = content
        flat = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.dtype(kind))
        return flat.reshape(shape).astype(flat.dtype.newbyteorder("="))
    if tag == "release":
        values, scalar, (low, high), body = content
        return Release(_plain(values), scalar, Certificate(body), (float.fromhex(low), float.fromhex(high)))
    if tag == "per-entry":
        first, certificate, *more = (_plain(part) for part in content[1:])
        kind = SequenceAnswer if more else PerEntryRelease
        document = PerEntryCertificate(certificate) if "digest" in certificate else PerEntryCertificate.of(certificate)
        return kind(first, budget_from(content[0]), document, *more)  # type: ignore[arg-type]
    if tag == "tuple":
        return tuple(_plain(item) for item in content)
    if tag == "dict":
        return {key: _plain(item) for key, item in content.items()}
    raise ValueError(tag)

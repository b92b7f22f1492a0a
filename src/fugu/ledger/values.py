"""Releases as JSON and back, without losing a bit: doubles in hexadecimal, arrays as their bytes.

What a ledger returns is always what it read back, so the first call and every retry return the same value."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.per_entry import PerEntryCertificate
from fugu.errors import LedgerBroken, Unstorable
from fugu.guarantee.curve import budget_from, budget_json
from fugu.mechanism.release import PerEntryRelease, Release, SequenceAnswer
from fugu.numbers.checks import is_texts

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


def _tagged(value: Any, depth: int) -> Any:
    """The value in JSON types, one way for each type; an object of one key says how it is to be read."""
    if depth > _DEEP:
        raise Unstorable(f"the release is nested more than {_DEEP} deep")
    write = next((write for kinds, write in _WRITERS if isinstance(value, kinds)), None)
    odd = isinstance(value, np.generic) and (value.dtype.kind not in _KINDS or isinstance(value, np.longdouble))
    if write is None or odd or (isinstance(value, dict) and not is_texts(value.keys())):
        raise Unstorable(
            f"a ledger stores a release, an array, a number, a text, a list or a dict with text keys, not a "
            f"{type(value).__name__}; return one of these from produce()"
        )
    return write(value, depth + 1)


def _array(value: np.ndarray[Any, Any], _: int = 0) -> dict[str, Any]:
    if value.dtype.kind not in _KINDS or (value.dtype.itemsize > 8 and value.dtype.kind == "f"):
        raise Unstorable(f"a ledger stores arrays of numbers, truth values or texts, not of {value.dtype}")
    ordered = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    content = base64.b64encode(ordered.tobytes()).decode("ascii")
    return {"array": [ordered.dtype.str, list(value.shape), content]}


def _release(value: Release, _: int) -> Any:
    ends = [float(end).hex() for end in value.interval]
    return {"release": [_array(value.values), bool(value.scalar), ends, value.certificate.body]}


def _per_entry(value: PerEntryRelease | SequenceAnswer, depth: int) -> Any:
    more = (value.labels, value.interval) if isinstance(value, SequenceAnswer) else ()
    parts = [_tagged(part, depth) for part in (value.value, value.certificate.body, *more)]
    return {"per-entry": [budget_json(value.guarantee), *parts]}


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any, int], Any]], ...] = (
    ((bool, str, type(None)), lambda value, _: value),
    (np.generic, lambda value, depth: _tagged(value.item(), depth - 1)),
    (int, lambda value, _: {"int": hex(value)} if abs(value) >= 2**53 else int(value)),
    (float, lambda value, _: {"float": value.hex()}),
    (Fraction, lambda value, _: {"fraction": [hex(value.numerator), hex(value.denominator)]}),
    (Release, _release),
    ((PerEntryRelease, SequenceAnswer), _per_entry),
    (tuple, lambda value, depth: {"tuple": [_tagged(item, depth) for item in value]}),
    (list, lambda value, depth: [_tagged(item, depth) for item in value]),
    (dict, lambda value, depth: {"dict": {key: _tagged(item, depth) for key, item in value.items()}}),
    (np.ndarray, _array),
)
"""How a value is written, by the first of its types."""


def _plain(found: Any) -> Any:
    if isinstance(found, list):
        return [_plain(item) for item in found]
    if not isinstance(found, dict):
        return found
    ((tag, content),) = found.items()
    return _READERS[tag](content)


def _array_from(content: Any) -> Any:
    kind, shape, text = content
    flat = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.dtype(kind))
    return flat.reshape(shape).astype(flat.dtype.newbyteorder("="))


def _release_from(content: Any) -> Release:
    values, scalar, (low, high), body = content
    return Release(_plain(values), scalar, Certificate(body), (float.fromhex(low), float.fromhex(high)))


def _per_entry_from(content: Any) -> PerEntryRelease | SequenceAnswer:
    first, certificate, *more = (_plain(part) for part in content[1:])
    kind = SequenceAnswer if more else PerEntryRelease
    document = PerEntryCertificate(certificate) if "digest" in certificate else PerEntryCertificate.of(certificate)
    return kind(first, budget_from(content[0]), document, *more)


_READERS: dict[str, Callable[[Any], Any]] = {
    "float": float.fromhex,
    "int": lambda content: int(content, 16),
    "fraction": lambda content: Fraction(int(content[0], 16), int(content[1], 16)),
    "array": _array_from,
    "release": _release_from,
    "per-entry": _per_entry_from,
    "tuple": lambda content: tuple(_plain(item) for item in content),
    "dict": lambda content: {key: _plain(item) for key, item in content.items()},
}
"""How an object of one key is read, by that key."""

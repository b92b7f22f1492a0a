"""Reading a document that anybody may have written: plain JSON of bounded size and depth, or a `CertificateError`.

A document hands out what was sealed: its lists and objects cannot be changed, at any depth. `copy.deepcopy` gives a
copy that can be edited; a document made of it has to be sealed anew. Nothing is converted to a number here that costs
more than its length in the file; what the numbers *ask for* is bounded where they are used (`fugu.mechanism.limits`).
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fugu.errors import CertificateError, FuguError

MOST_BYTES = 16 * 1024**2
"""A larger file is refused before it is read."""
_MOST_DEEP = 24
"""Lists and objects within each other; a certificate has nine."""
_MOST_SAID = 400
_UNREADABLE = (FuguError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError,
               RecursionError, MemoryError)  # fmt: skip


def _unchanged(*_: object, **__: object) -> NoReturn:
    raise TypeError("a document cannot be changed after it is made; copy.deepcopy(document.body) can")


class FrozenDict(dict[str, Any]):
    """An object of a document.

    >>> FrozenDict(a=1)["a"] = 2
    Traceback (most recent call last):
        ...
    TypeError: a document cannot be changed after it is made; copy.deepcopy(document.body) can
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _unchanged
    clear = pop = popitem = setdefault = update = _unchanged

    def __deepcopy__(self, _: dict[int, Any]) -> dict[str, Any]:
        return {key: thawed(part) for key, part in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list of a document."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _unchanged
    append = extend = insert = pop = remove = clear = sort = reverse = _unchanged

    def __deepcopy__(self, _: dict[int, Any]) -> list[Any]:
        return [thawed(part) for part in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)


def frozen(content: Any) -> Any:
    """The same content, read-only at every depth; what is frozen already is not copied."""
    kind = type(content)
    if kind is dict:
        return FrozenDict({key: frozen(part) for key, part in content.items()})
    return FrozenList(map(frozen, content)) if kind in (list, tuple) else content


def thawed(content: Any) -> Any:
    """The same content in lists and objects that can be changed."""
    kind = type(content)
    if kind in (dict, FrozenDict):
        return {key: thawed(part) for key, part in content.items()}
    return [thawed(part) for part in content] if kind in (list, tuple, FrozenList) else content


def load_json(path: str | os.PathLike[str]) -> Any:
    """What the file says, as plain data; each name once in an object, every number finite, every text Unicode."""
    source = Path(path)
    try:
        # a pipe that nobody writes to is opened, looked at and refused, not waited for
        with open(source, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            known = os.fstat(file.fileno())
            if not stat.S_ISREG(known.st_mode):
                raise CertificateError(f"{source.name!r} is not a regular file")
            if known.st_size > MOST_BYTES:
                raise CertificateError(
                    f"{source.name!r} is not read: it has {known.st_size:,} bytes, and documents at most {MOST_BYTES:,}"
                )
            text = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise CertificateError(f"no certificate file {source.name!r}") from None
    except (OSError, ValueError):
        raise CertificateError(f"the file {source.name!r} cannot be read; check its permissions") from None
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse)
    except CertificateError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:
        raise CertificateError(f"{source.name!r} is not a whole JSON document; it may be truncated") from error
    check_plain(found)
    return found


def check_plain(content: Any) -> None:
    """Refuse what no document holds: other types, numbers that are not finite, broken text, too deep a nesting."""
    layer, depth = [content], 0
    while layer:
        if depth > _MOST_DEEP:
            raise CertificateError("the certificate is nested deeper than any that fugu wrote")
        inner: list[Any] = []
        for part in layer:
            if type(part) in (dict, FrozenDict):
                if not all(type(key) is str for key in part):
                    raise CertificateError("the certificate has names that are not text")
                _check_text("".join(part))
                inner += part.values()
            elif type(part) in (list, FrozenList):
                inner += part
            elif type(part) is str:
                _check_text(part)
            elif type(part) is float and not math.isfinite(part):
                raise CertificateError("the certificate holds a number that is not finite")
            elif part is not None and type(part) not in (int, float, bool):
                raise CertificateError(f"the certificate holds a {type(part).__name__}, which no JSON document does")
        layer, depth = inner, depth + 1


@contextmanager
def reading() -> Iterator[None]:
    """Whatever goes wrong with the parts of a document is a `CertificateError`: it was not written by fugu."""
    try:
        yield
    except CertificateError:
        raise
    except _UNREADABLE as error:
        why = str(error) if isinstance(error, FuguError) else type(error).__name__
        raise CertificateError(f"the certificate cannot be read: {why[:_MOST_SAID]}") from error


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """The last guard around a whole document: no file ends a program in a traceback.

    Parts are read by their form (`documents.fields`) and worked with under `reading`, so nothing should arrive here; a
    search over damaged documents takes an `Unexpected` for a fault of the reader."""
    try:
        yield
    except _UNREADABLE as error:
        if isinstance(error, FuguError):
            raise
        raise Unexpected(f"the {what} cannot be read: {type(error).__name__}") from error


class Unexpected(CertificateError):
    """A document that no reader refused, and that could not be worked with."""


@contextmanager
def proving() -> Iterator[None]:
    """Arithmetic that leaves the range of doubles proves nothing: it ends in a `CertificateError`, not in a NaN."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield
    except FuguError:
        raise
    except _UNREADABLE as error:
        raise CertificateError(
            f"the certificate's numbers are beyond what can be computed with ({type(error).__name__})"
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CertificateError("the certificate says something twice: an object has two parts of one name")
    return found


def _refuse(word: str) -> Any:
    raise CertificateError(f"the certificate holds {word}, which is not a number")


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise CertificateError("the certificate holds half of a surrogate pair, which is not text") from None

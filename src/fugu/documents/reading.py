"""Reading a document that anybody may have written: plain JSON of bounded size and depth, or a `CertificateError`.

A document hands out what was sealed: its lists and objects cannot be changed, at any depth. `copy.deepcopy` gives a
copy that can be edited; a document made of it has to be sealed anew. Nothing is converted to a number here that costs
more than its length in the file; what the numbers *ask for* is bounded where they are used (`fugu.mechanism.limits`).
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from fugu.errors import CertificateError, FuguError
from fugu.fixed import Fixed
from fugu.visible import brief, visible

MOST_BYTES = 16 * 1024**2
"""A larger file is refused before it is read."""
_MOST_DEEP = 24
"""Lists and objects within each other; a certificate has nine."""
_MOST_SAID = 400
_OBJECT, _WHOLE = re.compile(rb"\s*\{"), {int, bool, type(None)}
"""How a document begins; and what it may hold millions of, each of which is what it should be."""
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


_LEAVES = {float, int, str}
"""Most of what a document holds."""


def frozen(content: Any) -> Any:
    """The same content, read-only at every depth; what is frozen already is not copied."""
    kind = type(content)
    if kind is dict:
        return FrozenDict({key: frozen(part) for key, part in content.items()})
    if kind in (list, tuple):
        return FrozenList([part if type(part) in _LEAVES else frozen(part) for part in content])
    return content


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
        begun = text.decode("utf-8") if _OBJECT.match(text) else ""  # a list of millions is not read at all
        found = json.loads(begun, object_pairs_hook=_object, parse_constant=_refuse)
    except CertificateError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:
        raise CertificateError(
            f"{source.name!r} is not a certificate (a whole JSON document); "
            + ("it may be cut off" if source.suffix == ".json" else "give the OUT.certificate.json that lies beside it")
        ) from error
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
                inner += [] if set(map(type, part)) <= _WHOLE else part
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


Rests = Literal["seal", "proof", "derived", "publisher"]
SEAL: Rests = "seal"
PROOF: Rests = "proof"
DERIVED: Rests = "derived"
PUBLISHER: Rests = "publisher"
Form = Callable[[Any, str], None]
"""Refuses a value that is not of the form, by the name of its part."""
Forms = Mapping[str, Form]
_TEXT, _LIST, _NAMES = 20_000, 4_000_000, 1_000_000
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}[a-z0-9.+-]{0,20}", re.ASCII)
_HEX = set("0123456789abcdef")
_NOTHING: tuple[Any, ...] = (None, [], {}, "")


@dataclass(frozen=True)
class PartForm:
    """One part: its form, what it rests on, and what parts inside it rest on where that differs ("prior/smoothing")."""

    form: Form
    rests: Rests
    inside: Mapping[str, Rests] = field(default_factory=dict)
    checked: Any = None
    """The one value of a publisher's part that is worked out again."""


PartForms = Fixed[str, PartForm]


_NO_FORMS: Forms = Fixed()


def listed(
    known: Mapping[str, PartForm],
    *,
    seal: Forms = _NO_FORMS,
    proof: Forms = _NO_FORMS,
    derived: Forms = _NO_FORMS,
    publisher: Forms = _NO_FORMS,
    inside: Mapping[str, Mapping[str, Rests]] | None = None,
) -> PartForms:
    """Further parts beside the `known` ones, by what they rest on; `inside`: what parts inside some of them do."""
    by_rest: dict[Rests, Forms] = {SEAL: seal, PROOF: proof, DERIVED: derived, PUBLISHER: publisher}
    found = dict(known)
    for rests, forms in by_rest.items():
        found |= {name: PartForm(form, rests, (inside or {}).get(name, {})) for name, form in forms.items()}
    return Fixed(found)


def read_parts(known: Mapping[str, PartForm], body: Mapping[str, Any]) -> None:
    """CertificateError, with the name of the part, unless every part is known and of its form."""
    for name, content in body.items():
        if name not in known:
            raise CertificateError(
                f"the certificate has a part {brief(name, 40)}, which this version of fugu does not know"
            )
        known[name].form(content, name)


def by_publisher(known: Mapping[str, PartForm], body: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a document that are the publisher's own words and say anything."""
    for name, content in body.items():
        if name not in known or content in _NOTHING:
            continue
        if known[name].rests == PUBLISHER and content != known[name].checked:
            yield name
        for inner, rests in known[name].inside.items():
            if rests == PUBLISHER and known[name].rests != PUBLISHER and _says(content, inner.split("/")):
                yield f"{name}/{inner}"


def _says(content: Any, way: Sequence[str]) -> bool:
    """Whether there is something at the end of a way; "*" is every item of a list."""
    if not way:
        return content not in _NOTHING
    if way[0] == "*":
        return isinstance(content, list) and any(_says(item, way[1:]) for item in content)
    return isinstance(content, Mapping) and way[0] in content and _says(content[way[0]], way[1:])


def _wrong(name: str, wanted: str) -> CertificateError:
    return CertificateError(f"the part {brief(name)} of the certificate is not {wanted}")


def _form(wanted: str, holds: Callable[[Any], bool]) -> Form:
    """What a value must be, in words and by a test."""

    def read(content: Any, name: str) -> None:
        if not holds(content):
            raise _wrong(name, wanted)

    return read


def _finite(content: Any) -> bool:
    try:
        return type(content) in (int, float) and math.isfinite(content)
    except OverflowError:
        return False


def is_digest(content: Any) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(content, str) and len(content) == 64 and set(content) <= _HEX


text = _form("a text", lambda content: isinstance(content, str) and len(content) <= _TEXT)


def one_line(most: int) -> Form:
    """A line of text for people: nothing in it that cannot be seen, or that turns writing around."""
    return _form(
        f"one line of at most {most} characters that can be seen",
        lambda content: isinstance(content, str) and len(content) <= most and visible(content) == content,
    )


truth = _form("true or false", lambda content: type(content) is bool)
figure = _form("a number", _finite)
exact = _form("a number", lambda content: 0 < len(content) <= _TEXT if type(content) is str else _finite(content))
"""A finite number, or a text that stands for one; what it stands for is read where it is used."""
whole = _form("a whole number", lambda content: type(content) is int)
wholes = _form(
    "a list of whole numbers below 2^53, whose sums and products stay within 64 bits",
    lambda content: (
        isinstance(content, list) and len(content) <= _LIST and all(type(x) is int and abs(x) < 2**53 for x in content)
    ),
)
version = _form("a version of fugu", lambda content: isinstance(content, str) and bool(_VERSION.fullmatch(content)))
digest = _form("a SHA-256 in hexadecimal digits", is_digest)
plain = _form("anything", lambda _: True)
thing = _form("an object", lambda content: isinstance(content, Mapping))
items = _form("a list", lambda content: isinstance(content, list) and len(content) <= _LIST)
"""An object or a list is read where it is used, and so is what may be anything."""


def one_of(*known: Any) -> Form:
    """One of these values."""
    wanted = f"one of {', '.join(map(repr, known))}"
    return _form(wanted, lambda content: any(type(content) is type(each) and content == each for each in known))


def maybe(form: Form) -> Form:
    """The same, or nothing."""
    return lambda content, name: None if content is None else form(content, name)


def either(*forms: Form) -> Form:
    """Of one of these forms."""

    def read(content: Any, name: str) -> None:
        for form in forms[:-1]:
            try:
                form(content, name)
            except CertificateError:
                continue
            return
        forms[-1](content, name)

    return read


def each(form: Form, most: int = _LIST, least: int = 0) -> Form:
    """A list of things of one form."""

    def read(content: Any, name: str) -> None:
        if not isinstance(content, list) or not least <= len(content) <= most:
            raise _wrong(name, f"a list of {least} to {most:,} items" if least else f"a list of at most {most:,} items")
        for item in content:
            form(item, f"{name}/*")

    return read


def named(form: Form) -> Form:
    """An object whose parts, of any name, are of one form."""

    def read(content: Any, name: str) -> None:
        if not isinstance(content, Mapping) or len(content) > _NAMES:
            raise _wrong(name, "an object")
        for key, item in content.items():
            form(item, f"{name}/{key}")

    return read


def parts(needed: Mapping[str, Form], optional: Mapping[str, Form] | None = None) -> Form:
    """An object with these parts, and perhaps the optional ones, and no others."""
    known = {**needed, **(optional or {})}

    def read(content: Any, name: str) -> None:
        if not isinstance(content, Mapping):
            raise _wrong(name, "an object")
        if missing := [key for key in needed if key not in content]:
            raise CertificateError(f"the part {brief(name)} of the certificate lacks {missing[0]!r}")
        for key, item in content.items():
            if key not in known:
                has = f"the part {brief(name)} of the certificate has a part {brief(key, 40)}"
                raise CertificateError(f"{has}, which this version of fugu does not know")
            known[key](item, f"{name}/{key}")

    return read


def with_words(also: dict[str, Form] | None = None) -> Form:
    """An object that says itself in words, and perhaps has these parts; others are compared, and not read."""

    def read(content: Any, name: str) -> None:
        thing(content, name)
        text(content.get("words"), f"{name}/words")
        for key, form in (also or {}).items():
            if key in content:
                form(content[key], f"{name}/{key}")

    return read


TEXTS = each(text, 10_000)
GUARANTEE = parts(
    {"kind": one_of("Pure", "Approx", "Renyi", "RenyiCurve", "ZCDP", "Composed")},
    {"epsilon": exact, "delta": exact, "alpha": exact, "rho": exact, "epsilons": text, "parts": text},
)
SCHEMA = parts(
    {"columns": named(thing)},
    {"separator": maybe(text), "decimal": text, "encoding": text, "header": either(truth, TEXTS), "absent": TEXTS,
     "sequence": thing},
)  # fmt: skip
"""How cells are read; what a column may say is for `Schema`."""
SEALED = listed(
    {},
    seal={"schema": text, "kind": text, "fugu": version, "digest": digest},
    derived={"publisher": parts({"parts": TEXTS, "assumptions": TEXTS})},
)
"""The parts of every document. `publisher` says which others, and which lines of the assumptions, are the publisher's
own words; documents of versions 0.1 to 0.3 do not have it, and readers work it out."""

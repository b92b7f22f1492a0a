"""`Dialect`: how a text file is cut into cells, said before the file is opened."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from fugu.errors import BadTable, UsageError
from fugu.visible import brief


@final
@dataclass(frozen=True)
class Dialect:
    """separator: None reads it off the first line, which names the columns. names: of a file without such a line."""

    separator: str | None = None
    encoding: str = "utf-8"
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise UsageError(f"the separator of a file is one character, such as , or ;, got {brief(self.separator)}")
        try:
            if not getattr(codecs.lookup(self.encoding), "_is_text_encoding", True):
                raise LookupError
            b"".decode(self.encoding, "replace")
        except (LookupError, TypeError, ValueError):
            raise UsageError(
                f"no encoding {brief(self.encoding)}; the usual ones are utf-8, latin-1 and cp1252"
            ) from None
        if self.names is not None and (len(set(self.names)) < len(self.names) or not all(self.names)):
            raise UsageError("the names of a file without a header line must all be different, and none empty")


def require_decoded(column: str, texts: Iterable[object], what: str) -> None:
    """`BadTable` if a text of a public column holds U+FFFD, which stands for bytes that did not decode.

    Different bytes become the same U+FFFD: two secrets would be one, and nothing would hide which of them it is.
    `column`: its name; `texts`: its different texts; `what`: what they are, "secrets" or "states"."""
    if any("\ufffd" in text for text in texts if isinstance(text, str)):
        raise BadTable(
            f"column {column!r} holds {what} that do not decode, and different ones may look the same; save the table "
            "as UTF-8, or declare its encoding in the schema"
        )

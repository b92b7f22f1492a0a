"""Commitments: a document names private content without saying anything of it, and whoever has the salt can check it.

A plain digest of a table is a release: who knows all rows but one tries every value of the last. A commitment is
HMAC-SHA256 under 32 random bytes that stay with the private files. It hides the content as long as the salt is secret,
and binds it: another content with the same value would be a collision of SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import secrets
from pathlib import Path

from fugu.errors import CertificateError, UsageError

_SALT = 32
_CHUNK = 1 << 20


def new_salt() -> str:
    """32 bytes from the operating system, in hexadecimal digits."""
    return secrets.token_hex(_SALT)


def commit_text(text: str, salt: str) -> str:
    """The commitment to a text."""
    return hmac.new(_key(salt), text.encode(), hashlib.sha256).hexdigest()


def commit_file(path: str | os.PathLike[str], salt: str) -> str:
    """The commitment to a file, byte for byte; anybody can work it out again: `openssl dgst -sha256 -mac HMAC`."""
    found = hmac.new(_key(salt), digestmod=hashlib.sha256)
    with _opened(path) as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def file_sha256(path: str | os.PathLike[str]) -> str:
    """The plain SHA-256 of a file that is public."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two commitments are equal."""
    return hmac.compare_digest(one.encode(), other.encode())


def _key(salt: str) -> bytes:
    try:
        key = bytes.fromhex(salt)
    except (TypeError, ValueError):
        raise CertificateError("the salt of a commitment is not in hexadecimal digits") from None
    if len(key) != _SALT:
        raise CertificateError(f"the salt of a commitment has {len(key)} bytes, and {_SALT} are needed")
    return key


def _opened(path: str | os.PathLike[str]) -> io.BufferedReader:
    if not Path(path).is_file():
        raise UsageError(f"{Path(path).name!r} is not a file")
    return open(path, "rb")

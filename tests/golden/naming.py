"""The names of requests: what `fugu release` charges an option set under.

The name is a digest of the question: a set that is named otherwise would be charged a second time. requests.txt has
400 sets, drawn at random of all routes and none of them wrong use. The name is read off where it is made, the SHA-256
of the question in JSON, and the release ends there.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any
from unittest.mock import patch

from golden.doors import Story, command, shown

FILE = Path(__file__).with_name("requests.txt")


class _Named(BaseException):
    """A question is about to be named."""


def named(words: list[str], story: Story) -> str:
    """What is asked and the digest of it; or why it is refused before it has a name."""
    real = hashlib.sha256

    def watched(text: bytes = b"", **more: Any) -> Any:
        if text[:1] == b"{" and b'"public prior"' in text:
            raise _Named(f"{json.loads(text).get('what', 'release')} {real(text).hexdigest()[:16]}")
        return real(text, **more)

    with patch.object(hashlib, "sha256", watched):
        try:
            code, _, err = command("release", *words, "-o", "out.csv")
        except _Named as name:
            return str(name)
    return f"exit {code}: {shown(err, story.folder)}"


def requests(story: Story) -> None:
    """The sets of the file that are named otherwise, and what they were called."""
    lines = [line.split(" => ") for line in FILE.read_text().splitlines()]
    story.note("sets", len(lines))
    for options, before in lines:
        if (now := named(shlex.split(options), story)) != before:
            story.note(options, f"was {before}, is {now}")

"""Notebooks as pages: what they say, their code, and what its last lines showed."""

from __future__ import annotations

import json
from collections.abc import Iterator


def page(text: str) -> str:
    """A notebook in Markdown; what is shown as HTML stands there as it is.

    >>> page('{"cells": [{"cell_type": "code", "source": ["1"], "outputs": [{"data": {"text/plain": ["1"]}}]}]}')
    '```python\\n1\\n```\\n\\n```text\\n1\\n```\\n'
    """
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, object]) -> Iterator[str]:
    code = cell["cell_type"] == "code"
    yield f"```python\n{_joined(cell['source'])}\n```" if code else _joined(cell["source"])
    for shown in cell.get("outputs", ()):
        data = shown.get("data", {})
        if "text/html" in data:
            yield _joined(data["text/html"])
        else:
            yield f"```text\n{_joined(data.get('text/plain', shown.get('text'))).rstrip()}\n```"


def _joined(lines: object) -> str:
    return "".join(lines)

"""Notebooks without a notebook server: their cells run in order in one namespace, as in a fresh kernel.

    python tests/notebooks.py     run examples/*.ipynb anew, and keep what each last line shows

A kernel and its client are 32 packages; what fugu shows in one needs `_repr_html_` alone."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.ipynb"))


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def run(path: Path) -> dict[str, Any]:
    """The notebook as it is after a run from the top in the working directory; an error of a cell is raised."""
    notebook, names, count = json.loads(path.read_text(encoding="utf-8")), {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"], cell["outputs"] = count, _outputs(source(cell), names, count)
    return notebook


def _outputs(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree, printed = ast.parse(code), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        shown = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if shown is not None:
        data = {"text/plain": _lines(repr(shown))}
        if hasattr(shown, "_repr_html_"):
            data["text/html"] = _lines(shown._repr_html_())
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            done = json.dumps(run(notebook), indent=1, ensure_ascii=False, sort_keys=True)
        notebook.write_text(done + "\n", encoding="utf-8")
        print(f"ran {notebook.name}")

"""Edits of syntax trees: a definition is found by its name, and a piece of it by its tree, wherever they stand.

A piece is an expression, some statements, or the head of one (`while low < high:`, whose body stays). It may be written
in any layout: trees are compared, so that comments, line breaks and quotes do not matter, and functions may move.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

PACKAGES = ("src/fugu", "verify/src/fugu_verify", "papers/src/fugu_papers")
_BLOCKS = ("body", "orelse")


@dataclass(frozen=True)
class Piece:
    """Nodes that follow each other: one expression or some statements, of which a head leaves the blocks open."""

    nodes: list[Any]
    head: bool = False

    def there(self, nodes: list[Any]) -> bool:
        """These nodes are the piece."""
        return same(nodes, self.nodes, _BLOCKS if self.head else ())

    def instead(self, nodes: list[Any]) -> list[Any]:
        """What stands there once this piece has taken the place of these nodes."""
        new = copy.deepcopy(self.nodes)
        if self.head:
            for block in _BLOCKS:
                setattr(new[0], block, getattr(nodes[0], block, []))
        return new


@dataclass(frozen=True)
class Definition:
    """A function, class or assignment of a file."""

    file: str
    node: ast.AST


@dataclass(frozen=True)
class Place:
    """Where a piece stands: in this field of this node; if that is a list, from `start` on."""

    definition: Definition
    parent: ast.AST
    field: str
    start: int | None
    count: int


class Sources:
    """The packages below a root, each file parsed once, with their definitions by qualified name."""

    def __init__(self, root: Path) -> None:
        """Parse all files of the packages that are there."""
        self._lock = Lock()
        self._trees: dict[str, ast.Module] = {}
        self._definitions: dict[str, list[Definition]] = {}
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*.py")):
                file = path.relative_to(root).as_posix()
                self._trees[file] = ast.parse(path.read_text(encoding="utf-8"))
                for name, node in _named(self._trees[file], ""):
                    self._definitions.setdefault(name, []).append(Definition(file, node))

    def place(self, where: str, piece: Piece) -> Place:
        """The one place of a piece in "name", or in "part of the path:name" where several definitions have it."""
        hint, _, name = where.rpartition(":")
        known = self._definitions.get(name, [])
        if not known:
            raise LookupError(f"there is no {name}")
        places = [place for definition in known for place in _places(definition, piece)]
        if len(places) > 1:
            places = [place for place in places if hint in place.definition.file]
        if len(places) != 1:
            files = ", ".join(sorted({place.definition.file for place in places} or {d.file for d in known}))
            raise LookupError(f"its piece is {len(places)} times in {name} of {files}")
        return places[0]

    def mutated(self, place: Place, wrong: Piece) -> str:
        """The text of the file with another piece in this place; the trees here are as before once it is written."""
        before = getattr(place.parent, place.field)
        if place.start is None:
            (after,) = wrong.instead([before])
        else:
            end = place.start + place.count
            after = [*before[: place.start], *wrong.instead(before[place.start : end]), *before[end:]]
        if after == [] and place.field == "body":
            after = [ast.Pass()]
        with self._lock:
            setattr(place.parent, place.field, after)
            try:
                return ast.unparse(self._trees[place.definition.file])
            finally:
                setattr(place.parent, place.field, before)


def pieces(right: str, wrong: str) -> tuple[Piece, Piece]:
    """Both as expressions, both as heads, or both as statements; no text is no statement."""
    try:
        return Piece([ast.parse(right, mode="eval").body]), Piece([ast.parse(wrong, mode="eval").body])
    except SyntaxError:
        pass
    if right.endswith(":") and wrong.endswith(":"):
        return Piece(ast.parse(f"{right} ...").body, head=True), Piece(ast.parse(f"{wrong} ...").body, head=True)
    return Piece(ast.parse(right).body), Piece(ast.parse(wrong).body)


def same(a: object, b: object, but: tuple[str, ...] = ()) -> bool:
    """Two trees are equal, up to where they stand, whether a name is read or written, and these fields of the first."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(same(x, y, but) for x, y in zip(a, b, strict=True))
    if isinstance(a, ast.expr_context):
        return isinstance(b, ast.expr_context)
    if type(a) is not type(b):
        return False
    if isinstance(a, ast.AST):
        return all(same(getattr(a, f, None), getattr(b, f, None)) for f in a._fields if f not in but)
    return a == b


def _named(node: ast.AST, within: str) -> Iterator[tuple[str, ast.AST]]:
    """What is defined below a node, in whatever `if` or `try`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield within + child.name, child
            yield from _named(child, f"{within}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from ((within + target.id, child) for target in targets if isinstance(target, ast.Name))
        elif not isinstance(child, ast.expr):
            yield from _named(child, within)


def _places(definition: Definition, piece: Piece) -> Iterator[Place]:
    count = len(piece.nodes)
    for parent in ast.walk(definition.node):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for start in range(len(value) - count + 1):
                    if piece.there(value[start : start + count]):
                        yield Place(definition, parent, field, start, count)
            elif isinstance(value, ast.AST) and piece.there([value]):
                yield Place(definition, parent, field, None, 1)

"""Names of a package that are imported when they are first used: importing one file then brings in only what it needs.

A package lists its names once, as imports `from fugu.room.file import Name as Name` under `TYPE_CHECKING`: editors and
type checkers follow these, and so does `names`, which reads them from the source."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def names(package: str) -> Callable[[str], object]:
    """The `__getattr__` of a package: what it re-exports, imported now; `__all__` lists it.

    >>> import fugu.guarantee
    >>> fugu.guarantee.Pure(1)
    Pure(epsilon=1)
    >>> fugu.guarantee.Other
    Traceback (most recent call last):
    ...
    AttributeError: module 'fugu.guarantee' has no attribute 'Other'
    """

    def found(name: str) -> object:
        if name == "__all__":
            return sorted(listed(package))
        if name.startswith("__") or name not in listed(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = listed(package)[name]
        if module == package:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return found


@cache
def listed(package: str) -> dict[str, str]:
    """The module of each name that a package imports as itself."""
    import ast

    source = sys.modules[package].__spec__.loader.get_source(package)  # type: ignore[union-attr]
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {a.name: str(node.module) for node in imports for a in node.names if a.asname == a.name}


@cache
def subjects() -> dict[str, Any]:
    """The public names by subject, and those that come first (names.toml)."""
    import tomllib
    from importlib import resources

    return tomllib.loads(resources.files("fugu").joinpath("names.toml").read_text("utf-8"))


def typed() -> list[str]:
    """What `dir(fugu)` lists: the public names that people type; what is only met, such as the class of a result, is
    not among them.

    >>> "release" in typed(), "Publication" in typed(), "sequences" in typed()
    (True, False, True)
    """
    every = (name for said in subjects()["subjects"].values() for name in said.get("names", [said.get("module")]))
    return sorted(["__version__", *every])


class Imported:
    """A static method of a class that is a function of another module, "module:function", imported when it is used.

    Under `TYPE_CHECKING` the class says the same as `name = staticmethod(module.function)`."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __get__(self, instance: object, owner: type) -> object:
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)

"""Names of a package that are imported when they are first used: importing one file then brings in only what it needs.

A package lists its names once for type checkers, under `TYPE_CHECKING`, and once here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def names(package: str, files: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package: `files` says which module of fugu holds each name.

    >>> names("fugu.guarantee", {"Pure": "guarantee.budgets"})("Other")
    Traceback (most recent call last):
    ...
    AttributeError: module 'fugu.guarantee' has no attribute 'Other'
    """

    def found(name: str) -> object:
        if name not in files:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"fugu.{files[name]}"), name)

    return found

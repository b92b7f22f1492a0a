"""Plain JSON that cannot be changed: what a document hands out is what was sealed, at every depth.

Lists and objects stay lists and objects for whoever reads, compares or writes them. `copy.deepcopy` gives a copy that
can be edited; a document made of it has to be sealed anew."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("a document cannot be changed after it is made; copy.deepcopy(document.body) can")


class FrozenDict(dict[str, Any]):
    """An object of a document.

    >>> FrozenDict(a=1)["a"] = 2
    Traceback (most recent call last):
        ...
    TypeError: a document cannot be changed after it is made; copy.deepcopy(document.body) can
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, _: dict[int, Any]) -> dict[str, Any]:
        return {key: thawed(part) for key, part in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list of a document."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

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

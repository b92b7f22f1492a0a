"""What is handed out and must not change: dicts and arrays that can be read only."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

Key = TypeVar("Key")
Value = TypeVar("Value")
Scalar = TypeVar("Scalar", bound=np.generic)


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("this dict belongs to an object that does not change; dict(...) makes a copy that can")


class Fixed(dict[Key, Value]):
    """A dict that cannot be changed; unlike `types.MappingProxyType` it can be pickled, copied and compared.

    >>> Fixed(a=1)["a"] = 2
    Traceback (most recent call last):
        ...
    TypeError: this dict belongs to an object that does not change; dict(...) makes a copy that can
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return Fixed, (dict(self),)


def fixed(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """A view of the array through which nothing can be written.

    >>> fixed(np.zeros(2))[0] = 1
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """
    view = array.view()
    view.flags.writeable = False
    return view

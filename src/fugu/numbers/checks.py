"""What a user may give: a number, a whole number, a list; asked here once, so that every call refuses the same."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from fractions import Fraction
from numbers import Real as AnyReal
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from fugu.numbers.exact import Real


def is_number(x: object) -> TypeGuard[Real]:
    """A real number, infinite or not a number included, and not a truth value.

    >>> is_number(0.5), is_number(Fraction(1, 3)), is_number(True), is_number("1")
    (True, True, False, False)
    """
    return isinstance(x, int | float | Fraction) and not isinstance(x, bool)


def is_numeric(x: object) -> TypeGuard[Any]:
    """A number of Python or of numpy, and not a truth value."""
    return isinstance(x, int | float | np.number) and not isinstance(x, bool)


def is_real(x: object) -> TypeGuard[Any]:
    """A real number of any library (numpy's too), and not a truth value."""
    return isinstance(x, AnyReal) and not isinstance(x, bool)


def is_finite(x: object) -> TypeGuard[Real]:
    """A finite number."""
    return is_number(x) and math.isfinite(x)


def is_share(x: object) -> TypeGuard[Real]:
    """A number strictly between 0 and 1."""
    return is_number(x) and 0 < x < 1


def is_count(x: object, least: int = 1) -> TypeGuard[int]:
    """A whole number of Python, at least `least`; `exact.is_whole` takes those of numpy too.

    >>> is_count(3), is_count(0), is_count(3.0), is_count(True)
    (True, False, False, False)
    """
    return isinstance(x, int) and not isinstance(x, bool) and x >= least


def is_list(x: object) -> TypeGuard[Sequence[Any]]:
    """A list or tuple, or another sequence, and not a text.

    >>> is_list([1]), is_list(()), is_list("ab"), is_list({1})
    (True, True, False, False)
    """
    return isinstance(x, Sequence) and not isinstance(x, str)


def is_iterable(x: object) -> TypeGuard[Iterable[Any]]:
    """Something to go through one by one, and not a text."""
    return isinstance(x, Iterable) and not isinstance(x, str)


def is_texts(x: object) -> TypeGuard[Iterable[str]]:
    """Texts one by one, and not one text.

    >>> is_texts(["a", "b"]), is_texts("ab"), is_texts(["a", 1]), is_texts([])
    (True, False, False, True)
    """
    return is_iterable(x) and all(isinstance(item, str) for item in x)


def is_path(x: object) -> TypeGuard[str | os.PathLike[str]]:
    """The name of a file."""
    return isinstance(x, str | os.PathLike)


def is_row(x: object) -> TypeGuard[list[Any] | tuple[Any, ...] | np.ndarray[Any, Any]]:
    """A list, a tuple or an array: what holds cells side by side."""
    return isinstance(x, list | tuple | np.ndarray)


def listed(x: Any) -> list[Any]:
    """The items as a list; those of an array as plain numbers."""
    return x.tolist() if isinstance(x, np.ndarray) else list(x)


def plain(x: Any) -> Any:
    """A scalar of numpy as the Python object it stands for; anything else as it is."""
    return x.item() if isinstance(x, np.generic) else x

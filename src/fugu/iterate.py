"""`fugu.iterate`: the public name of `fugu.training`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fugu import training
from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.training import *  # noqa: F403
else:
    __getattr__ = names(__name__, dict.fromkeys(training.__all__, "training"))

__all__ = training.__all__


def __dir__() -> list[str]:
    return list(__all__)

"""`fugu.iterate`: the public name of `fugu.training`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fugu import training
from fugu.lazily import listed

if TYPE_CHECKING:
    from fugu.training import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        return getattr(training, name)


def __dir__() -> list[str]:
    return sorted(listed(training.__name__))

"""`fugu.iterate`: the public name of `fugu.training`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fugu import training

if TYPE_CHECKING:
    from fugu.training import *  # noqa: F403

__all__ = training.__all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """The names of `fugu.training`, imported when they are first used."""
        return getattr(training, name)


def __dir__() -> list[str]:
    return list(__all__)

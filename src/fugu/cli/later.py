"""Commands that are imported when they are called: a name and a sentence suffice to list them."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand


class Later(TyperCommand):
    """A command in name only; whatever is asked of it beyond its sentence is asked of the real one.

    `place`: "module:name" of a function or of a Typer. `scenario`: whether options may come from a scenario file."""

    place: ClassVar[str]
    scenario: ClassVar[bool]

    @cached_property
    def real(self) -> Any:
        """The command itself, imported now."""
        module, _, name = self.place.partition(":")
        found: Any = getattr(import_module(module), name)
        if isinstance(found, typer.Typer):
            return typer.main.get_group(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        if self.scenario:
            from fugu.cli.scenario_option import ScenarioCommand, with_scenario

            alone.command(self.name, cls=ScenarioCommand)(with_scenario(found))
        else:
            alone.command(self.name)(found)
        return typer.main.get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """That of the real command."""
        return self.real.make_context(info_name, args, parent, **extra)


def add_later(app: typer.Typer, name: str, where: str, sentence: str, *, scenario: bool = False) -> None:
    """Add the command `name`, which is at `where` below `fugu.cli`; `sentence` begins its help."""
    named = type(Later.__name__, (Later,), {"place": f"fugu.cli.{where}", "scenario": scenario})

    def nothing() -> None:
        """What stands for the command until it is called."""

    app.command(name, cls=named, help=sentence)(nothing)

"""What is asked is written once: options, panels, refusals and keys of files are the fields of `Question`.

Wrong versions that are rejected: a field without an option, an option of another route that does nothing, a panel that
does not list what a refusal sends there, a new field that gives every earlier request another name."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import UsageError
from fugu.question import SECTIONS, Question, defaults, facts
from fugu.releasing.scenario_file import FORMS

COMMANDS = {name: later for name, later in get_command(cli.app).commands.items() if ":" in later.place}
GIVEN = {bool: True, str: "x", int: 7, float: 7.5}
ASKED = {
    "column": Question(publish="v", protect="s"),
    "statistics": Question(query="mean(v)", protect="s"),
    "sequences": Question(query="top3", order="t", state="x"),
    "property": Question(hide="s=a", statistics="mean(v)"),
}


def value_of(name):
    """Something that is not the default of a field."""
    kinds = [kind for kind in GIVEN if kind.__name__ in {field.name: field.type for field in fields(Question)}[name]]
    return GIVEN[kinds[0]]


def test_every_field_is_an_option_of_release_in_the_panel_that_it_names():
    params = {param.name: param for param in COMMANDS["release"].real.params}
    for name, said in facts(Question).items():
        if name not in ("error", "table"):  # that of plan, and the argument
            assert params[name].rich_help_panel == said.panel != "", name
            assert params[name].default == defaults(Question)[name] or params[name].required, name
    panels = dict.fromkeys(
        param.rich_help_panel for param in params.values() if getattr(param, "rich_help_panel", None)
    )
    assert list(panels) == ["A column", "Statistics", "Sequences", "A property", "Secrets and beliefs", "Budget",
                            "Noise", "Tables", "Ledger", "Output"]  # fmt: skip
    shown = CliRunner().invoke(cli.app, ["release", "--help-all"], env={"COLUMNS": "200"}).stdout
    assert all(f"─ {panel} ─" in shown for panel in panels)


@pytest.mark.parametrize("kind", ASKED)
def test_what_is_for_another_route_is_refused_with_its_panel(kind):
    asked = ASKED[kind]
    assert asked.kind == kind
    asked.refuse()
    for name, said in facts(Question).items():
        given = replace(asked, **{name: value_of(name)})
        if given.kind != kind:
            continue  # it asks for something else
        if said.routes and kind not in said.routes:
            with pytest.raises(UsageError, match=rf"^--{name.replace('_', '-')}: .*\(see {said.panel} in --help-all\)"):
                given.refuse()
        else:
            given.refuse()


def test_a_field_counts_in_the_name_of_a_request_only_where_it_is_given():
    """All names of today are made of these; any other field may only be added where somebody gives it."""
    always = {name for name, said in facts(Question).items() if said.named == "always"}
    assert " ".join(sorted(always)) == (
        "alpha bins bounds by components delta epsilon grid length method missing noise order other pairs prior "
        "protect public_prior smoothing start state step unit"
    )
    plain = Question(publish="v").told(None, None, {})
    assert set(plain) == (always - {"public_prior"}) | {"public prior", "what", "schema"}
    assert set(replace(Question(publish="v"), weights="1,2").told(None, None, {})) - set(plain) == {"weights"}


def test_sections_of_files_are_those_that_fields_name():
    named = {said.section for form in (Question, *FORMS) for said in facts(form).values()}
    assert named - {""} == set(SECTIONS)

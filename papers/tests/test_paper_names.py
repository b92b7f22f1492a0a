"""The papers' names of methods and noises: accepted where it is the same thing, refused with what was perhaps meant.

The wrong versions: a name that is accepted and finds other noise than fugu's own name; a name that is refused without
saying what was meant; two names with one spelling; a link to a section that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fugu
from fugu import aliases
from fugu.aliases import METHODS, NOISES, Alias, key, own_method, own_noise, spellings
from fugu.calibration import offer as registry
from fugu.calibration.comparison import NAMES
from fugu.calibration.driver import MethodName
from fugu.cli.app import app
from fugu.errors import UnknownName, UsageError
from fugu.queries.choices import WAYS
from fugu_papers.catalogue import results
from fugu_papers.glossary import find, terms
from test_docs import anchors

ROOT = Path(__file__).resolve().parents[2]
PAIR = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
NORMAL = fugu.LawPair(
    fugu.MultivariateNormal([100, 101], [[22, -6], [-6, 13]]), fugu.MultivariateNormal([99, 102], [[22, -6], [-6, 13]])
)
OWN = {*(m.name for m in registry.methods()), *NAMES, *WAYS, "best"}
ACCEPTED = [alias for alias in METHODS if alias.accepted]
REFUSED = [alias for alias in METHODS if not alias.accepted]


def said(aliases: list[Alias]) -> list[tuple[Alias, str]]:
    return [(alias, name) for alias in aliases for name in (alias.name, *alias.other)]


def test_no_spelling_stands_for_two_things_and_none_hides_a_name_of_fugu():
    for group in (METHODS, NOISES):
        keys = [key(name) for alias in group for name in (alias.name, *alias.other)]
        assert len(set(keys)) == len(keys) == len(spellings(group))
    assert not set(spellings(METHODS)) & {key(name) for name in OWN}
    twice = (*METHODS, Alias("g w m", ("exact",), "gwm"))
    assert len(spellings(twice)) < sum(1 + len(alias.other) for alias in twice)  # what the first lines would catch


@pytest.mark.parametrize(("alias", "name"), said(ACCEPTED), ids=lambda part: str(getattr(part, "anchor", part)))
def test_an_accepted_name_is_one_method_of_fugu_in_any_spelling(alias, name):
    assert own_method(name) == own_method(name.upper()) == alias.ours[0] and alias.ours[0] in OWN
    assert aliases.told(name).endswith(f"{alias.ours[0]!r}: docs/glossary.md#{alias.anchor}")


@pytest.mark.parametrize(("alias", "name"), said(REFUSED), ids=lambda part: str(getattr(part, "anchor", part)))
def test_a_refused_name_says_why_and_what_was_perhaps_meant(alias, name):
    with pytest.raises(UsageError) as caught:
        fugu.calibrate(PAIR, fugu.Pure(1), method=name)
    told = str(caught.value)
    assert repr(name) in told and told.endswith(alias.link)
    assert "did you mean" in told or "fugu" in alias.why
    assert all(ours in OWN and repr(ours) in told for ours in alias.ours)
    assert aliases.told(name) is None


def test_names_of_fugu_and_nonsense_stay_as_they_are():
    for name in OWN:
        assert own_method(name) == name and aliases.told(name) is None
    assert own_method("nonsense") == "nonsense" and own_noise("nonsense") == "nonsense"
    for nothing in (None, 3, ["GWM"]):
        assert own_method(nothing) == nothing
    with pytest.raises(UnknownName, match="did you mean 'GWM'"):
        fugu.calibrate(PAIR, fugu.Pure(1), method="GVM")
    with pytest.raises(UnknownName, match="did you mean 'wasserstein'"):
        fugu.calibrate(PAIR, fugu.Pure(1), method="wasserstien")


@pytest.mark.parametrize(
    ("name", "ours", "budget"),
    [
        ("GWM", "wasserstein", fugu.Pure(1)),
        ("Kantorovich", "wasserstein", fugu.Pure(1)),
        ("AWM", "closeness", fugu.Approx(0.1, 0.01)),
        ("gawm", "closeness", fugu.Renyi(2, 0.1, 0.2)),
        ("DAGWM", "transport", fugu.Renyi(2, 0.1)),
    ],
)
def test_an_accepted_name_finds_the_same_noise_and_the_certificate_has_the_name_of_fugu(name, ours, budget):
    found, known = (fugu.calibrate(PAIR, budget, method=word, noise="laplace") for word in (name, ours))
    assert found.noise == known.noise and found.certificate.method == ours
    assert f'"{name}"' not in found.certificate.text
    assert found.noise != fugu.calibrate(PAIR, budget, method="exact", noise="laplace").noise  # it is no other method


@pytest.mark.parametrize("name", ["ExpM", "DirM", "EigM", "DauM"])
def test_methods_for_properties_have_the_names_of_the_paper(name):
    budget, how = fugu.Approx(0.1, 1e-3), {"declared_exact": True}
    found, known = (fugu.calibrate(NORMAL, budget, method=word, **how) for word in (name, own_method(name)))
    assert found.certificate.method == own_method(name) != name
    assert found.noise == known.noise


@pytest.mark.parametrize(
    ("name", "ours"),
    [("Lap", "laplace"), ("discrete Laplace", "laplace"), ("Gauss", "gaussian"), ("GCauchy", "cauchy")],
)
def test_noises_have_other_names(name, ours):
    assert own_noise(name) == ours
    budget = fugu.Renyi(2, 0.1)
    found, known = (fugu.calibrate(PAIR, budget, noise=word) for word in (name, ours))
    assert found.noise == known.noise and found.noise.name == ours


def test_sequences_know_their_own_names():
    states = fugu.sequences.States(["a", "b", "c"])
    assert fugu.sequences.TopK(2, states, "Ours-Exp") == fugu.sequences.TopK(2, states, "exponential")
    with pytest.raises(UsageError, match=re.escape("docs/glossary.md#mqm")):
        fugu.sequences.TopK(2, states, "MQM")
    with pytest.raises(UnknownName, match="did you mean 'exponential'"):
        fugu.sequences.TopK(2, states, "exponentail")


def test_types_know_the_accepted_names():
    listed = set(MethodName.__args__)
    assert {alias.name for alias in ACCEPTED} - {"Ours-Exp"} <= listed  # that one is for sequences
    assert not {name for alias in REFUSED for name in (alias.name, *alias.other)} & listed


def command(*words):
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "reference.csv"
    path.write_text("x,s\n" + "".join(f"{k % 5},{'a' if k % 3 else 'b'}\n" for k in range(60)))
    return str(path)


def test_the_command_line_takes_names_of_the_papers_and_says_so(table):
    options = (table, "--publish", "x", "--protect", "s", "--epsilon", "1", "--json")
    done, known = (command("calibrate", *options, "--method", word) for word in ("gwm", "wasserstein"))
    assert done.exit_code == known.exit_code == 0
    assert json.loads(done.stdout) == json.loads(known.stdout)
    assert "GWM is fugu's method 'wasserstein'" in done.stderr and "glossary" not in known.stderr
    refused = command("calibrate", *options, "--method", "MQM")
    assert isinstance(refused.exception, UsageError) and "docs/glossary.md#mqm" in str(refused.exception)
    named = command("calibrate", *options, "--noise", "Lap")
    assert json.loads(named.stdout) == json.loads(command("calibrate", *options, "--noise", "laplace").stdout)


def test_the_link_to_the_glossary_is_shown_where_links_to_proofs_are_not():
    from fugu.cli.console import spoken

    assert spoken("no (docs/proofs/laplace.md), see docs/glossary.md#mqm") == "no, see docs/glossary.md#mqm"


def test_the_glossary_has_a_section_for_every_name_and_every_place_in_it_is_there():
    there = anchors(ROOT / "docs" / "glossary.md")
    assert [alias.name for alias in (*METHODS, *NOISES) if alias.anchor not in there] == []
    places = {result.place for result in results()}
    every = [term for part in terms().values() for term in part]
    for term in every:
        assert term.anchor in there and set(term.where) <= places, term.name
        assert all(text.rstrip(")").endswith(".") for text in (term.means, term.differs or "."))
    words = [word.casefold() for term in every for word in (term.name, *term.other)]
    assert len(set(words)) == len(words)
    assert "no-such-name" not in there


def test_what_the_glossary_says_one_can_type_is_there():
    from test_catalogue import resolves, unknown_words

    for term in (term for part in terms().values() for term in part):
        for text in term.ours:
            if text.startswith("fugu "):
                assert unknown_words(text) == [], text
            elif text.startswith(("fugu.", "fugu_papers.")):
                assert resolves(text.partition("(")[0]), text
            elif text.startswith("method="):
                assert set(re.findall(r'method="([\w-]+)"', text)) <= OWN, text
    assert unknown_words("fugu release --quarry x") and not resolves("fugu.no_such_thing")


def test_words_are_found_in_any_case_or_refused_with_a_suggestion():
    assert find(" daum ").name == "DauM" and find("Prior").name == "Beliefs"
    with pytest.raises(UnknownName, match="did you mean 'DauM'"):
        find("DaumM")

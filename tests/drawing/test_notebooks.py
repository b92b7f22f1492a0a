"""What main objects show in notebooks and say in JSON: texts escaped, no private value, figures that stand alone."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

import fugu
from fugu.drawing import marks as html
from fugu.drawing import plots
from fugu.errors import UsageError
from fugu.report import notebook as sheet
from fugu.report.notebook import MOST, Sheet, shown
from fugu.sequences import Count, Histogram, States, TopK
from fugu.shown import VIEWS, Shown

BAD = '<script>alert("1")</script>&\u202e'
REFERENCE = {"s": [BAD, "b"] * 60, BAD: [0, 1, 2, 3, 1, 2, 5, 4] * 15, "g": [BAD, "y"] * 60}
PRIVATE = {"s": [BAD, "b"] * 12, BAD: [0, 1, 73187318, 3, 1, 2] * 4, "g": ["sentinel-4711", "y"] * 12}


def silent():
    return fugu.calibrate(fugu.Scenario.from_table(REFERENCE, protect="s", publish=BAD), fugu.Pure(0.5))


def published(folder):
    """A plan's forecast and its release, of a frame whose cells are sentinels."""
    plan = fugu.Question(query="count, mean(v)", protect="s", epsilon=0.5, bounds=(0, 5), step=1, reference="ref.csv")
    for name, columns in (("ref", REFERENCE), ("today", PRIVATE)):
        rows = zip(columns["s"], columns[BAD], strict=True)
        lines = [f"{'ab'[s == 'b']},{v}" for s, v in rows]
        (folder / f"{name}.csv").write_text("\n".join(["s,v", *lines]))
    plan = replace(plan, reference=str(folder / "ref.csv"))
    return plan, *(fugu.release(plan, folder / "today.csv", folder / "out.csv", folder / "l.db", **how)
                   for how in ({"dry_run": True}, {}))  # fmt: skip


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """One of each kind of main object."""
    scenario = fugu.Scenario.from_table(REFERENCE, protect="s", publish=BAD)
    mechanism = silent()
    drawn = [fugu.Discrete([0, 1], [1, 3]), fugu.Discrete([0, 1], [3, 1])]
    attacked = fugu.calibrate(fugu.LawPair(*drawn, BAD), fugu.Pure(0.5))
    session = fugu.Session(PRIVATE, REFERENCE, "s", fugu.Pure(1))
    counted = session.ask("histogram(g)", 0.5)
    plan, forecast, publication = published(tmp_path_factory.mktemp("published"))
    return {
        "scenario": scenario,
        "comparison": fugu.compare(scenario, fugu.Pure(0.5)),
        "mechanism": mechanism,
        "composition": fugu.certify(fugu.compose([fugu.Pure(0.1)] * 3)),
        "certificate": mechanism.certificate,
        "release": fugu.release_column(mechanism, PRIVATE),
        "answer": fugu.answer(PRIVATE, "histogram(g)", "s", fugu.Pure(1), reference=REFERENCE),
        "curve": fugu.influence(fugu.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 20, [0.5, 0.5], ["a", BAD])),
        "audit": fugu.audit(silent(), draws=1000),
        "attacks": fugu.attack(attacked, fugu.LawPair(*drawn, BAD), shadow=200, test=200),
        "sequences": Histogram(States(["a", BAD])).mechanism(1).release(["a", BAD, "a"]),
        "one count": Count("a", States(["a", BAD])).mechanism(1).release(["a", BAD, "a"]),
        "session answer": counted,
        "pure": fugu.Pure(1),
        "approx": fugu.Approx(Fraction(1, 3), 1e-6),
        "renyi": fugu.Renyi(2, 0.5),
        "orders": fugu.RenyiCurve({2: 0.1, 8: 0.5}),
        "zcdp": fugu.ZCDP(0.1),
        "session": session,
        "verdict": fugu.verify(mechanism),
        "schema": fugu.Schema.from_table(REFERENCE),
        "usable": fugu.usable(mechanism, scenario),
        "check": fugu.check(PRIVATE, REFERENCE),
        "description": fugu.describe(REFERENCE),
        "field": fugu.influence(fugu.GaussianField.ar1(5, 0.5, width=0.1)),
        "selection": TopK(1, States(["a", "b"])).mechanism(1).release(["a", "b", "a"]),
        "question": plan,
        "forecast": forecast,
        "publication": publication,
        "release document": publication.document,
        "nothing proved": fugu.Verdict(False, np.inf, 1.0, BAD, BAD),
    }


DRAWN = ("scenario", "comparison", "mechanism", "certificate", "release", "answer", "curve", "audit", "attacks",
         "sequences", "one count", "session answer", "pure", "approx", "renyi", "orders", "zcdp", "field")  # fmt: skip
NAMES = (*DRAWN, "session", "verdict", "schema", "usable", "check", "description", "selection", "question", "forecast",
         "publication", "release document", "nothing proved")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_is_markup_of_our_own(every, name):
    """It parses, holds no element, link or script of anybody else, and is small."""
    found = every[name]._repr_html_()
    elements = {element.tag for element in ElementTree.fromstring(found).iter()}
    assert elements <= {"div", "b", "p", "small", "table", "thead", "tbody", "tr", "th", "td"}
    assert len(found) < 12_000 and not re.search(r"<script|javascript:|href|src=|\u202e", found)


@pytest.mark.parametrize("name", DRAWN)
def test_figures_stand_alone(every, name, tmp_path):
    figure = every[name].plot()
    root = ElementTree.fromstring(figure.svg)
    assert root.tag.endswith("svg") and len(figure.svg) < 40_000
    assert not re.search(r"<script|javascript:|href|url\(|@import|\u202e", figure.svg)
    written = " ".join("".join(text.itertext()) for text in root.iter() if text.tag.endswith("text"))
    words = [word for word in figure.title.split() if word.isalpha()]
    assert len(words) >= 3 and set(words) <= set(written.split())  # the title is drawn, not only an attribute
    figure.save(tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text(encoding="utf-8") == figure.svg + "\n"
    assert figure.svg in figure._repr_html_() and figure.title in eval(repr(figure)[len("Figure(") : -1])


def test_what_has_no_figure_says_so():
    document = fugu.PerEntryDP(len, 0.5, name="size").certificate
    assert "<table" in document._repr_html_()
    with pytest.raises(UsageError, match="has no figure; print it"):
        document.plot()


def test_styles_reach_nothing_around_a_figure(every):
    style = re.search(r"<style>(.*?)</style>", every["curve"].plot().svg, re.DOTALL)[1]
    selectors = [part for rule in re.findall(r"([^{}]+)\{", style) for part in rule.split(",")]
    assert len(selectors) > 40 and all(part.strip().startswith(".fugu-figure") for part in selectors)


@pytest.mark.parametrize("name", NAMES)
def test_no_private_cell_is_shown_or_said(every, name):
    """But by a check, which is marked as for its owner alone. Wrong version: the columns of a table under a release."""
    seen = every[name]._repr_html_() + json.dumps(every[name].to_json()) + repr(every[name])
    seen += every[name].plot().svg if name in DRAWN else ""
    marked = name == "check" and seen.count("eyes; not for publication") == 2
    assert marked or ("73187318" not in seen and "sentinel" not in seen)


@pytest.mark.parametrize("name", NAMES)
def test_json_is_plain_and_says_something(every, name):
    """Wrong versions: a text in place of an object, numbers that JSON does not have, what is no JSON type."""
    told = every[name].to_json()
    assert type(told) is dict and len(told) > 1
    assert json.loads(json.dumps(told, allow_nan=False)) == told


FRAMES = {"comparison": "method", "release": BAD, "answer": "cell", "sequences": "state", "one count": "value",
          "selection": "rank", "session answer": "cell", "publication": "query", "description": "column"}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_what_is_a_table_gives_a_frame(every, name):
    """Columns of one length, of the kind that was asked for."""
    found, frame = every[name].to_frame("dict"), every[name].to_frame("polars")
    assert FRAMES[name] in found and list(found) == frame.columns
    assert {len(column) for column in found.values()} == {len(frame)} and len(frame) >= 1


def test_every_main_object_is_tried(every):
    """A class that shows itself, is public and is not tried here would be forgotten by all of the above."""
    tried = {kind for thing in every.values() for kind in type(thing).__mro__}
    public = {getattr(fugu, name) for name in fugu.__all__ if name != "__version__"}
    assert {kind for kind in public if isinstance(kind, type) and issubclass(kind, Shown)} <= tried
    assert {fugu.Session, fugu.Verdict, fugu.Schema, fugu.Release, fugu.Publication, fugu.Pure, fugu.ZCDP} <= tried
    with pytest.raises(NotImplementedError):
        Shown().to_json()


def test_a_value_that_is_pasted_would_be_seen(every, monkeypatch):
    """The wrong version: cells put into the markup as they stand."""
    monkeypatch.setattr(sheet, "clean", lambda text, most=60: html.Html(text))
    with pytest.raises((ElementTree.ParseError, AssertionError)):
        test_what_is_shown_is_markup_of_our_own(every, "scenario")


def test_every_part_of_a_sheet_is_escaped():
    found = Sheet(BAD, [(BAD, BAD)], (BAD,), [(BAD,)], [BAD], [BAD]).html()
    elements = [element.tag for element in ElementTree.fromstring(found).iter()]
    assert "script" not in elements and found.count("&lt;script&gt;") == 7 and "\u202e" not in found


def test_long_tables_are_cut_and_say_so():
    found = Sheet("t", head=("a",), rows=[(k,) for k in range(MOST + 7)]).html()
    assert found.count("<tr>") == MOST + 1 and "and 7 more" in found
    assert [shown(x) for x in (float("inf"), -0.5, False)] == ["inf", "-0.5", "no"]
    with pytest.raises(NotImplementedError):
        Shown()._repr_html_()


def test_the_curve_of_odds_is_bayes_rule():
    """p e^eps / (1 - p + p e^eps), and its mirror image: a wrong sign or a missing prior would be seen."""
    most, least, nothing = sheet.odds_figure(1.0, 0.0).panels[0].marks
    for p, high, low in zip(most.xs, most.ys, least.ys, strict=True):
        assert high == pytest.approx(p * np.e / (1 - p + p * np.e)) and low == pytest.approx(p / (p + (1 - p) * np.e))
    assert nothing.xs == nothing.ys == (0.0, 1.0)
    assert "2.72" in sheet.odds_figure(1.0, 1e-6).title and "10⁻⁶" in sheet.odds_figure(1.0, 1e-6).title


def test_the_figure_of_a_mechanism_is_its_interval(every):
    mechanism = every["mechanism"]
    (line,) = mechanism.plot().panels[0].marks
    assert dict(zip(line.xs, line.ys, strict=True))[0.99] == mechanism.interval(0.99)[1]


def test_an_answer_is_drawn_with_its_intervals(every):
    answer = every["answer"]
    whiskers, points = answer.plot().panels[0].marks
    assert points.ys == tuple(cell.value for cell in answer.cells)
    assert list(zip(whiskers.lows, whiskers.highs, strict=True)) == [(cell.low, cell.high) for cell in answer.cells]


def test_a_budget_in_divergences_has_a_figure_and_a_sheet():
    pair = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1, 2]))
    certificate = fugu.calibrate(pair, fugu.Renyi(4, 0.5), noise="gaussian").certificate
    assert "Rényi order 4" in certificate._repr_html_() and "but for a chance of 10⁻⁶" in certificate.plot().title


def test_normal_laws_have_densities_and_vectors_none():
    scenario = fugu.Scenario({"a": fugu.Normal(0, 1), "b": fugu.NormalMixture([0.5, 0.5], [0, 3], [1, 2])})
    for line in scenario.plot().panels[0].marks:
        assert np.trapezoid(line.ys, line.xs) == pytest.approx(1, abs=0.03)
    flat = fugu.Scenario({"a": fugu.Discrete([[0, 0]]), "b": fugu.Discrete([[1, 1]])})
    assert "secret" in flat._repr_html_()
    with pytest.raises(UsageError, match="no picture"):
        flat.plot()


def test_laws_of_the_private_table_are_not_shown():
    """With a public prior they are its exact counts, and a notebook is handed on."""
    own = fugu.Scenario.from_table(REFERENCE, protect="s", publish=BAD, public_prior=True)
    shown_of_it = own._repr_html_()
    assert "mean" not in shown_of_it and shown_of_it.count("not shown") == 2
    assert "mean 2.5" in fugu.Scenario.from_table(REFERENCE, protect="s", publish=BAD)._repr_html_()
    with pytest.raises(UsageError, match="exact numbers"):
        own.plot()


def test_what_has_no_number_has_no_figure():
    chosen = TopK(1, States(["a", "b"])).mechanism(1).release(["a", "b", "a"])
    assert "Answer" in chosen._repr_html_()
    with pytest.raises(fugu.errors.BadNoise, match="no interval"):
        chosen.plot()
    calls = (
        lambda: plots.bars("t", "", [("a", 0.0, False)]),
        lambda: plots.intervals("t", "", [], [], []),
        lambda: plots.curve("t", "", [(1, np.inf)], "", ""),
        lambda: sheet.odds_figure(np.inf, 0),
        lambda: plots.level_bars("t", "", ["a"], [np.nan], None, ""),
        lambda: plots.laws("t", "", [], ""),
    )
    for call in calls:
        with pytest.raises(UsageError, match="nothing to draw"):
            call()


def test_weak_budgets_are_loud():
    mechanism = fugu.calibrate(fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1, 2])), fugu.Pure(20))
    for found in (mechanism, mechanism.certificate, mechanism.release([1], allow_no_noise=True)):
        assert "border-left" in found._repr_html_() and "epsilon" in found._repr_html_()


def test_answers_of_a_session_are_frames_and_figures():
    pd = pytest.importorskip("pandas")
    past = pd.DataFrame({"s": [BAD, "b"] * 60, "v": [0, 1, 2, 3] * 30, "g": [BAD, "y"] * 60})
    today = pd.DataFrame({"s": [BAD, "b"] * 12, "v": [0, 1, 73187318, 3] * 6, "g": [BAD, "y", "y", "y"] * 6})
    session = fugu.Session(today, past, "s", fugu.Pure(2))
    one, two = session.ask("histogram(g)", 0.5), session.ask("quantile(v, 0.5)", 0.5, grid=[0, 1, 2, 3])
    for answer in (one, two):
        frame = answer.to_frame()
        assert isinstance(frame, pd.DataFrame) and frame["value"].tolist() == [cell.value for cell in answer.cells]
        ElementTree.fromstring(answer._repr_html_())
        ElementTree.fromstring(answer.plot().svg)
        assert "<script" not in answer._repr_html_() + answer.plot().svg and "73187318" not in answer._repr_html_()
    assert list(session.ask("count").to_frame("dict")) == ["value", "low", "high"]


EXTRAS = {"fugu.ledger.connection": "psycopg", "fugu.ledger.database": "psycopg"}
"""Modules that need a package that not everybody has."""


def test_every_class_that_is_shown_has_a_view_of_one_name():
    """Classes are found by name: two of one name would be shown by the view of one of them."""
    for module in pkgutil.walk_packages(fugu.__path__, "fugu."):
        if not module.name.endswith("__main__") and find_spec(EXTRAS.get(module.name, "fugu")):
            importlib.import_module(module.name)
    waiting, found = [Shown], []
    while waiting:
        more = waiting.pop().__subclasses__()
        waiting += more
        found += [kind for kind in more if kind.__module__.startswith("fugu.")]
    named = [kind.__name__ for kind in dict.fromkeys(found) if kind.__name__ in VIEWS]
    assert sorted(named) == sorted(VIEWS), set(VIEWS) ^ set(named)
    made = [kind for kind in found if not kind.__subclasses__()]  # others are what these are made from
    assert all({k.__name__ for k in kind.__mro__} & set(VIEWS) for kind in made)


def test_nothing_that_computes_loads_what_draws():
    code = (
        "import sys, fugu\n"
        "mechanism = fugu.calibrate(fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1, 2])), fugu.Pure(1))\n"
        "print(mechanism, mechanism.certificate, mechanism.release([1]))\n"
        "fugu.verify(mechanism.certificate)\n"
        "drawn = [name for name in sys.modules if name.startswith(('fugu.drawing', 'fugu.report'))]\n"
        "assert not drawn, drawn\n"
        "assert '<table' in mechanism._repr_html_() and 'fugu.report.notebook' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_class_of_somebody_else_is_shown_as_what_it_is_made_from(every):
    class Check(type(every["mechanism"])):
        """Named as a class of fugu."""

    assert "Check" in VIEWS
    own = object.__new__(Check)
    own.__dict__.update(vars(every["mechanism"]))
    assert "<b>Mechanism: " in own._repr_html_()

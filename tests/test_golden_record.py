"""The quick cases of the golden record answer as they did; the comparison notices what it must."""

from __future__ import annotations

import copy
import json

import pytest

from golden import record
from golden.changes import EXPECTED
from golden.comparing import Change, differences, needless, unexplained
from golden.laws import BUDGETS, SHAPES

ONE = "atoms-wide/approx/calibrate/best/best"
REFUSED = "atoms-wide/pure/calibrate/gaussian/best"


@pytest.fixture(scope="module")
def known():
    return record.load()


def test_the_quick_cases_answer_as_recorded(known):
    before, slow = known
    quick = {name: answer for name, answer in before.items() if name not in slow}
    doors = record.load(record.DOORS)[0]
    found = differences(quick, record.compute(quick)[0])
    assert not (wrong := unexplained(found, EXPECTED)), "\n".join(map(str, wrong))
    assert not (idle := needless(found, EXPECTED, [*slow, *doors])), f"listed, but nothing differs: {idle}"


def test_the_record_is_of_today_s_cases(known):
    from golden.cases import Workshop, cases

    names = [case.name for case in cases(Workshop())]
    assert len(names) == len(set(names)) and set(names) == set(known[0])


def test_every_shape_and_budget_is_on_record_and_some_are_quick(known):
    before, slow = known
    for name, shape in SHAPES.items():
        assert all(f"{name}/{budget}/calibrate/best/best" in before for budget in shape.budgets)
        assert any(case.startswith(f"{name}/") for case in before.keys() - slow)
    for budget in BUDGETS:
        assert sum(f"/{budget}/compare" in case for case in before) >= 15


def test_the_record_proves_and_refuses(known):
    calibrated = [answer for name, answer in known[0].items() if "/calibrate/" in name]
    proved = [answer for answer in calibrated if "certificate" in answer]
    assert len(proved) > 500 and len(calibrated) - len(proved) > 500
    assert all(answer["verify"]["holds"] is True for answer in proved)
    silent = [answer for answer in proved if answer["noise"]["scale"] in ("0", "0.0")]
    assert len(silent) < len(proved) / 3


def altered(before, case, *path_and_value):
    after = copy.deepcopy({case: before[case]})
    *path, last, value = path_and_value
    place = after[case]
    for step in path:
        place = place[step]
    place[last] = value(place[last])
    return differences({case: before[case]}, after)


@pytest.mark.parametrize(
    ("case", "change"),
    [
        (ONE, ("noise", "scale", lambda x: repr(float(x) * 1.0001))),
        (ONE, ("noise", "scale", lambda x: repr(float(x) * (1 + 1e-15) + 1e-9))),
        (ONE, ("noise", "class", lambda x: f"{x}s")),
        (ONE, ("method", lambda _: "relaxed")),
        (ONE, ("guarantee", lambda x: x.replace("1e-06", "1e-05"))),
        (ONE, ("certificate", "proved", "epsilon", lambda x: x * (1 + 1e-11))),
        (ONE, ("certificate", "assumptions", lambda x: x[1:])),
        (ONE, ("certificate", "fingerprint", lambda x: x[::-1])),
        (ONE, ("errors", "absolute", lambda x: x * 1.0001)),
        (ONE, ("verify", "holds", lambda _: False)),
        (REFUSED, ("message", lambda x: x + ".")),
        (REFUSED, ("refused", lambda _: "UsageError")),
        ("atoms-wide/pure/compare", ("rows", "exact laplace", "scale", lambda x: repr(float(x) * 1.0001))),
        ("atoms-wide/pure/compare", ("rows", "exact laplace", "proven", lambda _: 1)),
        ("normal-vectors/renyi/calibrate/best/best", ("noise", "covariance", lambda x: [x[0], ["0", "0"]])),
        ("atoms-wide/pure/simulate", ("values", 0, lambda x: x + 1)),
    ],
)
def test_a_wrong_answer_is_noticed(known, case, change):
    found = altered(known[0], case, *change)
    assert found and unexplained(found, ()) == found
    text = str(found[0])
    assert case in text and "before:" in text and "after:" in text


def test_rounding_of_a_search_is_not_noticed(known):
    assert altered(known[0], ONE, "errors", "absolute", lambda x: x * (1 + 1e-14)) == []
    assert altered(known[0], ONE, "noise", "scale", lambda x: x) == []


def test_a_case_that_comes_or_goes_is_a_difference():
    assert [d.after for d in differences({"a": 1}, {"b": 1})] == ["(gone)", "(a new case)"]
    assert differences({"a": {"x": 1.0}}, {"a": {"refused": "NotProvable"}})


def test_a_change_needs_a_reason_and_a_reason_needs_a_change():
    found = differences({"vectors/plan": {"refused": "X"}, "b": "1"}, {"vectors/plan": {"class": "Pure"}, "b": "2"})
    listed = Change("vectors/*", "*", "plan works for vectors")
    assert [d.case for d in unexplained(found, [listed])] == ["b"]
    assert needless(found, [listed]) == []
    idle = Change("scalars/*", "*", "nothing")
    assert needless(found, [listed, idle]) == [idle]
    assert needless(found, [idle], left_out=["scalars/slow"]) == []
    elsewhere = Change("vectors/*", "message", "another field")
    assert needless(found, [elsewhere]) == [elsewhere] and len(unexplained(found, [elsewhere])) == 3
    other_value = Change("b", "*", "another value", after="3")
    assert needless(found, [other_value]) == [other_value] and unexplained(found, [other_value]) == found


def test_the_command_says_what_differs(monkeypatch, tmp_path, capsys):
    answers, _ = record.compute(["wrong-use/noise", "wrong-use/method"])
    monkeypatch.setattr(record, "FILE", tmp_path / "record.json")
    monkeypatch.setattr(record, "EXPECTED", ())
    record.write(answers, [])
    assert record.load() == (answers, set())
    assert record.main(["--check", "--only", "wrong-use/method"]) == 0
    body = json.loads(record.FILE.read_text())
    body["cases"]["wrong-use/method"]["refused"] = "NotProvable"
    record.FILE.write_text(json.dumps(body))
    capsys.readouterr()
    assert record.main(["--check", "--only", "wrong-use/method"]) == 1
    said = capsys.readouterr().out
    assert "wrong-use/method" in said and "before: NotProvable" in said and "after:  UnknownName" in said

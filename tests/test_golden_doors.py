"""The doors answer as recorded: screens, exit codes, documents, pages, verdicts, names of requests, story by story."""

from __future__ import annotations

import json
import re

import pytest

from golden import record
from golden.changes import EXPECTED
from golden.comparing import differences, masked, same, unexplained
from golden.naming import FILE as REQUESTS
from golden.stories import STORIES


@pytest.fixture(scope="module")
def known():
    return record.load(record.DOORS)[0]


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_as_recorded(known, name):
    before = {step: answer for step, answer in known.items() if step.startswith(f"doors/{name}/")}
    wrong = unexplained(differences(before, record.stories(only=[name])), EXPECTED)
    assert not wrong, "\n".join(map(str, wrong))


def test_the_record_has_every_kind_of_answer(known):
    assert {name.split("/")[1] for name in known} == set(STORIES)
    codes = [answer["exit"] for answer in known.values() if isinstance(answer, dict) and "exit" in answer]
    assert set(codes) == {0, 2, 3, 4} and codes.count(2) > 30
    text = json.dumps(known, ensure_ascii=False)
    assert len(re.findall(r'"[a-z.-]+\.html":', text)) > 10 and text.count("▒") < 0.02 * len(text.split())


def test_a_request_that_is_named_otherwise_is_noticed(monkeypatch, tmp_path):
    lines = REQUESTS.read_text().splitlines()
    assert len(lines) == 400 == len({line.partition(" => ")[0] for line in lines})
    few = tmp_path / "requests.txt"
    few.write_text(lines[0] + "\n" + re.sub(r"[0-9a-f]{16}$", "0" * 16, lines[1]) + "\n")
    monkeypatch.setattr("golden.naming.FILE", few)
    first, second = record.stories(only=["requests"]).values()
    assert first == 2 and re.fullmatch(r"was .* 0{16}, is .* [0-9a-f]{16}", second)


def test_masks_cover_chance_and_nothing_else():
    template = masked(["noise 3.1 in x\nfixed\nlast", "noise 2.5 in x\nfixed\nlast"])
    assert template == "noise ▒ in x\nfixed\nlast"
    assert same(template, "noise -7 in x\nfixed\nlast")
    assert not same(template, "noise 3.1 in y\nfixed\nlast") and not same(template, "noise 3.1 in x\nlast")
    (difference,) = differences({"a": template}, {"a": "noise 9 in x\nmoved\nlast"})
    assert "-fixed" in str(difference) and "+moved" in str(difference) and "noise" not in str(difference)

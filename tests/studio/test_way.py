"""The steward's way over HTTP, as somebody without script goes it: from two tables to one release, drawn once."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import pytest
from studios import ENTRIES, HIDDEN, diaries, running, state_of, tables

import fugu
from fugu.ledger import Books, books
from fugu.report.figures import use_figures
from fugu.studio import app, desk, forms, levers, looks, work
from fugu.studio.jobs import STOPPED, Child, Job


@pytest.fixture(scope="module")
def went(tmp_path_factory):
    """A studio after its release, its folder, and every page on the way."""
    folder, pages = tables(tmp_path_factory.mktemp("way")), {}
    rows = (folder / "clinic_today.csv").read_text().splitlines()
    rows[1:4] = ["9001,41,Xenomarker,Ymarker,no,99999777", "9002,x marks,F,west,no,200", "9003,50,F,Zmarker,yes,210"]
    (folder / "hidden").mkdir()
    private = folder / "hidden" / "clinic_today.csv"
    private.write_text("\n".join(rows) + "\n")
    asked, opened, ask = [], [], Child.ask

    def heard(self, told, *more):
        asked.append((self.kind, json.dumps(told)))
        return ask(self, told, *more)

    def watch(event, what):
        if event == "open" and str(what[0]) == str(private):
            opened.append(what)

    sys.addaudithook(watch)
    patch = pytest.MonkeyPatch()
    patch.setattr(Child, "ask", heard)
    with running(state_of(folder), str(private)) as client:
        client.enter().plan(by="")
        for name in ("tables", "question", "noise", "improve", "sign"):
            pages[name] = client.get(name)[2]
        assert client.post("improve", {"measure": "on"})[0] == 303
        client.wait()
        pages["measured"] = client.get("improve")[2]
        assert client.post("sign", {"look": "on"})[1]["location"] == "sign"
        client.wait()
        pages["look"] = client.get("sign")[2]
        pages["before"] = client.sign().get("release")[2]
        pressed = [threading.Thread(target=client.post, args=("release",)) for _ in range(4)]
        for press in pressed:
            press.start()
        for press in pressed:
            press.join()
        client.wait()
        client.asked, client.opened = tuple(asked), tuple(opened)
        for name in ("release", "ledger"):
            pages[name + " after"] = client.get(name)[2]
        yield client, folder, pages
    patch.undo()


def requests_in(folder):
    """What the ledger has, and in which state."""
    return [(e.request, e.state) for e in Books(folder / "ledger.db").read(books.history)]


def test_the_way_ends_in_one_release_that_holds(went):
    client, folder, pages = went
    out = folder / "out"
    assert {path.name for path in out.iterdir()} == {
        f"release-1.{end}"
        for end in ("csv", "certificate.json", "private.json", "report.html", "plan.toml", "to-sign.html")
    }  # fmt: skip
    beside = {"published": out / "release-1.csv", "reference": folder / "clinic_reference.csv"}
    verdict = fugu.verify(str(out / "release-1.certificate.json"), **beside, ledger=folder / "ledger.db", twice=True)
    assert verdict.holds and not [line for line in verdict.checks if line[1] == "fails"]
    assert [state for _, state in requests_in(folder)] == ["settled"]
    assert "Released" in pages["release after"] and "settled" in pages["ledger after"]
    assert "holds: every event" in client.post("ledger")[2]


def test_sections_on_a_screen_are_those_of_the_signed_page(went):
    _, folder, pages = went
    out = folder / "out"
    signed, kept = (work.main_of((out / f"release-1.{name}.html").read_text()) for name in ("to-sign", "report"))
    salted = re.compile(r"\b[0-9a-f]{16,}\b")  # a reference is committed to under a fresh salt
    assert salted.sub("", signed.strip()) in salted.sub("", pages["sign"])
    assert kept.strip() in pages["release after"]
    for heading in ("What the promise means", "How much noise", "What it rests on"):
        assert heading in pages["sign"]


def test_the_noise_screen_says_the_promise_as_odds_and_the_verdict(went):
    *_, pages = went
    text = re.sub(r"<[^>]+>|\s+", " ", pages["noise"])
    assert "as likely as not (50 %) will think at most" in text and "Odds change by a factor of at most" in text
    assert "usable" in text and "ordinary differential privacy" in text and "For 900 rows, as declared" in text


def test_what_the_owner_saw_stays_with_the_owner(went):
    _, folder, pages = went
    assert "Private" in pages["look"] and "900 records" in pages["look"]
    assert ">2</td>" in pages["look"] and "ward: unknown categories" in pages["look"]
    published = [
        (folder / "out" / f"release-1.{end}").read_text() for end in ("csv", "certificate.json", "report.html")
    ]
    for text in (*published, *(pages[name] for name in ("release after", "ledger after", "before"))):
        assert "owner's eyes" not in text and "owner&#39;s eyes" not in text
    assert json.loads((folder / "out" / "release-1.private.json").read_text())["check"]["records"] == 900


def test_the_look_is_gone_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "KEPT", 0.2)
    studio = app.Studio({"checks": False}, None)
    studio._ended("look", {"rows": 1})
    assert studio.state["look"] == {"rows": 1}
    time.sleep(0.5)
    assert "look" not in studio.state


def test_no_private_cell_is_said_anywhere(went, capfd):
    _, folder, pages = went
    marks = ("Xenomarker", "Ymarker", "Zmarker", "99999777", "x marks", "9002")
    outside = [path for path in (folder / "out").iterdir() if "private" not in path.name]
    texts = [*pages.values(), *(path.read_text() for path in outside), *capfd.readouterr()]
    assert not [mark for mark in marks[:5] for text in texts if mark in text]
    assert not list(Path(tempfile.gettempdir()).glob("fugu-studio-*"))


def test_the_archive_has_what_may_go_out(went):
    client, _, _ = went
    status, headers, _ = client.get("zip")
    assert status == 200 and headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(looks.packed(client.studio.state))) as whole:
        assert set(whole.namelist()) == {"release-1.csv", "release-1.certificate.json", "release-1.report.html"}


def test_a_second_press_and_a_restart_find_the_first_release(went):
    client, folder, _ = went
    before = (folder / "out" / "release-1.csv").read_bytes()
    client.studio.state["went"] = False  # as if the first press had never been answered
    client.release()
    assert (folder / "out" / "release-1.csv").read_bytes() == before and client.studio.state["release"]["repeated"]
    found = desk.begun({"state": state_of(folder)})["state"]
    assert found["place"] == 1 and found["went"] and found["epsilon"] == "0.5" and found["signed"]["name"] == "Ada"
    assert found["plan"]["query"] == client.studio.state["plan"]["query"]
    assert [state for _, state in requests_in(folder)] == ["settled"]


def test_a_plan_that_was_changed_after_it_was_signed_is_not_released(tmp_path):
    folder = tables(tmp_path)
    plan = {"reference": str(folder / "clinic_reference.csv"), "query": "mean(chol)", "protect": "smoker"}
    state = state_of(folder, plan=plan, epsilon="0.5", place=1)
    every = [str(k) for k in range(len(looks.picture(state, "0.5")["forecast"].assumptions))]
    form = {"assumed": every, "person": ["Ada"], "role": ["steward"], "answer": ["on"]}
    desk.taken({"name": "sign", "state": state, "form": form, "number": "1", "jobs": {}})
    file, out = folder / "out" / "release-1.plan.toml", folder / "out" / "release-1.csv"
    file.write_text(file.read_text().replace('epsilon = "0.5"', 'epsilon = "5"'))
    asked = {
        "plan": str(file),
        "out": str(out),
        "ledger": state["ledger"],
        "data": "t",
        "table": str(folder / "clinic_today.csv"),
    }
    with pytest.raises(fugu.errors.UsageError, match="another plan"):
        work.released(asked)
    assert not out.exists() and not (folder / "ledger.db").exists()


def test_the_first_page_waits_for_what_was_planned_before(tmp_path, monkeypatch):
    folder, ask = tables(tmp_path), Child.ask
    plan = {"reference": str(folder / "clinic_reference.csv"), "query": "mean(chol)", "protect": "smoker"}
    state = state_of(folder, plan=plan, epsilon="0.5", place=1)
    every = [str(k) for k in range(len(looks.picture(state, "0.5")["forecast"].assumptions))]
    form = {"assumed": every, "person": ["Ada"], "role": ["steward"], "answer": ["on"]}
    desk.taken({"name": "sign", "state": state, "form": form, "number": "1", "jobs": {}})

    def slow(self, told, *more):
        time.sleep(0.5 * (told.get("do") == "begin"))
        return ask(self, told, *more)

    monkeypatch.setattr(Child, "ask", slow)
    with running(state_of(folder), str(folder / "clinic_today.csv")) as client:
        assert client.enter().get("")[1]["location"] == "release"


def test_nobody_signs_without_every_assumption_a_name_and_a_word(tmp_path):
    folder = tables(tmp_path)
    state = state_of(folder, plan={"reference": str(folder / "clinic_reference.csv"), "query": "mean(chol)",
                                   "protect": "smoker"}, epsilon="0.5", place=1)  # fmt: skip
    count = len(looks.picture(state, "0.5")["forecast"].assumptions)
    every = [str(k) for k in range(count)]
    whole = {"assumed": every, "person": ["Ada"], "role": ["steward"], "answer": ["on"]}
    for wrong in (
        {"assumed": every[1:]},
        {"person": [" "]},
        {"role": [""]},
        {"answer": None},
        {"assumed": [*every[1:], "77"]},
    ):
        form = {name: said for name, said in {**whole, **wrong}.items() if said is not None}
        answer = desk.taken({"name": "sign", "state": state, "form": form, "number": "1", "jobs": {}})
        assert answer["status"] == 400, wrong
    assert not (folder / "out").exists()
    assert desk.taken({"name": "sign", "state": state, "form": whole, "number": "1", "jobs": {}})["to"] == "release"


def test_only_the_release_and_the_look_are_told_where_the_table_is_and_the_web_process_opens_it_never(went):
    client, _, _ = went
    assert {kind for kind, text in client.asked if "hidden" in text} == {"release", "look"}
    assert {kind for kind, _ in client.asked} == {"desk", "help", "look", "release"}
    assert not client.opened


def test_four_tabs_at_once_draw_once(went):
    client, folder, _ = went
    assert sum(kind == "release" for kind, _ in client.asked) >= 1
    assert [state for _, state in requests_in(folder)] == ["settled"]


def paths(folder, kind):
    """Reference and private table of a kind of question, and what its form asks."""
    if kind == "sequences":
        diaries(folder)
        return folder / "last.csv", folder / "today.csv", ENTRIES
    tables(folder)
    private = folder / "clinic_today.csv"
    private.write_text(private.read_text().replace(",F,", ",Xenomarker,", 3))
    return folder / "clinic_reference.csv", private, HIDDEN


@pytest.mark.parametrize("kind", ["sequences", "property"])
def test_sequences_and_what_hides_a_share_go_the_same_way(kind, tmp_path, monkeypatch):
    asked, ask = [], Child.ask

    def heard(self, told, *more):
        asked.append((self.kind, json.dumps(told)))
        return ask(self, told, *more)

    monkeypatch.setattr(Child, "ask", heard)
    reference, table, form = paths(tmp_path, kind)
    (tmp_path / "hidden").mkdir()
    private = table.rename(tmp_path / "hidden" / table.name)
    state = {**state_of(tmp_path), "reference": str(reference), "table": private.name}
    with running(state, str(private)) as client:
        client.enter().plan("900", form)
        pages = {name: client.get(name)[2] for name in ("question", "noise", "improve")}
        wanted = re.search(r'data-epsilon="([^"]+)"', client.get("noise?error=8")[2])[1]
        assert client.get("noise?error=0.0000001")[0] == 400
        plan = client.studio.state["plan"]
        assert client.post("improve", {"measure": "on"})[0] == client.post("sign", {"look": "on"})[0] == 303
        client.wait()
        pages |= {"measured": client.get("improve")[2]}
        look = client.get("sign")[2]
        client.sign().release()
        pages |= {name: client.get(name)[2] for name in ("release", "ledger")}
    assert "records." in look and "Private" in look
    assert {told for told, said in asked if "hidden" in said} == {"release", "look"}
    least, before = (
        fugu.release(fugu.Question(**plan, epsilon=epsilon), dry_run=True).usable.figures
        for epsilon in (wanted, forms.epsilon_at(forms.place_of(wanted) - 1))
    )
    assert max(each.numbers.get("error") or each.size for each in least) <= 8.0
    assert max(each.numbers.get("error") or each.size for each in before) > 8.0
    assert f'value="{kind}" checked' in pages["question"] and "as declared" in pages["noise"]
    assert "Twice the epsilon, 1" in pages["measured"] and "leave out" in pages["measured"].lower()
    out = tmp_path / "out"
    beside = {"published": out / "release-1.csv", "reference": reference, "ledger": tmp_path / "ledger.db"}
    verdict = fugu.verify(str(out / "release-1.certificate.json"), **beside, twice=True)
    assert verdict.holds and not [line for line in verdict.checks if line[1] == "fails"]
    assert [state for _, state in requests_in(tmp_path)] == ["settled"] and "Ada" in pages["release"]
    texts = [*pages.values(), *(file.read_text() for file in out.iterdir() if "private" not in file.name)]
    assert not [text for text in (*texts, look) if "Xenomarker" in text]
    assert fugu.Question.load(out / "release-1.plan.toml").kind == kind


def test_half_may_be_kept_and_a_second_release_follows_of_what_the_ledger_still_allows(tmp_path):
    folder = tables(tmp_path)
    with running(state_of(folder), str(folder / "clinic_today.csv")) as client:
        asked = {"protect": "4", "unit": "0", "kind": "statistics"}
        client.enter().plan(asked={**asked, "mean": ["5"]})
        before = client.get("sign")[2]
        assert client.post("sign", {"share": "on"})[1]["location"] == "sign"
        shared = client.get("sign")[2]
        client.sign().release()
        assert client.studio.state["release"].get("files"), client.studio.state["release"]
        kept = json.loads(client.get("export")[2])
        found = desk.begun({"state": state_of(folder)})["state"]
        assert client.post("question", {**asked, "histogram": ["3"]})[0] == 303
        assert client.post("noise", {"epsilon": "0.25"})[0] == 303
        client.sign().release()
        assert client.studio.state["release"].get("files"), client.studio.state["release"]
        spent = client.post("question", {**asked, "histogram": ["2"]})
        head = client.get("ledger")[2]
    assert "no other question can be asked" in before and "epsilon 0.25 now" in before
    assert "against anybody 1.25 of epsilon 2.5" in shared and "epsilon 0.125 now" in shared
    assert found["total"] == "0.5" and found["epsilon"] == "0.25"
    assert kept["data sets"][0]["budget"]["epsilon"] == 0.5 and kept["requests"][0]["state"] == "settled"
    assert spent[0] == 400 and "nothing is left" in spent[2] and "against anybody nothing of epsilon 2.5" in head
    for number in (1, 2):
        beside = {"published": folder / "out" / f"release-{number}.csv", "ledger": folder / "ledger.db"}
        assert fugu.verify(str(folder / "out" / f"release-{number}.certificate.json"), **beside).holds


@pytest.mark.parametrize("after", [0.0, 0.9])
def test_a_release_that_is_killed_is_found_again_and_never_drawn_twice(after, tmp_path):
    folder = tables(tmp_path)
    out = folder / "out"
    out.mkdir()
    question = fugu.Question(query="mean(chol)", protect="smoker", epsilon=1, reference=folder / "clinic_reference.csv")
    question.save(out / "release-1.plan.toml")
    asked = {"plan": str(out / "release-1.plan.toml"), "out": str(out / "release-1.csv"), "data": "clinic_today.csv",
             "ledger": str(folder / "ledger.db"), "table": str(folder / "clinic_today.csv")}  # fmt: skip
    told, seen = [], []
    job = Job("releasing", "release", asked, 60, told.append)
    until = time.monotonic() + 60
    while after and job.running and not (folder / "ledger.db").exists() and time.monotonic() < until:
        time.sleep(0.002)
    time.sleep(0.03 * after)
    with_pid = job.child._process
    if with_pid is not None:
        os.kill(with_pid.pid, signal.SIGKILL)
    while job.running:
        time.sleep(0.01)
    drawn = (out / "release-1.csv").read_bytes() if (out / "release-1.csv").exists() else None
    child = Child("release")
    try:
        for _ in range(2):
            answer = child.ask(asked, 60)
            assert "files" in answer, answer
            seen.append((out / "release-1.csv").read_bytes())
    finally:
        child.close()
    assert len(set(seen)) == 1 and drawn in (None, seen[0])
    assert [state for _, state in requests_in(folder)] == ["settled"]
    ledger = fugu.Ledger(folder / "ledger.db", fugu.Pure(1), data="clinic_today.csv")
    assert float(ledger.spent().epsilon) > 0
    assert {row["query"] for row in csv.DictReader(io.StringIO(seen[0].decode()))} == {"mean(chol)"}


def test_work_can_be_stopped(tmp_path):
    child = Child("desk")
    told = []
    waiting = threading.Thread(target=lambda: told.append(child.ask({"do": "begin", "state": {"checks": True}}, 60)))
    waiting.start()
    while child._process is None:
        time.sleep(0.001)
    begun = time.monotonic()
    child.stop()
    waiting.join(10)
    assert told == [{"refused": STOPPED}] and time.monotonic() - begun < 2
    late = child.ask({"do": "begin", "state": {"checks": True}}, 0.01)
    assert "longer than" in late["refused"]
    assert "studio.css" in child.ask({"do": "begin", "state": {"checks": True}}, 60)["files"]
    child.close()


def test_a_column_and_its_levers(tmp_path):
    folder = tables(tmp_path)
    plan = {"reference": str(folder / "clinic_reference.csv"), "publish": "chol", "protect": "smoker", "rows": 900}
    state = state_of(folder, plan=plan, epsilon="0.5", place=1)
    told = {"name": "improve", "state": state, "number": "1", "jobs": {}, "query": {}}
    assert "publish its mean" in desk.shown(told)["html"].lower()
    answer = desk.taken({**told, "form": {"lever": ["0"]}})
    assert answer["state"]["plan"]["query"] == "mean(chol)" and "publish" not in answer["state"]["plan"]
    undone = desk.taken({**told, "state": {**state, **answer["state"]}, "form": {"undo": ["on"]}})
    assert undone["state"]["plan"] == plan
    wanted = desk.shown({**told, "name": "noise", "query": {"error": ["10"]}})["html"]
    epsilon = float(re.search(r'data-epsilon="([^"]+)"', wanted)[1])
    assert fugu.release(fugu.Question(**plan, epsilon=epsilon), dry_run=True).usable.figures[0].error <= 10.0
    assert "What the values look like" in wanted and "Error beside other errors" in wanted


def test_forms_say_what_they_ask(tmp_path):
    folder = tables(tmp_path)
    seen = fugu.describe(folder / "clinic_reference.csv")
    form = {"protect": ["4"], "unit": ["0"], "by": ["2"], "count": ["on"], "mean": ["5"], "histogram": ["3"],
            "low5": ["100"], "high5": ["400"], "rows": ["900"], "kind": ["statistics"]}  # fmt: skip
    plan = forms.question_of(form, seen, "ref.csv")
    assert plan == {"reference": "ref.csv", "protect": "smoker", "unit": "patient", "rows": 900, "by": "sex",
                    "query": "count; mean(chol); histogram(ward)", "bounds": {"chol": ["100", "400"]}}  # fmt: skip
    again = forms.asked_in(plan, seen)
    assert {name: said for name, said in again.items() if said != [""]} == {
        k: v for k, v in form.items() if k != "rows"
    }
    hidden = forms.question_of({**form, "kind": ["property"], "counted": ["sex=F, ward=north"]}, seen, "ref.csv")
    assert hidden == {"reference": "ref.csv", "hide": "smoker", "rows": 900, "bounds": {"chol": ["100", "400"]},
                      "statistics": "mean(chol); count(sex=F); count(ward=north)"}  # fmt: skip
    entries = {"kind": ["sequences"], "user": ["0"], "state": ["2"], "top": ["3"], "length": ["50"], "cuts": ["0,5"],
               "entries": ["histogram", "transitions", "mean"], "counted_state": ["F"]}  # fmt: skip
    walked = forms.question_of({**form, **entries}, seen, "ref.csv")
    assert walked == {"reference": "ref.csv", "by": "patient", "state": "sex", "length": 50, "repeats": "rows",
                      "bins": "0,5", "query": "top3; histogram; transitions; mean(sex); count(F)"}  # fmt: skip
    assert forms.question_of({**form, **entries, "order": ["1"]}, seen, "ref.csv")["order"] == "age"
    for whole in (hidden, walked):
        assert forms.question_of(forms.asked_in(whole, seen) | {"rows": ["900"]}, seen, "ref.csv") == whole
    for wrong, why in (
        ({**entries, "state": [""]}, "in which state"), ({**entries, "top": ["x"]}, "is a whole number"),
        ({**entries, "length": ["-1"]}, "longest sequence"),
        ({"kind": ["property"], "mean": []}, "at least one number"),
        ({"kind": ["property"], "protect": [""]}, "kept secret"), ({**entries, "user": ["99"]}, "not one of"),
    ):  # fmt: skip
        with pytest.raises(fugu.errors.UsageError, match=why):
            forms.question_of({**form, **wrong}, seen, "ref.csv")
    stored = forms.asked_in(fugu.Question(**plan).to_json(), seen)
    assert stored == {**again, "low5": ["100.0"], "high5": ["400.0"]}
    for epsilon in ("0.01", "0.5", "3", "10"):
        place = forms.place_of(epsilon)
        told = {"epsilon": [epsilon], "was": [epsilon]}
        assert forms.epsilon_of({**told, "place": [str(place)]}, "1") == epsilon
        moved = forms.epsilon_of({**told, "place": [str(place - 1 if place > 0 else place + 1)]}, "1")
        assert float(moved) == pytest.approx(10 ** ((place - 1 if place > 0 else place + 1) / 20), rel=0.01)


def test_a_release_whose_studio_is_killed_comes_to_its_end(tmp_path):
    folder = tables(tmp_path)
    out = folder / "out"
    out.mkdir()
    question = fugu.Question(query="mean(chol)", protect="smoker", epsilon=1, reference=folder / "clinic_reference.csv")
    question.save(out / "release-1.plan.toml")
    asked = {"plan": str(out / "release-1.plan.toml"), "out": str(out / "release-1.csv"), "data": "clinic_today.csv",
             "ledger": str(folder / "ledger.db"), "table": str(folder / "clinic_today.csv")}  # fmt: skip
    code = (f"import os, threading\nfrom fugu.studio.jobs import Child\nchild = Child('release')\n"
            f"threading.Timer(0.3, os.kill, (os.getpid(), 9)).start()\nchild.ask({asked!r}, 60)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    until = time.monotonic() + 60
    while not (out / "release-1.csv").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert fugu.verify(str(out / "release-1.certificate.json"), published=out / "release-1.csv").holds
    assert [state for _, state in requests_in(folder)] == ["settled"]


def test_what_was_measured_of_another_plan_is_not_shown(tmp_path):
    folder = tables(tmp_path)
    plan = {
        "reference": str(folder / "clinic_reference.csv"),
        "query": "mean(chol); histogram(ward)",
        "protect": "smoker",
    }
    answer = levers.helped({"plan": plan, "epsilon": "0.5", "data": None})
    state = state_of(folder, plan=plan, epsilon="0.5", place=1, help=answer)
    assert (
        "leave out mean(chol)"
        in desk.shown({"name": "improve", "state": state, "number": "1", "jobs": {}})["html"].lower()
    )
    other = {**state, "epsilon": "0.6"}
    assert "leave out" not in desk.shown({"name": "improve", "state": other, "number": "1", "jobs": {}})["html"].lower()
    assert (
        desk.taken({"name": "improve", "state": other, "number": "1", "form": {"lever": ["0"]}, "jobs": {}})["status"]
        == 400
    )


def test_figures_of_use_have_an_axis_that_does_not_follow_the_noise(tmp_path):
    folder = tables(tmp_path)
    plan = {"reference": str(folder / "clinic_reference.csv"), "query": "mean(chol)", "by": "sex", "protect": "smoker"}
    few, much = (
        use_figures(fugu.release(fugu.Question(**plan, epsilon=epsilon), dry_run=True).usable) for epsilon in (0.1, 2)
    )
    assert [figure.axis for figure, _ in few] == [figure.axis for figure, _ in much] and len(few) == 1
    (figure, said), (other, _) = few[0], much[0]
    assert figure.rows[0][1] == other.rows[0][1] and figure.rows[0][3] - figure.rows[0][2] > 5 * (
        other.rows[0][3] - other.rows[0][2]
    )
    assert said.title == "mean(chol) by sex" and figure.keys[-1] == "with ordinary privacy"
    column = fugu.release(
        fugu.Question(publish="chol", reference=plan["reference"], protect="smoker", epsilon=1), dry_run=True
    )
    ((bars, _),) = use_figures(column.usable)
    release, ordinary, guess = (bar[1] for bar in bars.bars)
    assert (
        release == column.usable.figures[0].error and ordinary > 5 * release and guess == column.usable.figures[0].guess
    )

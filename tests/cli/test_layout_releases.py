"""Sequences as files have them, through the commands: small copies of real files, released, verified and forged."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta

import pytest

from fugu.queries.sequence_certificate import SequenceCertificate
from release_files import certificate_of, checks, document_of, forged
from release_files import command as run

NEXT = {"home": (6, 3, 2), "work": (3, 6, 2), "shop": (4, 3, 3)}
START = datetime(2024, 11, 5)
ROUTES = {
    "check-ins": ("--by", "user", "--order", "time", "--state", "place", "--repeats", "first"),
    "in order": ("--by", "user", "--state", "place", "--repeats", "rows"),
    "one person": ("--order", "time", "--state", "place", "--repeats", "last"),
    "months": ("--by", "id", "--columns", "m1:m12"),
    "diary": ("--by", "user", "--order", "start", "--end", "end", "--state", "place", "--every", "30min",
              "--between", "away", "--overlaps", "last", "--backwards", "drop", "--inside", "secret"),
    "meter": ("--order", "time", "--state", "watt", "--bins", "0:600:200"),
    "meter with gaps": ("--order", "time", "--state", "watt", "--bins", "0:600:200", "--every", "1min", "--gaps",
                        "modelled"),
}  # fmt: skip


def walk(draw, steps):
    place = "home"
    for _ in range(steps):
        yield place
        place = draw.choices(list(NEXT), NEXT[place])[0]


def copy_of(kind, seed):
    """Lines like those of a published file."""
    draw = random.Random(seed)
    if kind == "months":
        head = ["id,sex," + ",".join(f"m{i + 1}" for i in range(12)) + ",note"]
        return head + [f"{i},F,{','.join(walk(draw, 12))},x" for i in range(30)]
    if kind == "diary":
        lines, now = [], START
        for i, place in enumerate(walk(draw, 60)):
            stays = timedelta(minutes=draw.choice([20, 40, 70, 130]))
            end = now + stays if i % 30 != 7 else now - timedelta(minutes=5)
            lines.append(f"u{i % 2},{now:%Y-%m-%d %H:%M:%S},{end:%Y-%m-%d %H:%M:%S},{place}")
            now += stays + timedelta(minutes=draw.choice([-10, 0, 15]))
        return ["user,start,end,place", *lines]
    if kind.startswith("meter"):
        level = {"home": 90, "work": 310, "shop": 950}
        gap = {10: 3, 25: 1, 40: 7}
        lines, now = [], START
        for i, place in enumerate(walk(draw, 50)):
            now += timedelta(minutes=1 + gap.get(i, 0))
            lines.append(f"{now:%Y-%m-%d %H:%M},{level[place] + draw.randrange(60)}")
        return ["time,watt", *lines]
    lines = []
    for user in range(1 if kind == "one person" else 12):
        for hour, place in enumerate(walk(draw, 40 if kind == "one person" else 15)):
            lines.append(f"u{user},{START + timedelta(hours=hour):%Y-%m-%dT%H:%MZ},{place}")
            if hour % 6 == 5:
                lines.append(lines[-1].rpartition(",")[0] + ",shop")  # the same time again
    return ["user,time,place", *lines]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Every kind released once from its small copies."""
    folder = tmp_path_factory.mktemp("layouts")
    for kind, route in ROUTES.items():
        name = kind.replace(" ", "_")
        for part, seed in (("ref", 1), ("seq", 2)):
            (folder / f"{name}.{part}.csv").write_text("\n".join(copy_of(kind, seed)) + "\n")
        code, said = run(
            "release", folder / f"{name}.seq.csv", "--reference", folder / f"{name}.ref.csv", "--query", "histogram",
            *route, "--epsilon", 1, "-o", folder / f"{name}.csv", "--no-ledger",
        )  # fmt: skip
        assert code == 0, said
    return folder


@pytest.mark.parametrize("kind", ROUTES)
def test_every_layout_is_released_verified_and_fitted_again(kind, made):
    name = kind.replace(" ", "_")
    out, route = made / f"{name}.csv", ROUTES[kind]
    code, found = checks(out.with_suffix(".certificate.json"), "--reference", made / f"{name}.ref.csv")
    assert code == 0 and found["reference laws"][0] == "holds", found
    certificate = certificate_of(out)
    words, page = " ".join(certificate["assumptions"]), out.with_suffix(".report.html").read_text()
    for option, expected in {
        "--repeats": "the order of the rows is public", "--columns": "each of 12 columns one entry",
        "--end": "When states change in between is as secret as the states are",
        "--bins": "one of 3 bins, whose cut points are public", "--gaps": "powers of its step",
    }.items():  # fmt: skip
        assert (expected in words) == (option in route), option
        assert (expected.replace("'", "&#x27;") in page or expected in page) == (option in route), option
    if kind == "diary":
        assert "covers up to" not in words  # how long an interval is, is as secret as its state
    if kind == "meter":
        assert "Gaps in time: neighbouring entries of a user are between 1 min and 8 min apart" in words
        assert certificate["prior"]["states"] == ["<200", "200..400", ">=400"]
    if kind == "meter with gaps":
        assert "6.12 % of the entries with one before them come after a gap; the largest is 7 missing steps" in words
        assert len(certificate["prior"]["steps"][0]) == 49 and max(certificate["prior"]["steps"][0]) == 8
        assert "gaps in time are not modelled" not in words
    else:
        assert "gaps in time are not modelled" in words


def test_the_file_of_a_schema_says_the_same_as_the_options(made, tmp_path):
    """Options, [sequence] of a schema file and a scenario file give one certificate; two that disagree give none."""
    args = ("release", made / "meter.seq.csv", "--reference", made / "meter.ref.csv", "--query", "histogram",
            "--epsilon", 1, "--no-ledger")  # fmt: skip
    (tmp_path / "s.toml").write_text('[sequence]\nbins = [200, 400]\nrepeats = "last"\n')
    route = ("--order", "time", "--state", "watt")
    assert run(*args, *route, "--schema", tmp_path / "s.toml", "-o", tmp_path / "a.csv")[0] == 0
    assert run(*args, *route, "--bins", "200,400", "--repeats", "last", "-o", tmp_path / "b.csv")[0] == 0
    one, two = (certificate_of(tmp_path / f"{x}.csv").body for x in "ab")
    assert one["reading"] == two["reading"] and one["reading"]["sequence"] == {
        "repeats": "last",
        "bins": [200.0, 400.0],
    }
    code, said = run(*args, *route, "--schema", tmp_path / "s.toml", "--repeats", "first", "-o", tmp_path / "c.csv")
    assert code == 2 and "--repeats says one thing" in said
    again = run("init", "--from", tmp_path / "b.certificate.json", "-o", tmp_path / "again.toml")
    assert again[0] == 0, again[1]
    text = (tmp_path / "again.toml").read_text()
    assert "[sequence]" in text and "bins = [200.0, 400.0]" in text
    (tmp_path / "meter.ref.csv").write_bytes((made / "meter.ref.csv").read_bytes())
    code, said = run("release", made / "meter.seq.csv", "--scenario", tmp_path / "again.toml", "--no-ledger", "-o",
                     tmp_path / "d.csv", "--dry-run", "--json")  # fmt: skip
    assert code == 0 and json.loads(said[said.index("{") :])["reading"] == one["reading"], said


def test_another_layout_is_another_question_of_the_ledger(made, tmp_path):
    """Also where the reference has no time twice, so that the belief is the same."""
    lines = {line.rpartition(",")[0]: line for line in (made / "check-ins.ref.csv").read_text().splitlines()}
    (tmp_path / "ref.csv").write_text("\n".join(lines.values()) + "\n")
    args = ("release", made / "check-ins.seq.csv", "--reference", tmp_path / "ref.csv", "--query", "histogram",
            "--by", "user", "--order", "time", "--state", "place", "--epsilon", 1, "--ledger", tmp_path / "l.db",
            "--budget", "1", "--force", "-o", tmp_path / "o.csv")  # fmt: skip
    assert run(*args, "--repeats", "first")[0] == 0
    first = (tmp_path / "o.csv").read_bytes()
    assert run(*args, "--repeats", "first")[0] == 0 and (tmp_path / "o.csv").read_bytes() == first
    code, said = run(*args, "--repeats", "last")
    assert code == 2 and "other beliefs" in " ".join(said.split())


def edited(change):
    """A change of the certificate inside a release document."""
    return lambda body: change(body["certificates"][0]["certificate"])


@pytest.mark.parametrize(
    ("kind", "change", "check"),
    [
        ("meter", lambda b: b["reading"]["sequence"].update(bins=[100, 700]), "reading"),
        ("meter", lambda b: b["reading"]["sequence"].update(gaps="filled"), "reading"),
        ("diary", lambda b: b["assumptions"].remove(next(x for x in b["assumptions"] if "as secret as" in x)),
         "assumptions"),
        ("check-ins", lambda b: b["reading"].update(sequence={"repeats": "last"}), "assumptions"),
        ("months", lambda b: b["reading"]["sequence"]["columns"].pop(), "question"),
        ("meter with gaps", lambda b: b["prior"].pop("steps"), "prior"),
        ("meter with gaps", lambda b: b["reading"]["sequence"].pop("gaps"), "assumptions"),
        ("meter with gaps", lambda b: b["prior"].update(steps=[[1] * 49]), "stated figures"),
        ("meter with gaps", lambda b: b["prior"].update(steps=[[9] * 49]), "reference laws"),
        ("meter with gaps", lambda b: b["prior"].update(steps=[[0] * 49]), "prior"),
    ],
)  # fmt: skip
def test_forged_layouts_are_refused(kind, change, check, made, tmp_path):
    """Sealed again at every level, as fugu itself would."""
    name = kind.replace(" ", "_")
    for file in made.glob(f"{name}.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    document = tmp_path / f"{name}.certificate.json"
    assert checks(document)[0] == 0
    code, found = checks(forged(document, edited(change)), "--reference", made / f"{name}.ref.csv")
    assert code == 4 and any(found_name.endswith(check) and line[0] == "fails" for found_name, line in found.items()), (
        found
    )


def test_a_certificate_of_another_layout_does_not_answer_the_question(made):
    recipe = document_of(made / "months.csv")["question"]["recipe"]
    body = certificate_of(made / "months.csv").body
    assert recipe["schema"]["sequence"] == {"columns": ["m1:m12"]} and SequenceCertificate(body).answers(recipe, "")
    for wrong in ({"columns": [f"m{i}" for i in range(2, 13)]}, {}, {"repeats": "last"}):
        other = {**body, "reading": {**body["reading"], "sequence": wrong}}
        assert not SequenceCertificate(other).answers(recipe, "")


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (("--state", "place"), "--order TIME (or --repeats rows"),
        (("--order", "time"), "--state STATE"),
        (("--order", "time", "--state", "place"), "'time' repeats a time within the file"),
        (("--columns", "m1:m2"), "'m1:m2'"),
        (("--order", "time", "--state", "place", "--end", "to"), "every="),
        (("--order", "time", "--state", "place", "--repeats", "last", "--bins", "1,2"), "--bins: column 'place'"),
        (("--order", "time", "--state", "place", "--repeats", "last", "--gaps", "modelled"), "every="),
        (("--order", "time", "--state", "place", "--every", "2", "--repeats", "last"), "'time' holds times"),
    ],
)
def test_bad_options_are_named(route, words, made, tmp_path):
    code, said = run(
        "release", made / "check-ins.seq.csv", "--public-prior", "--query", "top1", *route, "--epsilon", 1, "-o",
        tmp_path / "o.csv", "--no-ledger",
    )  # fmt: skip
    assert code == 2 and words in said, said
    protect = ("--publish", "place", "--protect", "user", "--repeats", "last")
    code, said = run("release", made / "check-ins.seq.csv", "--public-prior", *protect, "--epsilon", 1, "-o",
                     tmp_path / "o.csv", "--no-ledger")  # fmt: skip
    assert code == 2 and "--repeats: for sequences only" in said


def test_a_mean_of_binned_numbers_is_refused(made, tmp_path):
    code, said = run("release", made / "meter.seq.csv", "--reference", made / "meter.ref.csv", "--query", "mean(watt)",
                     *ROUTES["meter"], "--epsilon", 1, "-o", tmp_path / "o.csv", "--no-ledger")  # fmt: skip
    assert code == 2 and "leave out --bins" in said


@pytest.mark.parametrize("kind", ["check-ins", "months", "one person"])
def test_influence_reads_the_same_layouts(kind, made):
    code, said = run("influence", made / f"{kind.replace(' ', '_')}.ref.csv", *ROUTES[kind], "--epsilon", 1, "--json")
    told = json.loads(said)
    assert code == 0 and told["epsilon per entry"]["best rule"] > 0
    assert told["users"] == {"months": 30, "diary": 2, "check-ins": 12, "in order": 12}.get(kind, 1)

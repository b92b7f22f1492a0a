"""`fugu.publish`: a release from Python is as whole as one from the command line."""

import json

import pytest

import fugu
from fugu.errors import UsageError
from fugu.publication.files import Beliefs, Outgoing, issue, published_file

PAIR = fugu.LawPair(fugu.Discrete([0, 4], [3, 1]), fugu.Discrete([0, 4], [1, 3]), "a vs b")
ROWS = {"s": ["x", "y"] * 30, "v": [1, 5, 2, 4, 3, 3] * 10}


@pytest.fixture
def tables(tmp_path):
    for name, shift in (("ref.csv", 0), ("today.csv", 1)):
        lines = [f"{s},{(v + shift) % 6}" for s, v in zip(*ROWS.values(), strict=True)]
        (tmp_path / name).write_text("s,v\n" + "\n".join(lines) + "\n")
    return tmp_path


def failed(verdict):
    return [line for line in verdict.checks if line[1] == "fails"]


def test_a_column_a_vector_and_a_statistic_are_written_whole(tables):
    scenario = fugu.Scenario.from_table(tables / "ref.csv", publish="v", protect="s")
    column = fugu.release_column(fugu.calibrate(scenario, fugu.Pure(1)), tables / "today.csv")
    pair = fugu.LawPair(fugu.Discrete([[0, 0], [1, 2]], [1, 3]), fugu.Discrete([[0, 0], [1, 2]], [3, 1]), "a vs b")
    vector = fugu.calibrate(pair, fugu.Pure(1)).release([[0, 0], [1, 2]])
    query = {"reference": tables / "ref.csv", "bounds": (0, 5), "step": 1}
    answer = fugu.answer(tables / "today.csv", "sum(v)", "s", fugu.Pure(1), ledger=False, **query)
    for name, released in (("column", column), ("vector", vector), ("answer", answer)):
        reference = None if name == "vector" else tables / "ref.csv"
        path = tables / name / "out.csv"
        path.parent.mkdir()
        document = fugu.publish(
            path, released, table=tables / "today.csv", reference=reference, question="Two numbers."
        )
        assert document.published[0]["name"] == "out.csv" and (path.parent / "out.report.html").is_file()
        found = fugu.examine(path.parent, reference=reference, data=tables / "today.csv", twice=True)
        assert found.holds and not failed(found), found.checks
        path.write_text(path.read_text().replace("\n", "\n\n", 1))
        assert not fugu.examine(path.parent).holds  # a published file that was edited


def test_the_entry_of_a_ledger_is_named_and_found(tables):
    mechanism = fugu.calibrate(PAIR, fugu.Pure(1))
    with fugu.Ledger(tables / "l.db", fugu.Pure(1), data="today") as ledger:
        released = ledger.spend("first", mechanism, lambda: mechanism.release([0, 4, 4], allow_no_noise=True))
        fugu.publish(tables / "out.csv", released, table=tables / "today.csv", ledger=ledger, request="first")
        with pytest.raises(UsageError, match="no settled request"):
            fugu.publish(tables / "two.csv", released, table=tables / "today.csv", ledger=ledger, request="second")
        with pytest.raises(UsageError, match="or neither"):
            fugu.publish(tables / "two.csv", released, table=tables / "today.csv", request="first")
    outcomes = {name: outcome for name, outcome, _ in fugu.examine(tables, ledger=tables / "l.db").checks}
    assert outcomes["ledger entry"] == "holds" and outcomes["published out.csv"] == "holds"


def test_beliefs_of_the_private_table_stay_at_home(tables):
    scenario = fugu.Scenario.from_table(tables / "today.csv", publish="v", protect="s", public_prior=True)
    released = fugu.release_column(fugu.calibrate(scenario, fugu.Pure(1)), tables / "today.csv")
    document = fugu.publish(tables / "out.csv", released, table=tables / "today.csv", reference=tables / "today.csv")
    assert document.withheld and document["beliefs"]["sha256"] is None and document["beliefs"]["name"] is None
    assert fugu.examine(tables).holds
    (tables / "out.private.json").unlink()
    assert not fugu.examine(tables).holds


def _of_a_reference(tables, kind):
    reference, today = tables / "ref.csv", tables / "today.csv"
    if kind == "statistic":
        return fugu.answer(today, "sum(v)", "s", fugu.Pure(1), reference=reference, bounds=(0, 5), step=1)
    if kind == "predicate":
        protect = {"x": lambda t: t["s"] == "x", "y": lambda t: t["s"] == "y"}
        scenario = fugu.Scenario.from_table(reference, publish="v", protect=protect)
        assert scenario.recipe is None
    else:
        scenario = fugu.Scenario.from_table(reference, publish="v", protect="s")
    mechanism = fugu.calibrate(scenario, fugu.Pure(1))
    if kind == "mixture":
        mechanism = fugu.mix(0.5, mechanism, fugu.calibrate(scenario, fugu.Pure(0.5)))
    return fugu.release_column(mechanism, today)


@pytest.mark.parametrize("kind", ["column", "statistic", "mixture", "predicate"])
def test_beliefs_of_a_reference_are_never_called_declared(tables, kind):
    """The wrong version: without `reference`, the document said that declared beliefs are public."""
    released = _of_a_reference(tables, kind)
    with pytest.raises(UsageError, match="give the reference"):
        fugu.publish(tables / "out.csv", released, table=tables / "today.csv")
    assert not list(tables.glob("out*"))
    document = fugu.publish(tables / "out.csv", released, table=tables / "today.csv", reference=tables / "ref.csv")
    assert document["beliefs"]["from"] == "a reference" and not document["beliefs"]["declared public"]


def test_no_file_is_written_over_and_no_table(tables):
    released = fugu.calibrate(PAIR, fugu.Pure(1)).release([0, 4], allow_no_noise=True)
    with pytest.raises(UsageError, match=r"ends in \.csv"):
        fugu.publish(tables / "out.txt", released, table=tables / "today.csv")
    with pytest.raises(UsageError):
        fugu.publish(tables / "today.csv", released, table=tables / "today.csv", force=True)
    with pytest.raises(UsageError, match="publish takes"):
        fugu.publish(tables / "x.csv", 3, table=tables / "today.csv")
    first = fugu.publish(tables / "out.csv", released, table=tables / "today.csv")
    with pytest.raises(UsageError, match="exists"):
        fugu.publish(tables / "out.csv", released, table=tables / "today.csv")
    second = fugu.publish(tables / "out.csv", released, table=tables / "today.csv", force=True)
    assert first["data"]["commitment"] != second["data"]["commitment"]  # salted
    assert json.loads((tables / "out.certificate.json").read_text())["digest"] == second.digest


def test_two_releases_that_hold_alone_are_no_release_together(tables):
    """The wrong version: every certificate holds, so the document holds. Law-based guarantees do not add up."""
    one, two = (fugu.calibrate(PAIR, fugu.Pure(1)).certificate for _ in range(2))
    (tables / "out.csv").write_text("value\n1\n")
    told = {"table": tables / "today.csv", "data": "d", "rows": 1, "recipe": None, "beliefs": Beliefs()}
    for certificates, holds in (({"": one}, True), ({"a": one, "b": two}, False)):
        document, _ = issue(
            Outgoing(certificates=certificates, **told), [published_file("out.csv", tables / "out.csv")]
        )
        verdict = fugu.verify(document)
        assert verdict.holds == holds
        assert holds or failed(verdict)[0][0] == "groups"

"""What is believed of entries is said of those alone: rows at one time, two readings of one file, other orders."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.data.layout import Layout
from fugu.errors import UsageError
from fugu.queries.sequence_certificate import SequenceCertificate

READ = ("--by", "u", "--order", "t", "--state", "s", "--query", "histogram")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("apart")
    for name, seed in (("ref", 1), ("priv", 2)):
        draw, state, lines = random.Random(seed), "a", ["u,t,s"]
        for user in range(12):
            for time in range(3):
                for row in range(2):
                    if (row == 0 or name == "priv") and draw.random() < 0.6:  # the reference has each state twice
                        state = draw.choice("ab")
                    lines.append(f"{user},{time},{state}")
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return place


def released(folder, out, *more):
    files = (str(folder / "priv.csv"), "--reference", str(folder / "ref.csv"), *READ, "-o", str(folder / out))
    return CliRunner().invoke(cli.app, ["release", *files, *more])


def test_gaps_are_not_modelled_between_several_rows_of_one_step():
    """The chain of the grid has one entry a step: four rows at each would be published under a promise for one."""
    with pytest.raises(UsageError, match="several entries at one step"):
        Layout(repeats="rows", every="1", gaps="modelled")
    assert Layout(repeats="first", every="1", gaps="modelled").gaps == "modelled"


def test_the_first_rows_and_the_last_ones_are_not_one_sequence_to_a_ledger(folder):
    """They have one fitted chain, perhaps, and nobody said what they tell of each other."""
    book = ("--epsilon", "0.5", "--budget", "2", "--ledger", str(folder / "book.db"))
    assert released(folder, "one.csv", "--repeats", "first", "--request", "one", *book).exit_code == 0
    again = released(folder, "two.csv", "--repeats", "first", "--request", "two", *book)
    assert again.exit_code == 0, again.output
    other = released(folder, "three.csv", "--repeats", "last", "--request", "three", *book)
    assert isinstance(other.exception, UsageError) and "other beliefs" in str(other.exception)


@pytest.mark.parametrize(
    "proved",
    [{"kind": "RenyiCurve", "delta": "0", "epsilons": "OWN, 64: 1"},
     {"kind": "RenyiCurve", "delta": "0", "epsilons": "2: 1/1000, OWN"},
     {"kind": "ZCDP", "rho": "1/4"}, {"kind": "Renyi", "alpha": "64", "epsilon": "1", "delta": "0"}],
    ids=["a larger order", "a smaller order", "every order", "another order"],
)  # fmt: skip
def test_a_certificate_states_no_order_that_is_not_proved(folder, proved):
    if not (folder / "order.csv").exists():
        more = ("--epsilon", "1", "--alpha", "4", "--noise", "gaussian", "--no-ledger", "--repeats", "first")
        found = released(folder, "order.csv", *more)
        assert found.exit_code == 0, found.output
    whole = json.loads((folder / "order.certificate.json").read_text())
    body = whole["certificates"][0]["certificate"]
    assert fugu.verify(SequenceCertificate.parse(body)).holds
    own = body["pufferfish"]["proved"]["epsilons"]
    told = {key: text.replace("OWN", own) for key, text in proved.items()}
    plain = {key: part for key, part in body.items() if key not in ("digest", "schema", "fugu")}
    kind = type(SequenceCertificate.parse(body))
    forged = kind.sealed({**plain, "pufferfish": {**body["pufferfish"], "proved": told}})
    assert not fugu.verify(forged).holds

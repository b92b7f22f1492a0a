"""One page of each kind, with names as long and laws as awkward as they come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import fugu
import record_documents
from fugu import PerEntryDP, Schema
from fugu.auditing.attack import property_attack
from fugu.calibration.covariance.methods import WAYS
from fugu.iterate import LinearRegression
from fugu.publication.files import Beliefs, Outgoing, issue, preview, published_file
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.sequence_prior import REFERENCE as REFERENCE_WORDS
from fugu.queries.sequence_promise import entry_budget
from fugu.queries.sequences import Histogram, States
from fugu.report import page
from fugu.report.compare import MethodLine, property_page, trade_page
from fugu.report.dossier import documents_in, dossier_page
from fugu.report.page import influence_page
from law_route import prepare
from release_files import command

REFERENCE = Path(fugu.__file__).parent / "examples" / "clinic_reference.csv"
LONG = "a name of an answer that goes on and on beyond every column"
PAIR = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]), f"{LONG} vs no")
COV = [[1, 0.3, 0], [0.3, 2, -0.4], [0, -0.4, 1]]
NORMALS = fugu.LawPair(
    fugu.MultivariateNormal([0, 0, 0], COV), fugu.MultivariateNormal([1, 0.5, 0.2], COV), f"{LONG} vs b"
)
SIZES = ["extremely small", "small", "medium", "rather large", "large", "very large indeed"]


def _one_number():
    mechanism = fugu.calibrate(PAIR, fugu.Pure(0.3))
    return page(mechanism, fugu.compare(PAIR, fugu.Pure(0.3)), query_name="grade " * 8, secret_name="support")


def _several_pairs():
    source = np.random.default_rng(3)
    rows = {"place": [f"town {k % 4}" for k in range(400)], "size": source.choice(SIZES, 400).tolist()}
    scenario = fugu.Scenario.from_table(rows, publish="size", protect="place", bins=SIZES, public_prior=True)
    return page(fugu.calibrate(scenario, fugu.Pure(0.1)))


def _fitted():
    scenario = fugu.Scenario.from_table(REFERENCE, publish="chol", protect="smoker", prior="gaussian")
    return page(fugu.calibrate(scenario, fugu.Approx(0.5, 0.01)), fugu.compare(scenario, fugu.Approx(0.5, 0.01)))


def _trade(budget):
    scenario = fugu.Scenario.from_table(REFERENCE, publish="chol", protect="smoker")
    laws = dict(scenario.empirical or scenario.adversaries[0])
    return trade_page(scenario, fugu.compare(scenario, budget), "chol", "smoker", laws, ["said aloud"])


def _far():
    laws = fugu.Discrete([-1e9, 0.1, 1e9]), fugu.Discrete([-1e9, 0.1, 1e9], [3, 1, 1])
    return page(fugu.calibrate(fugu.LawPair(*laws, "low vs high"), fugu.Approx(1e-6, 0.5)))


def _property():
    source = np.random.default_rng(0)
    rich = source.random(600) < 0.4
    table = {
        "rich": np.where(rich, "yes", "no").tolist(),
        "age": (source.integers(20, 60, 600) + 8 * rich).tolist(),
        "sex": np.where(source.random(600) < 0.3 + 0.3 * rich, "F", "M").tolist(),
    }
    budget = fugu.Approx(1, 1e-3)
    scenario = fugu.Scenario.from_property(table, ["mean(age)", "count(sex=F)"], "rich=yes", size=60, tolerance=0.2)
    before = property_attack(None, scenario, delta=1e-3, shadow=100, test=100, rng=source)
    after = replace(before, epsilon=1.0)
    sweep = {  # made up: to work it out takes longer than to draw all the rest
        t: [MethodLine(name, "gaussian", k * t, k * t, True, "") for k, name in enumerate(WAYS, start=1)]
        for t in (0.05, 0.1, 0.2, 0.3, 0.4)
    }
    return property_page(scenario.property, budget, sweep, (before, after), None, ["what it rests on"])


def _sequence():
    chain = fugu.MarkovChain([[0.6, 0.4], [0.3, 0.7]], 20, [1, 0], ["a", "b"])
    schema = Schema(
        {"who": {"kind": "identifier"}, "at": {"kind": "number"}, "s": {"kind": "category", "values": ["a", "b"]}}
    )
    mechanism = Histogram(States(chain.states)).mechanism(entry_budget(chain, 1.0))
    return page(
        SequenceCertificate.issue(
            chain, mechanism, 1.0, schema, "unknown states count as the first", REFERENCE_WORDS, 0.0, None, None
        )
    )


def _training():
    source = np.random.default_rng(2)
    x = source.uniform(-1, 1, (30, 2))
    model = LinearRegression(2.0, 1e-4, "ar1:0.3", bounds=(-1, 1), target_bounds=(-1, 1), ordered=True, epochs=5)
    return page(model.fit(x, x @ [0.5, -0.2]).certificate_)


def _answers():
    today = REFERENCE.with_name("clinic_today.csv")
    asked = {"by": "ward", "bounds": (100, 300), "step": 5}
    found = prepare(today, "mean(chol)", "smoker", fugu.Pure(0.5), REFERENCE, **asked)
    return Outgoing(
        certificates={name: each.certificate for name, each in found.mechanisms.items()},
        table=today,
        data="a register of patients with a name that goes on and on beyond every column",
        rows=900,
        recipe={"what": "statistic", **(found.price.recipe(found.grouping.sizes) or {})},
        skipped=[LONG],
        beliefs=Beliefs(reference=REFERENCE),
        ledger={"request": LONG, "data": "today", "entry": "0" * 64, "at": "2026-01-01T00:00:00.000+00:00"},
    )


def _released():
    """After the release, with the extract of a ledger and an attack."""
    document, _ = issue(
        _answers(), [published_file("means_of_every_ward_in_the_clinic.csv", REFERENCE, 3, ("group", "value"))]
    )
    entries = ({"request": LONG, "state": "settled", "charge": "Pure(epsilon=0.5)", "at": "2026-01-01T00:00"},)
    audit = fugu.audit(fugu.calibrate(PAIR, fugu.Pure(0.3)), draws=2000, through_files=0, rng=np.random.default_rng(1))
    return dossier_page(
        *documents_in(document), entries=entries, audit=audit, names={"certificate": "means.certificate.json"}
    )


def _to_sign():
    """Before it, of one column: with the figures of its laws."""
    scenario = fugu.Scenario.from_table(REFERENCE, publish="chol", protect="smoker", bins=12)
    sealed = fugu.calibrate(scenario, fugu.Approx(0.5, 1e-4)).certificate
    recipe = {"what": "column", **(scenario.recipe or {})}
    going = replace(_answers(), certificates={"": sealed}, recipe=recipe, ledger=None)
    return dossier_page(preview(going), {"": sealed}, released=False)


SAMPLES = {
    "release by group": _released,
    "page to sign": _to_sign,
    "one number": _one_number,
    "several pairs": _several_pairs,
    "fitted": _fitted,
    "no noise": lambda: page(fugu.calibrate(PAIR, fugu.Pure(5))),
    "far apart": _far,
    "correlated": lambda: page(fugu.calibrate(NORMALS, fugu.Approx(0.5, 1e-4)), query_name="three statistics"),
    "vector": lambda: page(fugu.calibrate(fugu.Shifted([1, 2, 0]), fugu.Pure(1))),
    "analysis": lambda: page(fugu.calibrate(PAIR, fugu.Renyi(2, 0.05), noise="cauchy")),
    "coin": lambda: page(fugu.mix(0.5, fugu.calibrate(PAIR, fugu.Pure(0.3)), fugu.calibrate(PAIR, fugu.Pure(0.1)))),
    "compare, delta": lambda: _trade(fugu.Approx(0.5, 1e-6)),
    "compare, Renyi": lambda: _trade(fugu.Renyi(2, 0.5)),
    "property": _property,
    "sequence": _sequence,
    "per entry": lambda: page(PerEntryDP(len, 0.5, 1e-9, name="f of the data " * 5).certificate),
    "training": _training,
    "composition": lambda: page(
        fugu.certify(fugu.compose([*[fugu.Gaussian(20, 1).losses(1)] * 40, *[fugu.Pure(0.07)] * 20]), 1e-6)
    ),
    "channel": lambda: page(fugu.optimal_channel(PAIR, fugu.Approx(0.3, 0.01)), query_name=LONG),
    "records": lambda: page(record_documents.certificate()),
    "influence": lambda: influence_page([(1, 2.0), (2, 1.0), (8, 0.25), (100, 0.0)], "2 states, length 100"),
}


HUGE = "a_column_whose_name_somebody_wrote_without_any_spaces_and_which_is_longer_than_a_phone_is_wide"
_ROUTE = ("--by", HUGE, "--order", "time", "--state", "place")
_ROWS = ("--protect", "secret", "--epsilon", "1")
RELEASED = {
    "column": ("--publish", HUGE, *_ROWS),
    "statistics": (
        "--query", f"count by group; mean({HUGE}) by group; histogram(place) by group; median({HUGE})", *_ROWS
    ),
    "sequence": ("--query", "histogram; top2; transitions", *_ROUTE, "--epsilon", "2"),
    "property": ("--hide", "secret=yes", "--statistics", f"mean({HUGE}),count(place=home)", "--size", "600",
                 "--tolerance", "0.3", "--epsilon", "1", "--delta", "1e-3"),
    "channel": ("--publish", HUGE, *_ROWS, "--mechanism", "optimal", "--allow-no-noise"),
}  # fmt: skip
"""Releases of every kind, of a table in which every name is as long as it may be."""


def released(name: str, folder: Path) -> Path:
    """The page of such a release, made by the command that people use, with its published numbers."""
    for table, seed in (("reference.csv", 1), ("today.csv", 2)):
        source, lines = np.random.default_rng(seed), [f"{HUGE},time,place,group,secret"]
        for row in range(600):
            secret = source.random() < 0.4
            place = ("home", "work", LONG)[source.choice(3, p=(0.5, 0.3, 0.2))]
            value = row // 20 if name == "sequence" else 10 * source.integers(0, 4) + 10 * secret
            lines.append(f"{value},{row},{place},{LONG if row % 2 else HUGE},{'yes' if secret else 'no'}")
        (folder / table).write_text("\n".join(lines) + "\n", "utf-8")
    code, said = command("release", folder / "today.csv", "--reference", folder / "reference.csv", *RELEASED[name],
                         "-o", folder / "out.csv", "--no-ledger", "--force")  # fmt: skip
    assert code == 0, said
    return folder / "out.report.html"

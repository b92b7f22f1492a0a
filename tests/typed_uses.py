"""Uses of the public names for `mypy` to judge; never run. A line that ends in `# wrong` must fail the check."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

import fugu

if TYPE_CHECKING:
    from fugu.iterate import LinearRegression, NoisySGD, shift_bound

    low, high = fugu.Discrete([0, 1], [376, 204]), fugu.Discrete(np.array([0, 1]), [Fraction(1, 2), Fraction(1, 2)])
    pair = fugu.LawPair(low, high, "student")
    table = {"sex": ["F", "M"], "chol": [1, 2]}
    chain = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=9)
    generator = np.random.Generator(np.random.PCG64(1))

    mechanism = fugu.calibrate(pair, fugu.Pure(1), noise="laplace", method="exact", objective="squared", grid="0.1")
    released: fugu.Release = mechanism.release([1, 0], allow_no_noise=True)
    error: float = mechanism.expected_error("squared")
    scenario = fugu.Scenario.from_table("clinic.csv", publish="chol", protect="sex", pairs="adjacent", prior="gaussian")
    adults = fugu.Scenario.from_table(table, "chol", {"young": {"age": (0, 18)}, "old": lambda t: t["age"] >= 18})
    states = fugu.Scenario(
        [{"a": low, "b": high}, {"a": fugu.Normal(0, 1), "b": fugu.Normal(1, 1)}], pairs=[("a", "b")]
    )
    comparison: fugu.Comparison = fugu.compare([pair, fugu.Shifted((1, 2))], fugu.Renyi(2, 1))
    budget: fugu.Pure | fugu.Approx = fugu.plan(pair, 1.5, "absolute", delta=1e-6)
    noises: list[float] = [fugu.epsilon(fugu.Laplace(2.0, grid=1), pair), fugu.renyi(fugu.Gaussian(1), pair, math.inf)]
    worth: float = fugu.translate(chain, 0.2)
    curve: fugu.RenyiCurve = fugu.translate(fugu.ChainSet([chain]), fugu.RenyiCurve({2: 0.1, 8.5: 1}))
    users: fugu.Approx = fugu.translate([chain, chain], fugu.Approx(0.1, 1e-9), delta=1e-6)
    near: float = fugu.wasserstein(low, high, order=2, norm=math.inf) + fugu.closeness(low, high, Fraction(1, 10))
    field = fugu.GaussianField(np.eye(3))
    vector = fugu.MultivariateNormal([0, 1], [[2, 0.5], [0.5, 1]])
    joint = fugu.JointTable([[0.25, 0.25], [0, 0.5]], names=["x", "y"])
    records = fugu.Records(table, "sex", ["age"], by="ward", schema=fugu.Schema({}), unit=None)
    bare: fugu.Records = fugu.Records.of_laws({"s": [7, 3], "t": [Fraction(2, 5), 0.6]})
    each: float = fugu.dp_budget(records, 0.5) + fugu.translate([records, bare], 1)
    network = fugu.BayesianNetwork({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, {"wet": ["rain"]})
    with fugu.Ledger("ledger.db", fugu.Pure(1), data="visits", prior=chain, fingerprint=table) as ledger:
        stored: fugu.Release = ledger.spend("monday", mechanism, lambda: mechanism.release(1))
        total: int = ledger.spend("tuesday", fugu.Charge.per_entry(0.4), lambda: 17)
    per_entry = fugu.PerEntryDP(len, epsilon=0.5)
    report: fugu.AttackReport = fugu.attack(mechanism, low, high, attacks=["logistic"], shadows="clean", rng=generator)
    verdict: fugu.Verdict = fugu.verify("certificate.json", scenario)
    audited: fugu.Audit = fugu.audit("certificate.json", draws=10_000, through_files=0, confidence=0.99, rng=generator)
    document: fugu.ReleaseDocument = fugu.publish("out.csv", released, table="today.csv", data="today")
    outside: fugu.Verdict = fugu.examine("folder", published="out.csv", ledger="ledger.db", twice=True)
    close = fugu.guarantee_within(mechanism, 0.1, kind="renyi")
    sgd = NoisySGD(10, [0.5] * 10, 1, 1, noise=fugu.Laplace(1), prior="mixing:0.3").for_budget(fugu.Pure(1))
    bound: fugu.Renyi = shift_bound([4, 0, 0], 1, 2)
    model = LinearRegression(bounds=(-1, [1, 2]), target_bounds=(0, 1), private="target").fit([[1, 2]], [0.5])

    plan = fugu.Question(query="count", protect="sex", epsilon="1", reference="last-year.csv")
    shown_before: fugu.Forecast = fugu.release(plan, dry_run=True)
    out: fugu.Publication = fugu.release("scenario.toml", "today.csv", "out.csv", ledger=False)
    session = fugu.Session(table, table, "sex", fugu.Pure(1))
    every = (
        mechanism, released, comparison, scenario, budget, curve, users, report, verdict, audited, document, plan,
        shown_before, out, session, session.ask("count"), mechanism.certificate, fugu.Schema({}), out.usable,
        fugu.influence(chain), fugu.check(table, table), fugu.answer(table, "count", "sex", fugu.Pure(1), table),
    )  # fmt: skip
    said: list[str] = [json.dumps(each.to_json()) + each._repr_html_() for each in every]
    parts: dict[str, object] = mechanism.certificate.to_json()
    text: str = mechanism.certificate.text
    columns = [each.to_frame("dict") for each in (released, comparison, out, session.ask("count"))]

    fugu.release(plan, table)  # wrong
    fugu.release(3, "today.csv", "out.csv")  # wrong
    fugu.release(plan, "today.csv", "out.csv", dry_run="yes")  # wrong
    files = fugu.release(plan, dry_run=True).files  # wrong
    wordy: str = mechanism.certificate.to_json()  # wrong
    fugu.Pure(1).to_jsn()  # wrong
    fugu.Question(querry="count")  # wrong
    fugu.translate("nonsense", "nonsense")  # wrong
    fugu.translate(chain, "0.2")  # wrong
    fugu.calibrate(pair, fugu.Pure(1), method="exactt")  # wrong
    fugu.calibrate(pair, fugu.Pure(1), noise="laplac")  # wrong
    fugu.calibrate(pair, fugu.Pure(1), objective="abs")  # wrong
    fugu.calibrate(pair, 1.0)  # wrong
    fugu.calibrate("pair", fugu.Pure(1))  # wrong
    fugu.plan("x", "y")  # wrong
    fugu.compare(pair, "Pure(1)")  # wrong
    fugu.Scenario(3)  # wrong
    fugu.Scenario({"a": low, "b": high}, pairs="al")  # wrong
    fugu.Scenario({"a": 1, "b": 2})  # wrong
    fugu.Scenario.from_table(3, publish="chol", protect="sex")  # wrong
    fugu.Scenario.from_table(table, publish="chol", protect="sex", prior="normal")  # wrong
    fugu.Scenario.from_table(table, publish="chol", protect=3)  # wrong
    fugu.Ledger("ledger.db", budget="1")  # wrong
    fugu.Ledger("ledger.db", fugu.Pure(1), prior="markov")  # wrong
    fugu.Discrete("abc")  # wrong
    fugu.Discrete([0, 1], weights="ab")  # wrong
    fugu.Discrete([0, 1]).iid_sum(3, method="slow")  # wrong
    fugu.LawPair(0, 1)  # wrong
    fugu.Pure("1")  # wrong
    fugu.RenyiCurve({"two": 1})  # wrong
    fugu.Laplace("1")  # wrong
    fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 9, initial="stationry")  # wrong
    fugu.MarkovChain.fit(["ab", "ba"], start="fited")  # wrong
    fugu.HiddenMarkov([[1]], [[1]], 3, protect="seen")  # wrong
    fugu.GaussianField("identity")  # wrong
    fugu.guarantee_within(mechanism, 0.1, kind="tv")  # wrong
    fugu.guarantee_against(mechanism, 3)  # wrong
    fugu.attack(mechanism, low, high, shadows="dirty")  # wrong
    fugu.attack(mechanism, low, high, attacks=["guess"])  # wrong
    fugu.audit(pair)  # wrong
    fugu.audit(mechanism, draws="many")  # wrong
    fugu.verify(3)  # wrong
    fugu.examine(3)  # wrong
    fugu.examine("folder", ledger=1)  # wrong
    fugu.answer(table, "mean(chol)", "sex", 1.0, reference=table)  # wrong
    fugu.release_column("mechanism", table)  # wrong
    fugu.mix(0.5, mechanism, pair)  # wrong
    fugu.influence("chain")  # wrong
    fugu.wasserstein(low, "high")  # wrong
    fugu.calibrat(pair, fugu.Pure(1))  # wrong
    mechanism.expected_error("abs")  # wrong
    NoisySGD(10, 1, 1, 1, prior=3)  # wrong
    LinearRegression(private="all")  # wrong
    pair.label = "other"  # wrong

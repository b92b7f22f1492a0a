"""Public value objects: none can be changed, arrays they hand out are read-only, each says what it is on one line."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu import iterate
from fugu.publication.files import Beliefs, Outgoing, issue, published_file
from fugu.sequences import Histogram, States
from fugu.training.utility import of_labels

SECRET = "Zuckerguss"
MARGIN = 200


def student():
    return fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]), "student")


def normals():
    cov = [[1, 0.3], [0.3, 2]]
    return fugu.LawPair(fugu.MultivariateNormal([0, 0], cov), fugu.MultivariateNormal([1, 0.5], cov))


def from_table():
    return fugu.Scenario.from_table({"sex": ["F", "M"] * 20, "chol": [1, 2, 2, 3] * 10}, "chol", "sex")


def answered():
    clinic = {"sex": ["F", "M"] * 20, "age": [30, 50, 40, 60] * 10, "ward": [SECRET] * 20 + ["b"] * 20}
    last_year = {"sex": ["F", "M"] * 30, "age": [35, 50, 40, 60] * 15}
    return fugu.answer(clinic, "mean(age)", "sex", fugu.Pure(1), reference=last_year, by="ward", bounds=(0, 100))


def session_answer():
    clinic = {"age": [30, 50, 40, 60] * 10, "ward": [SECRET] * 20 + ["b"] * 20}
    last_year = {"sex": ["F", "M"] * 40, "age": [35, 50, 40, 60] * 20}
    return fugu.Session(clinic, last_year, "sex", fugu.Pure(1)).mean("age", 0.1, by="ward", bounds=(0, 100), step=50)


def additive(epsilon=0.1):
    return fugu.calibrate(student(), fugu.Pure(epsilon))


def chain():
    return fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 9)


def decoded():
    direction = np.array([0.61, 0.65, 0.4532])
    return fugu.decode(
        np.array([[3.25, 40.0, 7.0]]) + 12.3 * direction, direction, [0.01, 1, 1], [[0, 10], [0, 100], [0, 100]]
    )


def released():
    this = Path(__file__)
    going = Outgoing(
        certificates={"": additive().certificate}, table=this, data="d", rows=1, recipe=None, beliefs=Beliefs()
    )
    return issue(going, [published_file("o.csv", this)])[0]


EXAMPLES = {
    "Pure": lambda: fugu.Pure(0.1),
    "Approx": lambda: fugu.Approx(1, 1e-6),
    "Renyi": lambda: fugu.Renyi(2, 1),
    "Records": fugu.Records.example,
    "RenyiCurve": lambda: fugu.RenyiCurve({a: a / 10 for a in range(2, 200)}),
    "Discrete": lambda: fugu.Discrete(range(1000)),
    "Discrete, vectors": lambda: fugu.Discrete([[0, 1], [2, 3]], [0.25, 0.75]),
    "Normal": lambda: fugu.Normal(1, 2),
    "NormalMixture": lambda: fugu.NormalMixture(None, range(100), [1] * 100),
    "MultivariateNormal": lambda: normals().p,
    "Shifted": lambda: fugu.Shifted(tuple(range(100))),
    "Box": lambda: fugu.Box(range(100), [0] * 100, [1] * 100),
    "Band": lambda: fugu.Band(range(100), [0] * 100, [1] * 100),
    "Ball": lambda: fugu.Ball(fugu.Discrete(range(100)), 0.1, "kl"),
    "Hull": lambda: fugu.Hull([fugu.Discrete(range(100)), fugu.Discrete([3])]),
    "Intersection": lambda: fugu.Intersection([fugu.Box([0, 1], [0, 0], [1, 1]), fugu.Ball(student().p, 0.1)]),
    "LawPair": lambda: fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 1), "a long name " * 50),
    "Scenario": lambda: fugu.Scenario({"a": fugu.Discrete([0]), "b": fugu.Discrete([1])}),
    "Scenario, from a table": from_table,
    "Schema": lambda: fugu.Schema({f"c{i}": {"kind": "number", "bounds": (0, 1)} for i in range(90)}),
    "Laplace": lambda: fugu.Laplace(1),
    "Gaussian": lambda: fugu.Gaussian(2, "1/3"),
    "GeneralizedCauchy": lambda: fugu.GeneralizedCauchy(1),
    "Mechanism": additive,
    "Mechanism, vectors": lambda: fugu.calibrate(fugu.Shifted((1, 2)), fugu.Pure(1)),
    "Mechanism, normal vectors": lambda: fugu.calibrate(normals(), fugu.Renyi(2, 0.5)),
    "Mechanism, mixed": lambda: fugu.mix(0.5, additive(), additive(0.05)),
    "Certificate": lambda: additive().certificate,
    "Description": lambda: fugu.describe({"sex": ["F", "M"] * 20, "chol": [1, 2, 2, 3] * 10}),
    "Question": lambda: fugu.Question(publish="chol", protect="sex", epsilon=1),
    "ReleaseDocument": released,
    "SignOff": lambda: fugu.SignOff("A. Berg", "steward", assumptions=["one row is one person"]),
    "Release": lambda: additive().release([1, 0, 1]),
    "Simulated": lambda: additive().simulate([1, 0, 1], np.random.default_rng(1)),
    "Check": lambda: fugu.check({"sex": ["F"], "chol": [SECRET]}, {"sex": ["F", "M"] * 20, "chol": [1, 2] * 20}),
    "Release, one number": lambda: additive().release(1),
    "Release, one vector": lambda: fugu.calibrate(fugu.Shifted((1,) * 50), fugu.Pure(1)).release(np.ones(50)),
    "Verdict": lambda: fugu.verify(additive()),
    "Comparison": lambda: fugu.compare(student(), fugu.Pure(1)),
    "Usable": lambda: fugu.usable(fugu.calibrate(from_table(), fugu.Pure(0.5)), from_table()),
    "Row": lambda: fugu.compare(student(), fugu.Pure(1)).best,
    "Answer": answered,
    "SessionAnswer": session_answer,
    "Charge": lambda: fugu.Charge.per_entry(0.1),
    "CompositionCertificate": lambda: fugu.certify(fugu.compose([fugu.Pure(0.1)] * 3)),
    "PerEntryDP": lambda: fugu.PerEntryDP(sorted, epsilon=0.5),
    "PerEntryRelease": lambda: fugu.PerEntryDP(sorted, epsilon=0.5).release([2, 1] * 500),
    "SequenceAnswer": lambda: Histogram(States(tuple(range(300)))).mechanism(1).release([[1, 2] * 50]),
    "AttackReport": lambda: fugu.attack(additive(), student(), shadow=200, test=200),
    "Audit": lambda: fugu.audit(additive(), draws=1000),
    "Decoded": decoded,
    "IntervalChain": lambda: fugu.IntervalChain([[0.5, 0.3], [0.1, 0.7]], [[0.7, 0.5], [0.3, 0.9]], 9),
    "MarkovChain": chain,
    "ChainSet": lambda: fugu.ChainSet([chain()]),
    "DependentGroups": lambda: fugu.DependentGroups(4),
    "IndependentBlocks": lambda: fugu.IndependentBlocks(*[chain()] * 50),
    "HiddenMarkov": fugu.HiddenMarkov.example,
    "JointTable": fugu.JointTable.example,
    "GaussianField": fugu.GaussianField.example,
    "ZCDP": lambda: fugu.ZCDP(0.1),
    "BayesianNetwork": fugu.BayesianNetwork.example,
    "InfluenceCurve": lambda: fugu.influence(chain()),
    "AR1": lambda: iterate.AR1(0.3),
    "Assessment": lambda: of_labels(np.arange(9.0) - 4, np.arange(9) > 5),
    "Correlated": iterate.Correlated.example,
    "Groups": lambda: iterate.Groups([SECRET, "b"] * 50),
    "Independent": iterate.Independent,
    "Joint": iterate.Joint.example,
    "Mixing": lambda: iterate.Mixing(0.3),
    "NoisySGD": lambda: iterate.NoisySGD(100, [0.5] * 100, 1, 1, noise=[1.0] * 100),
    "WorstCase": iterate.WorstCase,
}
NO_VALUES = {"Ledger", "Session", "Forecast", "Publication"}
"""Public classes that are not values: a ledger is a file, a session spends, and what a release hands back tells of its
files, as a command prints it, in plain dicts of whoever asked."""
SET_BY_OTHERS = {"LinearRegression", "LogisticRegression", "LinearSVC", "DeclaredScaler", "DeclaredOneHotEncoder"}
"""scikit-learn sets the attributes of estimators and transformers."""


@pytest.fixture(scope="module")
def made():
    return {name: make() for name, make in EXAMPLES.items()}


def test_every_public_class_has_an_example(made):
    public = {getattr(m, n) for m in (fugu, iterate) for n in m.__all__ if isinstance(getattr(m, n), type)}
    covered = {kind for thing in made.values() for kind in type(thing).__mro__}
    left = {kind.__name__ for kind in public - covered}
    assert left == NO_VALUES | SET_BY_OTHERS | {"TrainingCertificate"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_attribute_can_be_set_or_removed(made, name):
    thing = made[name]
    fields = [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
    held = [*fields, *(n for n in (*getattr(thing, "__dict__", ()), *getattr(thing, "__slots__", ())))]
    for attribute in {*held, "something_new"}:
        before = getattr(thing, attribute, None)
        with pytest.raises((AttributeError, TypeError)):
            setattr(thing, attribute, None)
        if attribute in held:
            with pytest.raises((AttributeError, TypeError)):
                delattr(thing, attribute)
            assert getattr(thing, attribute, None) is before


@pytest.mark.parametrize("name", EXAMPLES)
def test_arrays_and_dicts_that_are_kept_cannot_be_written_to(made, name):
    thing, result = made[name], {"SequenceAnswer", "PerEntryRelease"}
    for attribute in (a for a in dir(thing) if not a.startswith("_") and name not in result):
        try:
            first, second = getattr(thing, attribute), getattr(thing, attribute)
        except (AttributeError, fugu.errors.FuguError, NotImplementedError, KeyError, TypeError):
            continue
        if isinstance(first, np.ndarray):
            assert not first.flags.writeable, attribute
        if isinstance(first, list | dict) and first is second and attribute not in ("KINDS", "recipe"):
            with pytest.raises(TypeError, match="change"):
                first.clear()


NAMED = {
    "Mechanism": "Additive(", "Mechanism, vectors": "VectorAdditive(", "Mechanism, mixed": "Mixed(",
    "Mechanism, normal vectors": "CorrelatedAdditive(", "Certificate": "Certificate(",
}  # fmt: skip
"""What runs, and what it is of, is named by its kind; the class behind it is one."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_repr_is_one_short_line_without_private_values(made, name):
    said = repr(made[name])
    assert "\n" not in said and len(said) <= MARGIN, said
    assert SECRET not in said and " at 0x" not in said
    assert said.startswith(NAMED.get(name, type(made[name]).__name__))


def test_a_curve_is_told_in_full_where_it_is_printed():
    curve = EXAMPLES["RenyiCurve"]()
    assert str(curve).count(":") == 198 and "198 orders" in repr(curve)
    assert eval(repr(small := fugu.RenyiCurve({2: 0.5, 4: 1}, 1e-6)), {"RenyiCurve": fugu.RenyiCurve}) == small


COPIED = ("Discrete", "Discrete, vectors", "LawPair", "Normal", "Scenario", "Schema", "Shifted")


@pytest.mark.parametrize("name", COPIED)
def test_copies_are_equal_and_as_fixed_as_the_original(name):
    thing = EXAMPLES[name]()
    for other in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)):
        assert repr(other) == repr(thing)
        if name != "Scenario":
            assert other == thing
        test_no_attribute_can_be_set_or_removed({name: other}, name)
        test_arrays_and_dicts_that_are_kept_cannot_be_written_to({name: other}, name)


def test_a_law_keeps_no_array_of_the_caller():
    values, weights = np.array([0.0, 1.0]), np.array([0.25, 0.75])
    law = fugu.Discrete(values, weights)
    values[0], weights[0] = 5.0, 0.9
    assert law == fugu.Discrete([0, 1], [0.25, 0.75])
    assert weights.flags.writeable and values.flags.writeable


def test_a_scenario_keeps_no_dict_of_the_caller():
    laws = {"a": fugu.Discrete([0]), "b": fugu.Discrete([1])}
    scenario = fugu.Scenario(laws)
    laws["c"] = fugu.Discrete([2])
    assert list(scenario.laws) == ["a", "b"] and scenario.adversaries == (scenario.laws,)

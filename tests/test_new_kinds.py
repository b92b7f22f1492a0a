"""The test of the house: what CONTRIBUTING adds goes through every concern, and no further file is needed."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from forging import consistent
from fugu.errors import NotProvable
from fugu.report import page
from record_documents import parsed
from test_docs import CONTRIBUTING, add_file, blocks, own_package

TABLES = Path(fugu.__file__).parent / "examples"
REFERENCE, TODAY = TABLES / "clinic_reference.csv", TABLES / "clinic_today.csv"
BUDGET = fugu.Approx(0.5, 0.01)
PAIR = fugu.LawPair(fugu.Discrete([0, 1, 2], [5, 3, 2]), fugu.Discrete([0, 1, 2], [2, 3, 5]), "a vs b")


@pytest.fixture(autouse=True)
def added(tmp_path, monkeypatch):
    """The files of CONTRIBUTING, each in its room, for one test."""
    monkeypatch.chdir(tmp_path)
    shown = [block for block in blocks(CONTRIBUTING.read_text(encoding="utf-8")) if block.file]
    assert sorted(block.file for block in shown) == [
        "calibration/methods/half.py", "documents/coin.py", "laws/heads.py", "noise/binomial.py", "priors/pairs.py",
        "queries/above.py", "queries/sequence_visitors.py",
    ]  # fmt: skip
    with own_package():
        for block in shown:
            add_file(block)
        yield


def run(*words: object) -> str:
    """What a command prints; it ends well."""
    done = CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "200"})
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.output


@pytest.fixture
def mechanism():
    return fugu.calibrate(PAIR, BUDGET, noise="binomial")


def law(noise, atoms: dict[int, float]) -> dict[int, float]:
    """The output of a law, from the definition."""
    m = noise.half
    found: dict[int, float] = {}
    for x, share in atoms.items():
        for k in range(-m, m + 1):
            found[x + k] = found.get(x + k, 0.0) + share * comb(2 * m, m + k) / 4**m
    return found


def test_losses_of_a_new_noise_are_those_of_the_definition(mechanism):
    noise = mechanism.noise
    p, q = law(noise, {0: 0.5, 1: 0.3, 2: 0.2}), law(noise, {0: 0.2, 1: 0.3, 2: 0.5})
    delta = max(sum(max(0.0, a[y] - np.exp(0.5) * b[y]) for y in a) for a, b in ((p, q), (q, p)))
    assert fugu.delta(noise, PAIR, 0.5) == pytest.approx(delta, abs=1e-15)
    assert fugu.epsilon(noise, PAIR) == pytest.approx(max(abs(np.log(p[y] / q[y])) for y in p), rel=1e-12)
    renyi = np.log(max(sum(a[y] ** 2 / b[y] for y in a) for a, b in ((p, q), (q, p))))
    assert fugu.renyi(noise, PAIR, 2) == pytest.approx(renyi, rel=1e-12)
    apart = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))
    assert fugu.epsilon(noise, apart) == fugu.renyi(noise, apart, 2) == np.inf
    for budget in (fugu.Pure(1), fugu.Renyi(2, 1)):
        with pytest.raises(NotProvable, match="binomial noise has ends"):
            fugu.calibrate(PAIR, budget, noise="binomial")


def test_a_new_noise_is_calibrated_compared_released_and_verified(mechanism):
    assert mechanism.noise.half == 6
    smaller = fugu.delta(type(mechanism.noise)(1.49, 1), PAIR, 0.5)
    assert smaller > 0.01, "five coins are too few"
    assert fugu.verify(mechanism, PAIR).holds
    release = mechanism.release([0, 1, 2])
    assert len(release.values) == 3
    assert [row.noise for row in fugu.compare(PAIR, BUDGET).rows if row.proven and row.method == "exact"] == [
        "laplace", "gaussian", "binomial",
    ]  # fmt: skip
    path = Path("binomial.json")
    mechanism.certificate.save(path)
    again = fugu.Certificate.load(path)
    assert again.noise == mechanism.noise and again.to_json() == mechanism.certificate.to_json()
    assert fugu.verify(path, PAIR).holds
    body = json.loads(path.read_text())
    body["noise"]["scale"] = "1"
    path.write_text(json.dumps(consistent(body)))
    assert not fugu.verify(path, PAIR).holds
    normals = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 1), "a vs b")
    wide = fugu.calibrate(normals, BUDGET, noise="binomial", grid=0.5)
    assert fugu.verify(wide, normals).holds


def test_a_new_noise_is_attacked_and_audited(mechanism):
    rng = np.random.default_rng(1)
    report = fugu.attack(mechanism, PAIR, rng=rng)
    assert report.consistent
    noise = mechanism.noise
    p, q = law(noise, {0: 0.5, 1: 0.3, 2: 0.2}), law(noise, {0: 0.2, 1: 0.3, 2: 0.5})
    best = sum(max(p[y], q[y]) for y in p) / 2
    assert {a.attack for a in report.attempts} == {"logistic", "likelihood-ratio"}
    assert max(a.accuracy for a in report.attempts) == pytest.approx(best, abs=0.04)
    audit = fugu.audit(mechanism, draws=40_000, rng=np.random.default_rng(2))
    assert audit.clean and not audit.fit.refuted


def test_an_audit_of_a_new_noise_finds_missing_noise(mechanism, monkeypatch):
    """Half of the coins are not tossed."""
    coins = type(mechanism.noise.sampler)
    honest = coins.draw
    monkeypatch.setattr(coins, "draw", lambda self, size, *given: honest(coins(self.half // 2), size, *given))
    assert fugu.audit(mechanism, draws=40_000, rng=np.random.default_rng(2)).fit.refuted


def test_a_new_noise_answers_what_others_believe(mechanism):
    other = fugu.LawPair(fugu.Discrete([0, 1, 2], [6, 3, 1]), fugu.Discrete([0, 1, 2], [2, 3, 5]), "a vs b")
    against = fugu.guarantee_against(mechanism, other)
    assert against.epsilon == 0.5 and against.delta == pytest.approx(fugu.delta(mechanism.noise, other, 0.5))
    same, near = fugu.guarantee_within(mechanism, 0), fugu.guarantee_within(mechanism, 1)
    assert same.delta <= 0.01 < near.delta < 1
    moved = fugu.LawPair(fugu.Discrete([0, 1], [5, 5]), fugu.Discrete([1, 2], [5, 5]), "a vs b")
    assert fugu.delta(mechanism.noise, moved, 0.5) <= near.delta, "laws moved by one step"
    assert fugu.guarantee_within(mechanism, 0.1, kind="renyi").epsilon == pytest.approx(0.7)
    assert mechanism.certificate.warnings == ()
    anybody = mechanism.certificate.anybody
    far = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([2]))
    assert (
        fugu.delta(mechanism.noise, far, anybody.epsilon)
        <= 0.01
        < fugu.delta(mechanism.noise, far, anybody.epsilon - 0.001)
    )


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_outputs_of_a_new_noise_are_remapped(mechanism, loss):
    moved = mechanism.remapped(loss)
    table, noise = moved.remap, mechanism.noise
    weight = {0: 0.35, 1: 0.3, 2: 0.35}
    for y in range(-6, 9):
        chance = {x: w * law(noise, {x: 1.0}).get(y, 0.0) for x, w in weight.items()}
        (to,) = table.apply(np.array([y]))

        def cost(z, chance=chance):
            each = {"absolute": abs, "squared": np.square, "zero-one": bool}[loss]
            return sum(c * float(each(x - z)) for x, c in chance.items())

        assert cost(to) <= min(cost(z) for z in np.linspace(-1, 3, 41)) + 1e-9
    assert moved.expected_error() < mechanism.expected_error()
    assert fugu.verify(moved, PAIR).holds
    assert fugu.audit(moved, draws=20_000, rng=np.random.default_rng(3)).clean
    assert f"least expected {loss} loss" in page(moved)


def test_a_new_noise_has_figures_of_use_pages_and_views(mechanism):
    usable = fugu.Usable.of(mechanism.certificate)
    assert usable.figures[0].error == pytest.approx(mechanism.expected_error(), abs=0.01)
    text = page(mechanism)
    assert "binomial noise" in text.lower() and "1.35" in text and text.count("<svg") >= 2
    for shown in (mechanism, mechanism.certificate, mechanism.release([0]), fugu.compare(PAIR, BUDGET)):
        assert shown._repr_html_()
    assert "Binomial" in repr(mechanism)


def test_commands_take_a_new_noise(tmp_path):
    column = ("--publish", "chol", "--protect", "smoker", "--epsilon", "0.2", "--delta", "0.001", "--grid", "20")
    asked = (*column, "--unit", "patient", "--noise", "binomial")
    assert "Binomial noise" in run("release", TODAY, "--reference", REFERENCE, *asked, "-o", "column.csv")
    assert "holds" in run("verify", "column.certificate.json")
    assert "refuted" not in run("audit", "column.certificate.json", "--draws", "20000")
    run("report", "column.certificate.json", "-o", "page.html")
    assert "binomial noise" in Path("page.html").read_text()
    assert "binomial" in run("compare", REFERENCE, *column).lower()


def test_a_new_method_is_compared_calibrated_and_verified(tmp_path):
    far = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([3]), "a vs b")
    row = next(row for row in fugu.compare(far, fugu.Pure(1)).rows if row.method == "half-wasserstein")
    assert not row.proven
    with pytest.raises(NotProvable, match="could not be proved"):
        fugu.calibrate(far, fugu.Pure(1), method="half-wasserstein")
    near = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0, 1], [1, 2]), "a vs b")
    mechanism = fugu.calibrate(near, fugu.Pure(1), method="half-wasserstein")
    assert mechanism.certificate.method == "half-wasserstein"
    assert fugu.verify(mechanism, near).holds
    assert "half-wasserstein" in page(mechanism) and fugu.audit(mechanism, draws=5000).clean
    assert fugu.Usable.of(mechanism.certificate).figures and mechanism._repr_html_()
    table = ("--publish", "chol", "--protect", "smoker", "--epsilon", "1")
    assert "half-wasserstein" in run("compare", REFERENCE, *table)
    assert "half-wasserstein" in run(
        "calibrate", REFERENCE, *table, "--bins", "100,200,300", "--method", "half-wasserstein"
    )
    assert fugu.attack(mechanism, near, rng=np.random.default_rng(1)).consistent
    assert len(mechanism.release([0, 1], allow_no_noise=True).values) == 2
    bins = ("--bins", "100,200,300", "--method", "half-wasserstein", "--unit", "patient")
    run("release", TODAY, "--reference", REFERENCE, *table, *bins, "--no-ledger", "-o", "half.csv", "--allow-no-noise")
    assert "holds" in run("verify", "half.certificate.json")
    run("report", "half.certificate.json", "-o", "half.html")
    assert "half-wasserstein" in Path("half.html").read_text()


def test_a_new_law_goes_through_every_concern(tmp_path):
    from fugu.laws.heads import Heads

    laws = {"few": Heads(6, Fraction(2, 5)), "many": Heads(6, Fraction(3, 5))}
    pair, plain = fugu.LawPair(*laws.values(), "a vs b"), [law.read() for law in laws.values()]
    assert plain[0].weights.tolist() == pytest.approx([comb(6, k) * 0.4**k * 0.6 ** (6 - k) for k in range(7)])
    scenario = fugu.Scenario(laws)
    for budget in (fugu.Pure(1), BUDGET, fugu.Renyi(2, 0.1)):
        mechanism = fugu.calibrate(pair, budget)
        same = fugu.calibrate(fugu.LawPair(*plain, "a vs b"), budget)
        assert mechanism.certificate.to_json() == same.certificate.to_json()
        assert fugu.verify(mechanism, pair).holds and fugu.verify(mechanism, fugu.LawPair(*plain, "a vs b")).holds
        wrong = fugu.LawPair(Heads(6, Fraction(1, 5)), laws["many"], "a vs b")
        assert not fugu.verify(mechanism, wrong).holds, "other laws"
    comparison = fugu.compare(scenario, fugu.Pure(1))
    assert comparison.best.method == "exact" and comparison.limit and comparison.usable.figures
    assert fugu.plan(scenario, 1.0).epsilon > 0 and fugu.optimal_channel(scenario, fugu.Pure(1)).optimum.lower > 0
    mechanism = fugu.calibrate(scenario, fugu.Pure(1))
    assert len(mechanism.release([0, 3, 6]).values) == 3
    assert fugu.attack(mechanism, pair, rng=np.random.default_rng(1)).consistent
    assert fugu.attack(mechanism, *laws.values(), rng=np.random.default_rng(1)).consistent
    assert fugu.audit(mechanism, draws=5000).clean and fugu.guarantee_against(mechanism, pair).epsilon <= 1
    for shown in (mechanism, mechanism.certificate, comparison, scenario):
        assert shown._repr_html_()
    assert page(mechanism)
    mechanism.certificate.save("heads.json")
    assert "holds" in run("verify", "heads.json")
    assert "refuted" not in run("audit", "heads.json", "--draws", "5000")
    run("report", "heads.json", "-o", "heads.html")
    with pytest.raises(fugu.errors.BadLaw, match="got int"):
        fugu.LawPair(3, laws["few"])


def test_a_new_prior_is_translated_charged_and_shown(tmp_path):
    from fugu.priors.pairs import Pairs

    prior = Pairs()
    assert fugu.influence(prior)(2) == 0
    assert fugu.translate(prior, 0.25) == 0.5 and fugu.dp_budget(prior, 1) == 0.5
    assert fugu.translate(prior, fugu.Approx(0.25, 1e-6)).epsilon == 0.5
    with fugu.Ledger(tmp_path / "books", fugu.Pure(1.5), prior=prior) as ledger:
        total = fugu.PerEntryDP(sum, epsilon=0.25, name="total")
        release = ledger.spend("total", total, lambda: total.release([1] * 100, charged=True))
        assert release.value == 100 and ledger.spent() == fugu.Pure(0.5)
        assert ledger.history()[0].worth == fugu.Pure(0.5)
    verdict = fugu.verify(release.certificate)
    assert not verdict.holds, "the user says that the sum is private, and nobody can prove it"
    assert page(release.certificate)


@pytest.fixture
def above():
    """CONTRIBUTING's statistic, listed."""
    from fugu.queries.above import Above

    from fugu.queries.kinds import KINDS

    KINDS["above"] = Above()
    return KINDS["above"]


def lost(law, s: str, t: str, rate: float) -> float:
    """The loss of a noised sum of one record's codes, from the definition: at every whole number that may go out."""
    (codes,) = law.states.values()
    p, q = (law.given[secret] / law.given[secret].sum() for secret in (s, t))
    kernel = np.exp(-rate * np.abs(np.arange(-9, 11)[:, None] - codes))
    return float(np.abs(np.log((kernel @ p) / (kernel @ q))).max())


def test_a_new_statistic_is_priced_by_the_definition_and_verified(above):
    rng = np.random.default_rng(1)
    for _ in range(20):
        ages = rng.integers(20, 90, 400).tolist()
        secrets = ["y" if rng.random() < (0.9 if age > 64 else 0.2) else "n" for age in ages]
        session = fugu.Session({"age": ages[:50]}, {"ill": secrets, "age": ages}, "ill", fugu.Pure(1))
        answer = session.ask("above(age, 64)", 0.4)
        (law,), (asked,) = session.certificate.laws, session.certificate.questions
        rate, spent = float(asked.rates[""][0]), float(session.spent().epsilon)
        loss = max(lost(law, "y", "n", rate), lost(law, "n", "y", rate))
        assert loss <= spent + 1e-9 <= 0.4 + 2e-9
        assert lost(law, "y", "n", 1.1 * rate) > loss, "less noise loses more"
        assert fugu.verify(session.certificate).holds
        assert abs(answer.value - sum(age > 64 for age in ages[:50])) < 40 / rate
        body = session.certificate.to_json()
        body["questions"][0]["rates"][""] = [str(2 * asked.rates[""][0])]
        assert not fugu.verify(parsed(body)).holds


def test_the_threshold_of_a_new_statistic_is_where_it_says(above):
    ages = [64, 64.001, 65, None, float("inf"), "no number"] * 20
    session = fugu.Session({"age": ages}, {"ill": ["y", "n"] * 60, "age": [60, 70, 64, 66] * 30}, "ill", fugu.Pure(99))
    answer = session.ask("above(age, 64)", 40, allow_no_noise=True)
    missing = 20 * 2 if session._belief.reading.fields["age"].replacement > 64 else 0
    assert answer.value == 60 + missing
    for wrong in ("above(age)", "above(age, much)", "above(sex, 1)"):
        with pytest.raises(fugu.errors.FuguError):
            session.ask(wrong)


def test_a_new_statistic_is_rehearsed_judged_audited_and_shown(above):
    reference = {"ill": ["y", "n"] * 200, "age": [70, 40, 50, 65] * 100, "ward": ["a", "a", "b", "b"] * 100}
    session = fugu.Session({"age": [50, 80] * 40, "ward": ["a"] * 80}, reference, "ill", fugu.Pure(1))
    would = session.rehearse(["above(age, 64) by ward"], 0.5)
    assert would.usable.figures and not would.answered
    answer = session.ask("above(age, 64) by ward", 0.5)
    assert answer.usable.figures[0].rows == 80 and answer.to_json()["query"] == "above(age, 64) by ward"
    assert answer._repr_html_() and session.usable.figures
    audit = fugu.audit(session.certificate, draws=20_000, rng=np.random.default_rng(1))
    assert audit.clean and not audit.fit.refuted
    assert "above(age, 64) by ward" in page(session.certificate)


def test_a_new_statistic_goes_through_the_commands(above):
    told = ("--query", "count, above(chol, 240) by sex", "--protect", "smoker", "--reference", REFERENCE)
    run("release", TODAY, *told, "--epsilon", 1, "--no-ledger", "-o", "out.csv", "--json")
    assert "above(chol, 240) by sex" in Path("out.csv").read_text()
    checked = json.loads(
        run("verify", "out.certificate.json", "--published", "out.csv", "--reference", REFERENCE, "--json")
    )
    assert checked["holds"]
    run("report", "out.certificate.json", "-o", "again.html")
    run("audit", "out.certificate.json", "--samples", 20_000)
    run("compare", REFERENCE, *told[:4], "--epsilon", 1)


@pytest.fixture
def coins(tmp_path):
    """CONTRIBUTING's document, listed."""
    from fugu.documents.coin import CoinCertificate

    from fugu.documents.kinds import SCHEMAS

    SCHEMAS["fugu/coin/1"] = "fugu.documents.coin:CoinCertificate"
    return CoinCertificate


def test_a_new_document_is_sealed_read_and_proved_again(coins):
    sealed = coins.seal("1/2", fugu.Pure(1.1), "do you smoke?")
    sealed.save("coin.json")
    assert coins.load("coin.json").to_json() == sealed.to_json()
    verdict = fugu.verify("coin.json")
    assert verdict.holds and np.log(3) <= verdict.epsilon == pytest.approx(np.log(3), rel=1e-12)
    assert [name for name, *_ in verdict.checks] == [
        "digest", "kind and schema", "coin", "marks", "publisher's own words", "budget",
    ]  # fmt: skip
    assert ("publisher's own words", "not checked", "question") in verdict.checks
    assert not fugu.verify(coins.seal("2/5", fugu.Pure(1.1))).holds, "a fairer coin promises more than it keeps"
    with pytest.raises(fugu.errors.UsageError, match="laws or a scenario"):
        fugu.verify(sealed, PAIR)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ({"coin": "3/5"}, "edited after sealing"), ({"coin": 0}, "a probability above 0"),
        ({"coin": []}, "not a number"),
        ({"coin": "2"}, "a probability above 0"), ({"coin": None}, "not a number"), ({"more": 1}, "does not know"),
        ({"budget": {"kind": "Pure"}}, "cannot be read"), ({"question": 7}, "not a text"),
        ({"publisher": {"parts": [], "assumptions": []}}, None),
    ],
)  # fmt: skip
def test_an_edited_new_document_is_refused_or_does_not_hold(coins, edit, why):
    body = {**coins.seal("1/2", fugu.Pure(1.1), "do you smoke?").to_json(), **edit}
    if why != "edited after sealing":
        from fugu.documents.document import digest_of

        body["digest"] = digest_of({k: v for k, v in body.items() if k != "digest"})
    Path("coin.json").write_text(json.dumps(body))
    if why is None:  # words that are not marked as the publisher's
        assert not fugu.verify("coin.json").holds
        return
    with pytest.raises(fugu.errors.CertificateError, match=why):
        fugu.verify("coin.json")


def test_a_new_document_has_a_page_a_view_and_commands(coins):
    sealed = coins.seal("1/2", fugu.Pure(1.1))
    sealed.save("coin.json")
    text = page(sealed)
    assert "fair coin with probability 0.5" in text and "one answer" in text and sealed.digest in text
    assert sealed.digest in sealed._repr_html_() and "coin" in repr(sealed)
    assert sealed.promises.startswith("epsilon 1.1 against")
    assert "holds" in run("verify", "coin.json")
    assert json.loads(run("verify", "coin.json", "--json"))["holds"]
    run("report", "coin.json", "-o", "coin.html")
    assert "fair coin with probability 0.5" in Path("coin.html").read_text()
    with pytest.raises(TypeError, match="cannot be changed"):
        sealed.body["coin"] = "1"

"""Where a chain begins: no start that nobody stated, every start covered or refused, skipped secrets named."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from chain_attack import joint_of
from lp_oracle import best_translation

import fugu
from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.iterate import Independent, NoisySGD, WorstCase
from fugu.ledger import Charge
from fugu.ledger.fingerprint import prior_digest
from fugu.priors.chain import ChainSet
from fugu.priors.correlated import backward_coefficient, free_start_coefficient
from fugu.priors.coupling import IndependentBlocks
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.prior import skipped
from fugu.progress import reporting
from fugu.queries.sequence_prior import chain_from, chain_json
from fugu.training.accountant import prior_from, prior_of
from fugu.translation.beyond_pure import translate_zcdp
from fugu.translation.influence import members
from fugu.translation.sequence import Contraction
from fugu.translation.translate import rough_budget

ILLNESS = [[0.97, 0.03, 0], [0, 0.98, 0.02], [0, 0, 1]]
STATES = ("well", "ill", "dead")
STICKY = [[0.6, 0.4], [0.2, 0.8]]


def test_a_patient_who_may_die_is_protected_while_alive():
    """Stationary, everybody is dead and nothing is protected: 1.0 of 1 was allowed. From the first state it costs."""
    with pytest.raises(BadLaw, match="2 of 3 states have no mass"):
        fugu.MarkovChain(ILLNESS, 100)
    found = fugu.dp_budget(fugu.MarkovChain(ILLNESS, 100, [1, 0, 0]), 1)
    assert found == pytest.approx(0.0124, abs=5e-5)
    assert fugu.dp_budget(fugu.MarkovChain(ILLNESS, 100, "any"), 1) <= found
    assert fugu.translate(fugu.MarkovChain(ILLNESS, 100, [1, 0, 0]), 1.0) > 50


def patients(count, length, rng):
    found = []
    for _ in range(count):
        path = [0]
        while len(path) < length:
            path.append(int(rng.choice(3, p=ILLNESS[path[-1]])))
        found.append([STATES[x] for x in path])
    return found


def test_a_fit_begins_as_the_reference_does():
    people = patients(300, 40, np.random.default_rng(4))
    chain = fugu.MarkovChain.fit(people, states=STATES)
    assert chain.marginal(1).tolist() == [1, 0, 0] and not chain.stationary and not chain.free
    assert chain.skipped == ("'ill' at entry 1", "'dead' at entries 1 to 2")
    assert any("first entries of the reference" in line for line in chain.assumptions)
    assert fugu.dp_budget(chain, 1) < 0.1
    begun = fugu.MarkovChain.fit(["aabb", "abba", "bbaa", "abab"])
    assert begun.marginal(1).tolist() == [0.75, 0.25]
    smooth = fugu.MarkovChain.fit(["aabb", "abba", "bbaa", "abab"], smoothing=0.5)
    assert smooth.marginal(1).tolist() == pytest.approx([3.5 / 5, 1.5 / 5])
    for start in ("any", "stationary", [0.5, 0.5]):
        told = fugu.MarkovChain.fit(["aabb", "abba"], start=start)
        assert (told.free, told.stationary) == (start == "any", start == "stationary")
    with pytest.raises(BadLaw, match="no mass"):
        fugu.MarkovChain.fit(people, states=STATES, start="stationary")


def test_one_sequence_fits_no_start():
    chain = fugu.MarkovChain.fit(["aababb"])
    assert chain.free and any("one reference sequence fits no start" in line for line in chain.assumptions)
    assert fugu.MarkovChain.fit(["aababb"], start=[1, 0]).marginal(1).tolist() == [1, 0]
    with pytest.raises(UsageError, match="covers every start"):
        chain.marginal(1)
    with pytest.raises(UsageError, match="covers every start"):
        chain.backward(2)
    assert "any start" in repr(chain) and chain.with_length(9).free and chain.with_length(9).length == 9


@pytest.mark.parametrize("seed", range(2))
def test_any_covers_every_start(seed):
    """Claims for every start against linear programs for starts of all kinds; half the diameter would be too little."""
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.ones(2 + seed % 2), 2 + seed % 2)
    k, length, epsilon = len(kernel), 4, float(rng.choice([0.1, 0.5, 1.5]))
    chain = fugu.MarkovChain(kernel, length, "any")
    curve = fugu.influence(chain)
    claimed = fugu.translate(chain, epsilon)
    by_curve = min(b * epsilon + curve(b) for b in range(1, length + 1))
    worst = 0.0
    for weights in [*rng.dirichlet(np.full(k, 0.3), 6), np.eye(k)[0]]:
        start = weights / weights.sum()
        exact = best_translation(joint_of([kernel] * (length - 1), start), epsilon)
        worst = max(worst, exact)
        assert fugu.translate(fugu.MarkovChain(kernel, length, start), epsilon) >= exact - 1e-9
        assert claimed >= exact - 1e-9 and by_curve >= exact - 1e-9
    assert claimed <= 1.6 * worst


def test_any_is_attained_for_two_entries_and_half_of_it_is_rejected():
    """X_1 -> X_2: the worst start has odds e^(-alpha/2 +- D/2); tanh(D/4) of half the diameter would be false."""
    kernel, epsilon = np.array([[0.9, 0.1], [0.2, 0.8]]), 0.8
    claimed = fugu.translate(fugu.MarkovChain(kernel, 2, "any"), epsilon)

    def exact(p):
        return best_translation(joint_of([kernel], np.array([p, 1 - p])), epsilon, [1])

    near = max(np.linspace(0.001, 0.999, 20), key=exact)
    best = max(map(exact, np.linspace(max(near - 0.05, 1e-3), min(near + 0.05, 1 - 1e-3), 30)))
    assert best - 1e-9 <= claimed <= best * (1 + 1e-3)
    diameter = float(np.log(0.9 * 0.8 / (0.1 * 0.2)))
    wrong = epsilon + 4 * np.arctanh(np.tanh(epsilon / 4) * np.tanh(diameter / 8))
    assert wrong < best - 0.05


def test_sets_blocks_and_hidden_chains_have_the_same_starts():
    any_, given = fugu.MarkovChain(STICKY, 5, "any"), fugu.MarkovChain(STICKY, 5, [0.3, 0.7])
    both = ChainSet([any_, given])
    assert fugu.translate(both, 0.3) == fugu.translate(any_, 0.3) >= fugu.translate(given, 0.3)
    assert fugu.influence(both)(1) == fugu.influence(any_)(1)
    blocks = IndependentBlocks(given, fugu.MarkovChain(ILLNESS, 4, [1, 0, 0], STATES))
    assert len(members(blocks)) == 2 and skipped(blocks) == ("'ill' at entry 1", "'dead' at entries 1 to 2")
    emission = [[0.7, 0.3], [0.4, 0.6]]
    hidden = HiddenMarkov(STICKY, emission, 5, "any")
    assert fugu.translate(hidden, 0.3) >= fugu.translate(HiddenMarkov(STICKY, emission, 5, [0.3, 0.7]), 0.3)
    assert hidden.pairs().free
    with pytest.raises(NotProvable, match="every start"):
        HiddenMarkov(STICKY, emission, 5, "any", protect="observed")
    with pytest.raises(BadLaw, match="no mass"):
        HiddenMarkov(ILLNESS, [[1, 0], [0.5, 0.5], [0, 1]], 5)
    silent = HiddenMarkov(STICKY, [[1, 0], [0.5, 0.5]], 5).pairs()  # (0, 1) never happens: no state
    assert silent.states == ((0, 0), (1, 0), (1, 1)) and silent.stationary


def test_coefficients_and_renyi_curves_cover_every_start():
    rng = np.random.default_rng(8)
    kernel = rng.dirichlet(np.ones(3), 3)
    any_ = fugu.MarkovChain(kernel, 6, "any")
    assert backward_coefficient(any_, 2) == free_start_coefficient(any_, 2)
    curve = translate_zcdp(any_, 0.02, [2, 8])
    for start in rng.dirichlet(np.full(3, 0.4), 8):
        given = fugu.MarkovChain(kernel, 6, start / start.sum())
        assert backward_coefficient(given, 2) <= backward_coefficient(any_, 2)
        told = translate_zcdp(given, 0.02, [2, 8])
        assert told(2) <= curve(2) and told(8) <= curve(8)
    steps = rng.dirichlet(np.ones(3), (5, 3))
    differing = fugu.MarkovChain(steps, 6, "any")
    assert np.isfinite(fugu.influence(differing)(2)) and fugu.translate(differing, 0.2) < 1.2


def test_training_sees_the_patients_who_live():
    """With a stationary start all but the dead were skipped, and far too little was stated; now it is refused."""
    chain = fugu.MarkovChain(ILLNESS, 60, [1, 0, 0], STATES)
    prior = prior_from(chain)
    run = {"learning_rate": 1, "lipschitz": 1, "smoothness": 1e-9, "noise": 1, "records": 60}
    given, worst, alone = (
        float(NoisySGD(60, prior=p, **run).renyi(2).epsilon) for p in (prior, WorstCase(), Independent())
    )
    assert 0.95 * worst < given <= worst and given > 50 * alone
    with pytest.raises(BadLaw, match="no mass"):
        NoisySGD(60, prior=fugu.MarkovChain(ILLNESS, 60), **run)
    assert "'dead' at entries 1 to 2" in prior.words()
    again = prior_of(prior.parameters())
    assert again.words() == prior.words()
    free = prior_from(fugu.MarkovChain(ILLNESS, 60, "any", STATES))
    assert json.loads(json.dumps(free.parameters()))["chains"][0]["initial"] == "any"
    assert prior_of(free.parameters()).chain.free
    assert prior.reach(False, 5) <= free.reach(False, 5) and prior.reach(True, 5) > 0.5


def test_the_ledger_names_what_it_skips_and_translates_outside_its_lock(tmp_path):
    chain = fugu.MarkovChain(ILLNESS, 20, [1, 0, 0], STATES)
    with fugu.Ledger(tmp_path / "l.db", fugu.Pure(1), data="patients", prior=chain) as ledger:
        ledger.spend("one", Charge.per_entry(0.01), lambda: 1)
        with pytest.raises(fugu.errors.BudgetExceeded):
            ledger.spend("two", Charge.per_entry(0.5), lambda: 1)
        entries = ledger.history()
        assert [e.skipped for e in entries] == [chain.skipped] * 2 and chain.skipped
        ledger.verify()
        bodies = [e["body"] for e in ledger.export()["events"] if e["kind"] == "reserved"]
        assert bodies[0]["skipped"] == list(chain.skipped)


def test_two_callers_who_charge_at_once_translate_outside_the_lock(tmp_path, monkeypatch):
    """Another process charges between the look and the lock: the new sum is translated before the lock is taken."""
    from fugu.ledger import accountant, store

    inside, calls = [], []
    real, write = accountant.translated, store.Books.write

    def watched(*args):
        calls.append(bool(inside))
        return real(*args)

    def locked(*args):
        inside.append(1)
        try:
            return write(*args)
        finally:
            inside.pop()

    chain = fugu.MarkovChain(STICKY, 50, [0.5, 0.5])
    terms = (tmp_path / "l.db", fugu.Pure(2), "d", chain)
    with fugu.Ledger(*terms) as one, fugu.Ledger(*terms) as two:
        monkeypatch.setattr(accountant, "translated", watched)
        monkeypatch.setattr(store.Books, "write", locked)
        turns = []

        def overtake(step):
            if step == "reserving" and len(turns) < 2:
                turns.append(step)
                two.spend(f"other {len(turns)}", Charge.per_entry(0.1), lambda: 1)

        one._step = overtake
        one.spend("mine", Charge.per_entry(0.2), lambda: 2)
        assert len(turns) == 2 and calls and not any(calls)
        assert len(one.history()) == 3
        assert fugu.translate(chain, 0.4) == pytest.approx(float(one.spent().epsilon), rel=1e-12)


def test_a_chain_is_copied_and_digested_without_what_was_computed():
    chain = fugu.MarkovChain(STICKY, 30, [0.3, 0.7])
    before = prior_digest(chain)
    value = fugu.translate(chain, 0.3)
    assert prior_digest(chain) == before and "_remembered" in vars(chain)
    for other in (pickle.loads(pickle.dumps(chain)), copy.deepcopy(chain)):
        assert "_remembered" not in vars(other) and fugu.translate(other, 0.3) == value
    assert prior_digest(fugu.MarkovChain(STICKY, 30, "any")) not in (before, prior_digest(fugu.MarkovChain(STICKY, 30)))


def test_answers_are_remembered(monkeypatch):
    chain = fugu.MarkovChain(STICKY, 30, [0.3, 0.7])
    value = fugu.translate(chain, 0.3)
    monkeypatch.setattr(Contraction, "__call__", lambda *_: pytest.fail("computed again"))
    assert fugu.translate(chain, 0.3) == value


def test_a_chain_as_a_document_states_it_is_not_translated_again(monkeypatch):
    """The certificate's chain, and a ledger's, were each translated anew: a dry run took four times as long."""
    chain = fugu.MarkovChain(STICKY, 30, [0.3, 0.7])
    value = fugu.translate(chain, 0.3)
    others = [
        fugu.translate(fugu.MarkovChain(rows, length, start), 0.3)
        for rows, length, start in (
            (STICKY, 31, [0.3, 0.7]), (STICKY, 30, [0.7, 0.3]), (STICKY, 30, "any"), (STICKY, 30, "stationary"),
            ([[0.6, 0.4], [0.1, 0.9]], 30, [0.3, 0.7]),
        )
    ]  # fmt: skip
    assert value not in others
    monkeypatch.setattr(Contraction, "__call__", lambda *_: pytest.fail("computed again"))
    assert fugu.translate(chain_from(chain_json(chain)), 0.3) == value


@pytest.mark.parametrize("near", [1e-4, 0.3, 50.0])
def test_a_budget_for_figures_is_right_to_three_digits_and_every_translation_is_reported(near):
    chain, seen = fugu.MarkovChain(STICKY, 40, [0.3, 0.7]), []
    with reporting(lambda what, *_: seen.append(what)):
        found = rough_budget(chain, 1, near)
    assert found == pytest.approx(fugu.dp_budget(chain, 1), rel=1e-3) and fugu.translate(chain, found) <= 1
    assert len(seen) > 3 and all(what.startswith("what epsilon 1 leaves each entry: translation") for what in seen)
    with reporting(lambda what, *_: seen.append(what)):
        before = len(seen)
        fugu.dp_budget(fugu.MarkovChain(STICKY, 41, [0.3, 0.7]), 1)
    assert len(seen) > before + 3

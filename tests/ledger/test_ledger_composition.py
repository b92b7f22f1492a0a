"""What adds up and what does not: the accountant against enumeration, and refusals of what is not proved."""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
from fugu.cli.app import app
from fugu.errors import BadBudget, BudgetExceeded, NotComposable, NotProvable, UsageError
from fugu.guarantee import Approx, Pure, Renyi, RenyiCurve, pure_as_renyi
from fugu.guarantee.composition import fits
from fugu.ledger import Charge, Ledger
from fugu.ledger.accountant import Charges, Terms, total
from fugu.ledger.charge import left, read_mechanism
from fugu.priors import MarkovChain


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def certified(p=(0, 1), q=(0, 1), epsilon=0.5, label="s=0 vs s=1"):
    return fugu.calibrate(fugu.LawPair(fugu.Discrete(list(p)), fugu.Discrete(list(q)), label), Pure(epsilon))


def test_the_xor_pair_is_refused(path):
    """s XOR r and r have the same law under both secrets, so each alone needs no noise; together they are s."""
    xor, mask = certified(label="s"), certified(label="s")
    assert xor.noise.scale == 0 and mask.noise.scale == 0
    ledger = fugu.Ledger(path, Pure(10), data="bits")
    ledger.spend("s xor r", xor, lambda: 1)
    with pytest.raises(NotComposable, match="second law-based release") as refused:
        ledger.spend("r", mask, lambda: pytest.fail("must not be evaluated"))
    assert "joint law" in refused.value.advice and "independent data" in refused.value.advice
    assert "PerEntryDP" in refused.value.advice and refused.value.exit_code == 4
    assert [(e.request, e.state) for e in ledger.history()] == [("s xor r", "settled"), ("r", "refused")]
    assert ledger.spend("s xor r", xor, lambda: pytest.fail("stored")) == 1
    assert ledger.spent() == Pure(0.5)


def test_ten_spends_of_a_tenth_are_one_and_not_a_bit_more(path):
    ledger = fugu.Ledger(path, Pure(1))
    for k in range(10):
        ledger.spend(f"{k}", Charge.per_entry(0.1), lambda: 0)
    assert sum([0.1] * 10) != 1  # what adding floats would have charged
    assert ledger.spent() == Pure(1) and ledger.remaining() == Pure(0)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.spend("more", Charge.per_entry(1e-300), lambda: 0)
    assert refused.value.exit_code == 3
    assert (refused.value.spent, refused.value.asked, refused.value.left) == (Pure(1), Pure(1e-300), Pure(0))
    assert all(word in str(refused.value) for word in ("spent", "asked", "left"))


def entry(guarantee, count=1, first=9, planned=False):
    return Charges(Charge.per_entry(guarantee), count, first, planned)


def law(guarantee, first=1, planned=False, **more):
    return Charges(Charge("law", guarantee, "beliefs", **more), 1, first, planned)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_law_based_release_beside_per_entry_ones_costs_n_epsilon_and_xor_reaches_it(n):
    """Oracle: enumerate r in {0,1}^n, release s xor (parity of r) exactly, and randomised response on every r_i.

    The law-based part leaks 0. Given it, both secrets fix the parity of r, and the worst ratio tends to e^{n e}."""
    e = 0.3
    keep, flip = (mpmath.e**x / (1 + mpmath.e**e) for x in (e, 0))

    def probability(s, parity, answers):
        tables = [r for r in itertools.product((0, 1), repeat=n) if s ^ (sum(r) % 2) == parity]
        parts = (math.prod(keep if a == b else flip for a, b in zip(r, answers, strict=True)) for r in tables)
        return sum(parts) / 2**n

    worst = max(
        abs(mpmath.log(probability(0, p, o) / probability(1, p, o)))
        for p in (0, 1)
        for o in itertools.product((0, 1), repeat=n)
    )
    stated = total([law(Pure(0)), entry(Pure(e))], Terms(Pure(9), entries=n))
    assert stated == Pure(Fraction(3, 10) * n)
    assert worst <= float(stated.epsilon) + 1e-12
    if n == 1:
        assert worst == pytest.approx(0.3)  # reached: eps1 + b eps + a with b = 0 would be false


def planned(*charges):
    return [Charges(c.charge, c.count, c.first, True) for c in charges]


def test_group_delta_to_fifty_digits():
    mpmath.mp.dps = 50
    stated = total(planned(law(Approx(1, 1e-6)), entry(Approx(0.2, 1e-9))), Terms(Pure(9), entries=7))
    true = mpmath.mpf("1e-6") + mpmath.mpf("1e-9") * mpmath.expm1(mpmath.mpf("1.4")) / mpmath.expm1(mpmath.mpf("0.2"))
    given = mpmath.mpf(Fraction(stated.delta).numerator) / Fraction(stated.delta).denominator
    assert stated.epsilon == 2.4 and 0 <= given - true < 1e-20
    assert given > mpmath.mpf("1e-6") + 7 * mpmath.mpf("1e-9")  # n delta would be too little


def test_without_the_number_of_entries_a_mix_is_refused():
    with pytest.raises(NotComposable, match="entries=n"):
        total([law(Pure(1)), entry(0.1)], Terms(Pure(9)))
    chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=8)
    with pytest.raises(NotComposable, match="entries=n"):  # one chain for each of many users: its length is no n
        total([law(Pure(1)), entry(0.1)], Terms(Pure(9), chain))
    assert total([law(Pure(1)), entry(0.1)], Terms(Pure(9), chain, entries=8)) == Pure(1.8)
    with pytest.raises(UsageError, match="8 entries"):
        Terms(Pure(9), chain, entries=7)


def test_per_entry_charges_are_added_first_and_translated_once(path):
    from fugu.translation.translate import translate

    chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=60)
    ledger = fugu.Ledger(path, Pure(2), prior=chain)
    for k in range(4):
        ledger.spend(f"{k}", Charge.per_entry(0.2), lambda: 0)
    assert ledger.spent() == Pure(translate(chain, 0.8))
    assert float(ledger.spent().epsilon) > 0.8  # the plain sum is no guarantee here
    with pytest.raises(BudgetExceeded):
        ledger.spend("more", Charge.per_entry(0.2), lambda: 0)
    kinds = fugu.Ledger(path.with_name("other.db"), Approx(3, 1e-5), prior=chain)
    kinds.spend("one", Charge.per_entry(Approx(0.3, 1e-9)), lambda: 0, planned=True)
    kinds.spend("two", Charge.per_entry(Approx(0.3, 1e-9)), lambda: 0, planned=True)
    assert fits(kinds.spent(), Approx(3, 1e-5)) and kinds.spent().epsilon > 0.6
    with pytest.raises(NotComposable, match="planned=True"):
        kinds.spend("three", Charge.per_entry(Approx(0.1, 1e-9)), lambda: 0)


@pytest.mark.parametrize(
    ("charges", "budget", "sure"),
    [
        ([entry(Approx(0.1, 1e-6), 3)], Approx(1, 1e-5), True),
        ([entry(Approx(0.1, 1e-6), 3)], Renyi(2, 1), False),
        ([entry(Renyi(2, 0.1), 3)], Renyi(2, 1), True),
        ([entry(Renyi(2, 0.1), 3)], Approx(1, 1e-5), False),
        ([entry(Pure(0.1), 3)], RenyiCurve({2: 1, 4: 2}), True),
        ([law(Approx(1, 1e-6), 1), entry(Pure(0.1), 3, 2)], Approx(9, 1e-5), True),
        ([law(Approx(1, 1e-6), 5), entry(Pure(0.1), 3, 2)], Approx(9, 1e-5), False),
        ([law(Pure(1), 5), entry(Pure(0.1), 3, 2)], Pure(9), True),
    ],
)
def test_parameters_chosen_on_the_way_are_covered_only_where_a_theorem_says_so(charges, budget, sure):
    terms = Terms(budget, entries=4)
    if sure:
        assert fits(total(charges, terms), budget)
    else:
        with pytest.raises(NotComposable):
            total(charges, terms)


def test_renyi_charges_add_order_by_order():
    terms = Terms(RenyiCurve({2: 1, 8: 4}))
    found = total([entry(RenyiCurve({2: 0.1, 8: 0.4}), 2), entry(Pure(0.1), 3)], terms)
    pure = {a: Fraction(pure_as_renyi(Fraction(1, 10), Fraction(a))) for a in (2, 8)}
    assert found.epsilons == {2: Fraction(2, 10) + 3 * pure[2], 8: Fraction(8, 10) + 3 * pure[8]}
    assert pure[2] < Fraction(1, 10)
    rest = left(found, terms.budget)
    assert 0 < float(rest(2)) < 1 - 0.2
    with pytest.raises(NotComposable, match="common order"):
        total(planned(entry(Renyi(2, 0.1)), entry(Renyi(2, 0.2))), Terms(Renyi(4, 1)))


def test_independent_blocks_and_point_masses_add(path):
    ledger = fugu.Ledger(path, Pure(2), blocks=("north", "south"))
    ledger.spend("north", certified((0, 1), (1, 2)), lambda: 0, block="north")
    ledger.spend("south", certified((0, 1), (1, 2)), lambda: 0, block="south")
    assert ledger.spent() == Pure(1)
    with pytest.raises(NotComposable):
        ledger.spend("again", certified((0, 1), (1, 2)), lambda: 0, block="north")
    with pytest.raises(NotComposable):
        ledger.spend("all", certified((0, 1), (1, 2)), lambda: 0)
    known = fugu.Ledger(path, Pure(2), data="known")
    first, second = certified([3], [4]), certified([10], [30])
    known.spend("one", first, lambda: 0, point_masses=True)
    known.spend("two", second, lambda: 0, point_masses=True)
    assert known.spent() == Pure(1)
    for other, words in ((certified([1], [2], label="other"), {"point_masses": True}), (certified([5], [6]), {})):
        with pytest.raises(NotComposable):
            known.spend("three", other, lambda: 0, **words)
    with pytest.raises(UsageError, match="one atom"):
        known.spend("four", certified((0, 1), (1, 2)), lambda: 0, point_masses=True)


def test_translates_of_an_unknown_law_do_not_pass_for_point_masses(path):
    """Their certificates look like two point masses; without the caller's word a second one is refused."""
    ledger = fugu.Ledger(path, Pure(9))
    ledger.spend("one", fugu.calibrate(fugu.Shifted(1), Pure(1)), lambda: 0)
    with pytest.raises(NotComposable):
        ledger.spend("two", fugu.calibrate(fugu.Shifted(1), Pure(1)), lambda: 0)


def test_random_sums_are_exact_and_never_above_the_budget(path):
    rng = np.random.default_rng(3)
    for trial in range(20):
        ledger = fugu.Ledger(path, Approx(1, 1e-3), data=f"set {trial}")
        spent = [Fraction(0), Fraction(0)]
        for k in range(12):
            e, d = Fraction(int(rng.integers(1, 300)), 1000), Fraction(int(rng.integers(0, 3)), 10**4)
            fine = spent[0] + e <= 1 and spent[1] + d <= Fraction(1, 1000)
            charge = Charge.per_entry(Approx(e, d) if d else Pure(e))
            if fine:
                ledger.spend(f"{k}", charge, lambda: 0)
                spent = [spent[0] + e, spent[1] + d]
            else:
                with pytest.raises(BudgetExceeded):
                    ledger.spend(f"{k}", charge, lambda: 0)
        assert ledger.spent() == Approx(*spent)
        assert ledger.remaining() == Approx(1 - spent[0], Fraction(1, 1000) - spent[1])


def test_a_delta_of_one_or_a_mix_without_a_proof_never_fits(path):
    ledger = fugu.Ledger(path, Approx(5, 0.9), entries=3)
    ledger.spend("a", Charge.per_entry(Approx(1, 0.6)), lambda: 0)
    with pytest.raises(BudgetExceeded):
        ledger.spend("b", Charge.per_entry(Approx(1, 0.6)), lambda: 0)
    with pytest.raises(NotProvable):
        total(planned(law(Renyi(2, 1)), entry(Renyi(2, 0.1))), Terms(Renyi(2, 9), entries=3))


def test_what_is_left_is_said_in_the_language_of_the_budget():
    curve = RenyiCurve({2: 0.1, math.inf: 0.5})
    assert left(curve, Pure(2)) == Pure(1.5) and left(Renyi(2, 0.1), Pure(2)) == Pure(0)
    assert left(Renyi(2, 0.1, 1e-3), Approx(1, 1e-3)) == Approx(0, 0)
    rest = left(Renyi(2, 0.1), Approx(9, 1e-5))
    assert rest.epsilon <= 9 - 7.87 and rest.delta == 0
    assert left(Pure(0.25), Approx(1, 1e-5)) == Approx(0.75, 1e-5)
    assert left(Pure(5), Pure(1)) == Pure(0)


LAW = Charge("law", Pure(0.5), anybody=Fraction(2))


def test_every_charge_has_an_epsilon_against_anybody():
    assert Charge.per_entry(0.1).anybody == Fraction(1, 10)
    assert Charge.per_entry(Approx(1, 1e-6)).anybody == 1
    assert Charge.per_entry(Renyi(2, 1)).anybody is None and Charge("law", Pure(1)).anybody is None
    for charge in (LAW, Charge.per_entry(0.1), Charge("per-entry", Pure(1), anybody=Fraction(3))):
        assert Charge.parse(charge.text()) == charge
    for wrong in (Fraction(9, 10), 1.0, "1"):
        with pytest.raises(UsageError, match="anybody"):
            Charge("per-entry", Pure(1), anybody=wrong)


def test_requests_of_earlier_versions_keep_their_names():
    """What is asked does not depend on the second epsilon, which they did not write."""
    assert read_mechanism(LAW)[1] == read_mechanism(Charge("law", Pure(0.5)))[1]
    assert "anybody" not in Charge.per_entry(0.5).text() and "anybody" not in Charge("law", Pure(0.5)).text()


def test_the_cap_refuses_what_the_budget_would_grant_and_says_which(tmp_path):
    with Ledger(tmp_path / "l.db", Pure(10), data="d", cap=0.5) as ledger:
        ledger.spend("a", Charge.per_entry(0.3), lambda: 1)
        with pytest.raises(BudgetExceeded, match="against anybody") as refusal:
            ledger.spend("b", Charge.per_entry(0.3), lambda: pytest.fail("must not run"))
        assert refusal.value.left == Pure(0.2) and refusal.value.budget == Pure(0.5)
        ledger.spend("c", Charge.per_entry(0.2), lambda: 1)  # exactly the cap
        assert ledger.against_anybody() == Pure(0.5) == ledger.spent() and ledger.cap == Fraction(1, 2)
        with pytest.raises(BudgetExceeded, match="budget of data set"):
            ledger.spend("d", Charge.per_entry(11), lambda: pytest.fail("must not run"))
    with Ledger(tmp_path / "l.db", Pure(10), data="e", cap=3) as other:
        other.spend("a", LAW, lambda: 1)
        assert other.against_anybody() == Pure(2) and other.spent() == Pure(0.5)
    other = Ledger(tmp_path / "l.db", Pure(10), data="f", cap=3)
    with pytest.raises(BudgetExceeded, match="asked none"):
        other.spend("a", Charge("law", Pure(0.5)), lambda: pytest.fail("must not run"))


def test_a_cap_is_given_once(tmp_path):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(1), data="d") as early:  # as versions before 0.4 made it
        early.spend("a", Charge("law", Pure(1)), lambda: 1)
        assert early.cap is None and early.against_anybody() is None
    Ledger(path, Pure(1), data="d", cap=5).close()
    assert Ledger(path, Pure(1), data="d").cap == 5
    Ledger(path, Pure(1), data="d", cap=5.0).close()
    with pytest.raises(UsageError, match=r"another cap.*5.*6"):
        Ledger(path, Pure(1), data="d", cap=6)
    for wrong in (0, -1, math.inf, "1", True):
        with pytest.raises((BadBudget, UsageError), match="cap"):
            Ledger(path, Pure(1), data="new", cap=wrong)


def test_show_begins_with_both_promises(tmp_path):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(1), data="d", cap=5) as ledger:
        ledger.spend("a", Charge("law", Pure(0.5), anybody=Fraction(2)), lambda: 1)
    told = CliRunner().invoke(app, ["ledger", "show", str(path)]).output
    first, second = told.index("1.65 (epsilon 0.5)."), told.index("7.39 (epsilon 2).")
    assert (
        told.index("Promise: whoever believes") < first < told.index("Against anybody, whatever they believe") < second
    )
    assert "cap   epsilon 5 against anybody" in told
    found = json.loads(CliRunner().invoke(app, ["ledger", "show", str(path), "--json"]).output)
    assert found["data sets"][0]["cap"] == 5 and found["requests"][0]["against anybody"] is not None


def test_no_order_of_charges_breaks_either_promise(tmp_path):
    """Against sums by hand; a ledger that looked at one of the two alone would grant what the other forbids."""
    rng, both = random.Random(3), [0, 0]
    for case in range(40):
        budget, cap = Fraction(rng.randint(1, 9), 4), Fraction(rng.randint(1, 9), 4)
        with Ledger(tmp_path / f"{case}.db", Pure(budget), data="d", cap=cap) as ledger:
            spent = anybody = Fraction(0)
            for k in range(8):
                own = Fraction(rng.randint(0, 4), 8)
                most = own + Fraction(rng.randint(0, 4), 8)
                granted = spent + own <= budget and anybody + most <= cap
                try:
                    ledger.spend(f"{k}", Charge("per-entry", Pure(own), anybody=most), lambda: 1)
                    assert granted
                    spent, anybody = spent + own, anybody + most
                except BudgetExceeded as refusal:
                    assert not granted
                    both["anybody" in str(refusal)] += 1
            assert (ledger.spent(), ledger.against_anybody()) == (Pure(spent), Pure(anybody))
    assert min(both) > 10

"""Who is in it: a person has one budget, in however many tables, whatever these are called."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import islice, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fugu.cli.console import spoken
from fugu.errors import BudgetExceeded, BudgetRefused, DataKnown, LedgerBroken, NotComposable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.ledger import Books, Charge, Ledger, books, fingerprints
from fugu.ledger.accountant import Charges
from fugu.ledger.books import Standing, accounts
from fugu.ledger.gathering import Words, memberships
from fugu.ledger.gathering import beyond_chance as of_words
from hunting import search
from ledger_files import in_memory

TENTH = Charge.per_entry(0.1)


def beyond_chance(first, second):
    return of_words(Words.of(first), Words.of(second))


SPELLINGS = (str, int, float, lambda k: f" {k}", lambda k: f"{k:03d}", lambda k: f"{k}.0")


def world(rng, folder, opened=Ledger):
    """Few people, several tables that overlap, charges with and without delta: against sums for each person."""
    people = rng.randint(1, 7)
    delta = rng.random() < 0.5
    limits = {}
    tables = {}
    for k in range(rng.randint(2, 5)):
        inside = [p for p in range(people) if rng.random() < rng.choice([0.3, 0.6])] or [rng.randrange(people)]
        budget = (Fraction(rng.randint(4, 9), 8), Fraction(rng.randint(0, 3), 8) if delta else Fraction(0))
        cap = Fraction(rng.randint(4, 10), 8) if rng.random() < 0.3 else None
        name = rng.choice(["b", "a", "year"]) + f" {k}"
        tables[name], limits[name] = inside, (*budget, cap)
    granted: dict[str, list[tuple[Fraction, Fraction]]] = {name: [] for name in tables}
    now, entered, words = dict(tables), set(), {}
    outcome = Counter()
    for step in range(rng.randint(3, 14)):
        name = rng.choice(list(tables))
        if rng.random() < 0.3:  # its file is another one: who is in it now joins those who were
            now[name] = rng.sample(range(people), rng.randint(1, people))
        tables[name] = sorted({*now[name], *tables[name]}) if name in entered else now[name]
        others = [t for t in entered - {name} if rng.random() < 0.2]
        entered.add(name)
        words |= {(name, t): {*tables[name]} & {*tables[t]} for t in others}
        asked = (Fraction(rng.randint(0, 4), 8), Fraction(rng.choice([0, 0, 1]), 8) if delta else Fraction(0))
        fits = True
        for person in tables[name]:
            holding = [t for t in tables if held_by(name, t, person, tables, words)]
            summed = [sum((c[i] for t in holding for c in granted[t]), asked[i]) for i in (0, 1)]
            used = [t for t in holding if granted[t] or t == name]  # a table nobody asked promised nothing
            fits &= all(
                summed[0] <= limits[t][0]
                and summed[1] <= limits[t][1]
                and (limits[t][2] is None or summed[0] <= limits[t][2])
                for t in used
            )
        spelled = rng.choice(SPELLINGS)
        budget = Approx(*limits[name][:2]) if delta and limits[name][1] else Pure(limits[name][0])
        ledger = opened(
            folder / "l.db", budget, data=name, cap=limits[name][2],
            other_people=others,
            people=[spelled(p) for p in rng.sample(now[name], len(now[name]))],
        )  # fmt: skip
        charge = Charge.per_entry(Approx(*asked) if asked[1] else Pure(asked[0]))
        try:
            ledger.spend(f"q{step}", charge, lambda: 1)
            assert fits, "granted more than somebody's budget"
            granted[name].append(asked)
        except (BudgetExceeded, NotComposable):
            assert not fits, "refused although everybody's sum fits"
        outcome[fits] += 1
        stated(ledger, tables, limits, granted, words)
    return outcome


def held_by(name, t, person, tables, words):
    """Whether a person of one table is in another: not by a word that was said when both had them."""
    told = person in words.get((name, t), ()) or person in words.get((t, name), ())
    return t == name or (person in tables[t] and person in tables[name] and not told)


def stated(ledger, tables, limits, granted, words):
    """What a ledger says is spent and left is what holds for whoever has the largest sum, in whatever tables."""
    spent, left, anybody = [Fraction(0), Fraction(0)], [*limits[ledger.data][:2]], Fraction(0)
    for person in tables[ledger.data]:
        holding = [t for t in tables if held_by(ledger.data, t, person, tables, words)]
        holding = [t for t in holding if granted[t] or t == ledger.data]
        summed = [sum((c[i] for t in holding for c in granted[t]), Fraction(0)) for i in (0, 1)]
        rest = [min(limits[t][i] - summed[i] for t in holding) for i in (0, 1)]
        spent = [*map(max, spent, summed)]
        left = [*map(min, left, rest if min(rest) >= 0 else (Fraction(0), Fraction(0)))]
        anybody = max(anybody, summed[0])
    found, rest = ledger.spent(), ledger.remaining()
    assert [found.epsilon, found.delta] == spent and ledger.against_anybody().epsilon == anybody
    assert [rest.epsilon, rest.delta] == left
    shown = {one.own.name: one for one in Books(ledger.path).read(lambda v: accounts(v, books.history(v)))}
    one = shown[ledger.data]
    assert (one.spent, one.worth, one.left, one.anybody) == (found, found, rest, ledger.against_anybody())
    assert {*one.others} == {
        t
        for t in tables
        if t != ledger.data and granted[t] and any(held_by(ledger.data, t, p, tables, words) for p in range(7))
    }


@search("people in several tables: sums by hand, for each person", quick=60)
def test_nobody_is_charged_more_than_the_budget_and_nothing_is_refused_without_need(seed):
    with in_memory() as folder:
        world(random.Random(seed), folder)


def test_the_worlds_grant_and_refuse_and_catch_ledgers_that_go_by_names():
    class ByName(Ledger):
        """Wrong on purpose, as version 0.3 was: every name has a budget of its own."""

        def __init__(self, *args, people=None, **more):
            del people
            super().__init__(*args, **more)

    class ByTable(Ledger):
        """Wrong on purpose: adds the charges of all tables that share anybody, whoever it is."""

        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            groups = self._shared._looked_up
            self._shared._looked_up = lambda view: [frozenset().union(*groups(view))]

    class ByWord(Ledger):
        """Wrong on purpose: a word about other people is one about names, and covers whoever joins later."""

        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            groups = self._shared._looked_up
            self._shared._looked_up = lambda view: [group - self.told(view) for group in groups(view)]

        def told(self, view):
            sets = view.state.sets
            return {t for t in sets if t in sets[self.data].apart or self.data in sets[t].apart}

    def catches(seed, kind):
        with in_memory() as folder:
            try:
                world(random.Random(seed), folder, kind)
            except AssertionError:
                return True
        return False

    met = Counter()
    for seed in range(15):
        with in_memory() as folder:
            met += world(random.Random(seed), folder)
    assert min(met.values()) > 20
    for kind, often in ((ByName, 11), (ByTable, 1), (ByWord, 4)):
        seen = (seed for seed in range(40) if catches(seed, kind))
        assert len(list(islice(seen, often))) == often, kind


def test_names_never_decide(tmp_path):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(1), data="january", people=["7", "8"]) as first:
        first.spend("q", Charge.per_entry(0.8), lambda: 1)
    for name, person in (("february", 7), ("march", "007"), ("april", 7.0), ("may", " 7 "), ("june", np.int64(7))):
        with Ledger(path, Pure(1), data=name, people=[person, "9"]) as later:
            with pytest.raises(BudgetExceeded, match=r"'january'.*one budget") as refusal:
                later.spend("q", Charge.per_entry(0.3), lambda: pytest.fail("must not run"))
            assert "7" not in str(refusal.value).replace("1.1", "") and " 1 " not in str(refusal.value)
    with Ledger(path, Pure(1), data="july", people=["9", "10"]) as other:
        other.spend("q", Charge.per_entry(1), lambda: 1)


def test_the_file_holds_no_id_and_a_set_once(tmp_path):
    path = tmp_path / "l.db"
    ids = [f"patient-{k}" for k in range(50)]
    for name in ("one", "two"):
        Ledger(path, Pure(1), data=name, people=ids[::-1]).spend("q", TENTH, lambda: 1)
    content = path.read_bytes()
    assert not any(i.encode() in content for i in ids) and "patient" not in json.dumps(Books(path).read(books.export))
    stored = {known.people for known in Books(path).read(lambda view: list(view.state.sets.values()))}
    assert len(stored) == 1 and content.count(next(iter(stored))[0][0].encode()) >= 4  # named by sets and charges


def test_missing_ids_are_refused(tmp_path):
    for wrong in ([1, None], [float("nan")], "12"):
        with pytest.raises(UsageError, match="names the person"):
            Ledger(tmp_path / "l.db", Pure(1), data="d", people=wrong)


def test_a_refusal_for_people_of_other_tables_names_these_and_the_option_once():
    one = Standing("one", SimpleNamespace(prior="", records=False, entries=None), Pure(9), None, (), None)
    with pytest.raises(NotComposable, match="'two', 'three'") as refusal:
        one.promise([Charges(TENTH)], ("two", "three"))
    assert spoken(str(refusal.value)).count("--other-people") == 1


def test_law_based_releases_of_the_same_people_do_not_add(tmp_path):
    """s xor r in one table and r in another: each leaks nothing, together they are the secret."""
    path, law = tmp_path / "l.db", Charge("law", Pure(0))
    Ledger(path, Pure(9), data="one", people=[1, 2]).spend("s xor r", law, lambda: 1)
    with pytest.raises(NotComposable, match=r"'one'.*other people"):
        Ledger(path, Pure(9), data="two", people=[2, 3]).spend("r", law, lambda: pytest.fail("must not run"))
    with pytest.raises(NotComposable, match="'one'"):
        Ledger(path, Pure(9), data="two", people=[2, 3]).spend("r", TENTH, lambda: pytest.fail("must not run"))
    assert Ledger(path, Pure(9), data="three", people=[3]).spend("r", law, lambda: 1) == 1


def test_other_people_is_a_statement_that_is_recorded(tmp_path):
    """Two hospitals number their patients from 1."""
    path = tmp_path / "l.db"
    Ledger(path, Pure(1), data="north", people=[1, 2]).spend("q", Charge.per_entry(1), lambda: 1)
    with pytest.raises(BudgetExceeded, match="other_people"):
        Ledger(path, Pure(1), data="south", people=[1, 2]).spend("q", TENTH, lambda: pytest.fail("must not run"))
    with pytest.raises(UsageError, match=r"no other data set 'nrth'.*'north'"):
        Ledger(path, Pure(1), data="south", people=[1, 2], other_people=["nrth"])
    with Ledger(path, Pure(1), data="south", people=[1, 2], other_people=["north"]) as south:
        assert south.spend("q", TENTH, lambda: 1) == 1
        assert [e["body"]["apart"] for e in south.export()["events"] if "apart" in e["body"]] == [["north"]]
        assert south.other_people == ("north",)
    assert Ledger(path, Pure(1), data="south", people=[1, 2]).spend("r", TENTH, lambda: 1) == 1  # said once
    with pytest.raises(UsageError, match="list of names"):
        Ledger(path, Pure(1), data="south", other_people="north")


@pytest.mark.parametrize("charged", [True, False])
def test_a_word_about_other_people_covers_who_was_there_when_it_was_said(tmp_path, charged):
    path = tmp_path / "l.db"
    Ledger(path, Pure(1), data="B", people=[1, 2, 3]).spend("q", Charge.per_entry(1), lambda: 1)
    told = Ledger(path, Pure(1), data="A", people=[7, 8], other_people=["B"])
    if charged:
        told.spend("q", TENTH, lambda: 1)
    with pytest.raises(BudgetExceeded, match="other_people"):
        Ledger(path, Pure(1), data="A", people=[1, 2, 3]).spend("r", TENTH, lambda: pytest.fail("must not run"))
    again = Ledger(path, Pure(1), data="A", people=[1, 2, 3], other_people=["B"])
    assert again.spend("r", TENTH, lambda: 1) == 1 and again.other_people == ("B",)
    Ledger(path, Pure(1), data="B", people=[7]).close()  # joins the other side, whose budget is used up
    with pytest.raises(BudgetExceeded, match="'B'"):
        told.spend("s", TENTH, lambda: pytest.fail("must not run"))


def test_a_word_about_other_rows_covers_the_rows_that_were_there(tmp_path):
    path, wide = tmp_path / "l.db", np.arange(N)
    one, two = ({"w": wide, "x": np.random.default_rng(k).normal(size=N)} for k in (1, 2))
    Ledger(path, Pure(1), data="B", fingerprint=one).spend("q", Charge.per_entry(1), lambda: 1)
    Ledger(path, Pure(1), data="A", fingerprint=two, other_people=["B"]).spend("q", TENTH, lambda: 1)
    assert Ledger(path, Pure(1), data="A", fingerprint=two).spend("r", TENTH, lambda: 1) == 1  # said once
    with pytest.raises(DataKnown, match="'B'"):
        Ledger(path, Pure(1), data="A", fingerprint=one)


N = 200
RNG = np.random.default_rng(5)
TABLE = {"x": RNG.normal(size=N).round(3), "y": RNG.integers(0, 9, N), "z": RNG.integers(0, 99, N)}


def rows(table, chosen):
    return {name: np.asarray(column)[chosen] for name, column in table.items()}


EXTRACTS = {
    "one row less": rows(TABLE, slice(1, None)),
    "one row more": {n: np.append(c, c[0] + 1) for n, c in TABLE.items()},
    "half": rows(TABLE, slice(0, N, 2)),
    "half, edited": rows({**TABLE, "y": np.where(np.arange(N) % 4, TABLE["y"], 77)}, slice(0, N // 2)),
    "beside as many others": {n: np.concatenate([c[:100], np.random.default_rng(9).permutation(c)[:100] + 0.5])
                              for n, c in TABLE.items()},
}  # fmt: skip


@pytest.mark.parametrize("change", EXTRACTS)
def test_without_a_unit_shared_rows_beyond_chance_are_shared_people(tmp_path, change):
    path = tmp_path / "l.db"
    Ledger(path, Pure(1), data="one", fingerprint=TABLE).spend("q", Charge.per_entry(0.7), lambda: 1)
    with Ledger(path, Pure(1), data="two", fingerprint=EXTRACTS[change]) as two:
        with pytest.raises(BudgetExceeded, match="'one'"):
            two.spend("q", Charge.per_entry(0.4), lambda: pytest.fail("must not run"))
        assert two.spend("q", Charge.per_entry(0.3), lambda: 1) == 1
    with Ledger(path, Pure(1), data="three", fingerprint=EXTRACTS[change], other_people=["one", "two"]) as three:
        assert three.spend("q", Charge.per_entry(1), lambda: 1) == 1


def test_other_people_of_the_same_law_are_other_people(tmp_path):
    """No false alarm: rows of few values, of many, of different laws and sizes; and the test is not deaf."""
    rng = np.random.default_rng(2)
    for kinds in ((2, 2), (9, 99), (30, 1000), (10**6, 10**6)):
        alarms = Counter()
        for _ in range(150):
            size, more = rng.integers(30, 2000, 2)
            skew = rng.choice([1, 3])
            first = (rng.random(size) ** skew * kinds[0]).astype(np.uint64)
            second = (rng.random(more) * kinds[1]).astype(np.uint64)
            alarms["other"] += beyond_chance(first, second)
            whole = np.concatenate([first[: size // 2 + 1], second])
            alarms["shared"] += beyond_chance(first, whole)
        assert alarms["other"] == 0
        assert kinds[0] < 10**6 or alarms["shared"] > 100


def by_hand(first, second):
    """The same from the definition: rows that are twice in both together, against a fair coin."""
    one, two = Counter(first), Counter(second)
    twice = [r for r in {*one, *two} if one[r] + two[r] == 2]
    across = sum(one[r] == two[r] == 1 for r in twice)
    coin = sum(Fraction(1, 2) ** len(twice) * _choose(len(twice), k) for k in range(across, len(twice) + 1))
    return coin < Fraction(1, 10**9)


def _choose(n, k):
    found = 1
    for i in range(k):
        found = found * (n - i) // (i + 1)
    return found


def test_beyond_chance_is_what_it_says():
    rng, met = random.Random(1), Counter()
    for _ in range(300):
        most, size = rng.choice([40, 100, 1000]), rng.randint(0, 90)
        first = [rng.randrange(most) for _ in range(size)]
        second = rng.sample(first, rng.randint(0, size)) + [rng.randrange(most) for _ in range(rng.randint(0, 30))]
        found = beyond_chance(np.array(first, dtype=np.uint64), np.array(second, dtype=np.uint64))
        assert found == by_hand(first, second)
        met[found] += 1
    assert min(met[True], met[False]) > 15


def test_memberships_are_those_of_the_definition():
    rng = random.Random(4)
    for _ in range(300):
        own = rng.sample(range(20), rng.randint(1, 12))
        others = {name: rng.sample(range(20), rng.randint(0, 15)) for name in "abcde"[: rng.randint(0, 5)]}
        wanted = {frozenset(n for n, people in others.items() if p in people) for p in own}
        wanted = {one for one in wanted if not any(one < other for other in wanted)}
        sets = {name: np.sort(np.array(people, dtype=np.uint64)) for name, people in others.items()}
        assert set(memberships(np.sort(np.array(own, dtype=np.uint64)), sets)) == wanted


def test_a_panel_with_the_same_columns_is_recognised_by_its_people_and_not_refused(tmp_path):
    """The same people every month: ids and years of birth are the same columns, and the charges add up."""
    path = tmp_path / "l.db"
    ids = np.arange(100)
    for month in range(3):
        table = {"id": ids, "born": 1900 + ids, "x": np.random.default_rng(month).normal(size=100)}
        with Ledger(path, Pure(1), data=f"month {month}", fingerprint=fingerprints(table, ids.tolist())) as ledger:
            if month < 2:
                assert ledger.spend("q", Charge.per_entry(0.5), lambda: 1) == 1
            else:
                with pytest.raises(BudgetRefused, match="'month 0', 'month 1'"):
                    ledger.spend("q", TENTH, lambda: pytest.fail("must not run"))
    other = {"id": ids, "born": 1900 + ids, "row": ids[::-1] + 1000}
    with pytest.raises(DataKnown, match="same"):  # another column is said to name the person: nobody is shared
        Ledger(path, Pure(1), data="dodged", fingerprint=fingerprints(other, other["row"].tolist()))


def worth(epsilon, p, q):
    """T(epsilon; p, q), over all subsets, in both orders."""
    a, most = np.exp(epsilon) - 1, 0.0
    for inside in product((0, 1), repeat=len(p)):
        one, two = np.dot(p, inside), np.dot(q, inside)
        most = max(most, abs(np.log1p(a * one) - np.log1p(a * two)))
    return most


def release(rng, states, epsilon):
    """A random channel that is epsilon-private for the change of a state: rows of probabilities."""
    table = np.exp(rng.uniform(0, epsilon / 2, size=(states, rng.integers(2, 5))))
    if rng.random() < 0.5:  # extreme: each output is likely or not
        table = np.exp(epsilon / 2 * rng.integers(0, 2, size=table.shape))
    return table / table.sum(axis=1, keepdims=True)


def loss(joint, first, second):
    """The largest loss about the secret over all pairs of outputs, in both orders; joint[s, x, y]."""
    seen = np.einsum("sxy,xa,yb->sab", joint, first, second)
    return float(np.abs(np.log(seen[0]) - np.log(seen[1])).max())


def case(rng):
    """joint law of (X, Y) given each secret, and two releases; X alone has the law that the belief speaks of."""
    x, y = rng.integers(2, 5, size=2)
    p, q = rng.dirichlet(np.ones(x) * rng.choice([0.3, 1, 9]), size=2)
    if rng.random() < 0.3:
        q = p
    given = rng.dirichlet(np.ones(y) * rng.choice([0.05, 1]), size=(2, x))
    joint = np.stack([p[:, None] * given[0], q[:, None] * given[1]])
    epsilons = rng.choice([0.1, 1, 3, 8], size=2)
    return p, q, joint, epsilons, release(rng, x, epsilons[0]), release(rng, y, epsilons[1])


@search("one person in two tables: what the first is worth and the plain epsilon of the second", quick=300)
def test_what_other_tables_charge_adds_with_its_plain_epsilon(rng):
    p, q, joint, epsilons, first, second = case(rng)
    true = loss(joint, first, second)
    assert true <= worth(epsilons[0], p, q) + epsilons[1] + 1e-9
    assert true <= epsilons.sum() + 1e-9


def test_nothing_less_is_true():
    """X = s xor r and Y = r: worth 0 each; the sum of both, or one record with both charges, is 0 and false."""
    fair = np.full((2, 2), 0.5)
    joint = np.zeros((2, 2, 2))
    for s, r in product((0, 1), repeat=2):
        joint[s, s ^ r, r] = 0.5
    assert np.allclose(joint.sum(axis=2), fair) and np.allclose(joint.sum(axis=1), fair)
    for epsilon in (0.1, 1, 3):
        response = np.array([[np.exp(epsilon), 1], [1, np.exp(epsilon)]]) / (1 + np.exp(epsilon))
        plain = np.array([[1 - 1e-12, 1e-12], [1e-12, 1 - 1e-12]])  # X as it is
        assert abs(loss(joint, plain, response) - epsilon) < 1e-6
        assert worth(30, fair[0], fair[1]) + worth(epsilon, fair[0], fair[1]) == 0


def test_a_delta_path_by_path_is_false_beside_questions_of_a_session():
    k, delta = 20, 0.01
    exclude = np.zeros((k + 1, k + 1))  # state, z; z = 0 is nothing
    for state in range(k + 1):
        exclude[state, 1:] = [delta * (j != state) for j in range(1, k + 1)]
        exclude[state, 0] = 1 - exclude[state, 1:].sum()
    gaps = [np.maximum(exclude[a] - exclude[b], 0).sum() for a in range(k + 1) for b in range(k + 1)]
    assert max(gaps) <= delta + 1e-12  # (0, delta)-private
    under_s = sum(exclude[0, j] for j in range(1, k + 1))  # "z = j, and the record is 0 or j", over all j
    under_t = sum(exclude[j, j] / k for j in range(1, k + 1))
    assert under_s > np.exp(np.log(k)) * under_t + 10 * delta


def test_a_ledger_of_the_last_format_goes_on_in_it(tmp_path):
    """Written by the version before: 40 people in 'north', 40 rows in 'east', who are digested otherwise since."""
    path, names = tmp_path / "l.db", [f"p{k}" for k in range(40)]
    path.write_bytes(Path(__file__).with_name("format4.txt").read_bytes())
    path.with_name("l.db.key").write_text(
        "fugu ledger key\n0eeb0587add06500a1c1964082a569da77242c0c7d796294ac814d24887fbf1e\n"
    )
    table = {"x": [k * k for k in range(40)], "y": [k % 7 for k in range(40)]}
    head = Books(path).read(books.verify)
    for more in ({"people": ["p39", "new"]}, {"fingerprint": fingerprints({n: c[:-3] for n, c in table.items()})}):
        with Ledger(path, Pure(1), data=f"new {min(more)}", head=head, **more) as ledger:
            with pytest.raises(BudgetExceeded, match="'north'" if "people" in more else "'east'"):
                ledger.spend("q", Charge.per_entry(0.3), lambda: pytest.fail("must not run"))
            assert ledger.spend("q", Charge.per_entry(0.2), lambda: 1) == 1
    with Ledger(path, Pure(1), data="north", people=names[::-1]) as known:
        assert known.spend("q", Charge.per_entry(0.8), lambda: pytest.fail("stored")) == 1
        assert known.remaining() == Pure(0)
    assert path.read_bytes().startswith(b"fugu ledger 4\n") and Books(path).read(books.verify, head) != head
    stored = Books(path).read(lambda view: [held for known in view.state.sets.values() for held in known.people])
    assert [length for _, _, length in stored] == [428, 24]  # as text, eleven characters for each


def test_an_edited_set_of_people_is_noticed_where_it_is_used(tmp_path):
    """One of another length is no set; one in other hands than those that were entered is not believed."""
    path, many = tmp_path / "l.db", [f"p{k}" for k in range(9000)]
    for name, people in (("one", many), ("two", many[5000:])):
        Ledger(path, Pure(1), data=name, people=people).spend("q", TENTH, lambda: 1)
    _, start, length = Books(path).read(lambda view: view.state.sets["one"].people[0])
    assert length == 8 * len(many)
    whole = path.read_bytes()
    for place in (start, start + length // 2, start + length - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        for used in (lambda: Ledger(path, Pure(1), data="two").spent(), lambda: Books(path).read(books.verify)):
            with pytest.raises(LedgerBroken, match="edited"):
                used()

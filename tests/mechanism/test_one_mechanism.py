"""Every kind of mechanism answers as it did when each was a class of its own; and each releases once, however it is
copied, threaded, forked or stored."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import multiprocessing
import os
import pickle
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest
from kinds_of_mechanisms import ANSWERS, MAKE, answers

import fugu
from fugu.auditing.draws import rebuilt
from fugu.errors import AlreadyReleased, BadLaw, BadNoise, FuguError, UsageError
from fugu.mechanism import release as once
from fugu.noise.bits import RngBits
from fugu.queries.sequences import Histogram, States
from golden.comparing import leaves
from tape import TapeBits

WRITTEN = json.loads(ANSWERS.read_text())
SOLVED = {"channel of the worst": 1e-6}
"""Whose numbers a conic solver finds: it stops within a millionth, elsewhere on another processor."""
RELEASED = [name for name in MAKE if name != "analysis"]


@pytest.mark.parametrize("name", MAKE)
def test_the_same_bits_give_the_same_draws_and_every_answer_is_as_it_was(name):
    found = leaves(json.loads(json.dumps(answers(name))))
    written = leaves(WRITTEN[name])
    assert found.keys() == written.keys()
    wrong = {what: (said, found[what]) for what, said in written.items() if not close(said, found[what], name)}
    assert not wrong


def close(said, found, name):
    """Equal; numbers up to the last digits, in which machines differ, and those of a conic solver up to its own."""
    if isinstance(said, float) and isinstance(found, float):
        return math.isclose(said, found, rel_tol=SOLVED.get(name, 1e-14), abs_tol=0.0)
    return said == found


def test_a_millionth_more_is_noticed():
    assert close(1.0, 1.0 + 1e-15, "laplace") and not close(1.0, 1.0 + 1e-6, "laplace")
    assert not close(1.0, 1.0 + 1e-5, "channel of the worst")


def test_the_record_tells_other_bits_apart():
    make, values = MAKE["laplace"]
    assert make().simulate(values, np.random.default_rng(21)).values.tolist() != WRITTEN["laplace"]["draws"]["values"]


def make_one():
    return MAKE["laplace"][0]()


def released(mechanism, values):
    more = {"allow_no_noise": True} if hasattr(mechanism, "noise") else {}
    try:
        mechanism.release(values, **more)
    except AlreadyReleased:
        return False
    return True


def in_child(what):
    """What a forked child makes of it: True, False, or an error that is none of ours (None)."""
    child = os.fork()
    if not child:
        code = 2
        with suppress(BaseException):
            code = 0 if what() else 1
        os._exit(code)
    return {0: True, 1: False}.get(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


ENTRIES = {
    "per entry": (lambda: fugu.PerEntryDP(lambda _: 7, epsilon=0.5), [1]),
    "sequences": (lambda: Histogram(States(["a", "b"])).mechanism(0.5), {"u": ["a", "b"]}),
}


@pytest.mark.parametrize("name", [*RELEASED, *ENTRIES])
def test_one_release_however_it_is_copied_threaded_forked_or_stored(name):
    make, values = {**MAKE, **ENTRIES}[name]
    mechanism = make()
    copies = [copy.copy(mechanism), dataclasses.replace(mechanism)]
    if name not in ENTRIES:
        copies.append(mechanism.then(lambda column: column))  # what is done afterwards shares the release
    with suppress(TypeError):  # parts of some mechanisms have no deep copy
        copies.append(copy.deepcopy(mechanism))
    assert copy.deepcopy(mechanism.once) is mechanism.once is copy.copy(mechanism.once)
    with pytest.raises(UsageError, match="certificate"):
        pickle.dumps(mechanism.once)
    with pytest.raises((FuguError, TypeError, AttributeError)):
        pickle.dumps(mechanism)
    assert in_child(lambda: released(mechanism, values)) is False
    assert in_child(lambda: in_child(lambda: released(mechanism, values)) is False) is True  # a grandchild
    assert in_child(lambda: released(make(), values)) is True  # one of its own
    done, start = [], threading.Barrier(2 * len(copies))

    def attempt(one):
        start.wait()
        done.append(released(one, values))

    threads = [threading.Thread(target=attempt, args=(one,)) for one in [*copies, *copies]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 1 and not released(mechanism, values)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_mixture_spends_its_halves_and_is_spent_by_them(order):
    halves = [MAKE["laplace"][0](), MAKE["laplace"][0]()]
    both = fugu.mix(0.5, *halves)
    first = [halves[order[0]], both]
    assert released(first[order[1]], [1]) and not released(first[order[0]], [1])


@pytest.mark.parametrize("name", RELEASED)
def test_a_level_without_an_interval_is_refused(name):
    mechanism = MAKE[name][0]()
    for level in (1, 1.5, -0.1, math.nan):
        with pytest.raises(BadNoise, match="level"):
            mechanism.interval(level)


NUMBER, VECTOR = [[[1, 2]], [[1], [2, 3]], np.ones((2, 2))], [[1, 2, 3], 3.0, "ab", [[1, 2], [3]], np.zeros((2, 2, 2))]


@pytest.mark.parametrize("name", [name for name in RELEASED if name not in ("names", "days", "swap", "swaps")])
def test_other_shapes_are_refused_before_anything_is_spent_and_no_value_is(name):
    """What is no number counts as some value; the others stay where they are."""
    (make, values), mechanism = MAKE[name], MAKE[name][0]()
    vectors = isinstance(values[0], list)
    for wrong in VECTOR if vectors else NUMBER:
        with pytest.raises(BadLaw):
            mechanism.release(wrong, allow_no_noise=True)
    for odd in (math.nan, math.inf, None, "V27.0", 1e308, [3], {}, object(), np.ma.masked, b"\xff", 1j):
        rows, _ = mechanism._column([[1, 2], [odd, 0]] if vectors else [1, odd, 0], False)
        assert np.isfinite(rows).all() or odd in (math.inf, 1e308) or mechanism.support is None
        assert rows[0].tolist() == ([1, 2] if vectors else 1)
        assert rows[1, 1] == 0 if vectors else rows[2] == 0
    one, many = ([1, 0], [[1, 0], [2, 3], [7, 7]]) if vectors else (1, [0, 1, 4])
    assert np.shape(mechanism.release(one, allow_no_noise=True).value) == np.shape(one)
    assert make().release(many, allow_no_noise=True).values.shape == np.shape(many)


NUMBERS, VECTORS = ["laplace", "gaussian", "shifted", "normal"], ["vectors", "gaussian vectors", "shifted vectors"]


@pytest.mark.parametrize("name", [*NUMBERS, *VECTORS, "correlated", "axes", "directions"])
def test_errors_and_intervals_are_those_of_the_draws(name):
    """All coordinates together: the interval of one coordinate does not do, nor a fifth less than that at 0.95."""
    mechanism, rng = MAKE[name][0](), np.random.default_rng(5)
    vectors = isinstance(MAKE[name][1][0], list)
    if mechanism.support is not None:
        x = np.tile(np.array(mechanism.support[-1], dtype=float), (40_000, 1) if vectors else 40_000)
    else:
        x = rng.uniform(-50, 50, (40_000, 2) if vectors else 40_000)
    found = np.abs(mechanism.simulate(x, rng).values - x).reshape(len(x), -1)
    for level in (0.5, 0.95, 0.999):
        held = (found.max(axis=1) <= mechanism.interval(level)[1] * (1 + 1e-12)).mean()
        assert held >= level - 5 * math.sqrt(level * (1 - level) / len(x))
    absolute, squared = found.sum(axis=1).mean(), (found**2).sum(axis=1).mean()
    assert squared == pytest.approx(mechanism.expected_error("squared"), rel=0.06)
    if name == "directions":  # whose figures are bounds, coordinate by coordinate
        assert absolute < mechanism.expected_error()
        return
    assert absolute == pytest.approx(mechanism.expected_error(), rel=0.03)
    assert (found.max(axis=1) <= 0.8 * mechanism.interval(0.95)[1]).mean() < 0.95


def test_a_draw_reads_bits_for_what_is_drawn_and_for_nothing_else():
    silent = MAKE["no noise"][0]()
    assert silent._draw(np.array([1.0]), TapeBits("")).tolist() == [1.0]
    with pytest.raises(EOFError):
        MAKE["laplace"][0]()._draw(np.array([1.0]), TapeBits(""))
    same = [MAKE["laplace"][0]()._draw(np.array([1.0, np.nan]), RngBits(np.random.default_rng(3))) for _ in range(2)]
    assert np.array_equal(*same, equal_nan=True) and np.isnan(same[0][1])


@pytest.mark.parametrize(
    "name", [name for name in RELEASED if name not in ("swap", "swaps", "clipped", "mixed after steps")]
)
def test_what_a_certificate_says_draws_as_the_mechanism_that_it_is_of(name):
    """Steps that follow are in no document, nor are the records that a swap draws from."""
    made = rebuilt(MAKE[name][0]().certificate)
    assert repr(made) == WRITTEN[name]["repr"]
    drawn = made.simulate(MAKE[name][1], np.random.default_rng(20))
    said = WRITTEN[name]["draws"]["values"]
    if isinstance(drawn.values.tolist()[0], float):
        np.testing.assert_allclose(drawn.values, said, rtol=SOLVED.get(name, 0.0))
    else:
        assert drawn.values.tolist() == said


def test_a_pool_and_its_parent_release_once_together():
    mechanism = make_one()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=lambda: queue.put(released(mechanism, [1]))) for _ in range(4)]
    for child in children:
        child.start()
    found = [released(mechanism, [1])] + [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    assert sum(found) == 1 and found[0]


def test_one_winner_among_threads_and_forks_in_the_middle():
    for _ in range(20):
        mechanism, done, start = make_one(), [], threading.Barrier(9)

        def attempt(mechanism=mechanism, done=done, start=start):
            start.wait()
            done.append(released(mechanism, [1]))

        threads = [threading.Thread(target=attempt) for _ in range(8)]
        for t in threads:
            t.start()
        start.wait()
        assert in_child(lambda m=mechanism: released(m, [1])) is False
        for t in threads:
            t.join()
        assert sum(done) == 1


def test_a_lock_held_at_the_fork_does_not_hold_up_the_child():
    mechanism = make_one()
    with mechanism.once._lock:

        def look():
            signal.alarm(20)
            return released(mechanism, [1])

        assert in_child(look) is False


def test_neither_a_number_used_again_nor_a_fork_unseen_gives_a_second_release(monkeypatch):
    """A process number comes back after a while; a program in C may fork without telling Python."""
    mechanism, parent = make_one(), os.getpid()

    def with_the_parents_number():
        once.os.getpid = lambda: parent
        return released(mechanism, [1])

    assert in_child(with_the_parents_number) is False
    monkeypatch.setattr(once, "_forks", once._forks)
    monkeypatch.setattr(once.os, "getpid", lambda: parent + 1)
    assert not released(mechanism, [1])

"""One release: across forks, pools, threads and copies, for every kind of mechanism."""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import os
import pickle
import signal
import threading
from contextlib import suppress

import pytest

import fugu
from fugu.errors import AlreadyReleased, UsageError
from fugu.guarantee import Pure
from fugu.mechanism import PerEntryDP, post
from fugu.mechanism import release as once
from fugu.queries.sequences import Histogram, States

PAIR = fugu.LawPair(fugu.Discrete([0, 1, 2], [9, 5, 1]), fugu.Discrete([0, 1, 2], [1, 5, 9]))
VECTORS = fugu.LawPair(fugu.Discrete([[0, 0], [1, 2]], [9, 1]), fugu.Discrete([[0, 0], [1, 2]], [1, 9]))


def additive():
    return fugu.calibrate(PAIR, Pure(0.5))


def property_of():
    first, second = (fugu.MultivariateNormal([m, 50], [[16, -8], [-8, 9]]) for m in (10, 14))
    return fugu.calibrate(fugu.LawPair(first, second), fugu.Approx(1, 1e-3))


MAKE = {
    "additive": (additive, 1),
    "followed": (lambda: additive().then(post.clip(0, 2)), 1),
    "mixed": (lambda: fugu.mix(0.5, additive(), fugu.calibrate(PAIR, Pure(0.25))), 1),
    "vector": (lambda: fugu.calibrate(VECTORS, Pure(0.5)), [1, 2]),
    "correlated": (property_of, [0.25, 1.5]),
    "per entry": (lambda: PerEntryDP(lambda data: 7, epsilon=0.5), [1]),
    "sequences": (lambda: Histogram(States(["a", "b"])).mechanism(0.5), {"u": ["a", "b"]}),
}


def in_child(what):
    """What a forked child makes of it: True, False, or an error that is none of ours (None)."""
    child = os.fork()
    if not child:
        code = 2
        with suppress(BaseException):
            code = 0 if what() else 1
        os._exit(code)
    return {0: True, 1: False}.get(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def released(mechanism, value):
    try:
        mechanism.release(value)
    except AlreadyReleased:
        return False
    return True


@pytest.mark.parametrize("kind", MAKE)
def test_after_a_fork_only_the_parent_releases(kind):
    make, value = MAKE[kind]
    mechanism = make()
    assert in_child(lambda: released(mechanism, value)) is False
    assert in_child(lambda: in_child(lambda: released(mechanism, value)) is False) is True  # a grandchild
    assert in_child(lambda: released(make(), value)) is True  # one of its own
    assert released(mechanism, value) and not released(mechanism, value)


@pytest.mark.parametrize("kind", MAKE)
def test_copies_share_the_release_and_nothing_is_stored(kind):
    make, value = MAKE[kind]
    mechanism = make()
    copies = [copy.copy(mechanism), dataclasses.replace(mechanism), copy.copy(mechanism.once)]
    with suppress(TypeError):  # parts of some mechanisms have no deep copy
        copies.append(copy.deepcopy(mechanism))
    assert copy.deepcopy(mechanism.once) is mechanism.once is copies[2]
    with pytest.raises(UsageError, match="certificate"):
        pickle.dumps(mechanism.once)
    with pytest.raises(Exception):  # noqa: B017, PT011
        pickle.dumps(mechanism)
    assert released(copies[1], value)
    assert not any(released(other, value) for other in (mechanism, copies[0], *copies[3:]))


def test_a_pool_and_its_parent_release_once_together():
    mechanism = additive()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=lambda: queue.put(released(mechanism, 1))) for _ in range(4)]
    for child in children:
        child.start()
    found = [released(mechanism, 1)] + [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    assert sum(found) == 1 and found[0]


def test_one_winner_among_threads_and_forks_in_the_middle():
    for _ in range(20):
        mechanism, done, start = additive(), [], threading.Barrier(9)

        def attempt(mechanism=mechanism, done=done, start=start):
            start.wait()
            done.append(released(mechanism, 1))

        threads = [threading.Thread(target=attempt) for _ in range(8)]
        for t in threads:
            t.start()
        start.wait()
        assert in_child(lambda m=mechanism: released(m, 1)) is False
        for t in threads:
            t.join()
        assert sum(done) == 1


def test_a_lock_held_at_the_fork_does_not_hold_up_the_child():
    mechanism = additive()
    with mechanism.once._lock:

        def look():
            signal.alarm(20)
            return released(mechanism, 1)

        assert in_child(look) is False


def test_neither_a_number_used_again_nor_a_fork_unseen_gives_a_second_release(monkeypatch):
    """A process number comes back after a while; a program in C may fork without telling Python."""
    mechanism, parent = additive(), os.getpid()

    def with_the_parents_number():
        once.os.getpid = lambda: parent
        return released(mechanism, 1)

    assert in_child(with_the_parents_number) is False
    monkeypatch.setattr(once, "_forks", once._forks)
    monkeypatch.setattr(once.os, "getpid", lambda: parent + 1)
    assert not released(mechanism, 1)

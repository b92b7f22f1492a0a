"""Every kind of mechanism answers as it did when each was a class of its own; and each releases once, however it is
copied, threaded, forked or stored."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import threading

import numpy as np
import pytest
from kinds_of_mechanisms import ANSWERS, MAKE, answers

import fugu
from fugu.auditing.draws import rebuilt
from fugu.errors import AlreadyReleased, FuguError, NotProvable
from fugu.noise.bits import RngBits
from tape import TapeBits

WRITTEN = json.loads(ANSWERS.read_text())
RELEASED = [name for name in MAKE if name != "analysis"]


@pytest.mark.parametrize("name", MAKE)
def test_the_same_bits_give_the_same_draws_and_every_answer_is_as_it_was(name):
    found = json.loads(json.dumps(answers(name)))
    assert found.keys() == WRITTEN[name].keys()
    for what, said in WRITTEN[name].items():
        if what in ("expected error", "interval") and not any(isinstance(x, str) for x in said):
            np.testing.assert_allclose(found[what], said, rtol=1e-14, err_msg=what)
        elif what == "draws" and isinstance(said, dict):
            assert found[what]["values"] == said["values"], what
        else:
            assert found[what] == said, what


def test_the_record_tells_other_bits_apart():
    make, values = MAKE["laplace"]
    assert make().simulate(values, np.random.default_rng(21)).values.tolist() != WRITTEN["laplace"]["draws"]["values"]


def released(mechanism, values):
    try:
        mechanism.release(values, allow_no_noise=True)
    except AlreadyReleased:
        return False
    return True


def in_child(f):
    """What a forked process finds."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"1" if f() else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read() == b"1"


@pytest.mark.parametrize("name", RELEASED)
def test_one_release_however_it_is_copied_threaded_forked_or_stored(name):
    make, values = MAKE[name]
    mechanism = make()
    copies = [copy.copy(mechanism), dataclasses.replace(mechanism), mechanism.then(lambda column: column)]
    with pytest.raises((FuguError, TypeError, AttributeError)):
        pickle.dumps(mechanism)
    assert not in_child(lambda: released(mechanism, values))
    done, start = [], threading.Barrier(6)

    def attempt(one):
        start.wait()
        done.append(released(one, values))

    threads = [threading.Thread(target=attempt, args=(one,)) for one in [*copies, *copies]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 1 and not released(mechanism, values)
    assert released(make(), values)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_mixture_spends_its_halves_and_is_spent_by_them(order):
    halves = [MAKE["laplace"][0](), MAKE["laplace"][0]()]
    both = fugu.mix(0.5, *halves)
    first = [halves[order[0]], both]
    assert released(first[order[1]], [1]) and not released(first[order[0]], [1])


def test_noise_for_analysis_is_never_drawn():
    mechanism, values = MAKE["analysis"][0](), MAKE["analysis"][1]
    for refused in (mechanism.release, lambda v: mechanism.simulate(v, np.random.default_rng(0))):
        with pytest.raises(NotProvable, match="analysis only"):
            refused(values)


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
    assert drawn.values.tolist() == WRITTEN[name]["draws"]["values"]

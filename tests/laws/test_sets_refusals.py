"""What is not a set of laws is refused, with the reason; documents that were edited are not read."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

from fugu import Ball, Band, Box, Discrete, Hull, Intersection, Normal
from fugu.errors import BadLaw, CertificateError, UnknownName
from fugu.laws.sets import law_set_from, winf_ball

NAN, INF = float("nan"), float("inf")
HALF = Discrete([0, 1])
BLURRED = Discrete([0.0, 0.25, 1.5]).iid_sum(3000, method="fft")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Box([], [], []), "at least one declared value"),
        (lambda: Box([1, 0], [0, 0], [1, 1]), "strictly increasing"),
        (lambda: Box([0, 0], [0, 0], [1, 1]), "strictly increasing"),
        (lambda: Box([0, NAN], [0, 0], [1, 1]), "finite"),
        (lambda: Box(np.array([0.0, NAN]), [0, 0], [1, 1]), "finite"),
        (lambda: Box([0, INF], [0, 0], [1, 1]), "finite"),
        (lambda: Box([0, Fraction(1, 3)], [0, 0], [1, 1]), "not a double"),
        (lambda: Box(["a", "b"], [0, 0], [1, 1]), "finite number"),
        (lambda: Box(3, [0, 0], [1, 1]), "list of numbers"),
        (lambda: Box([0, 1], [0, NAN], [1, 1]), "lower limit at position 1"),
        (lambda: Box([0, 1], [0, 0], [1, NAN]), "upper limit at position 1"),
        (lambda: Box([0, 1], [0, True], [1, 1]), "lower limit at position 1"),
        (lambda: Box([0, 1], [-0.1, 0], [1, 1]), r"lower limit at position 0 .* outside \[0, 1\]"),
        (lambda: Box([0, 1], [0, 0], [1, 1.5]), r"upper limit at position 1 .* outside \[0, 1\]"),
        (lambda: Box([0, 1], [0], [1, 1]), "expected 2 lower limits"),
        (lambda: Box([0, 1], 0, [1, 1]), "lower limits are a list"),
        (lambda: Box([0, 1], [0.6, 0.5], [1, 1]), "sum to more than 1"),
        (lambda: Box([0, 1], [0, 0], [0.5, 0.4]), "sum to less than 1"),
        (lambda: Box([0, 1], [0.5, 0], [0.4, 1]), "position 0 is above"),
        (lambda: Band([0, 1], [0, 1], [1, 0.9]), "last declared value must be 1"),
        (lambda: Band([0, 1, 2], [0.6, 0, 1], [1, 0.5, 1]), "cross at position 0"),
        (lambda: Band([0, 1, 2], [0, 0.6, 1], [0.5, 0.5, 1]), "cross at position 1"),
        (lambda: Ball(HALF, 1.5), "between 0 and 1"),
        (lambda: Ball(HALF, -0.1), "between 0 and 1"),
        (lambda: Ball(HALF, -0.1, "kl"), "at least 0"),
        (lambda: Ball(HALF, NAN), "finite"),
        (lambda: Ball(HALF, INF, "kl"), "finite"),
        (lambda: Ball(Normal(0, 1), 0.1), "Discrete law of numbers"),
        (lambda: Ball(Discrete([[0, 1], [1, 0]]), 0.1), "Discrete law of numbers"),
        (lambda: Ball(BLURRED, 0.1), "without error"),
        (lambda: Hull([]), "at least one law"),
        (lambda: Hull([HALF, Normal(0, 1)]), "got Normal"),
        (lambda: Hull([BLURRED]), "without error"),
        (lambda: Hull([HALF], values=[0, 2]), "not among the declared values"),
        (lambda: Hull([HALF], values=[-1, 0]), "not among the declared values"),
        (lambda: Intersection([]), "at least one set"),
        (lambda: Intersection([HALF]), "got Discrete"),
        (lambda: Intersection([Hull([HALF]), Hull([Discrete([0, 2])])]), "same values"),
        (lambda: Intersection([Box([0, 1], [0, 0], [0.2, 1]), Box([0, 1], [0.3, 0], [1, 1])]), "do not meet"),
        (lambda: Intersection([Box([0, 1], [0, 0], [0.2, 1]), Band([0, 1], [0.3, 1], [1, 1])]), "is empty"),
        (lambda: winf_ball(HALF, 0.5, [0, 2]), "no declared value is within"),
        (lambda: winf_ball(HALF, -1, [0, 2]), "at least 0"),
        (lambda: winf_ball(BLURRED, 1, [0, 2]), "without error"),
    ],
)
def test_no_set_of_laws(make, why):
    with pytest.raises(BadLaw, match=why):
        make()


def test_an_unknown_kind_of_ball():
    with pytest.raises(UnknownName, match="kind of ball"):
        Ball(HALF, 0.1, "l2")


def test_an_intersection_without_a_member_shows_none():
    """Balls that do not meet: nothing is claimed of a law that is not there."""
    apart = Intersection([Ball(Discrete([0, 1], [1, 0]), 0.1), Ball(Discrete([0, 1], [0, 1]), 0.1)])
    with pytest.raises(BadLaw, match="may be empty"):
        apart.centre()


@pytest.mark.parametrize("v", [[1], [1, 2, 3], [0.5, 0.5], [np.float64(1), 0]])
def test_an_exact_maximum_needs_exact_numbers_one_for_each_value(v):
    for found in (Box([0, 1], [0, 0], [1, 1]), Band([0, 1], [0, 1], [1, 1]), Ball(HALF, 0.1), Hull([HALF])):
        with pytest.raises(BadLaw, match=r"expected a vector of 2|Fractions or whole numbers"):
            found.top(v)


@pytest.mark.parametrize("places", [[0, 0, 2], [1, 1, 2], [0, 1, 0], [0, 1], [0.0, 1.0, 2.0], [0, 1, 1]])
def test_places_that_are_no_map_onto_the_new_values(places):
    with pytest.raises(BadLaw, match="places"):
        Box.everything([0, 1, 2]).at(np.array(places), [0, 1, 2])


def test_limits_that_are_no_numbers_are_refused_inside_too():
    """What the constructions hand over as doubles: NaN never makes a limit."""
    values, good, bad = np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([NAN, 1.0])
    for made in (Box, Band):
        for low, high in ((bad, np.ones(2)), (good * 0, bad)):
            with pytest.raises(BadLaw, match="position 0"):
                made.exactly(values, low, high)


SETS = [
    Box([0, 1], [0.25, 0], [0.5, 1]),
    Band([0, 1], [0.25, 1], [0.5, 1]),
    Ball(HALF, 0.25),
    Ball(HALF, 0.25, "kl"),
    Hull([HALF, Discrete([0, 1], [1, 3])]),
    Intersection([Box.everything([0, 1]), Ball(HALF, 0.25)]),
]


def edits(found):
    """The document of a set, each time with one part missing or replaced."""
    for key in found:
        yield {k: v for k, v in found.items() if k != key}
        for wrong in (
            None,
            "x",
            [],
            ["nan"],
            ["0x1p+3"] * 2,
            [{"kind": "box"}],
            {"parts": ["-0x1", "0x3"], "total": "2"},
        ):
            yield {**found, key: wrong}


@pytest.mark.parametrize("found", SETS, ids=repr)
def test_an_edited_document_is_not_read(found):
    written = found.to_json()
    untouched = copy.deepcopy(written)
    for edited in edits(written):
        with pytest.raises(CertificateError, match="cannot be read"):
            law_set_from(edited)
    assert written == untouched and law_set_from(written) == found


@pytest.mark.parametrize("text", [None, [], "box", {"kind": ["box"]}, {"kind": "intersection", "sets": 3}])
def test_what_is_no_document_is_not_read(text):
    with pytest.raises(CertificateError, match="cannot be read"):
        law_set_from(text)


def test_a_document_without_bottom_is_not_read():
    deep = SETS[0].to_json()
    for _ in range(5000):
        deep = {"kind": "intersection", "sets": [deep]}
    with pytest.raises(CertificateError, match="cannot be read"):
        law_set_from(deep)

"""Words are derived: whoever changes a word or figure that follows from a document's parts, and seals it again with
every tool, is refused; what the publisher says in own words is marked in the document, by `verify` and on the page."""

from __future__ import annotations

import json

import pytest
from word_changes import changes, get, inside, kind_of, leaves, resealed, rest_of, with_part

import fugu
from fugu.documents.document import OWN_WORDS
from fugu.documents.reading import PUBLISHER
from fugu.errors import CertificateError
from fugu.report import page
from fugu.report.template import words
from fugu.verifier.verify import read
from honest import NAMES, honest
from hunting import search

ANYBODY = "holds whatever anybody believes, for any number of releases"
FEW = ("fitted column", "mixture", "record group", "channel", "vector", "analysis", "many statistics", "training, ar1",
       "sequences with a delta", "sequences, per entry", "release of persons", "release, groups")  # fmt: skip
_WITHOUT_PAGE = ("directions",)
"""Noise along directions that are no axes has no picture of its coordinates."""


def believed(body) -> bool:
    """Whether a document, sealed again, holds."""
    try:
        return fugu.verify(read(body)).holds
    except CertificateError:
        return False


@search("words and figures of documents changed and sealed again", quick=2, each=NAMES)
def test_a_changed_word_that_follows_from_the_parts_is_refused(name, rng):
    """Wrong version: a verifier that proves the noise again and believes every sentence beside it, as 0.3 did."""
    body = json.loads(honest(name))
    assert believed(resealed(body))
    listed = list(changes(body))
    way, new = listed[rng.integers(len(listed))]
    assert not believed(resealed(with_part(body, way, new))), (way, new)


@search("the publisher's own words changed and sealed again", quick=1, each=NAMES)
def test_the_publishers_own_words_are_marked(name, rng):
    """Wrong versions: `by_publisher` without one of the parts, a page that prints them as if they were proved."""
    body = json.loads(honest(name))
    found = [
        (prefix, way, document)
        for prefix, document in [((), body), *inside(body)]
        for way in leaves(document)
        if rest_of(document, way) == PUBLISHER and isinstance(get(document, way), str | float)
    ]
    if not found:
        assert not read(body).by_publisher()["parts"]
        return 0
    prefix, way, document = found[rng.integers(len(found))]
    old = get(document, way)
    changed = resealed(with_part(body, (*prefix, *way), f"{old} as I say" if isinstance(old, str) else old / 2))
    if not believed(changed):
        return 1  # more is checked of it than must be
    known = kind_of(document).PARTS[way[0]]
    part = way[0] if known.rests == PUBLISHER else "/".join(map(str, way[:2]))
    if document[way[0]] == known.checked:
        return 1
    assert any(part in why for name, _, why in fugu.verify(read(changed)).checks if name.endswith(OWN_WORDS))
    if name not in _WITHOUT_PAGE:
        assert words()["publisher"][part] in page(read(changed))
    return 1


@pytest.mark.parametrize("name", FEW)
def test_a_line_more_is_the_publishers_own_and_marked_wherever_it_is_printed(name):
    """Wrong versions: a page that lists all assumptions alike; a reader that believes marks as they are written."""
    body = json.loads(honest(name))
    if "assumptions" not in body or inside_of(body):
        ways = [(*way, "assumptions") for way, document in inside(body) if "assumptions" in document]
    else:
        ways = [("assumptions",)]
    for way in ways[:1]:
        more = with_part(body, way, [*get(body, way), ANYBODY])
        assert not believed(resealed(more, marked=False))
        if inside_of(body):
            assert not believed(resealed(more))  # the whole does not say what is said inside
            more["assumptions"] = [*more["assumptions"], ANYBODY]
        changed = resealed(more)
        if not believed(changed):
            continue
        assert any(ANYBODY in why for name, _, why in fugu.verify(read(changed)).checks if name.endswith(OWN_WORDS))
        assert under_the_mark(page(read(changed)))


def under_the_mark(shown) -> bool:
    """Whether a page says the publisher's line in the list under the words that mark it, and not before."""
    before, mark, after = shown.partition(f"<b>{words()['mark'].replace(chr(39), '&#39;')}</b>")
    return bool(mark) and ANYBODY not in before and ANYBODY in after.partition("</ul></li>")[0]


def inside_of(body) -> bool:
    """Whether it is around other documents."""
    return any(True for _ in inside(body))


def test_marks_cannot_be_taken_away_or_added():
    """Wrong version: marks that are read, not worked out."""
    for name in FEW:
        body = json.loads(honest(name))
        marks = body["publisher"]
        for part in ("parts", "assumptions"):
            for other in (marks[part][1:] if marks[part] else ["method"], [*marks[part], "noise"]):
                assert not believed(resealed({**body, "publisher": {**marks, part: other}}, marked=False)), (name, part)


# ---- what was believed in 0.3 ---------------------------------------------------------------------------------------


def household(body):
    body["unit"] = "one household of any size"


def any_number(body):
    body["assumptions"].append(ANYBODY)


def dependent(body):
    body["assumptions"] = [line for line in body["assumptions"] if "rows are independent" not in line]


def precise(body):
    body["expected_error"]["absolute"] = 1e-6


def nothing_lost(body):
    body["empirical"]["epsilon"] = 0.0


@pytest.mark.parametrize("forge", [household, any_number, dependent, precise, nothing_lost])
def test_the_forgeries_of_version_0_3(forge):
    """`verify --twice` held for all of them, and the page printed them. What is a publisher's figure is marked as such:
    the loss under the raw values of a reference that is not in the document, and a line of one's own."""
    body = json.loads(honest("fitted normal"))
    assert body["empirical"]["epsilon"] is not None and body["expected_error"]["absolute"] > 0.9
    before = json.dumps(body)
    forge(body)
    assert json.dumps(body) != before
    changed = resealed(body)
    if forge not in (any_number, nothing_lost):
        assert not believed(changed)
        return
    (said,) = (why for name, _, why in fugu.verify(read(changed)).checks if name == OWN_WORDS)
    shown = page(read(changed))
    if forge is any_number:
        assert not believed(resealed(body, marked=False)) and ANYBODY in said
        assert under_the_mark(shown) and shown.count(ANYBODY) == 1
    else:
        assert "empirical" in said and words()["publisher"]["empirical"] in shown


def test_a_mixture_on_another_lattice_than_its_halves_is_refused():
    """Wrong version: halves that are held against each other, and the whole against neither."""
    body = json.loads(honest("mixture"))
    for grid, origin in (("1/2", "0"), ("2", "0"), ("1", "1/2"), (None, None)):
        body["lattice"] = None if grid is None else {"grid": grid, "origin": origin}
        assert not believed(resealed(body)), (grid, origin)

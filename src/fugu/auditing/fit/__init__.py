"""Draws of what really runs against the law that is certified: a test of a proved level, and its power."""

from __future__ import annotations

from fractions import Fraction

from fugu.auditing.fit.evidence import FRACTIONS, Stream, needed
from fugu.auditing.fit.evidence import Fit as Fit
from fugu.auditing.fit.mechanisms import Trial
from fugu.auditing.fit.questions import Questions
from fugu.auditing.release_attack.through_files import bare
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import BitSource

SHARE = Fraction(1, 10)
"""Of the probability of error of an audit, what this test may use."""
_PILOT, _MORE, _SPARE = 2000, 4, 1.1
"""Draws that show the laws; how many times the draws asked for are made at most; and a little more than is needed."""


def fit_of(document: Document, mechanism: Mechanism | None, draws: int, level: float, source: BitSource) -> Fit | None:
    """The test at this level; None where nothing can be drawn.

    How many draws are made follows from the laws alone, before any is counted: as many as asked for, or as 2 % too
    little noise needs to be seen with probability 0.99, up to four times as many."""

    def made(count: int) -> tuple[list[Stream], list[str]]:
        notes: list[str] = []
        if isinstance(document, Certificate):
            assert mechanism is not None
            return list(Trial(count, source, notes).of(bare(mechanism))), notes
        return list(Questions(count, source, notes).of(document)), notes

    pilot, _ = made(_PILOT)
    wanted = _PILOT * needed(pilot, FRACTIONS[0], level) * _SPARE if pilot else 0.0
    streams, notes = made(max(draws, int(min(wanted, _MORE * draws))))
    return Fit.of(streams, level, notes)

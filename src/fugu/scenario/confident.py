"""Confidence as a user asks for it: when it means something, and what is counted for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fugu.errors import BadTable, UsageError
from fugu.fixed import Fixed
from fugu.laws import Discrete
from fugu.laws.sets.sampled import Sampled
from fugu.numbers.checks import is_real
from fugu.numbers.exact import as_fraction, read_number
from fugu.scenario.declared import Declared


def level_of(confidence: object, prior: str, public_prior: bool, shift: Fraction) -> Fraction | None:
    """The confidence as an exact number in (0, 1); None without one. Refused where it would mean nothing."""
    if confidence is None:
        if shift:
            raise UsageError("shift widens sets of beliefs, and without confidence there are none; give both, or none")
        return None
    if isinstance(confidence, str):  # of a recipe
        confidence = read_number(confidence)
    if not is_real(confidence) or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie strictly between 0 and 1, for instance 0.95, got {confidence!r}")
    if prior != "empirical":
        raise UsageError(f"confidence is for the counts of a reference, prior='empirical'; {prior!r} fits a shape")
    if public_prior:
        raise UsageError(
            "confidence and public_prior exclude each other: a row that is protected is then in the counts, so the "
            "statement about a fresh draw of the reference does not apply, and the counts would be published. Give a "
            "reference that is independent of the table"
        )
    return as_fraction(confidence)


def moved_by(shift: object) -> Fraction:
    """The declared total variation between two populations, as an exact number in [0, 1)."""
    told = read_number(shift) if isinstance(shift, str) else shift
    if not is_real(told) or not 0 <= told < 1:
        raise UsageError(
            "shift is how far the protected rows may be from the reference's population, in total variation: a number "
            f"of at least 0 and below 1, got {shift!r}"
        )
    return as_fraction(told)


def sampled_of_counts(
    level: Fraction,
    laws: Mapping[str, Discrete],
    skipped: Sequence[tuple[str, str]],
    declared: Declared,
    disjoint: bool,
    shift: Fraction,
) -> Sampled:
    """The counts of every secret on the declared values; a secret without rows is refused: it cannot be ruled out."""
    if skipped:
        raise BadTable(
            f"secret {skipped[0][0]!r} has no rows in the reference, so at no confidence is anything known of its law: "
            "add rows, join it with another secret, or leave confidence out"
        )
    counts = {secret: tuple(int(c) for c in law.masses.parts.tolist()) for secret, law in laws.items()}
    values = tuple(declared.values.tolist())
    return Sampled(level, values, Fixed(counts), declared.ordered, disjoint, shift, declared.words)

"""Every error fugu raises, in one tree; each carries the exit code of the command line.

| exit | meaning                                             | class           |
|------|-----------------------------------------------------|-----------------|
| 2    | wrong use: a column, a number, a file               | `UsageError`    |
| 3    | the budget refuses: spent, or already released      | `BudgetRefused` |
| 4    | not provable, or a certificate that does not hold   | `NotProvable`   |

A message names the column, the secret or the parameter, and says what to do. It never holds a private value.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FuguError(Exception):
    """Root of the tree. Catch this to catch everything fugu says no to."""

    exit_code = 2


class UsageError(FuguError, ValueError):
    """A parameter, a name or a file is not what the call needs."""


class NotAttackable(UsageError):
    """An attack on a document has nothing to draw from, or nothing that tells its laws apart."""


class BadBudget(UsageError):
    """Epsilon, delta or alpha outside its domain."""


class BadLaw(UsageError):
    """Values or weights that do not make a probability law."""


class BadNoise(UsageError):
    """A noise parameter outside its domain, or a noise that cannot do what is asked of it."""


class BadTable(UsageError):
    """A file or frame that is not a table, or a column that cannot be used as asked."""


class MissingValues(BadTable):
    """A column has missing values and nobody said what they mean."""


class RepeatedUnit(BadTable):
    """A unit (person) owns several rows: a law of one value says nothing of their joint law."""


class TooManySecrets(BadTable):
    """More secrets than can be paired."""


class BadLedger(UsageError):
    """A ledger file that cannot be opened, read or written as asked; nothing that was charged is lost."""


class LedgerBusy(BadLedger):
    """Another process holds the ledger, or the request, for longer than the timeout."""


class Unstorable(UsageError):
    """A release that cannot be written down exactly, so a retry could not return the same value."""


class MissingExtra(UsageError):
    """An optional package that this call needs; the message names the extra to install."""


class ColumnNotFound(BadTable):
    """A column that the table does not have."""

    def __init__(self, column: str, available: Iterable[str]) -> None:
        self.column = column
        self.available = tuple(available)
        if 4 * sum(map(_numeral, self.available)) >= max(len(self.available), 8):
            self.available = ()  # the cells of somebody's row, perhaps of a private one
            super().__init__(
                f"no column {column!r}; many names are numbers: if the first line is a row already, put a line with "
                "the names of the columns above it, or list them in the schema (header)"
            )
        else:
            super().__init__(f"no column {column!r}{did_you_mean(column, self.available)}")


class UnknownName(UsageError):
    """A method, noise, objective or secret that does not exist."""

    def __init__(self, kind: str, name: object, available: Iterable[str]) -> None:
        self.kind, self.name, self.available = kind, name, tuple(available)
        super().__init__(f"no {kind} {name!r}{did_you_mean(str(name), self.available)}")


class BudgetRefused(FuguError):
    """The release would spend what is not there."""

    exit_code = 3


class AlreadyReleased(BudgetRefused):
    """A law-based mechanism is for one release: Pufferfish guarantees do not add up by themselves."""


class BudgetExceeded(BudgetRefused):
    """A request that costs more than is left; it carries the guarantees `spent`, `asked`, `left` and `budget`."""

    def __init__(self, message: str, *, spent: object, asked: object, left: object, budget: object) -> None:
        self.spent, self.asked, self.left, self.budget = spent, asked, left, budget
        super().__init__(message)


class RequestReused(BudgetRefused):
    """A request id that already stands for another question: one id, one charge, one value."""


class DataKnown(BudgetRefused):
    """Data that the ledger knows under another name: a renamed file does not bring a fresh budget."""


class PriorNotPublic(BudgetRefused):
    """The beliefs were fitted on the very data to be released, and nobody declared them public."""


class NoiselessRelease(BudgetRefused):
    """The beliefs alone suffice, so the exact value would go out; that must be said aloud."""


class NotProvable(FuguError):
    """fugu cannot prove the guarantee, so it does not give it."""

    exit_code = 4


class OutOfReach(NotProvable):
    """A search or a proof that would visit more lattice points than it may. Said before anything is allocated;
    `points` would be needed, `limit` are allowed, so a grid coarser by their quotient is within reach."""

    def __init__(self, message: str, *, points: float, limit: float) -> None:
        self.points, self.limit = points, limit
        super().__init__(message)


class OutOfTime(NotProvable):
    """What was given a time (`fugu.progress.within`) would take longer: nothing more is proved, nothing is refuted."""


class CertificateError(NotProvable):
    """A certificate that is truncated, edited, of an unknown version, or does not hold."""


class NotComposable(NotProvable):
    """Releases whose guarantees do not add up; `why` says what is missing, `advice` what can be done."""

    def __init__(self, why: str, advice: str) -> None:
        self.why, self.advice = why, advice
        super().__init__(f"{why}; {advice}")


class LedgerBroken(NotProvable):
    """A ledger that was edited, truncated, rolled back or damaged: what was spent is no longer known."""


def _numeral(name: str) -> bool:
    """Whether a name is a number."""
    try:
        float(name)
    except ValueError:
        return False
    return True


def did_you_mean(name: str, available: tuple[str, ...]) -> str:
    """A tail for "no such name" messages: the closest names, else the closest in any case, else the first few."""
    spelt = dict(zip(map(str.casefold, available), available, strict=True))
    near = [spelt[found] for found in difflib.get_close_matches(name.strip().casefold(), spelt, n=2, cutoff=0.6)]
    close = difflib.get_close_matches(name, available, n=2, cutoff=0.6) or near
    if close:
        return "; did you mean " + " or ".join(repr(c) for c in close) + "?"
    shown = ", ".join(repr(a) for a in available[:12])
    return f"; there are {shown}{', ...' if len(available) > 12 else ''}" if available else "; there are none"

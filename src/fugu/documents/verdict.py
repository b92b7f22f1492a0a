"""`Verdict`: whether a document holds, the proved figures behind that, and what was looked at, one check per line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from fugu.documents.plain_json import reading
from fugu.errors import CertificateError
from fugu.visible import brief, several

Outcome = Literal["holds", "fails", "not checked"]
Checked = tuple[str, Outcome, str]
"""The name of a check, how it ended, and why."""
Check = tuple[str, str, Callable[[], object]]
"""The name of a check, what is true if it passes, and the check: a CertificateError if it does not. One without a name
is run where a document is read, and not listed in a verdict."""
BUDGET = "budget"


class NotChecked(Exception):
    """A part that cannot be worked out again from the document; the message says why."""


@dataclass(frozen=True, repr=False)
class Verdict:
    """Whether the guarantee holds, the proved upper bounds behind it, and every check by name.

    `holds`: whether no check fails and the budget was proved; what could not be checked is never taken for proved.
    `epsilon`, `delta`: the bounds proved anew. `worst_pair`: the pair that needs the noise most. `reason`: why it holds
    or not. `checks`: (name, "holds" | "fails" | "not checked", why) for each. A verdict is true where it holds."""

    holds: bool
    epsilon: float
    delta: float
    worst_pair: str
    reason: str
    checks: tuple[Checked, ...] = ()

    def __repr__(self) -> str:
        why = f"epsilon={self.epsilon:.9g}, delta={self.delta:.9g}, worst_pair={brief(self.worst_pair)}"
        return f"Verdict(holds={self.holds}, {why}, {several(len(self.checks), 'check')})"

    def __bool__(self) -> bool:
        return self.holds

    def with_checks(self, more: Iterable[Checked]) -> Verdict:
        """The same with further checks, before the budget; one that fails overturns it."""
        listed = (*self.checks[:-1], *more, *self.checks[-1:])
        wrong = next((f"{name}: {why}" for name, outcome, why in listed if outcome == "fails"), None)
        if not self.holds or wrong is None:
            return replace(self, checks=listed)
        return replace(self, holds=False, reason=wrong, checks=listed)


@dataclass(frozen=True)
class Proved:
    """What a proof says of a document: upper bounds, the pair that needs the noise most, whether that is the budget."""

    epsilon: float
    delta: float
    worst_pair: str
    budget: Outcome
    reason: str
    least: Fraction | None = None
    """The epsilon as a number that no double rounds, where that is known."""

    @staticmethod
    def nothing(reason: str, budget: Outcome = "fails", worst_pair: str = "") -> Proved:
        """No bound at all."""
        return Proved(float("inf"), 1.0, worst_pair, budget, reason)


def unchecked(name: str, why: str) -> Check:
    """What is somebody's word, or cannot be worked out from the document."""

    def step() -> None:
        raise NotChecked(why)

    return name, "", step


def checked(name: str, says: str, step: Callable[[], object]) -> Checked:
    """How a step ended: it holds if it raises nothing, and fails whatever is wrong with a part."""
    try:
        with reading():
            step()
    except NotChecked as why:
        return name, "not checked", str(why)
    except CertificateError as error:
        return name, "fails", str(error)
    return name, "holds", says


def settled(proved: Proved, checks: Iterable[Checked]) -> Verdict:
    """The verdict: all checks, the budget last."""
    listed = (*checks, (BUDGET, proved.budget, proved.reason))
    wrong = next((f"{name}: {why}" for name, outcome, why in listed[:-1] if outcome == "fails"), None)
    holds = proved.budget == "holds" and wrong is None
    reason = proved.reason if wrong is None or proved.budget != "holds" else wrong
    return Verdict(holds, proved.epsilon, proved.delta, proved.worst_pair, reason, listed)

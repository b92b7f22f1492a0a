"""Every certificate proved twice: by the verifier, and from the definition by code that shares nothing with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fugu.second import prove_again
from fugu.verifier.kinds import judge
from fugu.verifier.kinds.release import inner
from fugu.verifier.verdict import Checked, Outcome
from fugu.visible import Json

_GRAVITY: tuple[Outcome, ...] = ("fails", "not checked", "holds")


def twice_checks(bodies: Mapping[str, Json] | None) -> Iterator[Checked]:
    """One line: the worst of all groups, and how many ended as it did."""
    if bodies is None:
        yield "second proof", "not checked", "the certificates are withheld"
        return
    lines = [(group, *_proved_again(body)) for group, body in bodies.items()]
    group, outcome, why = min(lines, key=lambda line: _GRAVITY.index(line[1]))
    same = sum(line[1] == outcome for line in lines)
    where = "" if len(lines) == 1 else f"{same} of {len(lines)} groups, first {group!r}: "
    yield "second proof", outcome, where + why


def _proved_again(body: Json) -> tuple[Outcome, str]:
    """The second proof of one certificate, and whether the first agrees with it."""
    first, second = judge(inner(body), None), prove_again(body)
    if not second.agrees_with(first.epsilon, first.delta):
        return "fails", f"THE TWO PROOFS DISAGREE: {second.why}; please report this certificate"
    return second.outcome, second.why

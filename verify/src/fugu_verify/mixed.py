"""A coin between two mechanisms: the mixture holds if both halves do, for the same laws and within its budget.

For every event S, P_i(S) <= e^e Q_i(S) + d for i = 1, 2 gives the same for s P_1 + (1-s) P_2 and s Q_1 + (1-s) Q_2; and
the sum of P^a Q^(1-a) is jointly convex in (P, Q). Both need one s, and laws P_i, Q_i of one pair of secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from fugu_verify.reading import Part, asked, number, part, rows
from fugu_verify.result import Asked, Bounds, NotSummed, Outcome, Second


def prove_mixed(content: Part, prove: Callable[[Mapping[str, object]], Second]) -> Second:
    """Each half by itself, and that they belong to the whole."""
    budget, halves = asked(content), [part(half) for half in rows(content["parts"])]
    share = number(content["share"])
    if len(halves) != 2 or not 0 <= share <= 1:
        return Second("fails", "a mixture needs two halves and a probability of the first", asked=budget)
    for half in halves:
        if half["families"] != content["families"] or half["lattice"] != content["lattice"]:
            raise NotSummed(
                "the halves of the mixture are on other lattices than the whole; verify compares their laws"
            )
    if not all(_within(asked(half), budget) for half in halves):
        return Second("fails", "the budget of a half is above that of the mixture", asked=budget)
    found = [prove(half) for half in halves]
    outcomes = {one.outcome for one in found}
    outcome: Outcome = "fails" if "fails" in outcomes else "not checked" if "not checked" in outcomes else "holds"
    worst = max(found, key=lambda one: (one.outcome == "fails", one.outcome == "not checked"))
    why = "both halves hold, for the laws of the mixture" if outcome == "holds" else f"of a half: {worst.why}"
    first, second = found
    orders = tuple(
        (a, e, max(low, other[2]), max(high, other[3]))
        for (a, _, low, high), other, (_, e) in zip(first.orders, second.orders, budget.orders, strict=False)
    )
    return replace(
        first, outcome=outcome, why=why, asked=budget, orders=orders, epsilon=_larger(first.epsilon, second.epsilon),
        delta=_larger(first.delta, second.delta), pairs=first.pairs + second.pairs, terms=first.terms + second.terms,
    )  # fmt: skip


def _within(half: Asked, whole: Asked) -> bool:
    """At the same orders, no epsilon and no delta above."""
    if [a for a, _ in half.orders] != [a for a, _ in whole.orders] or half.delta > whole.delta:
        return False
    if half.orders:
        return all(e <= f for (_, e), (_, f) in zip(half.orders, whole.orders, strict=True))
    return half.epsilon <= whole.epsilon


def _larger(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    return None if one is None or other is None else (max(one[0], other[0]), max(one[1], other[1]))

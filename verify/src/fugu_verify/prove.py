"""`prove_again`: a second proof of a certificate, from the definition, that shares no code with the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from fugu_verify.cells import is_cells, prove_cells
from fugu_verify.channel import prove_channel, prove_noised_sets
from fugu_verify.composition import prove_composition
from fugu_verify.correlated import prove_correlated
from fugu_verify.exchange import prove_exchange
from fugu_verify.lawbased import Item, prove_laws
from fugu_verify.normals import smooth
from fugu_verify.reading import Drawn, Part, asked, drawn, family, number, part, rows
from fugu_verify.records import prove_records
from fugu_verify.result import Asked, BadCertificate, Bounds, NotSummed, Outcome, Second, not_checked
from fugu_verify.sequences import prove_entry, prove_sequence

# A coin between two mechanisms: the mixture holds if both halves do, for the same laws and within its budget.
#
# For every event S, P_i(S) <= e^e Q_i(S) + d for i = 1, 2 gives the same for s P_1 + (1-s) P_2 and s Q_1 + (1-s) Q_2;
# and the sum of P^a Q^(1-a) is jointly convex in (P, Q). Both need one s, and laws P_i, Q_i of one pair of secrets.


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


_FINE = 80
"""Less than 2^-80 of a normal law is outside its window; less still where delta is smaller."""


def prove_again(content: Mapping[str, object]) -> Second:
    """Prove a certificate from the definition, in integers and rationals alone, or say why not.

    - `content`: the decoded JSON of a certificate of any kind, as it is read from its file.

    Returns a `Second`: "holds" or "fails" with bounds on the loss, or "not checked" with the reason. Its digest is not
    looked at: that is for `fugu.verify`. Raises `BadCertificate` for what is not a certificate.

    >>> from fugu import Discrete, LawPair, Pure, calibrate
    >>> mechanism = calibrate(LawPair(Discrete([0, 1], [3, 1]), Discrete([0, 1], [1, 3])), Pure(0.5))
    >>> prove_again(mechanism.certificate.body).outcome
    'holds'
    """
    if not isinstance(content, Mapping):
        raise BadCertificate("a certificate is a JSON object")
    try:
        return _KINDS[_kind(content)](content)
    except NotSummed as why:
        return not_checked(str(why))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise BadCertificate("the certificate cannot be read: a part is missing or of another shape") from error


def _kind(content: Part) -> str:
    if {"pufferfish", "prior"} <= content.keys():
        return "sequence"  # the first version called them as it calls what is private for each entry
    kind = str(content["kind"])
    if "swap" in content:
        raise NotSummed("noise from draws of record swaps is not summed here: its laws only bound what records move")
    if kind not in _KINDS:
        raise NotSummed(_WITHOUT.get(kind, f"certificates of kind {kind[:40]!r} are not known here"))
    return kind


def _additive(content: Part) -> Second:
    if "exchange" in content:
        return prove_exchange(content)
    if is_cells(content):
        return prove_cells(content)
    noise, budget, families = drawn(content), asked(content), [part(found) for found in rows(content["families"])]
    if families and all(found.get("kind") == "sets" for found in families):
        return prove_noised_sets(families, noise, budget)
    return prove_laws([_item(found, content, noise, budget) for found in families], noise, budget)


def _item(found: Part, content: Part, noise: Drawn, budget: Asked) -> Item:
    if found.get("kind") == "sets":
        raise NotSummed("sets of laws beside single laws are not compared here; give each adversary a certificate")
    if found.get("kind") != "analytic":
        return family(found)
    if noise.power:
        raise NotSummed("Cauchy noise on laws with Gaussian components is not summed here")
    fine = _FINE + budget.delta.denominator.bit_length()
    rate = noise.decay if noise.kind == "laplace" else noise.decay * 0
    return smooth(found, content["lattice"], rate, fine)


def _mixed(content: Part) -> Second:
    return prove_mixed(content, prove_again)


_WITHOUT = {
    "analysis": "noise that is only analysed has no outputs on a lattice to sum over",
    "training": "a training is proved by what each step can hide, not by sums over outputs, which are vectors of many "
    "steps: another proof would rest on the same inequality as the first, and so be no second one",
}
_KINDS: dict[str, Callable[[Part], Second]] = {
    "additive": _additive,
    "vector": _additive,
    "mixed": _mixed,
    "correlated": prove_correlated,
    "channel": prove_channel,
    "composition": prove_composition,
    "sequence": prove_sequence,
    "per-entry": prove_entry,
    "records": prove_records,
}

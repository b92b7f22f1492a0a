"""`prove_again`: a second proof of a certificate, from the definition, that shares no code with the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fugu_verify.cells import is_cells, prove_cells
from fugu_verify.channel import prove_channel
from fugu_verify.correlated import prove_correlated
from fugu_verify.entries import prove_entry
from fugu_verify.lawbased import Item, prove_laws
from fugu_verify.mixed import prove_mixed
from fugu_verify.noised_sets import prove_noised_sets
from fugu_verify.normals import smooth
from fugu_verify.reading import Drawn, Part, asked, drawn, family, part, rows
from fugu_verify.records import prove_records
from fugu_verify.result import Asked, BadCertificate, NotSummed, Second, not_checked
from fugu_verify.sequences import prove_sequence

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
    "sequence": prove_sequence,
    "per-entry": prove_entry,
    "records": prove_records,
}

"""What a certificate with laws says beside its proof: labels, noise in words, lines of its own; each worked out
again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fugu.documents import sentences as say
from fugu.documents.document import canonical_json
from fugu.documents.parts import published_unit, schema_of
from fugu.documents.plain_json import proving, reading
from fugu.documents.promises import check_anybody
from fugu.documents.sentences import PAST_WARNINGS
from fugu.documents.swap import SWAP, RecordSwap, proof_of
from fugu.errors import CertificateError
from fugu.laws.shapes import Shape
from fugu.noise.kind import OBJECTIVES
from fugu.numbers.exact import read_number
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate


# What a certificate with laws says beside its proof: whether its parts belong together, how they are written, what its
# words and figures are, each worked out again. `fugu.verify` compares, so that no word of a certificate says more than
# its parts prove.


SAME = 1e-9
"""Errors are summed in doubles: less than this part of them is rounding."""


def check_lattice(certificate: Certificate) -> None:
    """Noise is drawn in steps of the lattice that values are rounded onto; no lattice means no noise."""
    noise, lattice = certificate.noise, certificate.lattice
    if not noise.released:
        raise CertificateError(f"this version of fugu draws no noise {noise.name!r}")
    if (lattice is None and noise.scale > 0) or (lattice is not None and lattice.grid != noise.grid):
        raise CertificateError("the noise of the certificate is not on its lattice")


def check_support(certificate: Certificate) -> None:
    """Sorted finite numbers, or "lattice" where there is one."""
    placed = certificate.lattice is not None and any(item.atoms for item in certificate.laws)
    if certificate.body.get("support") == "lattice" and not placed:
        raise CertificateError("the certificate's support is on a lattice that it does not have")
    if (support := certificate.support) is None:
        return
    if support.ndim != 1 or not support.size or not np.all(np.isfinite(support)) or not np.all(np.diff(support) > 0):
        raise CertificateError("the certificate's support is not a list of increasing numbers")


def check_written(certificate: Certificate) -> None:
    """CertificateError unless every part, read and written again, is what the document says."""
    for name, own in certificate.written():
        if canonical_json(certificate.body.get(name)) != canonical_json(own):
            raise CertificateError(f"the part {name!r} of the certificate is not as fugu writes it: it says more")


def check_words(certificate: Certificate) -> None:
    """CertificateError unless unit, dimension, query, statistic and warnings are those of the parts."""
    body = certificate.body
    if body["unit"] != certificate.protects:
        raise CertificateError(f"the unit of privacy is {certificate.protects!r}, and the certificate says another")
    if body.get("dimension", 1) != certificate.laws[0].dimension:
        raise CertificateError("the certificate states another dimension than that of its laws")
    for part in certificate.having():
        part.words(certificate)
    if "warnings" in body or "publisher" in body:
        _check_warnings(certificate)


def _check_warnings(certificate: Certificate) -> None:
    """Those that are worked out now; of versions before, such as they wrote."""
    said, now = certificate.body.get("warnings", []), list(certificate.warnings)
    past = "publisher" not in certificate.body and bool(said) == bool(now) and len(set(said)) == len(said)
    if said != now and not (past and all(any(known.fullmatch(line) for known in PAST_WARNINGS) for line in said)):
        raise CertificateError("the warnings of the certificate are not those that its parts give")


def check_worst(certificate: Certificate, worst: str) -> None:
    """CertificateError unless the pair that is named needs as much noise as any: the one found now, or one as bad."""
    stated = certificate.worst_pair
    running = certificate.parts or (certificate,)
    if stated == worst:
        return
    with reading(), proving():
        alone = [(half, one) for half in running for item in half.laws for one in item.alone() if stated in one.labels]
        found = [_loss(half, (one,)) for half, one in alone]
        most = max(_loss(half, half.laws) for half in running)
    if not found or not all(_near(a, b) or a > b for a, b in zip(max(found), most, strict=True)):
        raise CertificateError(f"another pair needs more noise than the one that the certificate names: {worst!r}")


def _loss(certificate: Certificate, laws: Any) -> tuple[float, float]:
    proof = proof_of(certificate, laws)
    return proof.epsilon, proof.delta


def check_errors(certificate: Certificate) -> None:
    """CertificateError unless the expected errors are those of the noise, the remap or the channel."""
    stated = certificate.body.get("expected_error")
    if stated is None:
        if certificate.parts:  # each of them states its own
            return
        raise CertificateError("the certificate states no expected error")
    for name in OBJECTIVES:
        with reading(), proving():
            now, said = certificate.expected_error(name), stated[name]
        wrong = (now is None) != (said is None)
        if wrong or (now is not None and not _near(said, now)):
            shown = "none" if now is None else f"{now:.10g}"
            raise CertificateError(f"the expected {name} error is {shown}, and the certificate states another")


def _near(stated: Any, now: float) -> bool:
    return abs(read_number(stated) - read_number(now)) <= read_number(SAME) * abs(read_number(now))


# What a certificate with laws says in words, worked out from its parts; what it leaves to the publisher's word.
#
# Lines that none may leave out follow from what runs (`Certificate.lines`), and from what is published (`Part.needed`).
# Every other line is the publisher's own: which beliefs these are, and where they come from.


def own_lines(certificate: Certificate) -> list[str]:
    """The assumptions in the publisher's own words."""
    known = {*certificate.needed(), *certificate.described()}
    if certificate.protects == say.ONE_VALUE:
        known |= {say.INDEPENDENT_ROWS, say.INDEPENDENT}
    return [line for line in certificate.assumptions if line not in known]


def check_assumed(certificate: Certificate) -> None:
    """CertificateError if a line is left out that the proof rests on, if the publisher's own lines are not marked, or
    if another promise is stated against anybody than holds."""
    check_anybody(certificate)
    said, own = certificate.assumptions, own_lines(certificate)
    for line in certificate.needed():
        if line not in said:
            raise CertificateError(f"the certificate leaves out what its proof rests on: {line!r}")
    marked = certificate.body.get("publisher")
    if certificate.protects == say.ONE_VALUE and not {*say.ENOUGH, say.CELLS} & set(said):
        by_default = {say.EXACT_LAWS, say.BY_HAND} & set(said)
        if marked is not None or by_default or not own:
            raise CertificateError(f"the certificate leaves out what its proof rests on: {say.INDEPENDENT_ROWS!r}")
    if marked is None:
        return
    for line in certificate.described():
        if line not in said:
            raise CertificateError(f"the certificate leaves out what follows from it: {line!r}")
    if len(set(said)) < len(said):
        raise CertificateError("the certificate states an assumption twice")
    fitted = any(certificate.body.get(part) is not None for part in ("query", "statistic", "swap"))
    fitted = fitted or ("property" in certificate.body and certificate.runs == "correlated")
    if fitted and not {say.APART, say.PRIVATE_NUMBERS} & set(said):
        raise CertificateError("the certificate does not say whether the reference is apart from the private table")


# The noise of a certificate with laws in figures and in plain words: "values come in steps of 43.8".


def secrets_in(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The secrets that labels name, each once."""
    named = (secrets_named(label) for label in labels)
    return tuple(dict.fromkeys(secret for each in named if each is not None for secret in each[1:]))


def rules_of(certificate: Certificate) -> tuple[str, ...]:
    """What cells count as that cannot be used: of a column as its query says, of statistics as the schema does."""
    if certificate.body.get("reading") is None:
        return ()
    from fugu.data.secrets import OF_NUMBERS, column_rule, rules

    schema = schema_of(certificate)
    asked, statistic = certificate.body.get("query"), certificate.body.get("statistic")
    if asked is None or statistic is not None:
        summed = statistic is not None and str(statistic["query"]).startswith(tuple(f"{kind}(" for kind in OF_NUMBERS))
        return rules(schema, counted=() if summed else None)
    known = schema.fields.get(asked["publish"])
    return () if known is None else (column_rule(asked, known),)


def proof_page(certificate: Certificate) -> str:
    """The page that proves noise on one number, whatever method found it."""
    if SWAP in certificate.body:
        return "docs/proofs/record-swap.md"
    if any(item.shape == "sets" for item in certificate.laws):
        return "docs/proofs/sets.md"
    noise = certificate.noise
    if certificate.budget.renyi and noise.added:
        return "docs/proofs/renyi.md"
    smooth = not all(item.atoms for item in certificate.laws)
    return "docs/proofs/mixtures.md" if smooth and noise.name == "laplace" else str(noise.proof)


def noise_words(certificate: Certificate) -> Json:
    """Noise of one scale as it is drawn, in the units of the published numbers."""
    stated, unit, lattice = certificate.body["noise"], published_unit(certificate), certificate.lattice
    scale = read_number(stated["scale"]) * unit
    step = None if lattice is None else lattice.grid * unit
    figures: Json = {"kind": stated["kind"], "scale": float(scale), "step": None if step is None else float(step)}
    if scale == 0:
        return {**figures, "words": "no noise: the beliefs alone suffice"}
    name = certificate.noise.title or f"{stated['kind']} noise"
    what = "counts" if any(item.shape == "cells" for item in certificate.laws) else "numbers"
    each = f" on each of {certificate.dimension} {what}" if certificate.dimension > 1 else ""
    grid = "" if step is None else f"; values come in steps of {float(step):.4g}"
    if (remap := certificate.body.get("remap")) is not None:
        figures, grid = {**figures, "remap": remap["loss"]}, f", moved to the least expected {remap['loss']} loss"
    size = f"{float(scale):.4g}" if SWAP not in certificate.body else swap_words(RecordSwap.of(certificate))
    return {**figures, "words": f"{name} of scale {size}{each}{grid}"}


def swap_words(swap: RecordSwap) -> str:
    """The scale that draws of record swaps found, or at most allow."""
    if swap.step is None:
        return f"at most {float(swap.cap):.4g}, less by what {swap.draws:,} draws of record swaps in the release show,"
    return f"{float(swap.sigma(swap.step)):.4g}, found by {swap.draws:,} draws of record swaps in the release,"


# Labels of pairs: each names the two secrets that it compares, and one name stands for one law.


_ADVERSARY = re.compile(r"^adversary \d+: ")
Place = tuple[Shape, int]
"""A family and the number of a law in it, or a pair and which of its two laws."""


def secrets_named(label: str) -> tuple[str, str, str] | None:
    """(adversary, secret, secret) of a label "a vs b" or "adversary 2: a vs b"; None if it is of another form.

    >>> secrets_named("adversary 2: F vs M"), secrets_named("F vs M"), secrets_named("shift by 3")
    (('adversary 2: ', 'F', 'M'), ('', 'F', 'M'), None)
    """
    prefix = found[0] if (found := _ADVERSARY.match(label)) else ""
    names = label[len(prefix) :].split(" vs ")
    return (prefix, *names) if len(names) == 2 and all(name.strip() for name in names) else None  # type: ignore[return-value]


def misnamed(laws: Sequence[Shape], comparable: bool) -> str | None:
    """What is wrong with the labels: a secret compared with itself, or a name that stands for two laws.

    Of two pairs labelled "a vs b" and "b vs c" the second law of the one is the first of the other; else some pair that
    the labels promise is not among those proved. Labels that name no secrets promise nothing. Atoms of two families are
    compared if `comparable`: they are where a lattice says, and not merely numbered."""
    known: dict[tuple[str, str], list[Place]] = {}
    for label, places in _labelled(laws):
        if (named := secrets_named(label)) is None:
            continue
        adversary, *names = named
        if names[0] == names[1]:
            return f"the pair {label!r} compares a secret with itself"
        for name, place in zip(names, places, strict=True):
            others = known.setdefault((adversary, name), [])
            if any(_differ(place, other, comparable) for other in others):
                return f"two different laws are called {name!r}: each label must name the secrets that it compares"
            if not any(other[0] is place[0] and other[1] == place[1] for other in others):
                others.append(place)
    return None


def _labelled(laws: Iterable[Shape]) -> Iterator[tuple[str, tuple[Place, Place]]]:
    for item in laws:
        yield from ((label, ((item, i), (item, j))) for (i, j), label in zip(item.pairs, item.labels, strict=True))


def _differ(one: Place, other: Place, comparable: bool) -> bool:
    """Whether two laws are surely not the same."""
    (a, i), (b, j) = one, other
    return not (a is b and i == j) and a.differs(i, b, j, comparable)

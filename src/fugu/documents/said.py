"""What a certificate with laws says beside its proof, worked out again: how its parts are written, what its words and
figures are. `fugu.verify` compares, so that no word of a certificate says more than its parts prove."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fugu.data.schema import Schema
from fugu.documents.assumed import check_assumed, unit_of
from fugu.documents.document import canonical_json
from fugu.documents.plain_json import proving, reading
from fugu.documents.remap import Remap
from fugu.documents.sentences import CONVEXITY, PAST_WARNINGS, TOTALS
from fugu.documents.swap import SWAP, RecordSwap, proof_of
from fugu.errors import CertificateError
from fugu.guarantee.encoding import budget_json
from fugu.laws.encoding import shape_json
from fugu.laws.family import Family
from fugu.laws.sets.sampled import Sampled
from fugu.noise.channel import Channel
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.kind import OBJECTIVES, finite_or_none, noise_from
from fugu.numbers.exact import read_number, read_whole

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

_SAME = 1e-9
"""Errors are summed in doubles: less than this part of them is rounding."""


def written(certificate: Certificate) -> Iterator[tuple[str, Any]]:
    """Every part that is read as a thing of its own, as that thing writes itself."""
    body, lattice = certificate.body, certificate.lattice
    yield "budget", budget_json(certificate.budget)
    yield "families", [shape_json(item) for item in certificate.laws]
    yield "lattice", None if lattice is None else lattice.to_json()
    if "noise" in body:
        kind = body["noise"]["kind"]
        own: Any = {Channel.name: "channel", CorrelatedGaussian.name: "correlated"}.get(kind)
        yield "noise", (noise_from(body["noise"]) if own is None else getattr(certificate, own)).to_json()
    if body.get("reading") is not None:
        yield "reading", Schema.from_json(body["reading"]).to_json()
    if "confidence" in body:
        yield "confidence", Sampled.from_json(body["confidence"]).to_json()
    if (remap := Remap.in_certificate(certificate)) is not None:
        yield "remap", remap.to_json()
    if SWAP in body:
        yield SWAP, RecordSwap.of(certificate).to_json()
    if certificate.kind == "channel":
        yield "optimum", certificate.optimum.to_json()


def check_written(certificate: Certificate) -> None:
    """CertificateError unless every part, read and written again, is what the document says."""
    with reading():
        for name, own in written(certificate):
            if canonical_json(certificate.body.get(name)) != canonical_json(own):
                raise CertificateError(f"the part {name!r} of the certificate is not as fugu writes it: it says more")


def check_words(certificate: Certificate) -> None:
    """CertificateError unless unit, dimension, warnings and query are those of the parts; of a mixture, those of its
    halves."""
    body = certificate.body
    with reading():
        _check_unit(certificate)
        _check_query(certificate)
        _check_statistic(certificate)
        if "warnings" in body or "publisher" in body:
            _check_warnings(certificate)
        if certificate.kind == "mixed":
            _check_mixture(certificate)


def _check_unit(certificate: Certificate) -> None:
    if certificate.body["unit"] != unit_of(certificate):
        raise CertificateError(f"the unit of privacy is {unit_of(certificate)!r}, and the certificate says another")
    if certificate.body.get("dimension", 1) != certificate.laws[0].dimension:
        raise CertificateError("the certificate states another dimension than that of its laws")


def _check_query(certificate: Certificate) -> None:
    """What is published is one thing, in the query, the recipe and the reading."""
    query, recipe, stated = (certificate.body.get(part) for part in ("query", "recipe", "reading"))
    if query is None:
        if recipe is not None:
            raise CertificateError("the certificate has a recipe for its beliefs, and does not say what is published")
        return
    if stated is not None and query["publish"] not in stated["columns"]:
        raise CertificateError("the certificate publishes a column that it does not say how to read")
    if recipe is None:
        return
    if (query["publish"], query["missing"]) != (recipe["publish"], recipe["missing"]):
        raise CertificateError("the certificate publishes another column than its recipe, or fills it otherwise")
    bins, laid = recipe["bins"], query["edges"] or (None if query.get("nominal") else query["categories"])
    dated = laid is not None and bins is not None and all(isinstance(edge, str) for edge in bins) and query["edges"]
    same = len(bins or ()) == len(laid or ()) if dated else canonical_json(bins) == canonical_json(laid)
    if not same:
        raise CertificateError("the certificate's bins are not those of its recipe")


def _check_statistic(certificate: Certificate) -> None:
    """The laws are of codes 0 to `steps` of one record, in steps of 1, or of totals of all `rows` where the assumptions
    say so. What one record can change is read off `steps`, so no law may reach further."""
    stated = certificate.body.get("statistic") or {}
    if "steps" not in stated or certificate.drawn.silent:  # without noise nothing is promised against anybody
        return
    steps, rows, lattice = read_whole(stated["steps"]), read_whole(stated.get("rows", 1)), certificate.lattice
    if steps < 1 or rows < 1 or lattice is None or lattice.grid != 1 or lattice.origin != 0:
        raise CertificateError("the steps of the certificate's statistic are not those of its lattice")
    totals = any(f"{rows - 1} {TOTALS}" in line for line in certificate.assumptions)
    reach = steps * (rows if totals else 1)
    if any(item.points.min() < 0 or item.points.max() > reach for item in certificate.laws if isinstance(item, Family)):
        raise CertificateError("the laws of the certificate reach further than one record of its statistic can")


def _check_warnings(certificate: Certificate) -> None:
    """Those that are worked out now; of versions before, such as they wrote."""
    said, now = certificate.body.get("warnings", []), list(certificate.warnings)
    past = "publisher" not in certificate.body and bool(said) == bool(now) and len(set(said)) == len(said)
    if said != now and not (past and all(any(known.fullmatch(line) for known in PAST_WARNINGS) for line in said)):
        raise CertificateError("the warnings of the certificate are not those that its parts give")


def _check_mixture(whole: Certificate) -> None:
    """The whole says what its halves say: one of them has its laws, lattice and support, both its words."""
    first, second = whole.parts
    halves, body = (first, second), whole.body
    of = [part for part in ("lattice", "support", "families") if part in body]  # version 0.1 left some to the halves
    at = [[half.body.get(part) for part in of] for half in halves]
    stated = [body[part] for part in of]
    if canonical_json(stated) not in [canonical_json(own) for own in at]:
        raise CertificateError("the lattice, support or laws of the mixture are those of neither half")
    if (whole.method, whole.theorem) != (f"mix({first.method}, {second.method})", CONVEXITY):
        raise CertificateError("the method of the mixture is not that of its halves")
    if set(whole.assumptions) != {*first.assumptions, *second.assumptions}:
        raise CertificateError("the assumptions of the mixture are not those of its halves")
    if "reading" in body and body["reading"] != first.body.get("reading"):
        raise CertificateError("the reading of the mixture is not that of its halves")


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
        if certificate.kind != "mixed":
            raise CertificateError("the certificate states no expected error")
        return
    for name in OBJECTIVES:
        with reading(), proving():
            now, said = _error(certificate, name), stated[name]
        wrong = (now is None) != (said is None)
        if wrong or (now is not None and not _near(said, now)):
            shown = "none" if now is None else f"{now:.10g}"
            raise CertificateError(f"the expected {name} error is {shown}, and the certificate states another")


def _error(certificate: Certificate, objective: Any) -> float | None:
    if certificate.kind == "channel":
        return finite_or_none(certificate.errors.expected(objective))
    if (remap := Remap.in_certificate(certificate)) is not None:
        return remap.expected_error(objective)
    correlated = certificate.body["noise"]["kind"] == CorrelatedGaussian.name
    noise = certificate.correlated if correlated else noise_from(certificate.body["noise"])
    return finite_or_none(noise.total_error(objective, certificate.dimension))


def _near(stated: Any, now: float) -> bool:
    return abs(read_number(stated) - read_number(now)) <= read_number(_SAME) * abs(read_number(now))


Check = tuple[str, str, Callable[["Certificate"], None]]
SAID: tuple[Check, ...] = (
    ("writing", "every part, read and written again, is what the document says", check_written),
    ("words", "unit, query, warnings and what a mixture says follow from the parts", check_words),
    ("expected error", "it is that of the noise, worked out again", check_errors),
    ("assumptions", "nothing that follows from what runs is left out", check_assumed),
)
"""The name of a check, what is true if it passes, and the check: a CertificateError if it does not."""

"""The noise of a certificate in figures and in plain words: "values come in steps of 43.8"."""

from __future__ import annotations

from collections.abc import Iterator

from fugu.data.rules import OF_NUMBERS, column_rule, rules
from fugu.data.schema import Schema
from fugu.documents.certificate import Certificate
from fugu.documents.labels import secrets_named
from fugu.documents.swap import SWAP, RecordSwap
from fugu.documents.units import published_unit
from fugu.noise.channel import Channel
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.directed import DirectedLaplace
from fugu.numbers.exact import read_number
from fugu.telling.told import Told, tells
from fugu.visible import Json, several

_PAGE = {
    "vector": "docs/proofs/vectors.md",
    "correlated": "docs/proofs/correlated.md",
    "channel": "docs/proofs/channels.md",
    "mixed": "docs/proofs/renyi.md#11-a-coin-between-two-mechanisms",
}
_OF_NOISE = {
    "laplace": "docs/proofs/laplace.md",
    "gaussian": "docs/proofs/gaussian.md",
    "atoms": "docs/proofs/atoms.md",
}
_SETS, _CELLS = "docs/proofs/sets.md", "docs/proofs/histograms.md"
_SWAPS, _DIRECTED = "docs/proofs/record-swap.md", "docs/proofs/directed.md"
_OWN = {DirectedLaplace.name: _DIRECTED}
_RENYI, _MIXTURES = "docs/proofs/renyi.md", "docs/proofs/mixtures.md"


@tells("additive", "vector", "correlated", "analysis", "channel")
def of_laws(certificate: Certificate) -> Told:
    """The names in its labels, and its noise in words."""
    return told_of_laws(certificate, noise_told(certificate))


@tells("mixed")
def of_mixture(certificate: Certificate) -> Told:
    """As of its halves, one of which runs."""
    halves = [noise_told(half) for half in certificate.parts]
    share = float(read_number(certificate.body["share"]))
    words = f"with probability {share:.3g} {halves[0]['words']}, else {halves[1]['words']}"
    return told_of_laws(certificate, {"share": certificate.body["share"], "halves": halves, "words": words})


def told_of_laws(certificate: Certificate, noise: Json) -> Told:
    """What a certificate with laws says, whatever its kind."""
    labels = tuple(dict.fromkeys(label for item in certificate.laws for label in item.labels))
    return Told(
        budget=certificate.body["budget"],
        unit=str(certificate.body["unit"]),
        secrets=tuple(dict.fromkeys(_secrets(labels))),
        pairs=labels,
        method=certificate.method,
        theorem=certificate.theorem,
        proof=page_of(certificate),
        noise=noise,
        figures=certificate.proved,
        worst_pair=certificate.worst_pair,
        assumptions=certificate.assumptions,
        reading=certificate.body.get("reading"),
        about=certificate.body.get("statistic") or certificate.body.get("query"),
        rules=_rules(certificate),
    )


def _rules(certificate: Certificate) -> tuple[str, ...]:
    """What cells count as that cannot be used: of a column as its query says, of statistics as the schema does."""
    stated, asked = certificate.body.get("reading"), certificate.body.get("query")
    if stated is None:
        return ()
    schema = Schema.from_json(stated)
    statistic = certificate.body.get("statistic")
    if asked is None or statistic is not None:
        summed = statistic is not None and str(statistic["query"]).startswith(tuple(f"{kind}(" for kind in OF_NUMBERS))
        return rules(schema, counted=() if summed else None)
    known = schema.fields.get(asked["publish"])
    return () if known is None else (column_rule(asked, known),)


def page_of(certificate: Certificate) -> str:
    """The page that proves noise of this kind, whatever method found it."""
    if certificate.kind == "vector" and any(item.shape == "cells" for item in certificate.laws):
        return _CELLS
    own = _SWAPS if SWAP in certificate.body else _OWN.get(str(certificate.body.get("noise", {}).get("kind")))
    if own is not None:
        return own
    if certificate.kind in _PAGE:
        return _PAGE[certificate.kind]
    if any(item.shape == "sets" for item in certificate.laws):
        return _SETS
    if certificate.budget.renyi and certificate.body["noise"]["kind"] != "atoms":
        return _RENYI
    smooth = not all(item.atoms for item in certificate.laws)
    kind = certificate.body["noise"]["kind"]
    return _MIXTURES if smooth and kind == "laplace" else _OF_NOISE.get(kind, _RENYI)


def noise_told(certificate: Certificate) -> Json:
    """The noise as it is drawn, in the units of the published numbers, what is done afterwards, and both in words."""
    drawn, steps = _drawn(certificate), certificate.body.get("post")
    if not steps:
        return drawn
    named = [str(step) for step in steps]
    return {**drawn, "post": named, "words": f"{drawn['words']}; afterwards {', '.join(named)}, which costs nothing"}


def _drawn(certificate: Certificate) -> Json:
    stated, unit = certificate.body["noise"], published_unit(certificate)
    if stated["kind"] == CorrelatedGaussian.name:
        words = f"Gaussian noise on {certificate.dimension} numbers together, correlated as the certificate says"
        return {"kind": stated["kind"], "words": words}
    if stated["kind"] == Channel.name:
        return channel_told(certificate)
    if stated["kind"] == DirectedLaplace.name:
        return directed_told(certificate)
    scale = read_number(stated["scale"]) * unit
    lattice = certificate.lattice
    step = None if lattice is None else lattice.grid * unit
    figures: Json = {"kind": stated["kind"], "scale": float(scale), "step": None if step is None else float(step)}
    if scale == 0:
        return {**figures, "words": "no noise: the beliefs alone suffice"}
    names = {"laplace": "Laplace noise", "gaussian": "Gaussian noise", "atoms": "Laplace noise on the known values"}
    name = names.get(stated["kind"], f"{stated['kind']} noise")
    what = "counts" if any(item.shape == "cells" for item in certificate.laws) else "numbers"
    each = f" on each of {certificate.dimension} {what}" if certificate.dimension > 1 else ""
    grid = "" if step is None else f"; values come in steps of {float(step):.4g}"
    if (remap := certificate.body.get("remap")) is not None:
        figures, grid = {**figures, "remap": remap["loss"]}, f", moved to the least expected {remap['loss']} loss"
    if SWAP in certificate.body:
        return {**figures, "words": f"{name} of scale {swap_told(certificate)}{each}{grid}"}
    return {**figures, "words": f"{name} of scale {float(scale):.4g}{each}{grid}"}


def swap_told(certificate: Certificate) -> str:
    """The scale that draws of record swaps found, or at most allow."""
    swap = RecordSwap.of(certificate)
    if swap.step is None:
        return f"at most {float(swap.cap):.4g}, less by what {swap.draws:,} draws of record swaps in the release show,"
    return f"{float(swap.sigma(swap.step)):.4g}, found by {swap.draws:,} draws of record swaps in the release,"


def directed_told(certificate: Certificate) -> Json:
    """Laplace noise with scales of its own along directions."""
    noise = DirectedLaplace.from_json(certificate.body["noise"])
    scales = [float(f"{x:.6g}") for x in noise.coordinate_scales()]
    along = "each number" if noise.axes else f"{len(noise.columns)} directions of {noise.dimension} numbers"
    listed = ", ".join(f"{x:.4g}" for x in scales)
    words = f"Laplace noise of its own scale on {along} ({listed}); values come in steps of {float(noise.grid):.4g}"
    return {"kind": noise.name, "scales": scales, "step": float(noise.grid), "words": words}


def channel_told(certificate: Certificate) -> Json:
    """What a channel does to values, and how near the optimum it is proved to be."""
    channel, optimum, errors = certificate.channel, certificate.optimum, certificate.errors
    near = "" if optimum.lower is None else f", and no {optimum.among} is below {optimum.lower:.4g}"
    return {
        "kind": Channel.name,
        "values": len(channel.rows),
        "outputs": len(channel.outputs),
        "loss": optimum.loss,
        "expected loss": optimum.value,
        "lower bound": optimum.lower,
        "unchanged": errors.unchanged,
        "words": (
            f"a channel: each of {several(len(channel.rows), 'value')} goes out as one of {len(channel.outputs)}, "
            f"{100 * errors.unchanged:.3g} % of them unchanged; expected {optimum.loss} loss {optimum.value:.4g}{near}"
        ),
    }


def _secrets(labels: tuple[str, ...]) -> Iterator[str]:
    for label in labels:
        if (named := secrets_named(label)) is not None:
            yield from named[1:]

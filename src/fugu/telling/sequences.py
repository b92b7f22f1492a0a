"""Releases of sequences, and mechanisms that are private for each entry, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fugu.documents.per_entry import NEIGHBOURS, PerEntryCertificate
from fugu.guarantee.encoding import budget_json
from fugu.numbers.exact import as_fraction, read_number
from fugu.queries.sequence_certificate import SECRETS, SequenceCertificate
from fugu.telling.told import Told, tells
from fugu.visible import Json


@tells("sequence")
def of_sequences(certificate: SequenceCertificate) -> Told:
    """Every state of every entry; what each entry costs is noise for the query's sensitivity."""
    stated = certificate["pufferfish"]
    return Told(
        budget=budget_json(certificate.budget), unit="the state of each entry of each user",
        secrets=tuple(map(str, certificate["prior"]["states"])), pairs=(SECRETS,),
        method=f"{certificate['query']}, private for each entry, translated under {_belief(certificate['prior'])}",
        theorem="per-entry privacy under a prior: translation of epsilon", proof="docs/proofs/translation.md",
        noise=sequence_noise(certificate.claims),
        figures={
            "epsilon": stated.get("epsilon", float(certificate.stated)), "delta": float(certificate.proved.delta),
            "per entry": str(certificate.epsilon),
            **({"per entry delta": str(as_fraction(entry.delta))} if (entry := certificate.entry).delta else {}),
            **_confidence(certificate["prior"]),
        },
        worst_pair=SECRETS, assumptions=tuple(certificate["assumptions"]), reading=certificate["reading"],
        about={"query": certificate["query"]},
    )  # fmt: skip


def _belief(prior: Mapping[str, Any]) -> str:
    return "all Markov chains between limits" if "limits" in prior or "confidence" in prior else "a Markov chain"


def _confidence(prior: Mapping[str, Any]) -> Json:
    """That the limits hold the true chain, over the draw of the reference; nothing of one chain."""
    return {"confidence": prior["confidence"]["confidence"]} if "confidence" in prior else {}


@tells("per-entry")
def of_entries(certificate: PerEntryCertificate) -> Told:
    """One entry against any other value; the query stands for the noise."""
    return Told(
        budget=budget_json(certificate.guarantee), unit="one entry", secrets=(), pairs=(NEIGHBOURS,),
        method=str(certificate["claimed by"]), theorem=f"noise for the sensitivity of {certificate['query']}",
        proof="docs/proofs/translation.md", noise=sequence_noise(certificate.claims),
        figures={"epsilon": certificate["epsilon"], "delta": certificate["delta"]}, worst_pair=NEIGHBOURS,
        assumptions=(), about={"query": certificate["query"]},
    )  # fmt: skip


def sequence_noise(claims: Mapping[str, Any]) -> Json:
    """What is drawn for a query of sequences: noise for its sensitivity at its epsilon for each entry."""
    sensitivity = claims["sensitivity"]
    made = "a draw" if sensitivity is None else f"noise for a sensitivity of {float(read_number(sensitivity)):.4g}"
    figures = {"epsilon per entry": claims["epsilon"], "sensitivity": sensitivity}
    if (noise := claims.get("lattice")) is not None:
        spread = ", ".join(f"{float(read_number(variance)) ** 0.5:.4g}" for variance in noise["variance"])
        words = f"lattice Gaussian noise with a standard deviation of {spread} steps, rho {_short(noise['rho'])}-zCDP"
        return {**figures, "rho": noise["rho"], "words": f"{words} for each entry"}
    if "parts" in claims:
        each = [f"{part['query']} with {float(read_number(part['share'])):.4g} of it" for part in claims["parts"]]
        epsilon = float(read_number(claims["epsilon"]))
        return {**figures, "words": f"noise at epsilon {epsilon:.4g} for each entry, shared: {', '.join(each)}"}
    return {**figures, "words": f"{made} at epsilon {float(read_number(claims['epsilon'])):.4g} for each entry"}


def _short(text: str) -> str:
    return f"{float(read_number(text)):.4g}"

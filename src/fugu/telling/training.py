"""Trainings in words."""

from __future__ import annotations

from fugu.data.rules import rules
from fugu.data.schema import Schema
from fugu.numbers.exact import read_number
from fugu.telling.told import Told, tells
from fugu.training.record import TrainingCertificate


@tells("training")
def of_training(certificate: TrainingCertificate) -> Told:
    """Who is protected stands in the document; the noise is that of every step."""
    steps, noise = certificate["accountant"]["steps"], certificate["accountant"]["noise"]
    words = (
        f"Gaussian noise of standard deviation {float(read_number(noise)):.4g} on the weights in each of {steps} steps"
    )
    return Told(
        budget=certificate["budget"], unit="one record", secrets=(), pairs=(certificate.neighbours,),
        method=str(certificate["model"]), theorem="the last iterate of a noisy contraction",
        proof="docs/proofs/iterations.md", noise={"noise": noise, "steps": steps, "words": words},
        figures=certificate["proved"], worst_pair=certificate.neighbours, assumptions=certificate.assumptions,
        reading=certificate.body.get("reading"), about={"model": certificate["model"]},
        rules=() if certificate.body.get("reading") is None else rules(Schema.from_json(certificate["reading"])),
    )  # fmt: skip

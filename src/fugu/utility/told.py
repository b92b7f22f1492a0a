"""A mechanism in JSON types: what `fugu calibrate --json` prints."""

from __future__ import annotations

import math
from typing import Any

from fugu.documents.promises import warnings_of
from fugu.mechanism.mechanism import Mechanism
from fugu.utility.usable import Usable


def figures(mechanism: Mechanism, rows: int | None = None, usable: Usable | None = None) -> dict[str, Any]:
    """The numbers of a mechanism as plain data; `rows`: how many there are, if that is known and public; `usable`: with
    what would help, if that was measured."""
    certificate, noise = mechanism.certificate, mechanism.noise
    if noise.tabled:
        optimum, most, channel = mechanism.optimum, mechanism.any_belief, mechanism.errors
        stated: dict[str, Any] = {
            "noise": "channel", "scale": None, "grid": None, "values": len(channel.support),
            "outputs": len(channel.channel.outputs), "loss": optimum.loss, "weight": optimum.weighing,
            "expected_loss": optimum.value, "lower_bound": optimum.lower,
            "cap": None if optimum.cap is None else float(optimum.cap),
            "any_belief": most if math.isfinite(most) else None, "unchanged": channel.unchanged,
            "exact_values": called_exactly(mechanism),
            "error_quantiles": {str(level): error for level, error in mechanism.error_quantiles().items()},
        }  # fmt: skip
    else:
        name = type(noise).__name__.lower() if noise.added else noise.name
        stated = {"noise": name, "scale": float(noise.scale), "grid": noise.grid}
    return {
        "guarantee": mechanism.guarantee, "anybody": certificate.anybody, "promise": certificate.promises,
        "quote": list(certificate.quoted()),
        "exact": list(certificate.exact_values), "method": certificate.method, "theorem": certificate.theorem,
        **stated, "empirical": certificate.body.get("empirical"), "proved": certificate.proved,
        "worst_pair": certificate.worst_pair, "expected_error": mechanism.expected_error(),
        "expected_squared_error": mechanism.expected_error("squared"), "interval_95": list(mechanism.interval(0.95)),
        "remap": (certificate.body.get("remap") or {}).get("loss"), "post": list(certificate.body.get("post", [])),
        "scales": certificate.scales, "assumptions": list(certificate.assumptions),
        "rules": list(certificate.tell().rules), "warnings": list(warnings_of(certificate, rows)),
        "unit": certificate.body["unit"], "fingerprint": certificate.fingerprint,
        "usable": (Usable.of(certificate, rows) if usable is None else usable).to_json(),
    }  # fmt: skip


def called_exactly(mechanism: Mechanism) -> list[Any]:
    """The values that go out as they are, by name where they have one."""
    exact: list[Any] = mechanism.exact_atoms().tolist()
    if mechanism.names is None:
        return exact
    known = dict(zip(mechanism.errors.channel.outputs, mechanism.names, strict=True))
    return [known[x] for x in exact]

"""What a mechanism is, as plain data and in words: the same for every command that makes one."""

from __future__ import annotations

from typing import Any

import fugu
from fugu.calibration.names import called
from fugu.calibration.offer import Calibrated
from fugu.cli.channels import channel_figures, describe_channel
from fugu.cli.console import escape, out, say, say_rules, usable_table, warn
from fugu.cli.spoken import spoken
from fugu.documents.weakness import warnings_of
from fugu.mechanism.channel import ChannelMechanism
from fugu.noise.atoms import AtomLaplace
from fugu.scenario import Scenario
from fugu.telling import told
from fugu.utility.figures import EXACT, ROW_BY_ROW, UNKNOWN
from fugu.utility.usable import Usable


def judged(mechanism: Calibrated, scenario: Scenario, rows: int | None) -> Usable:
    """How usable a release of so many rows would be; levers are measured where it is not usable row by row."""
    found = Usable.of(mechanism.certificate, rows)
    return found if found.grade in (EXACT, ROW_BY_ROW, UNKNOWN) else fugu.usable(mechanism, scenario, rows=rows)


def figures(mechanism: Calibrated, rows: int | None = None, usable: Usable | None = None) -> dict[str, Any]:
    """The numbers of a mechanism as plain data; `rows`: how many there are, if that is known and public; `usable`: with
    what would help, if that was measured."""
    certificate = mechanism.certificate
    return {
        "guarantee": mechanism.guarantee,
        "anybody": certificate.anybody,
        "promise": certificate.promises,
        "exact": list(certificate.exact_values),
        "method": certificate.method,
        "theorem": certificate.theorem,
        **_of_noise(mechanism),
        "empirical": certificate.body.get("empirical"),
        "proved": certificate.proved,
        "worst_pair": certificate.worst_pair,
        "expected_error": mechanism.expected_error(),
        "expected_squared_error": mechanism.expected_error("squared"),
        "interval_95": list(mechanism.interval(0.95)),
        "remap": (certificate.body.get("remap") or {}).get("loss"),
        "post": list(certificate.body.get("post", [])),
        "scales": certificate.scales,
        "assumptions": list(certificate.assumptions),
        "rules": list(told(certificate).rules),
        "warnings": list(warnings_of(certificate, rows)),
        "unit": certificate.body["unit"],
        "fingerprint": certificate.fingerprint,
        "usable": (Usable.of(certificate, rows) if usable is None else usable).to_json(),
    }


def _of_noise(mechanism: Calibrated) -> dict[str, Any]:
    if isinstance(mechanism, ChannelMechanism):
        return channel_figures(mechanism)
    noise = mechanism.noise
    name = "atoms" if isinstance(noise, AtomLaplace) else type(noise).__name__.lower()
    return {"noise": name, "scale": float(noise.scale), "grid": noise.grid}


def describe(mechanism: Calibrated, publish: str, rows: int | None = None, usable: Usable | None = None) -> None:
    """The same in words."""
    certificate = mechanism.certificate
    _describe_noise(mechanism, publish)
    name = called(certificate.method, str(certificate.body["noise"]["kind"]) if "noise" in certificate.body else "")
    say(f"method: {certificate.method}, {name} ({spoken(certificate.theorem).strip()})")
    proved = certificate.proved
    say(f"proved: epsilon {proved['epsilon']:.10g}, delta {proved['delta']:.3g}")
    say(f"promised: {certificate.promises}")
    say(f"worst pair: {certificate.worst_pair}")
    if getattr(mechanism, "names", None) is None:
        half = mechanism.interval(0.95)[1]
        days = " days" if mechanism.context.dates is not None else ""
        out.print(f"expected |error| {mechanism.expected_error():.6g}{days}; 95 % of errors within ±{half:.6g}{days}")
    if steps := certificate.body.get("post"):
        say(f"afterwards: {', '.join(steps)}; a function of what goes out, so it costs nothing. Errors are before it")
    empirical = certificate.body.get("empirical")
    if empirical is not None:
        loss = "no finite epsilon" if empirical["epsilon"] is None else f"epsilon {empirical['epsilon']:.6g}"
        out.print(
            f"under the empirical laws, which the guarantee is not for: {loss}, delta {empirical['delta']:.3g}",
            markup=False,
        )
    out.print(usable_table(Usable.of(certificate, rows) if usable is None else usable))
    say_rules(told(certificate).rules)
    say("assumptions: " + "; ".join(map(spoken, certificate.assumptions)))
    warn(warnings_of(certificate, rows))


def _describe_noise(mechanism: Calibrated, publish: str) -> None:
    if isinstance(mechanism, ChannelMechanism):
        describe_channel(mechanism, publish)
        return
    if mechanism.noise.scale == 0:
        out.print(
            f"[bold]No noise is needed[/] to publish {escape(repr(publish))} under "
            f"{escape(mechanism.certificate.promises)}: the beliefs alone suffice."
        )
    else:
        grid = mechanism.noise.grid
        kind = "Laplace-on-atoms" if isinstance(mechanism.noise, AtomLaplace) else type(mechanism.noise).__name__
        where = "without a lattice, for analysis only," if grid is None else f"in steps of {float(grid):.6g}"
        out.print(
            f"[bold]{kind} noise of scale {mechanism.noise.scale:.10g}[/] {where} "
            f"publishes {escape(repr(publish))} under {escape(mechanism.certificate.promises)}."
        )
    if (table := mechanism.certificate.body.get("remap")) is not None:
        say(f"outputs are moved to the value of least {table['loss']} loss, by a table of {len(table['to'])} values")

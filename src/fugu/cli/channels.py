"""`--mechanism optimal`: the channel of least error for exactly the stated beliefs; how it is asked for and shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import fugu
from fugu.calibration.channel_offer import ChannelOffer
from fugu.calibration.channel_problem import Asked
from fugu.calibration.driver import asked
from fugu.calibration.offer import Calibrated
from fugu.cli import options
from fugu.cli.console import escape, out, say
from fugu.errors import UnknownName, UsageError
from fugu.guarantee import Guarantee
from fugu.laws.items import shapes
from fugu.mechanism.channel import ChannelMechanism
from fugu.mechanism.context import Context
from fugu.numbers.exact import Real
from fugu.scenario import Scenario

NOISE, OPTIMAL = "noise", "optimal"
_PLAIN = ("best", "best", "auto", None)
_SHOWN = 12
"""Values that are listed by name; more are counted."""


@dataclass(frozen=True)
class Wanted:
    """Which mechanism the options ask for."""

    noise: str = "best"
    method: str = "best"
    grid: str = "auto"
    remap: str | None = None
    mechanism: str = NOISE
    loss: str | None = None
    cap: str | None = None

    def __post_init__(self) -> None:
        if self.mechanism not in (NOISE, OPTIMAL):
            raise UnknownName("mechanism", self.mechanism, (NOISE, OPTIMAL))
        if self.mechanism == NOISE and self.loss is not None:
            raise UsageError("--loss is for --mechanism optimal; give it too, or leave it out")
        if self.mechanism == OPTIMAL and (self.noise, self.method, self.grid, self.remap) != _PLAIN:
            raise UsageError("--mechanism optimal adds no noise: leave out --noise, --method, --grid and --remap")

    def refuse_cap(self) -> None:
        """Refuse a cap on noise where noise is measured by what the beliefs ask for."""
        if self.cap is not None and not self.optimal:
            raise UsageError(
                "--cap: noise is compared here by what the beliefs ask for, and fugu release and fugu calibrate keep a "
                "cap; leave it out, or give --mechanism optimal"
            )

    @property
    def optimal(self) -> bool:
        """Whether a channel is asked for."""
        return self.mechanism == OPTIMAL

    @property
    def limit(self) -> Real | None:
        """The cap as a number."""
        return None if self.cap is None else options.number("cap", self.cap)

    @property
    def asked(self) -> Asked:
        """The channel that is asked for."""
        return Asked(cast(Any, self.loss), cap=self.limit)

    def made(self, scenario: Scenario, budget: Guarantee) -> Calibrated:
        """The mechanism, proved."""
        if self.optimal:
            return fugu.optimal_channel(scenario, budget, cast(Any, self.loss), cap=self.limit)
        found = fugu.calibrate(
            scenario,
            budget,
            noise=cast(Any, self.noise),
            method=cast(Any, self.method),
            grid=self.grid,
            cap=self.limit,
        )
        return found if self.remap is None else cast(Calibrated, found.remapped(cast(Any, self.remap)))

    def told(self) -> dict[str, str]:
        """What is asked beside noise, for the name of a request."""
        said = {"mechanism": self.mechanism if self.optimal else None, "loss": self.loss, "cap": self.cap}
        return {name: text for name, text in said.items() if text is not None}

    def beside(self, found: fugu.Comparison, scenario: Scenario, budget: Guarantee) -> fugu.Comparison:
        """A comparison with the line of the channel, which `calibrate` does not take by itself."""
        if not self.optimal:
            return found
        wishes = replace(self.asked, names=Context.of(scenario).nominal)
        row = ChannelOffer(shapes(scenario.law_pairs()), asked(budget), wishes).row(asked(budget))
        listed = (*found.beside, row)
        return replace(found, more=lambda: listed)


def channel_figures(mechanism: ChannelMechanism) -> dict[str, Any]:
    """The numbers of a channel as plain data."""
    optimum, most = mechanism.optimum, mechanism.any_belief
    return {
        "noise": "channel",
        "scale": None,
        "grid": None,
        "values": len(mechanism.support),
        "outputs": len(mechanism.noise.outputs),
        "loss": optimum.loss,
        "weight": optimum.weighing,
        "expected_loss": optimum.value,
        "lower_bound": optimum.lower,
        "cap": None if optimum.cap is None else float(optimum.cap),
        "any_belief": most if math.isfinite(most) else None,
        "unchanged": mechanism.errors.unchanged,
        "exact_values": _called(mechanism),
        "error_quantiles": {str(level): error for level, error in mechanism.error_quantiles().items()},
    }


def describe_channel(mechanism: ChannelMechanism, publish: str) -> None:
    """The first lines of what is said of a channel: what it does, how near the optimum it is, what goes out exactly."""
    optimum, values = mechanism.optimum, len(mechanism.support)
    out.print(
        f"[bold]A channel of {values} values and {len(mechanism.noise.outputs)} outputs[/] publishes "
        f"{escape(repr(publish))} under {escape(mechanism.certificate.promises)}."
    )
    bound = "" if optimum.lower is None else f"; no {optimum.among} is below {optimum.lower:.9g}"
    say(f"expected {optimum.loss} loss {optimum.value:.9g}{bound}")
    exact = _called(mechanism)
    listed = f": {', '.join(map(str, exact[:_SHOWN]))}{', ...' if len(exact) > _SHOWN else ''}" if exact else ""
    say(f"{len(exact)} of {values} values go out as they are{listed}; the others are exchanged")
    if mechanism.names is None:
        tails = (f"{float(100 * level):g} % within {error:g}" for level, error in mechanism.error_quantiles().items())
        say(f"errors: {', '.join(tails)}")


def _called(mechanism: ChannelMechanism) -> list[Any]:
    """The values that go out as they are, by name where they have one."""
    exact: list[Any] = mechanism.exact_atoms().tolist()
    if mechanism.names is None:
        return exact
    known = dict(zip(mechanism.noise.outputs, mechanism.names, strict=True))
    return [known[x] for x in exact]

"""`--clip` and `--round`: what is done with released numbers, a function of them alone, which costs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fugu.calibration.offer import Calibrated
from fugu.cli import options
from fugu.data.field import Field
from fugu.errors import UsageError
from fugu.mechanism import post


@dataclass(frozen=True)
class After:
    """What the options ask for, as texts."""

    clip: str | None = None
    step: str | None = None

    def applied(self, mechanism: Calibrated) -> Calibrated:
        """The mechanism followed by the steps, which its certificate names; of dates, in dates and days."""
        if self.clip is None and self.step is None:
            return mechanism
        if getattr(mechanism, "names", None) is not None:
            raise UsageError("--clip and --round are for numbers; these categories have no order")
        dates = mechanism.context.dates
        if self.clip is not None:
            named = None if dates is None else f"clip({', '.join(end.strip() for end in self.clip.split(','))})"
            mechanism = mechanism.then(post.clip(*self._ends(self.clip, dates)), named)
        if self.step is not None:
            step = post.round_to(options.positive("--round", self.step))
            named = None if dates is None else f"{step.__name__.removesuffix(')')} days)"
            mechanism = mechanism.then(step, named)
        return mechanism

    def told(self) -> dict[str, str]:
        """What is asked, for the name of a request."""
        said = {"clip": self.clip, "round": self.step}
        return {name: text for name, text in said.items() if text is not None}

    @staticmethod
    def _ends(text: str, dates: Field | None) -> tuple[float, float]:
        named = text.split(",")
        ends = [dates.day(end) if dates else float(options.number("--clip", end)) for end in named]
        if len(ends) != 2 or not all(map(math.isfinite, ends)) or ends[0] > ends[1]:
            what = "two dates, such as --clip 2020-01-01,2020-12-31" if dates else "two numbers, such as --clip 0,100"
            raise UsageError(f"what released values are clipped to is {what}, the lower first")
        return ends[0], ends[1]

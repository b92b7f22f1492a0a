"""What `fugu train` is told about the other rows: a prior as text, with the columns that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fugu.cli.train_data import Rows, places
from fugu.data import Table
from fugu.data.field import Field
from fugu.errors import BadTable, NotProvable, UnknownName, UsageError

if TYPE_CHECKING:
    from fugu.priors.coupling import Coupled as Prior

PRIVATE = ("both", "features", "target")
_NEEDING = ("groups", "markov")
"""Priors that need a column: of groups, of states."""
_FITTED = "fitted"


@dataclass(frozen=True)
class Belief:
    """The prior as it was written, and the columns it needs."""

    text: str
    order: str | None
    state: str | None
    smoothing: float
    ordered: bool
    start: str = "fitted"

    @staticmethod
    def of(
        text: str,
        order: str | None,
        by: str | None,
        state: str | None,
        smoothing: float,
        source: str | None,
        start: str = _FITTED,
    ) -> Belief:
        """Checked: what the prior needs is there, and nothing that it does not know."""
        from fugu.training.reading import prior_from

        name = text.strip()
        grouped, chained = (name == needing for needing in _NEEDING)
        if grouped != (by is not None):
            raise UsageError("--prior groups and --by COLUMN, the group of each row, go together; give both")
        if chained != (state is not None):
            raise UsageError("--prior markov and --state COLUMN, the state of each row, go together; give both")
        if not chained and (smoothing or start != _FITTED):
            raise UsageError("--smoothing and --start are for --prior markov; leave them out")
        if chained and source is None:
            raise UsageError(
                "--prior markov is fitted on --reference rows, never on the private ones; give --reference"
            )
        try:
            ordered = chained or (not grouped and prior_from(name).ordered)
        except UsageError as error:
            more = ', "groups" (with --by), "markov" (with --state)' if str(error).startswith("no prior") else ""
            raise UsageError(f"{error}{more}") from None
        if ordered and order is None:
            raise UsageError(f"--prior {name} speaks of rows in order: give --order COLUMN, the public column of times")
        return Belief(name, order, state, smoothing, ordered, start)

    def prior(self, rows: Rows, known: Table | None) -> Prior:
        """The prior of these rows; the chain of states is that of the public table."""
        from fugu.priors.groups import Groups
        from fugu.training.reading import prior_from

        if rows.groups is not None:
            return Groups(rows.groups)
        if self.state is None or self.order is None or known is None:
            return prior_from(self.text)
        from fugu.queries.sequence_beliefs import chain_of

        column = known.exact(self.state)
        if column.missing.any():
            raise BadTable(f"column {self.state!r} of the reference has missing cells; fill them in")
        times = Field("time").read(self.order, known.raw(self.order))
        states = column.values[places(times, "reference", True)].tolist()
        return prior_from(chain_of({"reference": states}, self.state, self.smoothing, len(rows), self.start))


def check_private(private: str, numbers: bool, belief: Belief) -> None:
    """A label cannot be normal."""
    if private not in PRIVATE:
        raise UnknownName("part of a row for --private", private, PRIVATE)
    if belief.text.startswith("ar1") and not numbers and private != "features":
        raise NotProvable(
            f"--prior {belief.text} is about normal numbers, and a label is none: for a classifier give --prior "
            "mixing:0.3, markov or groups, or keep it with --private features if the labels are public"
        )

"""The commands that take forms: which fields each has an option for. What a command does is a function of its name in
the file that it names first, which is imported when it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from fugu.cli.asking import asks
from fugu.question import COLUMN, SEQUENCES, STATISTICS, Question, ask
from fugu.releasing.scenario_file import Booking, Delivery, Sharing, Training


@final
@dataclass(frozen=True, kw_only=True)
class Comparing:
    """What `fugu compare` is told beside a question."""

    figure: str | None = ask("", COLUMN, first=10)
    rows_within: str | None = ask("", COLUMN)
    users: int | None = ask("", SEQUENCES)


_BELIEVED = "table rows public_reference public_prior allow_no_noise"
"""What is said of a release alone."""


@asks(
    "calibrating", COLUMN, STATISTICS, need="reference error",
    leave="table public_reference public_prior allow_no_noise epsilon delta alpha noise method grid remap clip round",
)  # fmt: skip
def plan(question: Question, as_json: bool = False) -> None:
    """Find the least epsilon with which statistics, or a column row by row, reach an expected error."""


@asks("calibrating", COLUMN, need="reference publish protect epsilon", leave=f"{_BELIEVED} error")
def calibrate(
    question: Question,
    output: str | None = None,
    report: str | None = None,
    attack: bool = False,
    as_json: bool = False,
) -> None:
    """Find and prove the least noise; nothing is released. TABLE is the reference that beliefs are fitted on."""


@asks(
    "calibrating", COLUMN, STATISTICS, SEQUENCES, need="reference epsilon",
    leave="table public_reference public_prior allow_no_noise error route noise method remap clip round other",
)  # fmt: skip
def compare(question: Question, more: Comparing, as_json: bool = False) -> None:
    """Compare the noise of every method. TABLE is the reference that beliefs are fitted on."""


@asks("releasing", leave="error", argument="table")
def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """Publish statistics of TABLE, a column, or statistics of its sequences: OUT.csv, a certificate and a page."""


@asks(
    "influence", SEQUENCES, need="reference epsilon", metavar="SEQ",
    leave=f"{_BELIEVED} query weights bounds other delta alpha error noise method", first="by",
)  # fmt: skip
def influence(question: Question, plot: str | None = None, as_json: bool = False) -> None:
    """Fit a Markov chain on SEQ: its influence curve, and the largest epsilon per entry that keeps EPSILON."""


@asks("outside", only="table reference schema no_header unit", need="table", argument="table")
def check(question: Question, ledger: str | None = None, as_json: bool = False) -> None:
    """Show how your own TABLE is read, column by column, and what else holds it. For your eyes only."""


@asks("property", only="reference epsilon delta alpha", need="reference statistics hide size epsilon")
def property_(
    question: Question, sharing: Sharing, figure: str | None = None, output: str | None = None, as_json: bool = False
) -> None:
    """Hide a property of the whole data set: noise, record swap, attack; from a reference. Nothing is released."""


@asks(
    "train", only="table reference schema no_header unit epsilon delta", need="target epsilon prior", argument="table"
)
def train(question: Question, training: Training, books: Booking, force: bool = False, as_json: bool = False) -> None:
    """Train a private model on TABLE, once, with a certificate. Its accuracy is measured on public rows only.

    Its noise is Gaussian, so --delta is needed, such as 1e-5. The training is charged to a ledger before its first
    step: the same command gives the same model back, and another training of the same rows is refused."""

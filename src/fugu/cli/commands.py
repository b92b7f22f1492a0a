"""The commands that take a question: which of its fields each has an option for; their bodies are imported when run."""

from __future__ import annotations

from typing import Annotated

import typer

from fugu.cli.asking import asks
from fugu.cli.forms import AsJson, Booking, Comparing, Delivery, Force, Sharing, Training
from fugu.question import COLUMN, SEQUENCES, STATISTICS, Question

_Attack = Annotated[
    bool, typer.Option("--attack", help="Attack the noise first; what it reaches is shown on the page.")
]
_BELIEVED = "table rows public_reference public_prior allow_no_noise"
"""What is said of a release alone."""


@asks(
    COLUMN, need="reference publish protect error",
    leave=f"{_BELIEVED} epsilon delta alpha noise method grid remap clip round",
)  # fmt: skip
def plan(question: Question, as_json: AsJson = False) -> None:
    """Find the least epsilon whose mechanism has at most this expected error."""
    from fugu.cli.calibrating import plan

    assert question.error is not None
    plan(question, question.error, as_json)


@asks(COLUMN, need="reference publish protect epsilon", leave=f"{_BELIEVED} error")
def calibrate(
    question: Question,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the certificate here (JSON).")] = None,
    report: Annotated[
        str | None, typer.Option(help="Write the page to sign before anything is released here (HTML).")
    ] = None,
    attack: _Attack = False,
    as_json: AsJson = False,
) -> None:
    """Find and prove the least noise; nothing is released. TABLE is the reference that beliefs are fitted on."""
    from fugu.cli.calibrating import calibrate

    calibrate(question, output, report, attack, as_json)


@asks(
    COLUMN, STATISTICS, SEQUENCES, need="reference epsilon",
    leave="table public_reference public_prior allow_no_noise error route noise method remap clip round other",
)  # fmt: skip
def compare(question: Question, more: Comparing, as_json: AsJson = False) -> None:
    """Show every method's noise side by side. TABLE is the reference that beliefs are fitted on."""
    from fugu.cli.calibrating import compare

    compare(question, more, as_json)


@asks(need="epsilon", leave="error", argument="table")
def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """Publish a column or statistics of TABLE, or of its sequences: OUT.csv, its certificate and its page."""
    from fugu.cli.releasing import release

    release(question, books, delivery)


@asks(
    SEQUENCES, need="reference epsilon", metavar="SEQ",
    leave=f"{_BELIEVED} query weights bounds other delta alpha error noise method",
)  # fmt: skip
def influence(
    question: Question,
    plot: Annotated[str | None, typer.Option(metavar="OUT.html", help="Write a page with the curve.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a chain on SEQ: its influence curve, and the largest epsilon for each entry that keeps EPSILON."""
    from fugu.cli.influence import influence

    influence(question, plot, as_json)


@asks(only="table reference schema no_header unit", need="table", argument="table")
def check(
    question: Question,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="A ledger: which of its data sets hold the same people or rows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How your own TABLE is read, column by column, and what of it is elsewhere too: for your eyes, not to publish."""
    from fugu.cli.dispatch import check

    check(question, ledger, as_json)


@asks(only="reference epsilon delta alpha", need="reference statistics hide size epsilon")
def property_(
    question: Question,
    sharing: Sharing,
    figure: Annotated[str | None, typer.Option(help="Write error by tolerance, and the attack, here (HTML).")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the certificate here (JSON).")] = None,
    as_json: AsJson = False,
) -> None:
    """Hide a property of the whole: noise, record swap and attack, from a reference TABLE. Nothing is released."""
    from fugu.cli.property import property_

    property_(question, sharing, figure, output, as_json)


@asks(only="table reference schema no_header unit epsilon delta", need="target epsilon prior", argument="table")
def train(
    question: Question,
    training: Training,
    books: Booking,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Train a private model of TABLE once, with its certificate; utility is measured on public rows only.

    The training is charged to a ledger before its first step: the same command gives the same model back, and another
    training of the same rows is refused."""
    from fugu.cli.train import train

    train(question, training, books, force, as_json)

"""`fugu.sequences`: questions about sequences with a guarantee per entry, and how sequences are read from a table.

See `fugu.queries.sequences` for the queries, what one replaced entry changes in each, and the noise that hides it."""

from fugu.data.layout import Layout
from fugu.data.sequences import open_sequences, read_sequences, sequence_schema
from fugu.queries.sequences import (
    ArgMax,
    Count,
    Histogram,
    LatticeMechanism,
    Lipschitz,
    Mean,
    Numbers,
    RandomisedResponse,
    Select,
    SequenceAnswer,
    SequenceMechanism,
    SequenceQuery,
    Several,
    States,
    Sum,
    TopK,
    Transitions,
)

__all__ = [
    "ArgMax", "Count", "Histogram", "LatticeMechanism", "Layout", "Lipschitz", "Mean", "Numbers", "RandomisedResponse",
    "Select", "SequenceAnswer", "SequenceMechanism", "SequenceQuery", "Several", "States", "Sum", "TopK", "Transitions",
    "open_sequences", "read_sequences", "sequence_schema",
]  # fmt: skip

"""`fugu.sequences`: questions about sequences with a guarantee per entry, and how sequences are read from a table.

See `fugu.queries.sequences` for the queries, what one replaced entry changes in each, and the noise that hides it."""

from fugu.data.layout import Layout
from fugu.data.sequences import open_sequences, read_sequences, sequence_schema
from fugu.queries import sequences
from fugu.queries.sequences import *  # noqa: F403

__all__ = [*sequences.__all__, "Layout", "open_sequences", "read_sequences", "sequence_schema"]  # noqa: PLE0604

"""What is said, everywhere, of beliefs that were fitted on the private table itself."""

from __future__ import annotations

from collections.abc import Iterable

PRIVATE_NUMBERS = (
    "the beliefs were fitted on the private table itself and count as public: this certificate, and a page made from "
    "it, hold exact numbers of that table without any noise (how many rows have each value and each secret, or what "
    "was fitted to them)"
)
WITHHELD = (
    "the beliefs were fitted on the private table itself and count as public; its exact numbers are withheld from this "
    "document and its page, but how much noise there is depends on them"
)
"""What a release document says in place of `PRIVATE_NUMBERS`: it does not hold these numbers."""
ON_THE_TERMINAL = (
    "--public-prior: the beliefs are fitted on the private table itself. Its exact counts (how many rows have each "
    "value and each secret) go into OUT.private.json, which is not for publication; the certificate holds a commitment "
    "to them, which nobody else can check. How much noise is added still depends on them. --reference TABLE avoids this"
)
UNPROTECTED = "no reference row holds these secrets, and nothing is promised of them: "
"""What the names of skipped secrets follow, in the assumptions of a statistic."""
IN_THE_BOX = (
    "The beliefs behind this release were fitted on the private table itself and declared public. The laws drawn and "
    "printed here, and in the certificate, are exact counts of that table: how many rows have each value and each "
    "secret, without any noise. The promise below does not cover them. Publish this page and the certificate only if "
    "those counts are public already."
)


def holds_private_numbers(assumptions: Iterable[str]) -> bool:
    """Whether a certificate with these assumptions contains exact numbers of the private table."""
    return PRIVATE_NUMBERS in tuple(assumptions)

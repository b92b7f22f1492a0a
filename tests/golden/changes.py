"""The differences from the golden record that are meant. A difference that no entry explains fails the test, and so
does an entry that explains none: take it out when `record.py --write` has made it part of the record."""

from __future__ import annotations

from golden.comparing import Change

EXPECTED: tuple[Change, ...] = (
    Change("*", "certificate*.publisher.*", "what is the publisher's own words is marked as such in every certificate"),
    Change("*", "certificate*assumptions.*", "more is said of the reference, on the publisher's word",
           "the reference is not the table to be released*"),
    Change("*", "certificate.anybody*", "what holds against anybody is stated beside what holds under the beliefs"),
    Change("wrong-use/budget-zero", "message", "epsilon 0 is refused in one sentence, not method by method"),
)  # fmt: skip

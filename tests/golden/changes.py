"""The differences from the golden record that are meant. A difference that no entry explains fails the test, and so
does an entry that explains none: take it out when `record.py --write` has made it part of the record."""

from __future__ import annotations

from golden.comparing import Change

EXPECTED: tuple[Change, ...] = ()

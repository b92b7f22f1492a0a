"""Many questions about one private table under one budget: `fugu.Session`."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.queries.answer import SessionAnswer as SessionAnswer
    from fugu.session.session import Session as Session
else:
    __getattr__ = names(__name__)

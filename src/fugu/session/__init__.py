"""Many questions about one private table under one budget: `fugu.Session`."""

from fugu.session.answers import SessionAnswer as SessionAnswer
from fugu.session.session import Session as Session

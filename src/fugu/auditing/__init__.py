"""Looking at a mechanism from outside: `verify`."""

from fugu.auditing.verify import Verdict as Verdict
from fugu.auditing.verify import verify as verify

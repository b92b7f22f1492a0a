"""`audit`: attack the release path that really runs, on data drawn from the beliefs, with both laws known."""

from fugu.auditing.release_attack.outcome import Audit as Audit
from fugu.auditing.release_attack.run import audit as audit

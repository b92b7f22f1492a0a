"""`audit`: attack the release path that really runs, on data drawn from the beliefs, with both laws known."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.auditing.release_attack.outcome import Audit as Audit
    from fugu.auditing.release_attack.run import audit as audit
else:
    __getattr__ = names(__name__)

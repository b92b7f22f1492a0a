"""Noise plus the document that says why it suffices; one release."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate as Certificate
    from fugu.mechanism.intake import Context as Context
    from fugu.mechanism.mechanism import Mechanism as Mechanism
    from fugu.mechanism.per_entry import PerEntryDP as PerEntryDP
    from fugu.mechanism.release import Release as Release
    from fugu.mechanism.settled import mix as mix
else:
    __getattr__ = names(__name__)

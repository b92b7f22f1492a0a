"""Noise plus the document that says why it suffices; one release."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate as Certificate
    from fugu.mechanism.additive import Additive as Additive
    from fugu.mechanism.context import Context as Context
    from fugu.mechanism.mechanism import Mechanism as Mechanism
    from fugu.mechanism.mixed import Mixed as Mixed
    from fugu.mechanism.mixed import mix as mix
    from fugu.mechanism.per_entry import PerEntryDP as PerEntryDP
    from fugu.mechanism.release import Release as Release
else:  # a verifier needs no scenario, so none is imported with the parts that it reads
    __getattr__ = names(
        __name__,
        {
            "Additive": "mechanism.additive",
            "Certificate": "documents.certificate",
            "Context": "mechanism.context",
            "Mechanism": "mechanism.mechanism",
            "Mixed": "mechanism.mixed",
            "PerEntryDP": "mechanism.per_entry",
            "Release": "mechanism.release",
            "mix": "mechanism.mixed",
        },
    )

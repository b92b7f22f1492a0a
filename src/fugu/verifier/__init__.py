"""The independent verifier: reads documents and proves them again. It imports laws, noise and proofs of losses, and
nothing of calibration, scenarios or commands, so that no mistake in how noise is found can hide here."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.documents.document import Verdict as Verdict
else:
    __getattr__ = names(__name__)

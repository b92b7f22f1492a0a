"""The independent verifier: reads documents and proves them again. It imports laws, noise and proofs of losses, and
nothing of calibration, scenarios or commands, so that no mistake in how noise is found can hide here."""

from fugu.verifier.verdict import Verdict as Verdict
from fugu.verifier.verify import verify as verify

"""fugu: publish statistics of correlated data under Pufferfish privacy.

Say what is secret, what adversaries may believe, and how much they may learn; fugu finds the least noise that
provably suffices, releases once, and hands over a certificate that anybody can re-check.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fugu import errors as errors
from fugu._version import __version__ as __version__

if TYPE_CHECKING:
    from fugu import iterate as iterate
    from fugu.auditing.against import guarantee_against as guarantee_against
    from fugu.auditing.attack import attack as attack
    from fugu.auditing.verdict import Verdict as Verdict
    from fugu.auditing.verify import verify as verify
    from fugu.calibration.calibrate import calibrate as calibrate
    from fugu.calibration.compare import compare as compare
    from fugu.calibration.plan import plan as plan
    from fugu.data import Schema as Schema
    from fugu.guarantee import Approx as Approx
    from fugu.guarantee import Pure as Pure
    from fugu.guarantee import Renyi as Renyi
    from fugu.guarantee import RenyiCurve as RenyiCurve
    from fugu.laws import Discrete as Discrete
    from fugu.laws import LawPair as LawPair
    from fugu.laws import Shifted as Shifted
    from fugu.laws.multinormal import MultivariateNormal as MultivariateNormal
    from fugu.laws.normal import Normal as Normal
    from fugu.laws.normal import NormalMixture as NormalMixture
    from fugu.ledger import Ledger as Ledger
    from fugu.loss import delta as delta
    from fugu.loss import epsilon as epsilon
    from fugu.loss import renyi as renyi
    from fugu.mechanism import Certificate as Certificate
    from fugu.mechanism import Mechanism as Mechanism
    from fugu.mechanism import PerEntryDP as PerEntryDP
    from fugu.mechanism import mix as mix
    from fugu.noise import Gaussian as Gaussian
    from fugu.noise import GeneralizedCauchy as GeneralizedCauchy
    from fugu.noise import Laplace as Laplace
    from fugu.priors import BayesianNetwork as BayesianNetwork
    from fugu.priors import MarkovChain as MarkovChain
    from fugu.scenario import Scenario as Scenario
    from fugu.translation import dp_budget as dp_budget
    from fugu.translation.influence import influence as influence
    from fugu.translation.translate import translate as translate
    from fugu.transport.closeness import closeness as closeness
    from fugu.transport.wasserstein import wasserstein as wasserstein

_ROOMS = {
    "Approx": "guarantee",
    "BayesianNetwork": "priors",
    "Certificate": "mechanism",
    "Discrete": "laws",
    "Gaussian": "noise",
    "GeneralizedCauchy": "noise",
    "Laplace": "noise",
    "LawPair": "laws",
    "Ledger": "ledger",
    "MarkovChain": "priors",
    "Mechanism": "mechanism",
    "MultivariateNormal": "laws",
    "Normal": "laws",
    "NormalMixture": "laws",
    "PerEntryDP": "mechanism",
    "Pure": "guarantee",
    "Renyi": "guarantee",
    "RenyiCurve": "guarantee",
    "Scenario": "scenario",
    "Schema": "data",
    "Shifted": "laws",
    "Verdict": "auditing",
    "attack": "auditing",
    "calibrate": "calibration",
    "closeness": "transport",
    "compare": "calibration",
    "delta": "loss",
    "dp_budget": "translation",
    "epsilon": "loss",
    "guarantee_against": "auditing",
    "influence": "translation",
    "mix": "mechanism",
    "plan": "calibration",
    "renyi": "loss",
    "translate": "translation",
    "verify": "auditing",
    "wasserstein": "transport",
}

__all__ = ["__version__", "errors", "iterate", *sorted(_ROOMS)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import fugu` stays fast."""
    if name == "iterate":
        return importlib.import_module("fugu.iterate")
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module 'fugu' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"fugu.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

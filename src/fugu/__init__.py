"""fugu: publish statistics of correlated data under Pufferfish privacy.

Say what is secret, what adversaries may believe, and how much they may learn; fugu finds the least noise that
provably suffices, releases once, and hands over a certificate that anybody can re-check.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fugu import errors as errors
from fugu._version import __version__ as __version__

if TYPE_CHECKING:
    from fugu import iterate as iterate
    from fugu import sequences as sequences
    from fugu.auditing.against import guarantee_against as guarantee_against
    from fugu.auditing.attack import attack as attack
    from fugu.auditing.attack_report import AttackReport as AttackReport
    from fugu.auditing.decoder import decode as decode
    from fugu.auditing.nearby import guarantee_within as guarantee_within
    from fugu.auditing.outside.examine import examine as examine
    from fugu.auditing.property_attack import property_attack as property_attack
    from fugu.auditing.release_attack import Audit as Audit
    from fugu.auditing.release_attack import audit as audit
    from fugu.calibration.calibrate import calibrate as calibrate
    from fugu.calibration.channel import optimal_channel as optimal_channel
    from fugu.calibration.compare import compare as compare
    from fugu.calibration.comparison import Comparison as Comparison
    from fugu.calibration.plan import plan as plan
    from fugu.calibration.rows import rows_needed as rows_needed
    from fugu.calibration.usable import usable as usable
    from fugu.checking.check import Check as Check
    from fugu.checking.check import check as check
    from fugu.data import Schema as Schema
    from fugu.data import read_table as read_table
    from fugu.documents.certificate import Certificate as Certificate
    from fugu.documents.release import ReleaseDocument as ReleaseDocument
    from fugu.guarantee import ZCDP as ZCDP
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
    from fugu.laws.sets.ball import Ball as Ball
    from fugu.laws.sets.band import Band as Band
    from fugu.laws.sets.band import winf_ball as winf_ball
    from fugu.laws.sets.box import Box as Box
    from fugu.laws.sets.hull import Hull as Hull
    from fugu.laws.sets.intersection import Intersection as Intersection
    from fugu.ledger import Charge as Charge
    from fugu.ledger import Ledger as Ledger
    from fugu.loss import delta as delta
    from fugu.loss import epsilon as epsilon
    from fugu.loss import renyi as renyi
    from fugu.mechanism.mechanism import Mechanism as Mechanism
    from fugu.mechanism.mixed import mix as mix
    from fugu.mechanism.per_entry import PerEntryDP as PerEntryDP
    from fugu.mechanism.release import Release as Release
    from fugu.mechanism.release import Simulated as Simulated
    from fugu.noise import Gaussian as Gaussian
    from fugu.noise import GeneralizedCauchy as GeneralizedCauchy
    from fugu.noise import Laplace as Laplace
    from fugu.priors import BayesianNetwork as BayesianNetwork
    from fugu.priors import ChainSet as ChainSet
    from fugu.priors import DependentGroups as DependentGroups
    from fugu.priors import IndependentBlocks as IndependentBlocks
    from fugu.priors import IntervalChain as IntervalChain
    from fugu.priors import MarkovChain as MarkovChain
    from fugu.priors.curve import InfluenceCurve as InfluenceCurve
    from fugu.priors.gaussian_field import GaussianField as GaussianField
    from fugu.priors.hidden import HiddenMarkov as HiddenMarkov
    from fugu.priors.joint import JointTable as JointTable
    from fugu.priors.records import Records as Records
    from fugu.publication.releasing import answer as answer
    from fugu.publication.releasing import release_column as release_column
    from fugu.queries.answered import Answer as Answer
    from fugu.report.publish import publish as publish
    from fugu.scenario import Scenario as Scenario
    from fugu.scenario.swap import swap_counts as swap_counts
    from fugu.scenario.swap import swap_shift as swap_shift
    from fugu.scenario.swap_monte import swap_sigma as swap_sigma
    from fugu.session.answers import SessionAnswer as SessionAnswer
    from fugu.session.session import Session as Session
    from fugu.translation import dp_budget as dp_budget
    from fugu.translation.influence import influence as influence
    from fugu.translation.translate import translate as translate
    from fugu.transport.closeness import closeness as closeness
    from fugu.transport.wasserstein import wasserstein as wasserstein
    from fugu.utility.usable import Usable as Usable
    from fugu.verifier.verdict import Verdict as Verdict
    from fugu.verifier.verify import verify as verify

_ROOMS = {
    "Answer": "queries.answered",
    "Approx": "guarantee",
    "AttackReport": "auditing",
    "Audit": "auditing",
    "Ball": "laws.sets",
    "Band": "laws.sets",
    "BayesianNetwork": "priors",
    "Box": "laws.sets",
    "Certificate": "documents.certificate",
    "ChainSet": "priors",
    "Charge": "ledger",
    "Check": "checking",
    "Comparison": "calibration",
    "DependentGroups": "priors",
    "Discrete": "laws",
    "Gaussian": "noise",
    "GaussianField": "priors.gaussian_field",
    "GeneralizedCauchy": "noise",
    "HiddenMarkov": "priors.hidden",
    "Hull": "laws.sets",
    "IndependentBlocks": "priors",
    "InfluenceCurve": "priors.curve",
    "Intersection": "laws.sets",
    "IntervalChain": "priors",
    "JointTable": "priors.joint",
    "Laplace": "noise",
    "LawPair": "laws",
    "Ledger": "ledger",
    "MarkovChain": "priors",
    "Mechanism": "mechanism.mechanism",
    "MultivariateNormal": "laws",
    "Normal": "laws",
    "NormalMixture": "laws",
    "PerEntryDP": "mechanism.per_entry",
    "Pure": "guarantee",
    "Records": "priors.records",
    "Release": "mechanism.release",
    "ReleaseDocument": "documents.release",
    "Renyi": "guarantee",
    "RenyiCurve": "guarantee",
    "Scenario": "scenario",
    "Schema": "data",
    "Session": "session.session",
    "SessionAnswer": "session.answers",
    "Shifted": "laws",
    "Simulated": "mechanism.release",
    "Usable": "utility.usable",
    "Verdict": "verifier",
    "ZCDP": "guarantee",
    "answer": "publication.releasing",
    "attack": "auditing",
    "audit": "auditing",
    "calibrate": "calibration",
    "check": "checking",
    "closeness": "transport",
    "compare": "calibration",
    "decode": "auditing.decoder",
    "delta": "loss",
    "dp_budget": "translation",
    "epsilon": "loss",
    "examine": "auditing.outside.examine",
    "guarantee_against": "auditing",
    "guarantee_within": "auditing",
    "influence": "translation",
    "mix": "mechanism.mixed",
    "optimal_channel": "calibration.channel",
    "plan": "calibration",
    "rows_needed": "calibration.rows",
    "property_attack": "auditing.property_attack",
    "publish": "report.publish",
    "read_table": "data",
    "release_column": "publication.releasing",
    "renyi": "loss",
    "swap_counts": "scenario.swap",
    "swap_shift": "scenario.swap",
    "swap_sigma": "scenario.swap_monte",
    "translate": "translation",
    "usable": "calibration.usable",
    "verify": "verifier",
    "wasserstein": "transport",
    "winf_ball": "laws.sets",
}

__all__ = ["__version__", "errors", "iterate", "sequences", *sorted(_ROOMS)]  # noqa: PLE0604


if not TYPE_CHECKING:  # a type checker reads the imports above, and reports a name that is not among them

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that `import fugu` stays fast."""
        if name in ("iterate", "sequences"):
            return importlib.import_module(f"fugu.{name}")
        room = _ROOMS.get(name)
        if room is None:
            raise AttributeError(f"module 'fugu' has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"fugu.{room}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)

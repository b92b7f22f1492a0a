"""fugu: publish statistics of correlated data under Pufferfish privacy.

Say what is secret, what adversaries may believe, and how much they may learn; fugu finds the least noise that
provably suffices, releases once, and hands over a certificate that anybody can re-check.

Most work needs ten names, each with its `help`:

    release     the one door: what a plan asks of a table, charged, drawn once, written with its page
    Question    a plan: what to publish, what to hide, what is believed, how much may be learnt
    describe    what each column of a reference may be used for, and why not
    check       how your table is read, for your eyes, before anything is released
    Session     many statistics of one table under one budget, asked one by one
    Scenario    what is secret of a published column, and what adversaries believe
    Pure        a budget in epsilon; Approx has a delta
    calibrate   the least noise that is proved for a scenario and a budget
    compare     every method side by side, beside ordinary differential privacy
    verify      whether a certificate holds: every proof again

The others stand by subject in docs/reference/api. `fugu.sequences` and `fugu.iterate` are for sequences and training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fugu import errors as errors
from fugu._version import __version__ as __version__
from fugu.lazily import names, typed

if TYPE_CHECKING:
    from fugu import iterate as iterate
    from fugu import sequences as sequences
    from fugu.auditing import verify as verify
    from fugu.auditing.against import guarantee_against as guarantee_against
    from fugu.auditing.against import guarantee_within as guarantee_within
    from fugu.auditing.attack import attack as attack
    from fugu.auditing.attack import property_attack as property_attack
    from fugu.auditing.examine import examine as examine
    from fugu.auditing.guessers import decode as decode
    from fugu.auditing.outcome import AttackReport as AttackReport
    from fugu.auditing.outcome import Audit as Audit
    from fugu.auditing.release_attack import audit as audit
    from fugu.calibration.channel import optimal_channel as optimal_channel
    from fugu.calibration.compare import compare as compare
    from fugu.calibration.comparison import Comparison as Comparison
    from fugu.calibration.driver import calibrate as calibrate
    from fugu.calibration.plan import plan as plan
    from fugu.calibration.plan import rows_needed as rows_needed
    from fugu.calibration.usable import usable as usable
    from fugu.checking.check import Check as Check
    from fugu.checking.check import check as check
    from fugu.data import Schema as Schema
    from fugu.data import read_table as read_table
    from fugu.data.uses import Description as Description
    from fugu.data.uses import describe as describe
    from fugu.documents.certificate import Certificate as Certificate
    from fugu.documents.composition import CompositionCertificate as CompositionCertificate
    from fugu.documents.composition import certify as certify
    from fugu.documents.document import Verdict as Verdict
    from fugu.documents.release import ReleaseDocument as ReleaseDocument
    from fugu.documents.sign_off import SignOff as SignOff
    from fugu.guarantee import ZCDP as ZCDP
    from fugu.guarantee import Approx as Approx
    from fugu.guarantee import Pure as Pure
    from fugu.guarantee import Renyi as Renyi
    from fugu.guarantee import RenyiCurve as RenyiCurve
    from fugu.guarantee import compose as compose
    from fugu.laws import Discrete as Discrete
    from fugu.laws import LawPair as LawPair
    from fugu.laws import Shifted as Shifted
    from fugu.laws.multinormal import MultivariateNormal as MultivariateNormal
    from fugu.laws.normal import Normal as Normal
    from fugu.laws.normal import NormalMixture as NormalMixture
    from fugu.laws.sets.ball import Ball as Ball
    from fugu.laws.sets.ball import Hull as Hull
    from fugu.laws.sets.box import Band as Band
    from fugu.laws.sets.box import Box as Box
    from fugu.laws.sets.box import Intersection as Intersection
    from fugu.laws.sets.box import winf_ball as winf_ball
    from fugu.ledger import Charge as Charge
    from fugu.ledger import Ledger as Ledger
    from fugu.loss import delta as delta
    from fugu.loss import epsilon as epsilon
    from fugu.loss import renyi as renyi
    from fugu.mechanism.mechanism import Mechanism as Mechanism
    from fugu.mechanism.per_entry import PerEntryDP as PerEntryDP
    from fugu.mechanism.release import Release as Release
    from fugu.mechanism.release import Simulated as Simulated
    from fugu.mechanism.settled import mix as mix
    from fugu.noise import Gaussian as Gaussian
    from fugu.noise import GeneralizedCauchy as GeneralizedCauchy
    from fugu.noise import Laplace as Laplace
    from fugu.priors import BayesianNetwork as BayesianNetwork
    from fugu.priors import ChainSet as ChainSet
    from fugu.priors import DependentGroups as DependentGroups
    from fugu.priors import IndependentBlocks as IndependentBlocks
    from fugu.priors import IntervalChain as IntervalChain
    from fugu.priors import MarkovChain as MarkovChain
    from fugu.priors.gaussian_field import GaussianField as GaussianField
    from fugu.priors.hidden import HiddenMarkov as HiddenMarkov
    from fugu.priors.joint import JointTable as JointTable
    from fugu.priors.prior import InfluenceCurve as InfluenceCurve
    from fugu.priors.records import Records as Records
    from fugu.publication.releasing import answer as answer
    from fugu.publication.releasing import release_column as release_column
    from fugu.queries.answer import Answer as Answer
    from fugu.queries.answer import SessionAnswer as SessionAnswer
    from fugu.question import Question as Question
    from fugu.releasing.one_door import release as release
    from fugu.releasing.outcome import Forecast as Forecast
    from fugu.releasing.outcome import Publication as Publication
    from fugu.report.dossier import publish as publish
    from fugu.scenario import Scenario as Scenario
    from fugu.scenario.swap import swap_counts as swap_counts
    from fugu.scenario.swap import swap_shift as swap_shift
    from fugu.scenario.swap import swap_sigma as swap_sigma
    from fugu.session.session import Session as Session
    from fugu.translation import dp_budget as dp_budget
    from fugu.translation.influence import influence as influence
    from fugu.translation.translate import translate as translate
    from fugu.transport.matching import closeness as closeness
    from fugu.transport.wasserstein import wasserstein as wasserstein
    from fugu.utility.usable import Usable as Usable
else:  # a type checker reads the imports above; a name is imported when it is first used, so `import fugu` stays fast
    __getattr__ = names(__name__)


def __dir__() -> list[str]:
    return typed()

"""Training on correlated data: what the last iterate of a noisy contraction reveals, and models trained that way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.priors.correlated import AR1 as AR1
    from fugu.priors.correlated import Correlated as Correlated
    from fugu.priors.correlated import Mixing as Mixing
    from fugu.priors.coupling import Groups as Groups
    from fugu.priors.coupling import Independent as Independent
    from fugu.priors.coupling import WorstCase as WorstCase
    from fugu.priors.coupling import from_marginals as from_marginals
    from fugu.training.accountant import NoisySGD as NoisySGD
    from fugu.training.accountant import prior_from as prior_from
    from fugu.training.bound import shift_bound as shift_bound
    from fugu.training.estimators import LinearRegression as LinearRegression
    from fugu.training.estimators import LinearSVC as LinearSVC
    from fugu.training.estimators import LogisticRegression as LogisticRegression
    from fugu.training.inputs import DeclaredOneHotEncoder as DeclaredOneHotEncoder
    from fugu.training.inputs import DeclaredScaler as DeclaredScaler
    from fugu.training.joint import Joint as Joint
    from fugu.training.joint import joint_bound as joint_bound
    from fugu.training.joint import joint_delta as joint_delta
    from fugu.training.joint import joint_mu as joint_mu
    from fugu.training.record import TrainingCertificate as TrainingCertificate
    from fugu.training.utility import Assessment as Assessment
else:  # the estimators need scikit-learn, which is an extra
    __getattr__ = names(__name__)

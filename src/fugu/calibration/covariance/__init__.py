"""Noise for normal laws of vectors and for translates: covariances, scales and directions, as plain arrays.

Everything here proposes, in doubles, on the safe side of their rounding; a guarantee is proved elsewhere."""

from fugu.calibration.covariance.anisotropic import anisotropic_laplace as anisotropic_laplace
from fugu.calibration.covariance.baselines import Sensitivity as Sensitivity
from fugu.calibration.covariance.baselines import bounded as bounded
from fugu.calibration.covariance.baselines import dp as dp
from fugu.calibration.covariance.baselines import group as group
from fugu.calibration.covariance.baselines import record_group as record_group
from fugu.calibration.covariance.baselines import records_moved as records_moved
from fugu.calibration.covariance.directions import Subspace as Subspace
from fugu.calibration.covariance.directions import directional as directional
from fugu.calibration.covariance.directions import expected_value_gaussian as expected_value_gaussian
from fugu.calibration.covariance.directions import expected_value_laplace as expected_value_laplace
from fugu.calibration.covariance.directions import several_directions as several_directions
from fugu.calibration.covariance.lengths import gaussian_length as gaussian_length
from fugu.calibration.covariance.lengths import isotropic_length as isotropic_length
from fugu.calibration.covariance.lengths import laplace_length as laplace_length
from fugu.calibration.covariance.lengths import spherical_length as spherical_length
from fugu.calibration.covariance.optimal import Found as Found
from fugu.calibration.covariance.optimal import optimal_covariance as optimal_covariance
from fugu.calibration.covariance.uncertain import directional_uncertainty as directional_uncertainty
from fugu.calibration.covariance.uncertain import eigenvector as eigenvector

"""Noise for normal laws of vectors and for translates: covariances, scales and directions, as plain arrays.

Everything here proposes, in doubles, on the safe side of their rounding; a guarantee is proved elsewhere."""

from fugu.calibration.covariance.directions import anisotropic_laplace as anisotropic_laplace
from fugu.calibration.covariance.directions import directional as directional
from fugu.calibration.covariance.directions import directional_uncertainty as directional_uncertainty
from fugu.calibration.covariance.directions import eigenvector as eigenvector
from fugu.calibration.covariance.directions import expected_value_gaussian as expected_value_gaussian
from fugu.calibration.covariance.directions import gaussian_length as gaussian_length
from fugu.calibration.covariance.directions import isotropic_length as isotropic_length
from fugu.calibration.covariance.directions import laplace_length as laplace_length
from fugu.calibration.covariance.methods import Sensitivity as Sensitivity
from fugu.calibration.covariance.methods import group as group
from fugu.calibration.covariance.methods import record_group as record_group
from fugu.calibration.covariance.methods import records_moved as records_moved
from fugu.calibration.covariance.optimal import LeastCovariance as LeastCovariance
from fugu.calibration.covariance.optimal import optimal_covariance as optimal_covariance

"""Noise for normal laws of vectors and for translates: covariances, scales and directions, as plain arrays.

Everything here proposes, in doubles, on the safe side of their rounding; a guarantee is proved elsewhere."""

from fugu.calibration.property.anisotropic import anisotropic_laplace as anisotropic_laplace
from fugu.calibration.property.baselines import Sensitivity as Sensitivity
from fugu.calibration.property.baselines import bounded as bounded
from fugu.calibration.property.baselines import dp as dp
from fugu.calibration.property.baselines import group as group
from fugu.calibration.property.baselines import record_group as record_group
from fugu.calibration.property.baselines import records_moved as records_moved
from fugu.calibration.property.directions import Subspace as Subspace
from fugu.calibration.property.directions import directional as directional
from fugu.calibration.property.directions import expected_value_gaussian as expected_value_gaussian
from fugu.calibration.property.directions import expected_value_laplace as expected_value_laplace
from fugu.calibration.property.directions import several_directions as several_directions
from fugu.calibration.property.lengths import gaussian_length as gaussian_length
from fugu.calibration.property.lengths import isotropic_length as isotropic_length
from fugu.calibration.property.lengths import laplace_length as laplace_length
from fugu.calibration.property.lengths import spherical_length as spherical_length
from fugu.calibration.property.optimal import Found as Found
from fugu.calibration.property.optimal import optimal_covariance as optimal_covariance
from fugu.calibration.property.uncertain import directional_uncertainty as directional_uncertainty
from fugu.calibration.property.uncertain import eigenvector as eigenvector

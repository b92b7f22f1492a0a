"""Noises: continuous (for analysis) or on a lattice (what is released), and their exact samplers."""

from fugu.noise.cauchy import GeneralizedCauchy as GeneralizedCauchy
from fugu.noise.custom import CustomNoise as CustomNoise
from fugu.noise.gaussian import Gaussian as Gaussian
from fugu.noise.laplace import Laplace as Laplace
from fugu.noise.lattice import Lattice as Lattice

LatticeNoise = Laplace | Gaussian
"""What can be released, and is proved on every shape of laws."""

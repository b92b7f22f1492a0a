"""Noises: continuous (for analysis) or on a lattice (what is released), and their exact samplers."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.noise.cauchy import CustomNoise as CustomNoise
    from fugu.noise.cauchy import GeneralizedCauchy as GeneralizedCauchy
    from fugu.noise.gaussian import Gaussian as Gaussian
    from fugu.noise.gaussian import LatticeNoise as LatticeNoise
    from fugu.noise.laplace import Laplace as Laplace
    from fugu.noise.lattice import Lattice as Lattice
else:
    __getattr__ = names(__name__)

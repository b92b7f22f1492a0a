"""Losses in doubles, to search scales with. Nothing here is a proof."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.loss.search.laplace import delta_loss as delta_loss
    from fugu.loss.search.laplace import pure_loss as pure_loss
    from fugu.loss.search.normal import fast_gaussian_mu as fast_gaussian_mu
    from fugu.loss.search.sets import fast_loss as fast_loss
    from fugu.loss.search.sets import sets_pure_loss as sets_pure_loss
    from fugu.loss.search.shapes import LEAST as LEAST
    from fugu.loss.search.shapes import farthest as farthest
    from fugu.loss.search.shapes import fast_bare_delta as fast_bare_delta
    from fugu.loss.search.shapes import fast_delta as fast_delta
    from fugu.loss.search.shapes import fast_lattice_delta as fast_lattice_delta
    from fugu.loss.search.shapes import fast_pure as fast_pure
    from fugu.loss.search.shapes import fast_renyi as fast_renyi
    from fugu.loss.search.shapes import gaussian_scale as gaussian_scale
    from fugu.loss.search.shapes import l1_distance as l1_distance
    from fugu.loss.search.shapes import lattice_start as lattice_start
    from fugu.loss.search.shapes import over as over
else:
    __getattr__ = names(__name__)

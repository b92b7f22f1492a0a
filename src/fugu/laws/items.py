"""`items`: law pairs sorted into what a loss can be computed on: families of atoms, and analytic pairs."""

from __future__ import annotations

from collections.abc import Sequence

from fugu.laws.analytic import Analytic
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, families
from fugu.laws.multinormal import MultivariateNormal
from fugu.laws.normal import Components, Normal, NormalMixture, components
from fugu.laws.pair import Law, LawPair, Shifted

Item = Family | Analytic


def items(pairs: Sequence[LawPair]) -> tuple[Item, ...]:
    """Families for pairs of laws with atoms only, one `Analytic` for every pair with a Gaussian component.

    A normal law without spread is a point mass, and a mixture of such is a discrete law: they are read as what they
    are."""
    read: dict[int, Law | Components] = {}
    atoms, smooth = [], []
    for pair in pairs:
        p, q = (read.setdefault(id(law), _read(law)) for law in (pair.p, pair.q))
        if isinstance(p, Components) or isinstance(q, Components):
            smooth.append(Analytic(_components(p), _components(q), pair.label))
        else:
            atoms.append(LawPair(p, q, pair.label))
    return (*(families(atoms) if atoms else ()), *smooth)


def _read(law: Law) -> Law | Components:
    """Components for a law with spread; the law with atoms it really is otherwise."""
    if not isinstance(law, Normal | NormalMixture):
        return law
    view = components(law)
    if any(view.exact_stds):
        return view
    return Discrete(list(view.exact_means), list(view.exact_weights))


def _components(law: Law | Components) -> Components:
    if isinstance(law, Components):
        return law
    assert not isinstance(law, Shifted | MultivariateNormal)
    return components(law)

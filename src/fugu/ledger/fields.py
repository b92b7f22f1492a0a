"""What a ledger does under a Gaussian field: which budgets it opens with, and what a sum for each entry is worth.

Proofs: docs/proofs/fields.md#the-ledger.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fugu.errors import NotComposable, NotProvable
from fugu.guarantee import ZCDP, Approx, Guarantee, rho_of
from fugu.guarantee.numbers import exact, plain


def has_field(prior: Any) -> bool:
    """Whether the prior is a Gaussian field, or has one among several."""
    from fugu.translation import fields

    return fields.has_field(prior)


def check_terms(prior: Any, budget: Guarantee) -> None:
    """Refuse, before anything is spent, a budget that no release under a Gaussian field can be held against."""
    from fugu.translation.fields import check_widths, refused

    check_widths(prior)
    if budget.pure or not (budget.renyi or budget.delta):
        raise refused(prior)


def translated_in_field(prior: Any, budget: Guarantee, spent: Guarantee) -> Guarantee:
    """Pure epsilons and deltas as an (epsilon, delta) where the budget has a delta, else, like divergences, in the
    Rényi sense, a pure epsilon as epsilon^2 / 2."""
    from fugu.translation.translate import translate

    if spent.renyi:
        return translate(prior, spent)
    found: list[Guarantee] = []
    if not budget.renyi:
        with suppress(NotProvable):
            found.append(translate(prior, Approx(spent.epsilon, spent.delta), delta=budget.delta))
    if (rho := rho_of(spent)) is not None:
        curved = translate(prior, ZCDP(plain(rho)))
        found.append(curved if budget.renyi else curved.to_approx(budget.delta))
    if not found:
        raise NotComposable(
            "an (epsilon, delta) for each entry under a Gaussian field has no bound within this budget",
            "use mechanisms with a ZCDP guarantee for each entry, or a budget with a larger delta",
        )
    return min(found, key=lambda g: exact(g.epsilon)) if len(found) > 1 else found[0]

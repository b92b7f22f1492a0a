"""Statistics of sequences under a Markov chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fugu.drawing.html import Html
from fugu.drawing.text import clean, delta, epsilon, factor, least, number
from fugu.guarantee import Approx, Pure, Renyi
from fugu.guarantee.numbers import exact
from fugu.numbers.exact import read_number
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.report.kinds.promise import Promise, told
from fugu.report.kinds.query_noise import noise_of
from fugu.report.kinds.registry import Said, page_of
from fugu.report.shell import listed

_REMAINDER = 1e-6
"""A Rényi budget is shown as odds at this delta."""


@page_of("sequence")
def of_sequences(certificate: SequenceCertificate, said: Said) -> Iterable[Html | None]:
    """The promise is for each entry's state under the chain; the larger of what is asked and stated is shown."""
    guarantee = _shown(certificate)
    most, prior = float(guarantee.epsilon), certificate["prior"]
    besides = f", apart from a remainder {delta(float(guarantee.delta))}" if guarantee.delta else ""
    query = clean(said.query_name or certificate["query"], 120)
    noise, cards = noise_of(certificate.claims)
    skipped = [clean(name, 200) for name in certificate["pufferfish"]["skipped"]]
    states = ", ".join(clean(name, 40) for name in prior["states"][:12]) + (", …" if len(prior["states"]) > 12 else "")
    chain = "any one of the chains between the stated limits" if "limits" in prior else "the stated chain"
    sure = prior.get("confidence")
    means = (
        f"Somebody who believes that every user follows {chain} looks at what was published. Whatever they "
        "took the odds of one state of an entry against another to be, afterwards these odds are at "
        f"most {factor(most)} times as large, and at least {least(most)} times as large{besides}. This holds for every "
        "entry of every user and for all pairs of states, and it counts what neighbouring entries say about it."
    )
    belief = f"{clean(prior['class'], 300)}; sequences of up to {prior['length']:,} entries"
    return told(
        Promise(
            certificate,
            said.title,
            f"“{query}” of sequences was published with randomness. What was published can change the odds between two "
            f"states of any one entry by at most a factor of {factor(most)} ({epsilon(most)}){besides}, for observers "
            "who hold the stated belief about how entries follow each other.",
            guarantee,
            "the state of one entry",
            (means,) if sure is None else (means, clean(_sentence(sure["means"]), 500)),
            cards,
            noise,
            (
                ("Statistic", query),
                ("States", states),
                ("Entries that are not what was expected", clean(certificate["odd entries"], 300)),
            ),
            (
                ("Who is protected", certificate["pufferfish"]["secrets"]),
                ("Not protected, as the belief rules them out", listed(list(skipped[:50])) if skipped else None),
                ("Belief of observers", belief),
                ("Confidence", None if sure is None else _counted(sure)),
                ("Proved", _proved(certificate)),
            ),
            tuple(str(line) for line in certificate["assumptions"]),
            "The certificate holds the query, the chain and the promise.",
        )
    )


def _shown(certificate: SequenceCertificate) -> Pure | Approx:
    """The larger of what is asked and stated; of a Rényi order, what it implies at a delta of 10^-6."""
    asked, stated = certificate.budget, certificate.proved
    if isinstance(asked, Renyi):
        found = asked.to_approx(_REMAINDER)
        return Approx(found.epsilon, found.delta)
    most = max(certificate.asked, certificate.stated)
    least_delta = max(exact(asked.delta), exact(stated.delta))
    return Approx(most, least_delta) if least_delta else Pure(most)


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + "."


def _counted(sure: Mapping[str, Any]) -> str:
    """The confidence and what the limits were found on."""
    moves = sum(sum(row) for row in sure.get("transitions", ()))
    level = number(float(read_number(sure["confidence"])), "down", 10)
    counted = f"; {moves:,} transitions of the reference were counted" if moves else ""
    return f"{level} over the draw of the reference, shared by {sure['intervals']:,} intervals{counted}"


def _proved(certificate: SequenceCertificate) -> str:
    proved, asked, each = (
        number(float(x), "up", 10) for x in (certificate.stated, certificate.asked, certificate.epsilon)
    )
    slips = (certificate.proved.delta, certificate.budget.delta, certificate.entry.delta)
    if any(slips):
        proved, asked, each = (
            f"{x} with δ ≤ {number(float(d), 'up', 10)}" for x, d in zip((proved, asked, each), slips, strict=True)
        )
    budget = certificate.budget
    order = f" in Rényi divergence of order {float(budget.alpha):g}" if isinstance(budget, Renyi) else ""
    return f"ε ≤ {proved}{order}; asked for: {asked}; for each entry by itself: {each}"

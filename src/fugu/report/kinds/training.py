"""Models trained with noise."""

from __future__ import annotations

from collections.abc import Iterable

from fugu.drawing.html import Html
from fugu.drawing.text import clean, delta, epsilon, factor, least, number
from fugu.numbers.exact import read_number
from fugu.report.kinds.promise import Promise, told
from fugu.report.kinds.registry import Said, page_of
from fugu.training.record import TrainingCertificate


@page_of("training")
def of_training(certificate: TrainingCertificate, said: Said) -> Iterable[Html | None]:
    """The promise is for one record of the training, given what the others say about it."""
    budget, accountant = certificate.budget, certificate.accountant
    most, slip = float(budget.epsilon), float(budget.delta)
    model = clean(certificate["model"], 80)
    proved = certificate.proved
    means = (
        "Somebody with the stated belief looks at the model. Whatever they took the odds of one answer about a record "
        f"against another to be, afterwards these odds are at most {factor(most)} times as large, and at least "
        f"{least(most)} times as large."
    )
    given = certificate["accountant"]
    noise_size, step = (float(read_number(given[name])) for name in ("noise", "learning_rate"))
    noise = (
        f"After every step, normal noise with a standard deviation of {number(noise_size, digits=4)} is added to "
        "every weight of the model, so that no record leaves more than a bounded trace in it."
    )
    found = f"ε ≤ {number(float(proved.epsilon), 'up', 10)}, δ ≤ {number(float(proved.delta), 'up', 4)}"
    return told(
        Promise(
            certificate,
            said.title,
            f"A model (“{model}”) was trained on {accountant.records:,} records with noise in every step, and only the "
            f"final model was published. It can change the odds between two answers about one record by at most a "
            f"factor of {factor(most)} ({epsilon(most)}), apart from a remainder {delta(slip)}.",
            budget,
            "one record",
            (means,),
            (
                (f"{accountant.records:,}", "records, each of which is protected"),
                (f"{accountant.steps:,}", "steps of training, each with noise"),
            ),
            (noise,),
            (
                ("Records in one step", f"{accountant.batch_size:,}"),
                ("Length of a step (learning rate)", number(step, digits=4)),
            ),
            (
                ("Who is protected", clean(certificate.neighbours, 300)),
                ("Belief of observers", clean(certificate.prior, 600)),
                ("Proved", found),
            ),
            tuple(certificate.assumptions),
            "The certificate holds every parameter of the training and of the belief.",
            rows=accountant.records,
        )
    )

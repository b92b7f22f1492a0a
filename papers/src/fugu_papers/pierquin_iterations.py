"""Figures 5 and 6 of paper 000, and Theorem 5.2: what the last iterate of noisy gradient descent reveals.

Setting: W_t = W_{t-1} + eta X_t + N_t, a linear loss; N_t is standard normal; D_2 of W_T given two values of a secret.
For normal records the printed bounds hold, as one deterministic shift moves all of them at once. From the laws of
single records of any other dependent data nothing follows: `000-theorem5.2` shows how much is revealed there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fugu.iterate import joint_bound, shift_bound
from fugu.laws import Discrete, LawPair, Normal
from fugu.loss import renyi
from fugu.noise import Gaussian
from fugu.progress import report
from fugu_papers.charts import lines
from fugu_papers.errata.pierquin import flat_inside, signs_and_products
from fugu_papers.experiment import Outcome, Row, Setting, experiment

STEPS = (1, 2, 5, 10, 50, 100, 1000)
CURVES: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "0 (DP)": lambda _: 0.0,
        "0.1": lambda _: 0.1,
        "0.2": lambda _: 0.2,
        "0.8": lambda _: 0.8,
        "1 (group)": lambda _: 1.0,
        "1/t": lambda t: 1 / t,
        "1/t^2": lambda t: 1 / t**2,
    }
)
"""The correlation of record t with the first, t = 2, 3, ...; the first is the secret."""
EQUAL, SEPARATE = "Prop. F.2, equal shares", "Prop. 6.4, step by step"
_MOST = 100


def correlations(curve: str, steps: int) -> list[float]:
    """rho_1 = 1, rho_2, ..., rho_T."""
    return [1.0, *(CURVES[curve](t) for t in range(2, steps + 1))]


def equal_shares(moved: Sequence[float]) -> float:
    """Equation (1) at alpha = 2 and sigma = 1: (sum of the distances)^2 / T."""
    return math.fsum(moved) ** 2 / len(moved)


def step_by_step(moved: Sequence[float]) -> float:
    """Equation (2), the same: the sum of squares."""
    return math.fsum(x * x for x in moved)


def revealed(moved: Sequence[float]) -> float:
    """D_2 of the sum of normal records with these correlations, under the joint law that reveals most.

    Given the secret, X_t = rho_t X_1 + w_t Z_t with w_t^2 = 1 - rho_t^2 and unit Z_t that depend on each other in any
    way: the sum of the w_t Z_t has a deviation of at least 2 max w - sum w, or 0, which is attained."""
    rest = [math.sqrt(1 - x * x) for x in moved]
    spread, total = max(0.0, 2 * max(rest) - math.fsum(rest)), math.fsum(moved)
    here, there = (Normal(0, spread), Normal(total, spread)) if spread > 1e-9 else (Discrete([0]), Discrete([total]))
    return renyi(Gaussian(math.sqrt(len(moved))), LawPair(here, there), 2)


def curve_rows(curve: str, steps: int) -> Iterator[Row]:
    """Both printed bounds, what a run reveals, and the least bound for these distances."""
    moved = correlations(curve, steps)
    case, truth, best = (curve, str(steps)), revealed(moved), float(shift_bound(moved, 1, 2).epsilon)
    for method, bound in ((EQUAL, equal_shares(moved)), (SEPARATE, step_by_step(moved))):
        yield Row(case, method, None, bound, bound, truth, best)


_CHOSEN = (
    "Constants as in the paper: alpha = 2, and L, sigma, eta, sup C_v and the distance of the two values are 1.",
    (
        "The loss is linear, -w x, and nothing is projected. Given are the correlations with the secret only: the "
        "truth is that of the joint normal law with these correlations under which most is revealed."
    ),
    (
        "The paper draws curves without numbers: rows at a few numbers of steps stand for them. fugu's best is the "
        "least bound that these distances allow (`fugu.iterate.shift_bound`)."
    ),
)


def figure(setting: Setting, curves: Sequence[str], said: str) -> Outcome:
    """Rows at a few numbers of steps, and the curves of equal shares up to 100."""
    steps = STEPS[1:4:2] if setting.short else STEPS
    found: list[Row] = []
    for number, curve in enumerate(curves):
        report(said, number, len(curves))
        found += [row for count in steps for row in curve_rows(curve, count)]
    counts = range(1, _MOST + 1)
    series = [(f"rho_t = {curve}", counts, [equal_shares(correlations(curve, n)) for n in counts]) for curve in curves]
    drawn = lines(said, "number of steps T", "Rényi divergence of order 2", series, log_across=True, log=True)
    return Outcome(tuple(found), (drawn,))


def _register(number: int, curves: tuple[str, ...], said: str) -> None:
    @experiment(
        f"000-figure{number}",
        title=said[0].lower() + said[1:],
        measure="bounds on the Rényi divergence of order 2",
        loss="Rényi divergences of order 2",
        columns=("rho_t", "steps"),
        chosen=_CHOSEN,
    )
    def runs(setting: Setting) -> Outcome:
        return figure(setting, curves, said)


_register(5, ("0 (DP)", "0.1", "0.2", "0.8", "1 (group)"),
          "What the last step reveals of the first record, all others equally correlated with it")  # fmt: skip
_register(6, ("0 (DP)", "0.1", "1/t", "1/t^2"),
          "What the last step reveals of the first record, the others less and less correlated with it")  # fmt: skip

_PRODUCTS = "X_1 = B, X_2 = B X_3, secret X_3"
_DEPENDENT = "records are not independent: the law of each of them alone says nothing (fugu errata P-theorem-5.2)"
_FIRST = "the data remembers: equal shares need one coupling of all records (fugu errata P-proposition-F.2)"
_FORGETS = "attained by a linear loss on K = {0}, projected before the gradient is taken: each step forgets the last"
_GENERAL = "each record alone looks the same, all together do not (fugu errata P-section-6.4-bound)"


def sign_rows(eta: int) -> Iterator[Row]:
    """A fair sign B; the data is eta (B, B) given one secret, eta (B, -B) given the other."""
    truth = renyi(Gaussian(math.sqrt(2)), LawPair(Discrete([-2 * eta, 2 * eta]), Discrete([0])), 2)
    same, other = (Discrete([[b * eta, s * b * eta] for b in (-1, 1)]) for s in (1, -1))
    best = float(joint_bound(same, other, noise=1, alpha=2).epsilon)
    case = "a sign twice, or with its opposite", f"eta {eta}"
    yield Row(case, "Theorem 5.2", None, 0.0, 0.0, truth, best, truth, note=_DEPENDENT)


def product_rows(eta: int) -> Iterator[Row]:
    """X_1 = B, X_2 = B X_3, and X_3 = +-1 is the secret: the sum is -eta or 3 eta given 1, -eta given -1."""
    printed = eta**2 * step_by_step([0, 0, 2])
    truth = renyi(Gaussian(math.sqrt(3)), LawPair(Discrete([-eta, 3 * eta]), Discrete([-eta])), 2)
    one, other = (Discrete([[b * eta, b * s * eta, s * eta] for b in (-1, 1)]) for s in (1, -1))
    best = float(joint_bound(one, other, noise=1, alpha=2).epsilon)
    yield Row((_PRODUCTS, f"eta {eta}"), "Section 6.4", None, printed, printed, truth, best, truth, note=_GENERAL)


def many_rows(signs: int) -> Iterator[Row]:
    """m fair signs, each followed by its product with the secret, which is the last record, or the first."""
    truth, steps = signs_and_products(signs), f"{2 * signs + 1} steps"
    last, first = [0, 2] * signs + [2], [2] + [0, 2] * signs
    best = [float(shift_bound(moved, 1, 2).epsilon) for moved in (last, first)]
    alone = [2.0] + [0.0] * (2 * signs)
    yield Row(("signs and products, secret last", steps), "Section 6.4", None, step_by_step(alone), step_by_step(alone),
              truth, best[0], truth, note=_GENERAL)  # fmt: skip
    yield Row(("signs and products, secret first", steps), EQUAL, None, equal_shares(alone), equal_shares(alone),
              truth, best[1], truth, note=_FIRST)  # fmt: skip


def shared_rows(times: int = 10) -> Iterator[Row]:
    """The secret first, then one fair sign ten times, then its product with the secret ten times."""
    steps = 2 * times + 1
    truth = renyi(Gaussian(math.sqrt(steps)), LawPair(Discrete([1 - 2 * times, 1 + 2 * times]), Discrete([-1])), 2)
    one, other = (Discrete([[s] + [b] * times + [b * s] * times for b in (-1, 1)]) for s in (1, -1))
    best = float(joint_bound(one, other, noise=1, alpha=2).epsilon)
    alone = [2.0] + [0.0] * (steps - 1)
    for method, bound in ((EQUAL, equal_shares(alone)), ("Section 6.4", step_by_step(alone))):
        note = _FIRST if method == EQUAL else _GENERAL
        yield Row(("one sign many times, secret first", f"{steps} steps"), method, None, bound, bound, truth, best,
                  truth, note=note)  # fmt: skip


def condition_rows() -> Iterator[Row]:
    """What goes wrong without a condition of the theorems: distances that grow, a projection before the noise."""
    late, bound = [0.0, 0.0, 4.0], equal_shares([0.0, 0.0, 4.0])
    truth = renyi(Gaussian(1), LawPair(Discrete([0]), Discrete([4])), 2)
    best = float(shift_bound(late, 1, 2).epsilon)
    note = "Prop. F.2 is for distances that do not grow; W_3 = X_3 + N_3 here, and only the last of them moves"
    yield Row(("each step forgets the last", "3 steps"), EQUAL, None, bound, bound, truth, best, truth, note=note)
    note = (
        "noise carries the iterate out of K, where the loss is not flat; fugu projects before it takes the gradient, "
        "and then 0 is right (fugu errata P-section-6.4-projection)"
    )
    truth, best = flat_inside(False), float(shift_bound([0, 0], 1, 2).epsilon)
    yield Row(("a loss that is flat on K = [-1, 1]", "2 steps"), "Section 6.4", None, 0.0, 0.0, truth, best, note=note)


def sound_rows() -> Iterator[Row]:
    """Where the bounds hold: independent records (Lemma F.1), and one shift of all of normal records (Prop. 6.4)."""
    steps = 10
    for i in (1, steps):
        moved = [2.0 if t == i else 0.0 for t in range(1, steps + 1)]
        bound, noises = 2 * 2 / (steps - i + 1), (steps if i == 1 else 1)
        truth = renyi(Gaussian(math.sqrt(noises)), LawPair(Discrete([0]), Discrete([2])), 2)
        note = "attained by a linear loss" if i == 1 else _FORGETS
        yield Row(("independent records, L = sigma = 1", f"record {i} of {steps}"), "Lemma F.1", None, bound, bound,
                  truth, float(shift_bound(moved, 1, 2).epsilon), note=note)  # fmt: skip
    moved = [0.1 * min(2.0, 0.5 * x) for x in (0, 1, 3, 10)]
    for said, some in (("growing", moved), ("falling", moved[::-1])):
        yield Row(("normal records, eta 0.1, L 1, C 0.5", f"distances {said}"), SEPARATE, None, step_by_step(some),
                  step_by_step(some), None, float(shift_bound(some, 1, 2).epsilon))  # fmt: skip


@experiment(
    "000-theorem5.2",
    title="iterations on dependent data: bounds from single records, and what is really revealed",
    measure="bounds on the Rényi divergence of order 2",
    loss="Rényi divergences of order 2",
    columns=("data", "size"),
    chosen=(
        "The paper prints bounds without numbers here; its formulas are run on data for which the truth is known.",
        (
            "sigma = L = C_v = 1 unless said; alpha = 2. The loss is linear unless said: the last iterate is the sum "
            "of all records and noises. fugu's best takes one coupling of the whole sequences "
            "(`fugu.iterate.joint_bound`, `shift_bound`)."
        ),
    ),
)
def theorem_5_2(setting: Setting) -> Outcome:
    """Every bound of Section 5 and 6.4 beside the truth."""
    found = [row for eta in (1, 2, 4) for row in sign_rows(eta)]
    found += [row for eta in (2, 4, 6) for row in product_rows(eta)]
    found += [row for signs in ((5,) if setting.short else (5, 20, 50)) for row in many_rows(signs)]
    found += [*shared_rows(), *condition_rows(), *sound_rows()]
    counts = (1, 2, 5, 10) if setting.short else (1, 2, 5, 10, 20, 35, 50)
    sizes = [2 * signs + 1 for signs in counts]
    series = (
        ("Prop. F.2, as printed", sizes, [4 / steps for steps in sizes]),
        ("Section 6.4, as printed", sizes, [4.0 for _ in sizes]),
        ("the truth", sizes, [signs_and_products(signs) for signs in counts]),
        ("fugu, one coupling", sizes, [float(shift_bound([2] + [0, 2] * m, 1, 2).epsilon) for m in counts]),
    )
    title = "Signs and their products with a secret: bounds from single records lie below the truth"
    drawn = lines(title, "number of steps", "Rényi divergence of order 2", series, log_across=True, log=True)
    return Outcome(tuple(found), (drawn,))

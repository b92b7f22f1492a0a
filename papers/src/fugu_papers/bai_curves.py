"""Figure 2: influence curves of binary chains (Theorem 8) and of a truncated Gaussian field (Theorem 9).

Theorem 8 is printed twice, in the main text without absolute values, which is no bound for p + q < 1, and in the
appendix with them. Theorem 9 is no bound for b >= 2; in three entries the exact value is known and shown."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fugu.drawing.charts import Figure
from fugu.priors.chain import MarkovChain
from fugu.priors.gaussian_field import GaussianField
from fugu.progress import report
from fugu.translation.influence import influence
from fugu_papers.bai_compose import binary
from fugu_papers.bai_field import exact_of_three, farthest, kernel, precision_gained, theorem_9
from fugu_papers.bai_sequences import own_study
from fugu_papers.charts import lines
from fugu_papers.errata.bai import closed_form
from fugu_papers.experiment import SEQUENCES, Outcome, Row, Setting, experiment
from fugu_papers.truncated import TruncatedAR1

CHAINS = ((0.5, 0.5), (0.4, 0.4), (0.3, 0.3), (0.2, 0.2), (0.1, 0.1), (0.6, 0.8), (0.7, 0.8), (0.2, 0.3), (0.1, 0.4),
          (0.05, 0.1))  # fmt: skip
DECAYS = (0.5, 1.0, 2.0, 3.0, 5.0)
BOX, SIZE, MOST_B = 5.0, 21, 10
MAIN, APPENDIX = "Theorem 8, main text", "Theorem 8, appendix"
NINTH = "Theorem 9"
_SIGN = "without absolute values it is no bound for p + q < 1 (fugu errata C-theorem-8)"
_CUT = "the entries set aside are cut to the box too (fugu errata C-theorem-9)"
_OPEN = "no bound for b >= 2 (fugu errata C-theorem-9); the exact value of 21 entries is not known"
_CENTRE = "the centre is not the worst entry, by the formula itself; the true loss here is that of the worst entry"


def chain_rows(p: float, q: float, most: int) -> Iterator[Row]:
    """Both printings against the exact curve."""
    curve = influence(binary(p, q), max_b=most)
    for b in range(1, most + 1):
        case = f"chain, p {p:g}, q {q:g}", f"{b}"
        exact = curve(b)
        for method, absolute in ((MAIN, False), (APPENDIX, True)):
            value = closed_form(p, q, b, absolute)
            note = _SIGN if value < exact * (1 - 1e-9) else ""
            yield Row(case, method, None, value, value, exact, exact, note=note)


def own_rows(chain: MarkovChain, most: int) -> Iterator[Row]:
    """The exact curve of a chain; of two states with both printings."""
    step, curve = chain.transition(1), influence(chain, max_b=most)
    for b in range(1, most + 1):
        case, exact = (f"chain of {len(chain.states)} states", f"{b}"), curve(b)
        if len(chain.states) > 2:
            yield Row(case, "a(b), no closed form", None, exact, exact, exact, exact)
        for method, absolute in ((MAIN, False), (APPENDIX, True)) if len(chain.states) == 2 else ():
            value = closed_form(float(step[0, 0]), float(step[1, 1]), b, absolute)
            yield Row(case, method, None, value, value, exact, exact, note=_SIGN if value < exact * (1 - 1e-9) else "")


def field_rows(setting: Setting) -> Iterator[Row]:
    """Theorem 9 where it is drawn, where it is right, and where it is not."""
    decays = DECAYS[1:2] if setting.short else DECAYS
    for decay in decays:
        for b in (1, 3, 5) if setting.short else (1, 3, 5, 7, 9, 11):
            value = theorem_9(SIZE, decay, BOX, SIZE // 2, b)
            case = f"field of {SIZE}, l {decay:g}, box {BOX:g}", f"{b}"
            yield Row(case, NINTH, None, value, value, value if b == 1 else None, note="" if b == 1 else _OPEN)
    for decay in (0.5, 1.0, 2.0, 5.0):
        value = theorem_9(3, decay, BOX, 1, 1)
        yield Row((f"field of 3, l {decay:g}, box {BOX:g}", "1"), NINTH, None, value, value, value)
    for decay, box in ((1.0, 5.0), (2.0, 5.0), (5.0, 5.0), (5.0, 1.0), (5.0, 2.0)):
        value, exact = theorem_9(3, decay, box, 1, 2), exact_of_three(decay, box)
        case = f"field of 3, l {decay:g}, box {box:g}", "2"
        yield Row(case, NINTH, None, value, value, exact, limit=exact, note=_CUT)
    for decay, b in ((2.0, 5),) if setting.short else ((2.0, 5), (3.0, 3), (3.0, 5), (5.0, 3), (5.0, 5)):
        every = [theorem_9(7, decay, BOX, node, b) for node in range(7)]
        yield Row((f"field of 7, l {decay:g}, box {BOX:g}", f"{b}"), f"{NINTH}, the centre", None, every[3], every[3],
                  max(every), note=_CENTRE)  # fmt: skip


def sound_rows(setting: Setting) -> Iterator[Row]:
    """What fugu offers in its place: truncated AR(1) sequences, and fields in the sense of Rényi."""
    rho = math.exp(-0.5)
    sequence = TruncatedAR1(length=5, correlation=rho, box=2)
    for d in (1, 2):
        plain, exact = 8 * rho**d / (1 - rho ** (2 * d)), sequence.leak(d)
        case = f"AR(1), correlation {rho:.3f}, box 2, one side", f"distance {d}"
        yield Row(case, "as if not truncated", None, plain, plain, exact, exact, exact)
    for decay in DECAYS[:1] if setting.short else DECAYS:
        field = GaussianField(kernel(9, decay))
        for b in (1, 3, 5, 7):
            seen = farthest(9, 4, b)
            mine = float(field.kappa(4, seen))
            value = precision_gained(decay, 4, seen)
            yield Row((f"field of 9, l {decay:g}, not truncated, Rényi", f"{b}"), "kappa", None, value, best=mine)


@experiment(
    "002-figure2",
    title="how much the other entries say about one, once b entries around it are set aside",
    measure="influences a(b); kappa: Rényi divergence is alpha kappa (u - v)^2 / 2",
    columns=("prior", "b"),
    loss="influence",
    chosen=(
        "The pairs (p, q) of Figure 2a are not listed: these ones, and 1,000 entries, which act as endless.",
        "The number of entries of Figure 2b is not stated: 21. Boxes of 5, intervals of 0.1 and the kernel are stated.",
        (
            "The range of the sweep over the mean is not stated, and without one the influence is infinite: all means "
            "that entries in the box can cause."
        ),
        "fugu's best for chains is its exact curve. For a truncated field of this kernel it proves no epsilon at all.",
        "In its place it offers truncated AR(1) sequences, and fields without a box in the sense of Rényi.",
    ),
    takes=(SEQUENCES,),
)
def figure_2(setting: Setting) -> Outcome:
    """Both halves of the figure; of sequences of one's own the exact curve, beside the closed forms for two states."""
    rows: list[Row] = []
    if setting.own:
        chain = own_study(setting.own).chain
        rows += own_rows(chain, min(4 if setting.short else MOST_B, chain.length))
        return Outcome(tuple(rows))
    chains = ((0.6, 0.8), (0.2, 0.3)) if setting.short else CHAINS
    for place, (p, q) in enumerate(chains):
        report("Figure 2a", place, len(chains))
        rows += chain_rows(p, q, 4 if setting.short else MOST_B)
    report("Figure 2b", 0, 1)
    rows += field_rows(setting)
    rows += sound_rows(setting)
    return Outcome(tuple(rows), (_drawn_chains(rows), _drawn_fields(rows)))


def _drawn_chains(rows: list[Row]) -> Figure:
    mine = [row for row in rows if row.method == APPENDIX]
    names = [name for name in dict.fromkeys(row.case[0] for row in mine) if "p 0.5," not in name][:6]
    series = [
        (name.removeprefix("chain, "), [float(r.case[1]) for r in mine if r.case[0] == name],
         [r.best or 0.0 for r in mine if r.case[0] == name]) for name in names
    ]  # fmt: skip
    title = "Chains of two states: how much the others say about an entry (exact)"
    return lines(title, "entries set aside, b", "influence a(b)", series, log=True)


def _drawn_fields(rows: list[Row]) -> Figure:
    mine = [row for row in rows if row.method == NINTH and row.case[0].startswith(f"field of {SIZE}")]
    names = list(dict.fromkeys(row.case[0] for row in mine))
    series = [
        (name.split(", ")[1], [float(r.case[1]) for r in mine if r.case[0] == name],
         [r.reproduced or 0.0 for r in mine if r.case[0] == name]) for name in names
    ]  # fmt: skip
    title = "Truncated Gaussian field, Theorem 9 as printed: not a guarantee for b >= 2"
    return lines(title, "entries set aside, b", "influence a(b)", series, log=True)

"""`calibrate` for Rényi budgets: every noise, every method, one proof."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fugu.calibration.method import ARITHMETIC, OUT_OF_RANGE, Proposal
from fugu.calibration.problem import problem
from fugu.calibration.reach import Problem, coarse_note, reachable
from fugu.calibration.renyi.analysis import analysis
from fugu.calibration.renyi.kinds import Kind, kind_of
from fugu.calibration.renyi.method import RenyiMethod, find_renyi_method, renyi_methods
from fugu.calibration.renyi.target import Target
from fugu.calibration.sealing import mechanism
from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee import Renyi, RenyiCurve
from fugu.laws.family import Family
from fugu.laws.pair import LawPair
from fugu.mechanism.additive import Additive
from fugu.mechanism.analysis import Analysis
from fugu.mechanism.context import Context
from fugu.numbers.exact import Real

_RELEASED = ("laplace", "gaussian")
_MANY = 50_000


@dataclass(frozen=True)
class Offer:
    """What one kind of noise can do: its lattice problem, and the scale of every method."""

    kind: Kind
    asked: Problem
    proposals: dict[str, Proposal]

    def error(self, method: str, objective: str) -> tuple[float, float, bool]:
        """What to choose by: the expected error, then the scale (some errors are infinite), then the exact method."""
        steps = self.proposals[method].steps
        if math.isinf(steps):
            return math.inf, steps, True
        power = 1 if objective == "absolute" else 2
        error = self.kind.make(steps).expected_error(objective) * float(self.asked.lattice.grid) ** power
        return error, steps, method != "exact"


def calibrate_renyi(
    pairs: tuple[LawPair, ...],
    budget: Renyi | RenyiCurve,
    noise: str,
    method: str,
    grid: Real | str,
    objective: str,
    context: Context,
) -> Additive | Analysis:
    """The mechanism of least expected error whose Rényi guarantee is proved; Cauchy noise only if asked for by name."""
    kinds = _RELEASED if noise == "best" else (noise,)
    chosen = None if method == "best" else find_renyi_method(method)
    found, refusals = [], []
    for name in kinds:
        try:
            found += offers(pairs, budget, name, chosen, grid)
        except (NotProvable, *ARITHMETIC) as error:
            refusals.append(f"{name}: {error if isinstance(error, NotProvable) else OUT_OF_RANGE}")
    ways = sorted((o.error(m, objective), k, m) for k, o in enumerate(found) for m in o.proposals)
    for _, k, name in ways:
        one = found[k]
        if math.isinf(one.proposals[name].steps):
            refusals.append(f"{one.kind.name}, {name}: {one.proposals[name].note or 'no finite scale'}")
            continue
        try:
            way = find_renyi_method(name)
            if one.kind.name == "cauchy":
                return analysis(one.asked, budget, way, one.proposals, context)
            return mechanism(one.asked, budget, way, one.proposals, one.kind.name, context)
        except (NotProvable, *ARITHMETIC) as error:
            refusals.append(f"{one.kind.name}, {name}: {error if isinstance(error, NotProvable) else OUT_OF_RANGE}")
    raise NotProvable(f"no noise could be proved for {budget!r}: " + "; ".join(refusals))


def offers(
    pairs: tuple[LawPair, ...],
    budget: Renyi | RenyiCurve,
    noise: str,
    chosen: RenyiMethod | None = None,
    grid: Real | str = "auto",
) -> list[Offer]:
    """The scales of the methods for one kind of noise: on the lattice that suits it, and those that would visit too
    many of its points on a coarser one."""
    target, kind = Target.of(budget), kind_of(noise)
    if noise == "cauchy" and target.delta:
        raise NotProvable("Cauchy noise is analysed without delta; give Renyi(alpha, epsilon)")
    if chosen is not None and noise not in chosen.noises:
        raise NotProvable(f"method {chosen.name!r} is for {' and '.join(chosen.noises)} noise, not {noise}")
    asked = problem(pairs, budget, grid, kind=noise)
    wanted = _suited(asked, target, noise) if chosen is None else (chosen,)
    own: dict[str, Proposal] = {}
    found: list[Offer] = [Offer(kind, asked, own)]
    for method in wanted:
        where, proposal = _reached(method, asked, target, kind)
        if where.finer == asked.finer:
            own[method.name] = proposal
        else:
            found.append(Offer(kind, where, {method.name: proposal}))
    return found


def _reached(method: RenyiMethod, asked: Problem, target: Target, kind: Kind) -> tuple[Problem, Proposal]:
    """What a method proposes, on the laws' own lattice or on a coarser one within reach; or why it has nothing."""

    def search(on: Problem) -> float:
        return method.propose(on.items, target, kind).steps

    try:
        return asked, method.propose(asked.items, target, kind)
    except OutOfReach as error:
        refusal = Proposal(math.inf, str(error))
    except NotProvable as error:
        return asked, Proposal(math.inf, str(error))
    except ARITHMETIC:
        return asked, Proposal(math.inf, OUT_OF_RANGE)
    try:
        where, steps = reachable(asked, search)
    except (NotProvable, *ARITHMETIC):
        return asked, refusal
    return where, Proposal(steps, coarse_note(where))


def _suited(asked: Problem, target: Target, noise: str) -> tuple[RenyiMethod, ...]:
    """Every method that suits the laws; on very large problems only those that are fast."""
    cells = sum(len(f.points) * len(f.pairs) for f in asked.items if isinstance(f, Family))
    found = renyi_methods(asked.items, noise)
    if cells > _MANY:
        found = tuple(m for m in found if m.name in ("wasserstein", "transport", "closeness"))
    return tuple(m for m in found if target.delta or m.name not in ("closeness", "partial-transport", "conditioned"))

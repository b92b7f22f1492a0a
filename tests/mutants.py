"""Hand mutants of the code that carries a promise: one wrong version at a time, the named tests must notice it.

`make mutants`, or `python tests/mutants.py [--only TEXT] [--jobs 2]`; no test itself, so pytest does not collect it.
src and tests are copied to a temporary folder and the copy shadows the installed package (each run checks that).
Killed means that a test failed. A timeout, a test that is not there, a text that is no longer in the source or is
there twice, and tests that fail without any mutant all count as failures of this script.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 240
HUNT = "test_oracle_hunt.py::test_loss_is_the_truth_from_above"
LEAST = "test_oracle_hunt.py::test_exact_is_the_least_scale_and_no_method_goes_below_it"
BOUND = "loss/test_float_bounds_mutants.py"
CLI = "cli/test_commands.py"
TAPES = "noise/test_tapes.py::test_no_outcome_is_decided_on_more_than_its_mass"
DRAWS = "noise/test_tapes.py::test_digits_cut_and_widths_never_change_the_law"

# (file under src/fugu, tests that should notice, [(name, old, new)] or [(name, old, new, its own tests)])
GROUPS = [
    ("exact.py", "test_guarantee.py test_rounding_mutants.py", [
        ("float money", "return Fraction(text) if len(digits) <= _MAX_DIGITS else Fraction(value)", "return Fraction(value)"),
        ("decimal to nearest", "return math.ceil(exact / unit) * unit", "return round(exact / unit) * unit"),
        ("float up to nearest", "return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)", "return nearest"),
        ("decimals by tolerance", "if np.array_equal(m / 10.0**k, values):", "if np.allclose(m / 10.0**k, values):"),
    ]),
    ("balls.py", "test_rounding_mutants.py", [
        ("upper end to nearest", "while not arb(nearest) >= end:", "while False:"),
        ("fraction through a float", "return arb(fmpq(x.numerator, x.denominator))", "return arb(float(x))"),
    ]),
    ("guarantee.py", "test_guarantee.py test_rounding_mutants.py", [
        ("order reversed", "return implies(self, other) if", "return implies(other, self) if"),
        ("conversion rounded down", "least = balls.upper(e - share * (1 + e))", "least = balls.lower(e - share * (1 + e))"),
        ("logarithm rounded down", "max(0.0, balls.log_upper(least))", "max(0.0, -balls.upper(-balls.of(least).log()))"),
        ("renyi conversion rounded down", "return Approx(max(0.0, balls.upper(e)), delta)", "return Approx(max(0.0, balls.lower(e)), delta)"),
        ("larger delta for smaller", "if _delta(g) > _delta(h) or (isinstance", "if _delta(g) < _delta(h) or (isinstance"),
    ]),
    ("loss/scan.py", "loss/test_scan_blocks.py", [
        ("atom counted twice", "return self.left + self.right - weights", "return self.left + self.right"),
        ("carry between blocks lost", "sums[:, 1:, :] += (ends[:, :-1] * np.exp(-step))[:, :, None]", "pass"),
        ("error of a scan forgotten", "    error = (6 * float(offset[:, -1].max()) + size + 3 * _GONE * (rows > 1) + 20) * UNIT", "    error = 0.0"),
    ]),
    ("loss/fast.py", f"loss/test_golden_losses.py {HUNT}[few]", [
        ("one order of the pure loss", "down = math.inf if least == 0 else 1 / least", "down = 0.0"),
        ("last pair of the pure loss", "        i, j = pair\n        with np.errstate(divide", "        i, j = pair\n        if family.different[1:] and pair == family.different[-1][0]:\n            break\n        with np.errstate(divide"),
        ("no slack in the pure loss", "* (1 + 4 * UNIT) + 1.01 * error", "", BOUND),
        ("one order in logarithms", "bound = np.abs(gap) + np.where", "bound = gap + np.where", f"loss/test_golden_losses.py {HUNT}[tiny]"),
        ("no slack in logarithms", "error * (size + 2), 0.0)", "0.0, 0.0)", BOUND),
        ("beyond the doubles is nothing", "bound[np.isnan(bound)] = 0.0 if silent else np.inf", "bound[np.isnan(bound)] = 0.0"),
        ("tiny masses in plain doubles", "    if family.minute:", "    if False:", f"loss/test_golden_losses.py {HUNT}[minute]"),
        ("one order of delta", "for i, j in (pair, pair[::-1]):", "for i, j in (pair,):"),
        ("last pair of delta", "            if value > worst.value:\n                worst = Worst(min", "            if value > worst.value and (not family.different[1:] or pair != family.different[-1][0]):\n                worst = Worst(min"),
        ("tails of delta", "tails = max(0.0, float(right[0])) + max(0.0, float(left[-1]))", "tails = 0.0"),
        ("right tail of delta", "max(0.0, float(right[0])) + max(0.0, float(left[-1]))", "max(0.0, float(right[0]))"),
        ("gaps of delta", "inside = lattice_gaps(left[:-1], right[1:], np.rint(gaps / grid), rate)", "inside = 0.0"),
        ("continuous gaps of delta", "(tails + continuous_gaps(left[:-1], right[1:], gaps / scale))", "tails"),
        ("atoms of delta", "atoms = float(np.maximum(s_i - e * s_j, 0).sum())", "atoms = 0.0"),
        ("no slack in delta", "found * (1 + 4000 * UNIT) + 8 * eta + 1e-300", "found", BOUND),
        ("no slack without noise", ".sum()) + 20 * UNIT", ".sum())", BOUND),
        ("zero delta without slack", "np.all(s_i * (1 + 5 * eta) <= e * s_j)", "np.all(s_i <= e * s_j)", BOUND),
        ("zero delta of vanished sums", " and float(s_j.min()) > _TINY:", ":", f"{BOUND} {HUNT}[far] {HUNT}[minute]"),
    ]),
    ("loss/gaps.py", f"loss/test_golden_losses.py {HUNT}[few]", [
        ("sign change one step late", "/ rate)) - 1, 0, big - 1)", "/ rate)), 0, big - 1)"),
        ("rising gaps forgotten", "falls, rises = (a > 0) & (c < 0), (a < 0) & (c > 0)", "falls, rises = (a > 0) & (c < 0), a > np.inf"),
    ]),
    ("loss/api.py", "loss/test_golden_losses.py", [
        ("continuous delta for a lattice", "grid = float(noise.grid / unit)", "grid = None"),
        ("first family only", "worst = max(worst, pure_loss(whole, _ratio(noise.scale, unit)).value)", "worst = worst or pure_loss(whole, _ratio(noise.scale, unit)).value"),
        ("lattice not asked for", "    if not aligned:", "    if False:"),
        ("scale rounded up", "float_down(as_fraction(scale) / unit)", "-float_down(-as_fraction(scale) / unit)", BOUND),
    ]),
    ("loss/proof.py", "loss/test_golden_losses.py loss/test_proofs_mutants.py", [
        ("one order of a proof", "if not s[j] <= m * s[i]:", "if False:"),
        ("one order of a proved delta", "max(values[2 * k], values[2 * k + 1])", "values[2 * k]"),
        ("other order of a proved delta", "max(values[2 * k], values[2 * k + 1])", "values[2 * k + 1]"),
        ("coupled below only", "* rate <= epsilon", "* rate < epsilon", "calibration/test_choices.py::test_translates_of_an_unknown_law calibration/test_golden_tables.py::test_plain_differential_privacy_is_a_special_case_without_excess"),
        ("coupled at twice the distance", "* rate <= epsilon", "* rate <= 2 * epsilon", "mechanism/test_certificate.py"),
        ("an impossible value costs nothing", 'if denominator > 0 else arb("inf")', "if denominator > 0 else bound"),
    ]),
    ("loss/gaps_proof.py", "loss/test_golden_losses.py", [
        ("proved atoms", "self._sum += here", "pass"),
        ("proved left tail", "self._tails = beta", "pass"),
        ("proved right tail", "(self._before[0] if self._before[0] > 0 else 0)", "0"),
        ("proved gaps", "self._gap(self._before[0], beta, self._before[1])", "pass"),
        ("proved gaps of two signs", "        if c > 0:\n            a, c = c, a", "        if c > 0:\n            return"),
    ]),
    ("loss/decay.py", "loss/test_proofs_mutants.py loss/test_golden_losses.py", [
        ("right sum lost at a block end", "right = after.pop(start)", "right = zero"),
        ("left sum lost at a block end", "        inside: list[list[arb]] =", "        left = zero\n        inside: list[list[arb]] ="),
    ]),
    ("laws/masses.py", f"laws/test_discrete.py {HUNT}[near_equal] {HUNT}[one_atom]", [
        ("nearly equal is equal", "return all(x * t == y * s for x, y in zip(a, b, strict=True))", "return True"),
        ("tiny masses dropped", "read = Masses(array, total)", "read = Masses(np.where(array < 1e-12, 0.0, array), total)"),
        ("masses that meet overwritten", "np.add.at(placed, index, self.parts)", "placed[index] = self.parts"),
        ("float total", "total = exact_sum(array)", "total = Fraction(float(array.sum()))"),
        ("fractions near one", "if total != 1:", "if abs(total - 1) > _TOLERANCE:"),
    ]),
    ("laws/discrete.py", "laws/test_discrete.py transport/test_coupling.py", [
        ("atoms merged by tolerance", "        fresh = ordered[1:] != ordered[:-1]\n", "        fresh = ~np.isclose(ordered[1:], ordered[:-1], rtol=1e-9)\n", f"laws/test_discrete.py {HUNT}[close]"),
        ("values rounded to doubles", "        if not exact:", "        if False:"),
    ]),
    ("laws/family.py", "laws calibration/test_choices.py", [
        ("last pair forgotten", "return tuple((pair, label) for pair, label in labelled if", "return tuple((pair, label) for pair, label in [*labelled][: max(1, len(self.pairs) - 1)] if", "loss/test_golden_losses.py"),
        ("shift rounded to the lattice", "if steps.denominator != 1:", "if False:"),
        ("rounding that keeps atoms apart", "index = lattice.index(self.points)", "index = np.arange(len(self.points))"),
    ]),
    ("noise/lattice.py", "src/fugu/noise/lattice.py laws/test_discrete.py calibration/test_choices.py", [
        ("truncated to the lattice", "* float(1 / self.grid) + 0.5)", "* float(1 / self.grid))"),
        ("origin ignored by index", "offset = values - float(self.origin)", "offset = values"),
        ("origin ignored by value", "start = int(self.origin * denominator)", "start = 0"),
        ("value added in floats", "if biggest < 2**53 and denominator < 2**53:", "if False:", "noise/test_attacks.py"),
        ("too fine a grid", "if not np.all(np.abs(k) <= MAX_INDEX):", "if False:"),
    ]),
    ("noise/laplace.py", "mechanism/test_release.py noise/test_law_mutants.py", [
        ("rate in floats", "return self.grid / as_fraction(self.scale)", "return Fraction(float(self.grid) / float(self.scale))"),
        ("interval one step short", "steps = max(0, math.ceil(k * (1 + 1e-12)))", "steps = max(0, math.ceil(k * (1 + 1e-12)) - 1)"),
    ]),
    ("noise/bits.py", "noise/test_sampler.py", [
        ("seeded generator", "return _cut(os.urandom, bits, count)", "return _cut(np.random.default_rng(0).bytes, bits, count)"),
        ("state that a fork copies", "        return _cut(os.urandom, bits, count)", "        return _cut(_state.bytes, bits, count)\n\n\n_state = np.random.Generator(np.random.PCG64())", "noise/test_sampler.py::test_a_forked_process_draws_its_own_noise"),
        ("coin of a float", "rest = Fraction(p)", "rest = Fraction(float(p))", "noise/test_tapes.py::test_a_coin_is_exact noise/test_law_mutants.py"),
        ("float probability accepted", "if not isinstance(p, Rational) or not 0 <= p <= 1:", "if not 0 <= p <= 1:", "noise/test_tapes.py::test_a_coin_of_a_dyadic_probability_ends_and_sure_coins_are_sure"),
        ("coin decided by the first word", "        if word != whole:\n            return word < whole", "        return word < whole", "noise/test_tapes.py::test_a_coin_is_exact"),
    ]),
    ("noise/geometric.py", f"{TAPES} {DRAWS}", [
        ("fair sign", "(q * power if side == 0 else q + power) / (1 + q)", "(power if side == 0 else 1 + power) / 2"),
        ("boundary off by one", "* (self.cut - place)).exp()", "* (self.cut - place + 1)).exp()"),
        ("tail cut off", "while beyond.size:", "while False:"),
        ("tail continued once", "beyond = beyond[more == self.top.cut]", "break"),
        ("sign of a continuation kept", "            more ^= more >> 31", "            more ^= 0"),
        ("uniform low digit", "return start * balls.of(-self.rate * j).expm1() / balls.of(-self.rate * self.base).expm1()", "return balls.of(Fraction(j, self.base)) + 0 * start"),
        ("digits of one rate", "            rate *= base", "            rate *= 1"),
    ]),
    ("noise/table.py", TAPES, [
        ("third stage decides blindly", "for i in np.flatnonzero(low < high):", "for i in ():"),
        ("third stage decides early", "while low < high:", "if low < high:"),
        ("open cells closed", "table[cells] = _OPEN", "pass"),
        ("boundary cell counted below", 'low = np.searchsorted(self.fences, u, side="left")', 'low = np.searchsorted(self.fences, u + 1, side="left")'),
        ("time that follows the noise", "if self.widths.steady else 0", "if not self.widths.steady else 0", "noise/test_sampler.py::test_the_number_of_bits_read_does_not_follow_the_noise"),
    ]),
    ("transport/coupling.py", "transport/test_coupling.py", [
        ("float sums", "upto_a, upto_b = np.cumsum(a), np.cumsum(b)", "upto_a, upto_b = np.cumsum(a / a.sum()), np.cumsum(b / b.sum())"),
        ("distances to nearest", "return np.where(short, np.nextafter(d, np.inf), d)", "return d"),
        ("slivers left out", "held = law.masses.parts != 0", "held = law.weights > 1e-15"),
    ]),
    ("transport/wasserstein.py", "transport/test_wasserstein.py", [
        ("mean distance", "    return int(monotone(points, p, q).distances.max())", "    return -int(-monotone(points, p, q).distances.mean() // 1)", "calibration/test_golden_tables.py"),
        ("first order for every order", "root = mean if order == 1 else mean ** (1 / r)", "root = mean"),
        ("largest distance averaged", "    if math.isinf(order) or largest in (0.0, math.inf):\n        return largest", "    if math.isinf(order):\n        return _mean_cost(plan, Fraction(1), unit)"),
        ("cost rounded to nearest", "return balls.upper(root * unit.numerator / unit.denominator)", "return float((root * unit.numerator / unit.denominator).mid())"),
    ]),
    ("transport/closeness.py", "transport/test_closeness.py", [
        ("allowance not used up", "lambda w: match.left_over(Fraction(w)) <= allowed))\n\n\ndef closeness_index", "lambda w: match.left_over(Fraction(w)) < allowed))\n\n\ndef closeness_index"),
        ("allowance of the method not used up", "else _least(widest, lambda w: match.left_over(Fraction(w)) <= allowed)", "else _least(widest, lambda w: match.left_over(Fraction(w)) < allowed)"),
        ("allowance rounded up", "allowed = match.total * spare.numerator // spare.denominator", "allowed = -(-match.total * spare.numerator // spare.denominator)"),
        ("allowance of the method rounded up", "allowed = match.total * delta.numerator // delta.denominator", "allowed = -(-match.total * delta.numerator // delta.denominator)"),
        ("reach excluded", "if -reach <= gap <= reach:", "if -reach < gap < reach or gap == 0:"),
        ("float delta", "    return as_fraction(delta)", "    return Fraction(delta)"),
    ]),
    ("transport/relaxed.py", "transport/test_relaxed.py", [
        ("one order relaxed", "    return max(forward, backward)", "    return forward"),
        ("the cheaper order", "    return max(forward, backward)", "    return min(forward, backward)"),
        ("no slack in the forms", "slack = _UNIT * (32 + np.minimum(groups.count, 128) + large)", "slack = 0 * large"),
        ("the end that fails", "        low, high = (low, middle) if _holds(groups, budget, middle) else (middle, high)\n    return high", "        low, high = (low, middle) if _holds(groups, budget, middle) else (middle, high)\n    return low"),
    ]),
    ("calibration/exact.py", "calibration/test_golden_tables.py", [
        ("continuous noise for the lattice", "float(epsilon), 1.0 if lattice else None)", "float(epsilon), None)"),
    ]),
    ("calibration/search.py", "calibration/test_choices.py", [
        ("the end that loses more", "            a, loss_a, last = x, at_x, -1\n    return b", "            a, loss_a, last = x, at_x, -1\n    return a"),
    ]),
    ("calibration/prove.py", "calibration/test_prove_mutants.py calibration/test_golden_tables.py", [
        ("half the scale", "noise = Laplace(float(scale), grid)", "noise = Laplace(float(scale) / 2, grid)"),
        ("a proposal without a proof", "        if proof.holds:", "        if proof:"),
        ("families after the first", "for family in families for loss in prove_pure(family, rate)]", "for family in families[:1] for loss in prove_pure(family, rate)]"),
        ("deltas after the first family", "for family in families for loss in prove_delta(", "for family in families[:1] for loss in prove_delta("),
        ("equal epsilon is too much", "Fraction(loss.value) > epsilon]", "Fraction(loss.value) >= epsilon]"),
        ("equal delta is too much", "holds=Fraction(approx.value) <= as_fraction(budget.delta)", "holds=Fraction(approx.value) < as_fraction(budget.delta)"),
        ("delta compared in floats", "holds=Fraction(approx.value) <= as_fraction(budget.delta)", "holds=approx.value <= float(budget.delta)"),
        ("epsilon compared in floats", "Fraction(loss.value) > epsilon]", "loss.value > float(epsilon)]"),
        ("one pair coupled is enough", "if all(rate is not None", "if any(rate is not None"),
    ]),
    ("calibration/calibrate.py", "calibration/test_prove_mutants.py calibration/test_choices.py", [
        ("unrounded values unasked", "if proposal.steps == 0 and _silent_as_stated(asked, budget):", "if proposal.steps == 0:"),
        ("beliefs without their weights", "for law in family.laws:\n            digest.update(str", "for law in ():\n            digest.update(str", "mechanism"),
    ]),
    ("calibration/problem.py", "calibration/test_choices.py", [
        ("laws not rounded", "return Problem(tuple(f.on(lattice) for f in given), given, lattice)", "return Problem(Problem((), given, lattice).unrounded(), given, lattice)"),
    ]),
    ("mechanism/certificate.py", "mechanism", [
        ("digest unread", 'if k != "digest"}) != body["digest"]:', 'if k != "digest"}) is None:'),
        ("fingerprint unread", 'if _sha256(body["families"]) != body["fingerprint"]:', "if False:"),
        ("noise off its lattice", "    if (lattice is None and noise.scale > 0) or (lattice is not None and lattice.grid != noise.grid):", "    if False:"),
        ("noise of another grid", "or (lattice is not None and lattice.grid != noise.grid):", "or False:"),
    ]),
    ("mechanism/encoding.py", "mechanism", [
        ("masses that miss the total", "or sum(numerators) != total or total <= 0:", "or total <= 0:"),
        ("weights in decimal", "[float(p).hex() for p in law.parts.tolist()]", "[float(f'{p:.12g}').hex() for p in law.parts.tolist()]"),
    ]),
    ("mechanism/mechanism.py", "mechanism", [
        ("token not taken", "            self._taken = True", "            self._taken = False"),
        ("own token for a copy", '"once": self.once,', '"once": Once(),'),
        ("no noise unasked", "if self._silent() and not allow_no_noise:", "if False:"),
        ("prior guard", "if not self.context.public_prior and column_digest", "if False and column_digest"),
        ("missing values let through", "if np.any(np.isnan(column)) and not self.context.keeps_missing:", "if False:"),
        ("spent before the guards", "        column, scalar = self._column(values)\n        if self._silent()", "        for token in self._tokens():\n            token.take()\n        column, scalar = self._column(values)\n        if self._silent()"),
        ("seeded release", "return self._released(column, scalar, OS)", "return self._released(column, scalar, RngBits(np.random.Generator(np.random.PCG64(0))))"),
        ("post-processing skipped", "        for step in self.post:", "        for step in ():"),
    ]),
    ("mechanism/additive.py", "mechanism calibration/test_choices.py", [
        ("values outside the support", "clean = column[known] if self.support is None else nearest(self.support, column[known])", "clean = column[known]"),
        ("data not rounded", "out[known] = self.lattice.value(self.lattice.index(clean) + noise)", "out[known] = clean + float(self.lattice.grid) * noise"),
    ]),
    ("mechanism/mixed.py", "mechanism", [
        ("first half not spent", "return (self.once, *self.first._tokens(), *self.second._tokens())", "return (self.once, *self.second._tokens())"),
        ("second half not spent", "return (self.once, *self.first._tokens(), *self.second._tokens())", "return (self.once, *self.first._tokens())"),
        ("smaller epsilon", "epsilon = max(as_fraction(g.epsilon), as_fraction(h.epsilon))", "epsilon = min(as_fraction(g.epsilon), as_fraction(h.epsilon))"),
        ("smaller delta", "delta = max(as_fraction(getattr(g", "delta = min(as_fraction(getattr(g"),
        ("smaller proved figures", "proved = {key: max(", "proved = {key: min("),
        ("a silent half unasked", "return any(part._silent()", "return all(part._silent()"),
        ("other beliefs", 'if a.body["beliefs"] != b.body["beliefs"]:', "if False:"),
        ("half without its post-processing", "return chosen._processed(drawn)", "return drawn"),
    ]),
    ("mechanism/context.py", "mechanism", [
        ("missing is always public", 'keeps_missing=query.missing == "drop"', "keeps_missing=True"),
    ]),
    ("auditing/verify.py", "mechanism calibration/test_choices.py", [
        ("stated figures believed", "return _verdict(prove(laws, certificate.noise, budget), budget)", 'return Verdict(certificate.proved["epsilon"] <= budget.epsilon, **certificate.proved, worst_pair="", reason="")'),
        ("stored laws in place of yours", "if scenario_or_pairs is not None:", "if False:"),
        ("your laws not rounded", "    if lattice is not None:\n        return tuple", "    if lattice is None:\n        return tuple"),
        ("half that fails", "holds = all(verdicts) and same and within", "holds = any(verdicts) and same and within"),
        ("halves of other beliefs", "holds = all(verdicts) and same and within", "holds = all(verdicts) and within"),
        ("halves above the whole", "holds = all(verdicts) and same and within", "holds = all(verdicts) and same"),
        ("delta of the halves", "<= as_fraction(b.epsilon) and as_fraction(delta_a) <= as_fraction(delta_b)", "<= as_fraction(b.epsilon)"),
    ]),
    ("scenario/scenario.py", "scenario/test_scenario.py", [
        ("all pairs adjacent", 'combinations(laws, 2) if self.pairs == "all"', 'combinations(laws, 2) if self.pairs == "adjacent"'),
        ("adjacent for all", 'return combinations(laws, 2) if self.pairs == "all" else pairwise(laws)', "return pairwise(laws)"),
        ("first adversary only", "for i, laws in enumerate(self.adversaries, start=1)\n            for a, b", "for i, laws in enumerate(self.adversaries[:1], start=1)\n            for a, b"),
        ("last listed pair", "return tuple(found.values())", "return tuple(found.values())[: max(1, len(found) - 1)]"),
        ("pairs nobody weighs", "if not any(a in laws and b in laws for laws in self.adversaries):", "if False:"),
    ]),
    ("scenario/table.py", "scenario/test_from_table.py", [
        ("secrets without rows unsaid", "tuple((label, reason) for label in secrets.labels if label not in laws)", "()"),
        ("pair of a secret without rows", "            if str(name) in skipped:", "            if False:"),
        ("unit not checked", "    if unit is not None:\n        _check_unit", "    if unit == 0:\n        _check_unit"),
        ("unit of two rows", "(np.bincount(rows) > 1)", "(np.bincount(rows) > 2)"),
        ("reference without a digest", "reference_digest=column_digest(published)", "reference_digest=None"),
    ]),
    ("scenario/secrets.py", "scenario/test_secrets.py scenario/test_from_table.py", [
        ("missing secrets dropped", 'if gone and missing == "error":', "if False:"),
        ("missing value holds a secret", "        holds = holds & ~table.exact(name).missing", "        holds = holds & True"),
        ("overlaps overwritten", "free = next((layer for layer in layers if not np.any(layer[mask] >= 0)), None)", "free = next(iter(layers), None)"),
    ]),
    ("scenario/conditions.py", "scenario/test_secrets.py", [
        ("upper end included", "return np.asarray(values.astype(np.float64) < float(end))", "return np.asarray(values.astype(np.float64) <= float(end))"),
        ("whole numbers through doubles", "    return np.asarray(values < values.dtype.type(whole))", "    return np.asarray(values.astype(np.float64) < float(whole))"),
    ]),
    ("scenario/query.py", "scenario/test_query.py scenario/test_from_table.py", [
        ("missing rows dropped", '_missing(self.missing, self.categories))', '_missing("drop" if self.missing == "error" else self.missing, self.categories))'),
        ("edge in the bin below", 'np.searchsorted(inner, numbers, "right")', 'np.searchsorted(inner, numbers, "left")'),
        ("missing in the last bin", "numbers = np.where(np.isnan(numbers), np.nan, middle)", "numbers = middle"),
        ("infinite values let through", "if strict and infinite.any():", "if False:"),
    ]),
    ("data/digest.py", "scenario/test_from_table.py mechanism/test_release.py", [
        ("digest of one order", "ordered = np.sort(np.asarray(column, dtype=\"<f8\") + 0.0)", "ordered = np.asarray(column, dtype=\"<f8\") + 0.0"),
    ]),
    ("publish/column.py", f"publish {CLI}", [
        ("wrong column", "query.apply(table.exact(query.publish), strict=False)", "query.apply(table.exact(table.columns[0]), strict=False)"),
        ("private unit not checked", "    if unit is not None:", "    if unit == 0:"),
        ("two rows a unit", "if np.any(codes < 0) or np.unique(codes).size < codes.size:", "if np.any(codes < 0):"),
        ("missing cells counted aloud", "    except MissingValues:\n        raise MissingValues(", "    except MissingValues as error:\n        raise MissingValues(str(error) + "),
        ("strict about private values", "strict=False)", "strict=True)"),
    ]),
    ("cli/releasing.py", CLI, [
        ("beliefs from nowhere", "if (reference is None) == (not public_prior):", "if False:"),
        ("dry run that writes", "    if not dry_run:\n", "    if True:\n"),
        ("table overwritten", "if Path(table).resolve() in {f.resolve() for f in files.values()}:", "if False:"),
        ("no noise by default", "released = release_column(mechanism, private, allow_no_noise=allow_no_noise)", "released = release_column(mechanism, private, allow_no_noise=True)"),
        ("beliefs of the private table", "reference or table, publish", "table, publish"),
    ]),
    ("cli/app.py", CLI, [("exit code", "sys.exit(error.exit_code)", "sys.exit(1)")]),
    ("cli/verifying.py", CLI, [("failure exits well", "    if not verdict.holds:", "    if False:")]),
    ("errors.py", CLI, [("refusals exit like wrong use", "    exit_code = 3", "    exit_code = 2")]),
]  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One wrong version: the file, the text that is right, the text that is wrong, and the tests that must see it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, src: Path) -> None:
        """Put the wrong text in the place of the right one."""
        path = src / "fugu" / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise LookupError(f"its text is {text.count(self.old)} times in {self.file}")
        path.write_text(text.replace(self.old, self.new))
        ast.parse(path.read_text())


MUTANTS = [
    Mutant(f"{file.removesuffix('.py')}: {name}", file, old, new, tuple(" ".join(own or [tests]).split()))
    for file, tests, entries in GROUPS
    for name, old, new, *own in entries
]
RUN = """
import sys
from pathlib import Path
import fugu
if Path(fugu.__file__).resolve().parent != Path("src/fugu").resolve():
    sys.exit(99)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def copied(folder: Path, origin: Path) -> Path:
    """A copy of what a test run needs."""
    for name in ("src", "tests"):
        shutil.copytree(origin / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(origin / "pyproject.toml", folder)
    return folder


def run(folder: Path, tests: tuple[str, ...], seconds: float) -> tuple[int | None, str]:
    """pytest on the copy in this folder: its exit code (None: out of time), and the test that failed."""
    paths = [t if t.startswith("src/") else f"tests/{t}" for t in tests]
    found = [p for p in paths if (folder / p.partition("::")[0]).exists()]
    command = [sys.executable, "-c", RUN, "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *found]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return None, ""
    failed = re.findall(r"^(?:FAILED|ERROR) (.*)", done.stdout, re.MULTILINE)
    return done.returncode, failed[0][:150] if failed else (done.stdout + done.stderr).strip()[-300:]


def judged(mutant: Mutant, origin: Path) -> tuple[bool, str]:
    """Whether the mutant is killed, and one line about it."""
    with tempfile.TemporaryDirectory() as folder:
        place = copied(Path(folder), origin)
        try:
            mutant.apply(place / "src")
        except (LookupError, SyntaxError) as error:
            return False, f"STALE     {mutant.name}: {error}"
        code, why = run(place, mutant.tests, TIMEOUT)
    if code in (1, 2):
        return True, f"killed    {mutant.name}   by {why}"
    word = {0: "SURVIVED", None: "TIMED OUT"}.get(code, f"EXIT {code}")
    return False, f"{word:<10}{mutant.name}   {'' if code == 0 else why}"


def main() -> int:
    """Judge every mutant, after the same tests have passed without any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="mutants whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutant first")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if options.only in m.name]
    with tempfile.TemporaryDirectory() as folder:
        origin = copied(Path(folder), ROOT)
        wanted = tuple(dict.fromkeys(test for m in chosen for test in m.tests))
        code, why = (0, "") if options.unchecked else run(origin, wanted, 5 * TIMEOUT)
        if code != 0:
            print(f"the tests do not pass without a mutant (exit {code}): {why}")
            return 1
        killed = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            for dead, line in pool.map(lambda m: judged(m, origin), chosen):
                killed += dead
                print(line, flush=True)
    print(f"{killed} of {len(chosen)} mutants killed")
    return int(killed < len(chosen) or not chosen)


if __name__ == "__main__":
    sys.exit(main())

"""The differences from the golden record that are meant. A difference that no entry explains fails the test, and so
does an entry that explains none: take it out when `record.py --write` has made it part of the record."""

from __future__ import annotations

from golden.comparing import ABSENT, Change

_FORM = "refusals have one form: every noise and method that was tried, with its reason"
_ELSEWHERE = "a method that exists, but not for such laws, budget or noise, is not provable; only a typo is unknown"
_NO_BOUND = "a noise without a bound on such laws is not provable; only what is no noise is a bad one"
_BEATEN = "methods that another always beats are not run, so the certificate lists no scale of theirs"
_ALONE = "a method that is asked for by name is the only one that is run"
_TIE = "exact is tried before the methods it beats, and names the mechanism where they ask for the same noise"
_SURE = "the exact scale of translates is the closed form, not the end of a search"
_LEAST = "rows state the scale that calibrate would use: up to 4e-9 less noise, up to 4e-9 more of the budget used"
_NO_ROW = "a noise that cannot meet the budget at all has no row"
_EVERY = "epsilon, delta, renyi and plan answer for vectors and normal vectors, or say what is missing"
_GRID = "compare uses the grid that is asked for, as calibrate does"
_DELTA = "a pure guarantee says its delta, 0"
_CLOSENESS = "closeness without a delta is the largest distance: it has a scale for vectors, too"
_DIGEST = "one digest of beliefs for every shape of laws"
_ORDER = "one body for every certificate: what the shape of the noise assumes comes after the one release"
_PROOF = "the proof is in the repository now"
_NEAR = 1e-8

_BEATEN_METHODS = ("l1", "wasserstein", "closeness", "relaxed", "relaxed-paper", "transport", "cauchy-moments",
                   "gaussian-prior", "gaussian-prior-lambert", "mixture-coupling")  # fmt: skip
_ROWS = ("scale", "absolute", "squared", "epsilon")
_GRIDDED = ("optimal", "eigenvector", "directional", "directional-uncertainty", "expected-value")

_REFUSALS = (
    Change("*/calibrate/*", "message", _FORM, "no noise could be proved for *"),
    Change("*/calibrate/cauchy/*", "message", _FORM, "Cauchy noise is analysed *"),
    Change("sum/*", "message", _FORM, "no noise could be proved for *: a law is known up to total variation *"),
    Change("wrong-use/budget-zero", "message", _FORM, "no noise could be proved for *"),
    Change("sum/renyi-delta/compare", "best.message", _NO_ROW, "no method is proved for *"),
    Change("*/calibrate/*", "refused", _ELSEWHERE, "NotProvable"),
    Change("*/calibrate/*", "message", _ELSEWHERE, "method '*' is not for normal laws of vectors; methods that are: *"),
    Change("*/calibrate/*/exactt", "message", _ELSEWHERE, "no method 'exactt'; did you mean 'exact'?"),
    Change("vectors*/calibrate/cauchy/*", "message", _NO_BOUND, "no loss of cauchy noise is known for discrete laws *"),
    Change("wrong-use/laws-mixed", "refused", "laws of several dimensions are no laws of one value", "BadLaw"),
    Change("wrong-use/laws-mixed", "message", "laws of several dimensions are no laws of one value", "the laws have *"),
)
_LOSSES = (
    Change("*/epsilon/cauchy*", "refused", _NO_BOUND, "NotProvable"),
    Change("*/delta-*/cauchy*", "refused", _NO_BOUND, "NotProvable"),
    Change("*/delta-*/cauchy*", "message", _NO_BOUND, "Cauchy noise on *laws*: no delta is known; *"),
    Change("*/epsilon/cauchy*", "message", _NO_BOUND, "the pure loss of Cauchy noise is not available here; *"),
    Change("*/epsilon/cauchy*", "message", _NO_BOUND, "the Rényi divergence of Cauchy noise on normal laws has no *"),
    Change("*/cauchy*", "message", _NO_BOUND, "no loss of cauchy noise is known for * laws of vectors; *"),
    Change("normal-vectors*", "message", _EVERY, "no loss of laplace noise is known for normal laws of vectors; *"),
    Change("property*", "message", _EVERY, "no loss of laplace noise is known for normal laws of vectors; *"),
    *(Change(f"{laws}*/{loss}/gaussian{where}", field, _EVERY, after)
      for laws in ("normal-vectors", "property") for loss in ("delta-*", "renyi-*") for where, field, after in (
          ("", "refused", ABSENT), ("", "message", ABSENT), ("", "answer", "[0-9]*"),
          ("-lattice", "message", "a law varies too little, against the grid, in some direction; *"))),
    *(Change(f"{laws}*/epsilon/gaussian*", field, _EVERY, after)
      for laws in ("normal-vectors", "property")
      for field, after in (("refused", ABSENT), ("message", ABSENT), ("answer", "inf"))),
    *(Change(f"{laws}*/plan/*", field, _EVERY, after)
      for laws in ("normal-vectors", "property")
      for field, after in (("refused", "BadBudget"), ("message", "no noise on such laws has a finite *"))),
    *(Change("vectors*/plan/*", field, _EVERY, after) for field, after in (
        ("refused", ABSENT), ("message", ABSENT), ("class", "Pure"), ("epsilon", "[0-9]*"))),
    Change("vectors-shifted/plan/0", "message", _EVERY, "no finite epsilon allows an expected error of 0: *"),
    Change("*/plan/*", "delta", _DELTA, "0*"),
    Change("*/guarantee-against/*", "delta", _DELTA, "0*"),
    Change("*/mix/*", "against.delta", _DELTA, "0*"),
    Change("prior/*/translate/pure", "delta", _DELTA, "0*"),
)  # fmt: skip
_CERTIFICATES = (
    *(Change("*/calibrate/*", f"certificate.scales.{name}", _BEATEN, ABSENT) for name in _BEATEN_METHODS),
    *(Change("*/mix/*", f"certificate.parts.?.scales.{name}", _BEATEN, ABSENT)
      for name in _BEATEN_METHODS if name not in ("transport", "cauchy-moments")),
    Change("normal*/approx/calibrate/*/mixture-coupling", "certificate.theorem", _PROOF, "*mixtures.md, *"),
    Change("atoms-pair/*/calibrate/*", "certificate.assumptions.?", "said for every budget", "no noise is added: *"),
    Change("vectors*/calibrate/*", "certificate.scales.exact", _ALONE, ABSENT),
    Change("*/calibrate/*", "certificate.scales.exact", _SURE, within=_NEAR),
    *(Change("vectors-shifted/pure/calibrate/best/exact", field, _SURE, within=_NEAR)
      for field in ("*.scale", "*.absolute", "*.squared", "*.epsilon")),
    Change("vectors-shifted/pure/calibrate/best/exact", "noise.tail", _SURE, "*Laplace(scale=3.0, *"),
    *(Change("*/calibrate/*/best*", field, _TIE, "exact") for field in ("method", "certificate.method")),
    Change("*/calibrate/*/best*", "certificate.theorem", _TIE, "the tight divergence of the two noised laws, *"),
    Change("vectors-shifted/*/calibrate/*/best*", "certificate.theorem", _TIE, "the largest ratio on the product *"),
    *(Change(f"vectors/{budget}/calibrate/*/closeness", "*", _CLOSENESS) for budget in ("pure", "renyi")),
    *(Change(f"{laws}*/calibrate/*", "certificate.beliefs", _DIGEST) for laws in ("normal-vectors", "property")),
    *(Change("vectors*/calibrate/*", "certificate.assumptions.?", _ORDER, after)
      for after in ("every coordinate gets independent noise *", "one release of this data; *")),
    *(Change("property/approx/calibrate/*", field, "of two pairs that lose the same, the first is named", "p=* vs p=*")
      for field in ("certificate.worst_pair", "verify.worst_pair")),
)  # fmt: skip
_COMPARISONS = (
    *(Change(f"{laws}*/{budget}/compare*", f"rows.* {noise}.{field}", _LEAST, within=_NEAR)
      for laws, budget, noises, fields in (
          ("", "renyi*", ("laplace", "gaussian"), _ROWS), ("", "curve", ("laplace", "gaussian"), _ROWS),
          ("vectors", "pure*", ("laplace",), _ROWS), ("vectors", "approx", ("laplace",), _ROWS),
          ("vectors", "approx", ("gaussian",), _ROWS[:3]))
      for noise in noises for field in fields),
    *(Change(f"*/{budget}/compare*", f"rows.* cauchy.{field}", _LEAST, within=_NEAR)
      for budget in ("renyi*", "curve") for field in ("scale", "epsilon")),
    Change("*/renyi-delta/compare", "rows.exact cauchy.*", _NO_ROW, ABSENT),
    Change("*/renyi-delta/compare", "order", _NO_ROW, "wasserstein laplace, *gaussian"),
    Change("vectors*/approx/compare*", "order", "rows are in the order of the registry", "wasserstein *"),
    *(Change(f"{laws}*/*/compare/grid", f"rows.{method} gaussian.{field}", _GRID, after)
      for laws, methods in (("normal-vectors", _GRIDDED[:4]), ("property", ("optimal", "expected-value")))
      for method in methods
      for field, after in (*((row, "inf") for row in _ROWS), ("proven", "False"), ("why", "the noise is too *"))),
    *(Change("normal-vectors-exact/*/compare/grid", f"rows.{method} gaussian.note", _GRID, "")
      for method in ("optimal", "directional", "directional-uncertainty")),
    Change("normal-vectors*/*/compare/grid", "best", _GRID, "expected-value gaussian"),
    Change("property/*/compare/grid", "best", _GRID, "record-group gaussian"),
    Change("*/compare*", "rows.exact cauchy.why", "the reason is said at once, not after a search", "the Rényi *"),
    Change("*/compare*", "rows.mixture-coupling laplace.why", _PROOF, "*mixtures.md, *"),
    Change("atoms-pair/approx/compare*", "rows.exact gaussian.note", "said for every noise", "the beliefs alone *"),
)  # fmt: skip

_SHAPES = ("vectors", "normal-vectors", "property")
_EVERY_SHAPE = (
    *(Change(f"{laws}*/mix/*", "*", "mixtures of every shape of laws are proved") for laws in _SHAPES),
    Change(
        "*/mix/renyi-pure", "message", "mixtures of Renyi guarantees are proved too, of one kind", "*not of one kind: *"
    ),
    Change(
        "*/mix/*", "verify-other.reason", "what fails is said by itself", "a half does not hold, or is not within *"
    ),
    *(Change(f"{laws}*/guarantee-against/*", "*", "guarantee_against answers for every shape") for laws in _SHAPES),
)

_DECIMAL = "the decimal just below the end of a search is tried first, and proved"
_A_DIGIT_LESS = (
    *(Change(case, field, _DECIMAL, within=1e-6)
      for case, fields in (
          ("*/calibrate/*", ("*noise.scale", "*.absolute", "*.squared", "*.delta", "*.epsilon", "errors.interval*")),
          ("*/mix/*", ("*noise.scale", "*.absolute", "*.squared", "*.delta")),
          ("*/verify/*", ("delta",)), ("*/guarantee-against/*", ("delta",)),
          ("*/approx/compare*", ("rows.exact *",)))
      for field in fields),
    Change("*/calibrate/*", "noise.tail", _DECIMAL, "<bound method *"),
)  # fmt: skip

_WORSE_ORDER = "relaxed-paper takes the order of a pair that needs more, so the order of a file changes nothing"
_OWN_SCALE = "the theorem's own scale is shown beside what is released"
_TABLES = (
    Change("*/calibrate/*/relaxed-paper", "*", _WORSE_ORDER),
    Change("*/compare*", "rows.relaxed-paper laplace.*", _WORSE_ORDER),
    *(Change("normal*/compare*", f"rows.{method} laplace.note", _OWN_SCALE, "the theorem's own scale is *")
      for method in ("gaussian-prior", "gaussian-prior-lambert", "mixture-coupling")),
)  # fmt: skip

EXPECTED: tuple[Change, ...] = (
    *_REFUSALS, *_LOSSES, *_CERTIFICATES, *_COMPARISONS, *_EVERY_SHAPE, *_A_DIGIT_LESS, *_TABLES,
)  # fmt: skip

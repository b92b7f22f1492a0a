"""Dates are days since an origin, by a function of one cell, and are written back as dates."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import numpy as np
import pytest

import fugu
from fugu.data.column import Column, Raw
from fugu.data.field import Field
from fugu.data.moments import DAY, EPOCH, day_bins, in_order, seconds_of, times_of, written
from fugu.errors import BadTable, ColumnNotFound, FuguError, UnknownName, UsageError

DAYS = [date.min, date(1582, 10, 15), date(1969, 12, 31), EPOCH, date(2020, 2, 29), date.max]


def read(field, *cells):
    column = field.read("d", Raw.of("d", list(cells)))
    return [None if gone else x for x, gone in zip(column.values.tolist(), column.missing.tolist(), strict=True)]


def dated(**told):
    return Field.of("d", {"kind": "time", **told})


@pytest.mark.parametrize("day", DAYS)
def test_a_day_is_the_same_in_every_form_and_comes_back(day):
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=None)
    forms = [day, noon, day.isoformat(), f" {day.isoformat()} ", f"{day.isoformat()}T23:59:59.999", np.datetime64(day),
             np.datetime64(noon, "ms"), day.isoformat().encode()]  # fmt: skip
    for origin in ("1970-01-01", "2000-03-01"):
        field = dated(origin=origin)
        expected = float((day - date.fromisoformat(origin)).days)
        assert read(field, *forms) == [expected] * len(forms)
        assert field.written(np.array([expected, np.nan])).tolist() == [day.isoformat(), ""]


def test_what_is_no_date_is_missing_and_nothing_raises():
    class Odd(tzinfo):
        def utcoffset(self, when):
            raise RuntimeError("a zone of somebody else's")

    cells = ["20200131", "2020-02-30", "2020-1-1", "tomorrow", "2020-01-01x", 20200131, 18262.0, True, None, math.nan,
             np.datetime64("NaT"), datetime(2020, 1, 1, tzinfo=Odd()), b"\xff", [date(2020, 1, 1)], "\u0662020-01-01",
             "2020-01-01 " + "9" * 400]  # fmt: skip
    assert read(dated(origin="1970-01-01"), *cells) == [None] * len(cells)
    numbers = Field.dates().read("d", Raw.of("d", np.array([1.0, 2.0])))
    assert numbers.missing.all()


def test_zones_are_told_apart_and_seconds_are_whole():
    east = timezone(timedelta(hours=2))
    assert seconds_of(datetime(1970, 1, 1, 2, tzinfo=east)) == seconds_of(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert seconds_of("1970-01-01T00:00:00-01:00") == 3600
    assert seconds_of(np.datetime64(-1, "ms")) == -1
    assert seconds_of(np.datetime64(2**62, "s")) == (date.max - EPOCH).days * DAY
    assert seconds_of(np.datetime64(-(2**62), "s")) == (date.min - EPOCH).days * DAY


def test_a_moment_is_the_start_of_its_step_and_bounds_hold():
    weekly = dated(bounds=["2020-01-06", "2020-03-01"], step=7)
    found = [weekly.written(np.array([x]))[0] for x in read(weekly, "2020-01-12T23:00", "2020-01-13", "1900-01-01",
                                                            "2100-01-01")]  # fmt: skip
    assert found == ["2020-01-06", "2020-01-13", "2020-01-06", "2020-02-24"]
    strict = dated(bounds=["2020-01-06", "2020-03-01"], outside="missing")
    assert read(strict, "2020-01-05", "2020-03-02", "2020-03-01T08:00") == [None, None, 18322.0]
    hourly = dated(step="1/24")
    assert hourly.written(np.array(read(hourly, "2020-01-01T08:59:59"))).tolist() == ["2020-01-01T08:00:00"]


def test_noise_cannot_leave_the_calendar():
    texts = Field.dates().written(np.array([-1e300, 1e300, -np.inf, np.inf, 0.5, -0.5]))
    assert texts.tolist() == ["0001-01-01", "9999-12-31", "0001-01-01", "9999-12-31", "1970-01-02", "1970-01-01"]


@pytest.mark.parametrize(
    "told",
    [{"origin": "2020-13-01"}, {"origin": 5}, {"bounds": ["2020-01-01"]}, {"bounds": "2020-01-01"},
     {"bounds": ["2021-01-01", "2020-01-01"]}, {"bounds": ["2020-01-01T08:00", "2021-01-01"]}, {"step": 0},
     {"step": "1/7"}, {"step": 400, "bounds": ["2020-01-01", "2020-02-01"]}, {"outside": "nearest"},
     {"missing": 3}, {"missing": "2019-01-01", "bounds": ["2020-01-01", "2021-01-01"]}, {"orign": "2020-01-01"}],
)  # fmt: skip
def test_what_is_declared_wrongly_is_refused_by_the_name_of_the_column(told):
    with pytest.raises(UsageError, match="'d'"):
        dated(**told)


def test_a_schema_of_dates_is_written_and_read_and_plain_times_stay_public(tmp_path):
    told = {"kind": "time", "origin": date(2000, 1, 1), "bounds": [date(2000, 1, 1), "2030-12-31"]}
    told["missing"] = "2010-01-01"
    schema = fugu.Schema({"d": told, "t": {"kind": "time"}})
    schema.save(tmp_path / "s.toml")
    assert fugu.Schema.load(tmp_path / "s.toml") == schema == fugu.Schema.from_json(schema.to_json())
    assert schema.fields["t"].public and not schema.fields["d"].public
    assert schema.to_json()["columns"]["t"] == {"kind": "time"}
    (tmp_path / "bare.toml").write_text("[schema.columns.d]\nkind = 'time'\nbounds = [2000-01-01, 2030-12-31]\n")
    assert fugu.Schema.load(tmp_path / "bare.toml").fields["d"].bounds == (10957.0, 22279.0)


N = 400
REFERENCE = {
    "sex": ["F", "M", "X", "M"] * (N // 4),
    "visit": [(date(2020, 1, 1) + timedelta(days=7 * i % 31 + (i % 4 == 1))).isoformat() for i in range(N)],
    "born": [date(1940, 1, 1) + timedelta(days=97 * i % 15_000) for i in range(N)],
    "w": [i % 3 for i in range(N)],
    "v": [(3 * i) % 5 + (i % 4 == 1) for i in range(N)],
}


def scenario(**told):
    return fugu.Scenario.from_table(REFERENCE, **{"publish": "v", "protect": "sex", **told})


def test_dates_are_published_as_dates_with_noise_in_days():
    made = fugu.calibrate(scenario(publish="visit"), fugu.Pure(0.5))
    drawn = made.release(["2020-01-09", "never", None, date(2020, 1, 20)] * 200)
    assert drawn.values.dtype.kind == "U" and made.noise.grid == 1
    apart = [(date.fromisoformat(x) - date(2020, 1, 9)).days for x in drawn.values[::4].tolist()]
    numbers = [abs(days) for days in apart]
    assert 0.5 < np.mean(numbers) / made.expected_error() < 1.6  # weeks or seconds in place of days are far away
    assert any("days since 1970-01-01" in said for said in made.certificate.assumptions)
    assert made.context.recipe["bins"] is None
    again = fugu.Scenario.from_recipe(REFERENCE, made.context.recipe)
    assert again.reference_digest == scenario(publish="visit").reference_digest


def test_bins_and_missing_of_dates_are_dates():
    edges = ["2020-01-01", "2020-01-11", "2020-02-10"]
    found = scenario(publish="visit", bins=edges, missing="2020-01-05")
    assert found.recipe["bins"] == edges and found.query.missing == 18266.0
    assert fugu.Scenario.from_recipe(REFERENCE, found.recipe).query == found.query
    assert found.query.apply([18262.0, np.nan, 18300.0]).tolist() == [18267.0, 18267.0, 18287.0]
    assert day_bins(0, 9, 3) == (0, 4, 8, 12) and day_bins(5, 5, 4) == (5, 6)
    few = scenario(publish="visit", bins=4)
    assert all(edge == int(edge) for edge in few.query.edges)
    for wrong in ({"bins": ["2020-01-01", "soon"]}, {"missing": "soon"}):
        with pytest.raises(UsageError, match="'visit' holds dates"):
            scenario(publish="visit", **wrong)


def test_dates_that_are_named_count_from_the_declared_origin():
    schema = fugu.Schema({"visit": {"kind": "time", "origin": "2020-01-01"}})
    edges = ["2020-01-01", "2020-01-11", "2020-02-10"]
    found = scenario(publish="visit", bins=edges, missing="2020-01-05", schema=schema)
    assert found.query.edges == (0, 10, 40) and found.query.missing == 4 and found.recipe["bins"] == edges
    assert schema.fields["visit"].label("2020-01-05") == "4" and schema.fields["visit"].label("soon") is None


SPELT = {
    "sex=M": ("sex = M", "sex != M"),
    "sex != M": ("sex = M", "sex != M"),
    "sex==M": ("sex = M", "sex != M"),
    "born<1960-01-01": ("born < 1960-01-01", "born >= 1960-01-01"),
    "born > 1960-01-01": ("born <= 1960-01-01", "born > 1960-01-01"),
    "visit:2020-01-10,2020-01-20": ("visit < 2020-01-10", "2020-01-10 <= visit < 2020-01-20", "visit >= 2020-01-20"),
}


@pytest.mark.parametrize("protect", SPELT)
def test_secrets_are_spelt(protect):
    found = scenario(protect=protect)
    assert found.secrets == SPELT[protect]
    assert found.recipe["protect"] == protect
    assert found.report.used == N


def rows_of(protect, table=REFERENCE, schema=None):
    from fugu.data.secrets import read_protect

    reading = (schema or fugu.Schema({})).completed(table)
    found = read_protect(protect, tuple(table)).find(reading.read(table), "drop").masks()
    return {secret: "".join("x" if holds else "." for holds in mask.tolist()) for secret, mask in found.items()}


def test_each_row_is_on_the_side_it_belongs_to():
    table = {"d": ["1959-12-31", "1960-01-01", "1960-01-01T08:00", "1960-01-02", None], "s": ["a", "b", "c", "b", None]}
    for schema in (None, fugu.Schema({"d": {"kind": "time", "step": "1/24"}})):
        assert rows_of("d<1960-01-01", table, schema)["d < 1960-01-01"] == "x...."
        assert rows_of("d<=1960-01-01", table, schema)["d <= 1960-01-01"] == "xxx.."
        assert rows_of("d>1960-01-01T08:00", table, schema)["d > 1960-01-01T08:00"] == "...x."
    assert rows_of("s=b", table) == {"s = b": ".x.x.", "s != b": "x.x.."}
    declared = fugu.Schema({"d": {"kind": "time", "origin": "1950-06-01"}})
    assert rows_of("d=1960-01-01", table, declared)["d = 1960-01-01"] == ".xx.."


def test_conditions_in_python_and_in_json():
    told = {"old": {"born": (None, date(1960, 1, 1))}, "young": {"born": ("1960-01-01", None)}}
    found = scenario(protect=told)
    assert found.recipe["protect"]["old"] == {"born": {"from": None, "to": "1960-01-01"}}
    assert fugu.Scenario.from_recipe(REFERENCE, found.recipe).adversaries[0] == found.adversaries[0]
    same = scenario(protect='{"old": {"born": {"to": "1960-01-01"}}, "young": {"born": {"from": "1960-01-01"}}}')
    assert same.adversaries[0] == found.adversaries[0]
    rest = scenario(protect='{"M": {"sex": "M"}, "rest": {"sex": {"not in": ["M"]}}}')
    assert list(rest.adversaries[0].values()) == list(scenario(protect="sex=M").adversaries[0].values())


@pytest.mark.parametrize(
    ("protect", "error", "words"),
    [("sex=m", UnknownName, "did you mean|there are 'F'"), ("sx=M", ColumnNotFound, "did you mean 'sex'"),
     ("sex<1960-01-01", BadTable, "3 of its 3 different values"), ("w<1960-01-01", BadTable, "holds numbers"),
     ("born:1960-01-01,1950-01-01", UsageError, "increasing"), ("born<1960-31-01", UsageError, "a date such as"),
     ("w=nine", BadTable, "names text"), ('{"a": 3', UsageError, "begins like JSON"), ("{}", UsageError, "empty dict")],
)  # fmt: skip
def test_secrets_that_are_spelt_wrongly(protect, error, words):
    with pytest.raises(error, match=words):
        scenario(protect=protect)


def test_a_range_of_numbers_on_dates_is_refused():
    schema = fugu.Schema({"born": {"kind": "time", "origin": "1900-01-01"}})
    with pytest.raises(FuguError, match="holds dates"):
        scenario(protect="born<1960", schema=schema)


def test_the_rounded_day_is_the_nearest():
    """Wrong version: the day below, which is half a day off in the mean."""
    texts = written(EPOCH, Field.dates().step, 0.0, np.array([0.4, 0.6]))
    assert texts.tolist() == ["1970-01-01", "1970-01-02"]
    assert Column.of("x", [1]).origin is None


def test_times_are_in_order_as_bytes():
    rng, ends = np.random.default_rng(3), ["", ".5", ".25", "e3", "e-7", ".0"]
    texts = [
        f"{rng.choice(['', '-'])}{rng.integers(0, 10 ** int(rng.integers(1, 12)))}{rng.choice(ends)}"
        for _ in range(2000)
    ]
    known = times_of(Column.of("t", texts)).at
    order = sorted(range(len(texts)), key=lambda k: (known[k], k))
    assert order == sorted(range(len(texts)), key=lambda k: (in_order(texts[k])[0], k))

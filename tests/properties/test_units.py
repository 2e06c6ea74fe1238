"""People: the features of a plain reference, whatever the rows; and one person changes the totals within the bounds."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import narwhals as nw
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import Expected, refusal, refused
from summing import sum_groups, sum_people

from gaussmith.domains.encoding import BoxEncoding
from gaussmith.engines.engine import Totals, Unsteady
from gaussmith.errors import RequestError
from gaussmith.expressions.keys import declare_groups
from gaussmith.expressions.spelling import derive, kinds_of, plan_derivation
from gaussmith.totals.features import (
    Coding,
    Contribution,
    Feature,
    PersonMean,
    PersonTotal,
    RowCount,
    RowSum,
    check_contribution,
)
from gaussmith.totals.groups import keep_groups
from gaussmith.totals.limbs import _quotients, check_steady

INF, NAN = math.inf, math.nan
ODD = [None, NAN, INF, -INF, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 0.5, 1.0, 1 / 3, 99.0, 100.0, 2.0**60]
COLUMNS = {"person": pl.Int64, "region": pl.String, "x": pl.Float64, "y": pl.Float64}


def coding(low: float, high: float, substitute: float | None = None) -> Coding:
    middle = low + (high - low) / 2 if substitute is None else substitute
    return Coding.of(BoxEncoding.for_bounds([low], [high], [middle]))


def frame_of(rows: list[dict[str, Any]]) -> Any:
    return nw.from_native(pl.DataFrame(rows, schema=COLUMNS, orient="row").lazy())


# ── the reference: dictionaries and Python integers, straight from the definitions ──


def clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def known(value: float | None, substitute: float) -> float:
    return substitute if value is None or math.isnan(value) else value


def code(value: float | None, c: Coding) -> int:
    return math.floor((clamp(known(value, c.substitute), c.low, c.top) - c.low) * c.scale + 0.5)


def feature_of(feature: Feature, rows: list[dict[str, Any]], k: int, alone: bool) -> int:
    n = len(rows)
    if isinstance(feature, RowCount):
        return min(n, k)
    c = feature.coding
    values = [row[feature.column] for row in rows]
    if isinstance(feature, PersonTotal) and not alone:
        e = -round(math.log2(c.scale))
        f = e
        while 2.0 ** (f + 42) <= max(abs(c.low), abs(c.top)):
            f += 1
        reach = (2**46 - 1) * 2.0**f
        total = sum(math.floor(clamp(known(v, feature.missing), -reach, reach) * 2.0**-f + 0.5) for v in values)
        zero = math.floor(Fraction(c.low) / Fraction(2) ** f + Fraction(1, 2))
        levels = c.steps // 2 ** (f - e)
        return min(max(total - zero, 0), levels) * 2 ** (f - e)
    total = sum(code(v, c) for v in values)
    if isinstance(feature, PersonTotal) or (isinstance(feature, RowSum) and n <= k):
        return total
    mean = (total + n // 2) // n
    return mean * k if isinstance(feature, RowSum) else mean


def reference(rows: list[dict[str, Any]], units: Contribution, groups: list[Any], m: int) -> list[Totals]:
    """The totals of each group, by regions; `groups=[…]` holds the declared regions, or is empty for one total."""
    people: dict[Any, dict[Any, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for i, row in enumerate(rows):
        name = i if units.unit is None else row[units.unit]
        group = row["region"] if groups else None
        if name is not None and (not groups or group in groups):
            people[name][group].append(row)
    order = groups or [None]
    sums = {group: [0] * len(units.features) for group in order}
    records = dict.fromkeys(order, 0)
    for by_group in people.values():
        kept = sorted(by_group, key=lambda g: (-len(by_group[g]), order.index(g)))[:m]
        for group in kept:
            records[group] += 1
            for j, feature in enumerate(units.features):
                sums[group][j] += feature_of(feature, by_group[group], units.max_rows, units.unit is None)
    return [Totals(sums[group], records[group]) for group in order]


numbers = st.one_of(st.sampled_from(ODD), st.floats(allow_nan=True, allow_infinity=True), st.floats(-200, 200))
row = st.fixed_dictionaries(
    {
        "person": st.one_of(st.none(), st.integers(0, 3)),
        "region": st.one_of(st.none(), st.sampled_from(["north", "south", "east", "west", ""])),
        "x": numbers,
        "y": numbers,
    }
)
bounds = st.sampled_from(
    [(0, 100), (-50, 50), (0.1, 0.7), (-1e300, 1e300), (1e6, 1e6 + 1), (3, 1e9), (-2e-290, 1e-290)]
)


@st.composite
def unit_specs(draw: st.DrawFn) -> Contribution:
    makers = [
        lambda c: PersonTotal("x", c, draw(st.sampled_from([0.0, 7.5, c.low]))),
        lambda c: PersonTotal("y", c),
        lambda c: PersonMean("x", c),
        lambda c: RowSum("x", c),
        lambda c: RowSum("y", c),
        lambda c: RowCount(),
    ]
    chosen = draw(st.lists(st.sampled_from(makers), max_size=4))
    features = tuple(make(coding(*draw(bounds))) for make in chosen)
    return Contribution(
        features, draw(st.sampled_from([None, "person", "person"])), draw(st.sampled_from([1, 2, 3, 1 << 20]))
    )


@given(rows=st.lists(row, max_size=12), units=unit_specs())
def test_unit_totals_are_the_reference(rows: list[dict[str, Any]], units: Contribution) -> None:
    assert [sum_people(frame_of(rows), units)] == reference(rows, units, [], 1)


@given(rows=st.lists(row, max_size=14), units=unit_specs(), m=st.integers(1, 4), count=st.integers(1, 4))
def test_group_totals_are_the_reference(rows: list[dict[str, Any]], units: Contribution, m: int, count: int) -> None:
    regions = ["south", "north", "", "west"][:count]
    groups = declare_groups(["region"], [(region,) for region in regions], {"region": "text"})
    assert sum_groups(frame_of(rows), units, groups, m) == reference(rows, units, list(regions), m)


def test_without_a_unit_totals_are_those_of_box_codes() -> None:
    import numpy as np

    x = np.array([v for v in ODD if v is not None])
    codes = BoxEncoding.for_bounds([0.1], [99.0], [50.0])
    totals = sum_people(nw.from_native(pl.LazyFrame({"x": x})), Contribution((PersonTotal("x", Coding.of(codes)),)))
    assert totals == Totals([int(codes.encode(x[:, None]).sum())], len(x))


# ── neighbours: ten thousand tables in one query, each a group of its own ──

TABLES = 10_000
REGIONS = ["north", "south", "east"]


def random_person(name: str, generator: random.Random) -> list[dict[str, Any]]:
    many = generator.choice([1, 1, 2, 3, 5, 9])
    if generator.random() < 0.1:  # one who reaches every bound
        return [{"person": name, "region": "north", "x": 90.0, "y": 90.0}] * 4
    pick, values = generator.choice, [*ODD, 30.0, 60.0, 90.0, -20.0]
    return [
        {
            "person": pick([name] * 9 + [None]),
            "region": pick([*REGIONS, "elsewhere", None]),
            "x": pick(values),
            "y": pick(values),
        }
        for _ in range(many)
    ]


def test_one_person_changes_the_totals_within_the_bounds() -> None:
    """Each table D, each person p: totals(D ∪ p) − totals(D) = totals(p alone), in at most m groups, within bounds."""
    generator = random.Random()
    m, k = 2, 3
    rows: list[dict[str, Any]] = []
    for table in range(TABLES):
        others = [row for j in range(generator.randint(0, 2)) for row in random_person(f"{table} other {j}", generator)]
        person = random_person(f"{table} added", generator)
        # Three versions of the table: without, with, and the person alone; units are told apart by version.
        for version, members in enumerate((others, others + person, person)):
            for member in generator.sample(members, len(members)):
                unit = None if member["person"] is None else f"{version} {member['person']}"
                rows.append({**member, "person": unit, "table": table * 3 + version})
    schema = {**COLUMNS, "person": pl.String, "table": pl.Int64}
    frame = nw.from_native(pl.DataFrame(rows, schema=schema, orient="row").lazy())
    derivation = plan_derivation({"ratio": "x / y"}, "not (x > 95) or is_null(y)", kinds_of(frame.collect_schema()))
    features = (
        PersonTotal("x", coding(-50, 100)),
        PersonTotal("ratio", coding(0.1, 0.7), missing=0.3),
        PersonMean("y", coding(0, 90)),
        RowSum("ratio", coding(-3, 0.5)),
        RowCount(),
    )
    units = Contribution(features, "person", k)
    derived = derive(frame, derivation)
    labels = [(table, region) for table in range(3 * TABLES) for region in REGIONS]
    groups = declare_groups(["table", "region"], labels, derivation.kinds)
    totals = sum_groups(derived, units, groups, m)
    size = len(REGIONS)
    largest, touched = [0] * len(features), set()
    for table in range(TABLES):
        without, joined, alone = (totals[(3 * table + v) * size : (3 * table + v + 1) * size] for v in range(3))
        for d, e, p in zip(without, joined, alone, strict=True):
            difference = [b - a for a, b in zip(d.sums, e.sums, strict=True)]
            assert difference == p.sums and e.records - d.records == p.records
            assert p.records in (0, 1) and (p.records == 1 or not any(p.sums))
            assert all(0 <= s <= ceiling for s, ceiling in zip(p.sums, units.ceilings, strict=True))
            if p.records:
                assert p.sums[3] <= features[3].coding.steps * p.sums[4]  # type: ignore[union-attr]
            largest = [max(a, b) for a, b in zip(largest, p.sums, strict=True)]
        touched.add(sum(p.records for p in alone))
    # Not vacuous: every bound is reached, and so is m.
    assert tuple(largest) == units.ceilings and touched == {0, 1, 2}


def test_a_missing_clamp_would_be_noticed() -> None:
    rows = [{"person": 1, "region": "north", "x": 80.0, "y": 1.0}] * 2
    narrow, wide = (Contribution((PersonTotal("x", coding(0, high)),), "person") for high in (128.0, 256.0))
    (found,) = sum_people(frame_of(rows), wide).sums
    assert found / wide.features[0].coding.scale == 160.0  # type: ignore[union-attr]
    assert sum_people(frame_of(rows), narrow).sums == list(narrow.ceilings)


# ── rules, one by one ──


def test_means_of_many_rows_count_as_k_rows() -> None:
    rows = [{"person": 1, "region": "north", "x": v, "y": 0.0} for v in (10.0, 20.0, 60.0, 70.0)]
    features = (RowSum("x", coding(0, 128)), RowCount(), PersonMean("x", coding(0, 128)))
    scale = features[0].coding.scale
    total, count, mean = sum_people(frame_of(rows), Contribution(features, "person", 2)).sums
    assert (total / scale, count, mean / scale) == (80.0, 2, 40.0)
    total, count, mean = sum_people(frame_of(rows), Contribution(features, "person", 4)).sums
    assert (total / scale, count, mean / scale) == (160.0, 4, 40.0)


def test_ties_go_to_the_group_declared_first() -> None:
    rows = [
        {"person": 1, "region": r, "x": 0.0, "y": 0.0} for r in ("north", "south", "east", "east", "nowhere", "nowhere")
    ]
    for order in (["north", "south", "east"], ["south", "east", "north"]):
        groups = declare_groups(["region"], [(region,) for region in order], {"region": "text"})
        kept = [t.records for t in sum_groups(frame_of(rows), Contribution((), "person"), groups, 2)]
        first = next(r for r in order if r != "east")
        assert {r for r, records in zip(order, kept, strict=True) if records} == {"east", first}


@pytest.mark.parametrize("k", [0, -1, 1.0, True, (1 << 20) + 1, None])
def test_rows_per_unit_refused(k: Any) -> None:
    with refused("whole-number-out-of-range", RequestError, low=1, high=1048576):
        Contribution((), "person", k)


@pytest.mark.parametrize("m", [0, -1, 1.0, True, None])
def test_groups_per_unit_refused(m: Any) -> None:
    groups = declare_groups(["region"], [("north",)], {"region": "text"})
    with refused("whole-number-out-of-range", RequestError, low=1):
        sum_groups(frame_of([]), Contribution((), "person"), groups, m)


@pytest.mark.parametrize(
    ("units", "part"),
    [
        (Contribution((PersonMean("z", coding(0, 1)),)), "no-such-column"),
        (
            Contribution((PersonMean("day", coding(0, 1)),)),
            refusal("column-does-not-hold-numbers", says="such as year(day)", column="day"),
        ),
        (Contribution((PersonMean("tags", coding(0, 1)),)), "column-does-not-hold-numbers"),
        (Contribution((), "tags"), "unit-of-other-kind"),
        (Contribution((), "persom"), "no-such-column"),
    ],
)
def test_columns_refused(units: Contribution, part: Expected) -> None:
    kinds = {"person": "number", "day": "date", "tags": "other", "x": "text"}
    check_contribution(Contribution((PersonMean("x", coding(0, 1)),), "person"), kinds)
    with refused(part):
        check_contribution(units, kinds)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_person_with_very_many_large_rows_stays_within_the_bounds(sign: float) -> None:
    """The limbs of a million rows at the largest size would overflow 64 bits when put together."""
    spent = PersonTotal("x", coding(0.0, 64.0, 0.0))
    rows = pl.DataFrame({"person": [1] * (1 << 20), "x": [sign * 1e308] * (1 << 20)})
    totals = sum_people(nw.from_native(rows.lazy()), Contribution((spent,), "person"))
    assert totals == Totals([spent.coding.steps if sign > 0 else 0], 1)


@pytest.mark.parametrize("kind", [pl.Float32, pl.Float64])
def test_only_finite_numbers_name_a_person_and_zero_has_one_sign(kind: Any) -> None:
    ids = [0.0, -0.0, 1.5, None, NAN, INF, -INF, INF, 1.5]
    rows = pl.DataFrame({"person": ids, "x": [1.0] * len(ids)}, schema={"person": kind, "x": pl.Float64})
    spent = PersonTotal("x", coding(0.0, 64.0, 0.0))
    totals = sum_people(nw.from_native(rows.lazy()), Contribution((spent, RowCount()), "person", max_rows=5))
    assert totals.records == 2
    assert totals.sums == [4 * int(spent.coding.scale), 4]


@given(st.lists(st.tuples(st.integers(0, (1 << 48) - 2), st.integers(1, 1 << 40), st.integers(-1, 1)), min_size=1))
def test_quotients_are_exact_where_doubles_are_not(drawn: list[tuple[int, int, int]]) -> None:
    """Dividends of up to 63 bits, at and beside multiples of n, where the quotient of doubles is off by one."""
    pairs = [(q * n + off % n, n) for q, n, off in drawn if (q + 1) * n < 1 << 63]
    pairs += [
        ((1 << 62) - 1, (1 << 30) + 1),
        ((1 << 60) - 1, 1 << 20),
        ((1 << 57) - 1, 1 << 13),
        (3 * (1 << 58), 3 << 20),
    ]
    frame = pl.LazyFrame(
        {"a0": [a for a, _ in pairs], "n": [n for _, n in pairs]}, schema={"a0": pl.Int64, "n": pl.Int64}
    )
    found = _quotients(nw.from_native(frame), "a", "q", "r", [0]).to_native().collect()
    assert found["q0"].to_list() == [a // n for a, n in pairs]
    assert found["r0"].to_list() == [a % n for a, n in pairs]


def test_a_source_that_changes_between_queries_is_refused() -> None:
    check_steady([3, 4], None)
    check_steady([3, 4], [3, 4])
    for before in ([3, 5], [4, 3], [3], []):
        with pytest.raises(Unsteady):
            check_steady([3, 4], before)


@pytest.mark.parametrize("grouped", [False, True])
def test_two_queries_that_see_other_people_are_refused(grouped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """More features than one query takes; the second one finds a person more."""
    from gaussmith.totals import groups
    from gaussmith.totals import limbs as units

    seen: list[int] = []

    def more(total: Totals) -> Totals:
        return Totals(total.sums, total.records + (len(seen) > steady))

    def add_up(*given: Any) -> Any:
        seen.append(1)
        return {key: more(total) for key, total in once(*given).items()}

    def sum_pairs(*given: Any) -> Any:
        seen.append(1)
        return [[more(total) for total in totals] for totals in groups_once(*given)]

    once, groups_once = units.add_up, groups.sum_pairs
    monkeypatch.setattr(*((groups, "sum_pairs", sum_pairs) if grouped else (units, "add_up", add_up)))
    features = tuple(PersonTotal("x", coding(0.0, 1.0 + j, 0.0)) for j in range(40))
    rows = [{"person": 1, "region": "north", "x": 1.0, "y": 0.0}]
    regions = declare_groups(["region"], [("north",), ("south",)], {"region": "text"})
    for steady in (2, 1):
        seen.clear()
        asked = Contribution(features, "person")
        if steady == 2:
            found = sum_groups(frame_of(rows), asked, regions)[0] if grouped else sum_people(frame_of(rows), asked)
            assert (found.records, len(found.sums)) == (1, 40)
            continue
        with pytest.raises(Unsteady):
            sum_groups(frame_of(rows), asked, regions) if grouped else sum_people(frame_of(rows), asked)


def test_groups_are_ranked_however_many_rows_a_person_has() -> None:
    """2^40 rows times ten million groups would overflow 64 bits, and the largest group would come last."""
    combined = pl.LazyFrame({"u": [1, 1, 1, 2], "g": [5, 9_999_999, 3, 7], "n": [4, 1 << 40, 1 << 37, 1]})
    kept = keep_groups(nw.from_native(combined), 1, 10_000_000).to_native().collect().sort("u")
    assert kept.rows() == [(1, 9_999_999, 1 << 40), (2, 7, 1)]

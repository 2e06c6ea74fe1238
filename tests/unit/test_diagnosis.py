"""Who is beyond bounds and limits: the counts beside plain Python, what they cost, and the sentences they make."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fixed_noise import fixed_noise
from refusals import refused

import gaussmith as gm
from gaussmith import cli, mechanism
from gaussmith.totals.opened import total

SHARP, G = gm.Guarantee(mu=1e6), gm.Guarantee(epsilon=1, delta=1e-6)
REGIONS = ["north", "south"]
HEALTH = str(resources.files("gaussmith") / "data" / "randhie.parquet")

Row = dict[str, Any]


def rows_of(people: int = 60) -> list[Row]:
    """Values at, inside and beyond the bounds 0 to 40, missing and odd ones; people with many rows and regions."""
    pick = random.Random().choice
    values = [
        None,
        math.nan,
        math.inf,
        -math.inf,
        -0.5,
        -0.0,
        0.0,
        3.9,
        4.0,
        17.5,
        18.0,
        21.0,
        22.0,
        30.0,
        36.0,
        40.0,
        41.0,
    ]
    return [
        {"person": f"p{i}", "region": pick([*REGIONS, "west", None]), "x": pick(values), "age": pick([10, 30])}
        for i in range(people)
        for _ in range(pick([1, 1, 2, 3, 7]))
    ] + [{"person": None, "region": "north", "x": 3.0, "age": 30}]


SCHEMA = {"person": pl.String, "region": pl.String, "x": pl.Float64, "age": pl.Int64}


def counts(rows: list[Row], **fields: Any) -> dict[str, int]:
    """The exact counts that meet noise, by name; cells without people left out."""
    plan = gm.Request("table", guarantee=G, diagnose=True, **fields).plan
    opened = mechanism.prepare_request(plan, pl.DataFrame(rows, schema=SCHEMA)).sources
    found: dict[str, int] = {}
    for at in plan["diagnosis"].slot.queries:
        (totals,) = total(opened[at])
        assert totals.records == sum(totals.sums)
        found |= {n: int(c) for n, c in zip(plan.queries[at].block.answers.names, totals.sums, strict=True) if c}
    return found


def is_there(x: Any) -> bool:
    return x is not None and x == x


def place(x: float, low: float = 0.0, high: float = 40.0) -> str:
    """The name of the cell of a value x, written out for bounds from 0 to 40 and those of a total from -10 to 60."""
    return what(x, "x", low, high)


def what(x: float, name: str, low: float, high: float) -> str:
    if x < low or x > high:
        return f"{name} below {low:g}" if x < low else f"{name} above {high:g}"
    edges = [low, *(low + part * (high - low) for part in (0.1, 0.45, 0.55, 0.9)), high]
    at = sum(x >= edge for edge in edges[1:-1])
    return f"{name} {edges[at]:g} to {edges[at + 1]:g}"


def together(places: set[str], name: str = "x", low: float = 0.0, high: float = 40.0) -> str:
    """The cell of a person whose rows or groups are in these."""
    if len(places) == 1:
        return next(iter(places))
    sides = [side for side in (f"below {low:g}", f"above {high:g}") if f"{name} {side}" in places]
    return f"{name} {' and '.join(sides)}" if sides else f"{name} in several ranges"


def by_person(rows: list[Row], keep: Callable[[Row], bool]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["person"] is not None and keep(row):
            found.setdefault(row["person"], []).append(row)
    return found


def kept_groups(rows: list[Row], most: int) -> list[list[Row]]:
    """A person's rows in each of the groups that it counts in: those with the most rows, ties to the first declared."""
    held = [(region, [row for row in rows if row["region"] == region]) for region in REGIONS]
    ranked = sorted((each for each in held if each[1]), key=lambda each: (-len(each[1]), REGIONS.index(each[0])))
    return [some for _, some in ranked[:most]]


def test_values_of_rows_that_are_people() -> None:
    rows = rows_of()
    skipped = Counter(place(row["x"]) for row in rows if is_there(row["x"]) and row["age"] > 18)
    assert counts(rows, means={"x": (0, 40)}, where="age > 18") == skipped
    adds_zero = Counter(place(row["x"] if is_there(row["x"]) else 0.0) for row in rows)
    assert counts(rows, sums={"x": (0, 40)}) == adds_zero
    stands_in = Counter(place(row["x"] if is_there(row["x"]) else 21.0) for row in rows)
    assert counts(rows, variances={"x": (0, 40)}, missing={"x": 21}) == stands_in
    assert counts(rows, medians={"x": (0, 40)}, complete=["x"]) == Counter(
        place(row["x"] if is_there(row["x"]) else 20.0) for row in rows
    )
    assert counts(rows, sums={"x": (0, 40)}, by={"region": REGIONS}) == Counter(
        place(row["x"] if is_there(row["x"]) else 0.0) for row in rows if row["region"] in REGIONS
    )


def test_values_and_rows_of_people() -> None:
    rows = rows_of()
    people = by_person(rows, lambda row: is_there(row["x"]))
    expected = Counter(together({place(row["x"]) for row in own}) for own in people.values())
    everyone = by_person(rows, lambda row: True)
    expected += Counter(
        "1 row" if len(o) <= 1 else "2 rows" if len(o) <= 2 else "more than 2 rows" for o in everyone.values()
    )
    assert counts(rows, means={"x": (0, 40)}, unit="person", rows_per_unit=2, count="rows") == expected
    assert expected["more than 2 rows"] > 0
    assert expected["x below 0 and above 40"] + expected["x in several ranges"] > 0


@pytest.mark.parametrize("most", [1, 2])
def test_totals_and_groups_of_people(most: int) -> None:
    rows = rows_of()
    held = by_person(rows, lambda row: row["region"] in REGIONS)

    def total_of(some: list[Row]) -> float:
        return sum(min(max(row["x"], -960.0), 960.0) for row in some if is_there(row["x"]))  # as far as a row counts

    expected: Counter[str] = Counter()
    for own in held.values():
        kept = kept_groups(own, most)
        ends = ("total of x", -10.0, 60.0)
        expected[together({what(total_of(some), *ends) for some in kept}, *ends)] += 1
        if most < len(REGIONS):
            expected["1 group" if len({row["region"] for row in own}) == 1 else "more than 1 group"] += 1
    found = counts(rows, sums={"x": (-10, 60)}, unit="person", by={"region": REGIONS}, groups_per_unit=most)
    assert found == expected


def test_person_columns_are_values_of_people() -> None:
    rows = rows_of()
    visits = {person: len(own) for person, own in by_person(rows, lambda row: True).items()}
    found = counts(rows, person_columns={"visits": "count()"}, unit="person", means={"visits": (0, 3)})
    assert found == Counter(what(n, "visits", 0, 3) for n in visits.values())


def test_it_costs_two_percent_and_the_plan_says_so() -> None:
    alone = gm.Request("t", means={"x": (0, 40)}, sums={"y": (0, 9)}, count=True, guarantee=G).plan
    plan = gm.Request("t", means={"x": (0, 40)}, sums={"y": (0, 9)}, count=True, guarantee=G, diagnose=True).plan
    assert plan.shares() == pytest.approx({"answers": 0.98, "diagnosis": 0.02})
    ratio = plan["answers"].errors(rows=100)["count"] / alone.errors(rows=100)["count"]
    assert ratio == pytest.approx(0.98**-0.5)
    assert "diagnosis: 2 % of the budget" in str(plan)
    assert plan.optimality < 1.05
    assert gm.read(plan.to_json()).hash == plan.hash
    assert gm.Request("t", count=True, guarantee=G, diagnose=False).plan.questions == ("",)


def test_a_bound_ten_times_too_small_or_too_large_is_told() -> None:
    """On the bundled health data, where nobody has more than 77 visits to a doctor and 9 % have more than 7."""

    def told(bound: float) -> str:
        request = gm.Request(HEALTH, sums={"mdvis": (0, bound)}, count=True, guarantee=G, diagnose=True)
        with fixed_noise():  # else one interval in forty says that there is a sign of people beyond
            return "\n".join(gm.release(request).diagnosis())

    small, right, large = told(7), told(77), told(770)
    assert "people (" in small and "had mdvis above 7: it counts as 7, which makes the sum and mean too small" in small
    assert "above 77:" not in right and "nearly everybody had mdvis between 0 and 77," not in right
    assert "nearly everybody had mdvis between 0 and 77, a tenth of the bounds" in large


def test_the_sentences_say_what_limits_did() -> None:
    visits = (("north", 50.0), ("south", -1.0), ("south", 9.0))
    rows = [{"person": f"p{i}", "region": r, "x": x, "age": 30} for i in range(2000) for r, x in visits]
    request = gm.Request(
        pl.DataFrame(rows, schema=SCHEMA),
        unit="person",
        means={"x": (0, 40)},
        sums={"age": (0, 100)},
        rows_per_unit=2,
        by={"region": REGIONS},
        groups_per_unit=1,
        guarantee=SHARP,
        diagnose=True,
    )
    released = gm.release(request)
    assert released.diagnosis() == [
        "probably nobody had a total of age above 100 in a group (upper estimate: 0 people) or below 0 in a group "
        "(upper estimate: 0 people)",
        "about 2,000 people (2,000 to 2,000) had rows in more than 1 group: they count in 1 group only, which makes "
        "counts and sums of groups too small",
        "about 2,000 people (2,000 to 2,000) had x below 0 in a group: it counts as 0, which makes the sum and mean "
        "too large",
        "probably nobody had x above 40 in a group (upper estimate: 0 people)",
        "probably nobody had more than 2 rows in a group (upper estimate: 0 people)",
    ]
    printed = " ".join(str(released).split())
    assert all(line in printed for line in released.diagnosis())
    assert released["diagnosis"].diagnosis() == released.diagnosis() and released["north"].diagnosis() == []
    assert gm.read(released.to_json()).diagnosis() == released.diagnosis()


def test_several_questions_are_told_apart() -> None:
    questions = [
        {"name": "all", "sums": {"x": (0, 40)}},
        {"name": "adults", "sums": {"x": (0, 40)}, "where": "age > 18"},
        {"name": "again", "sums": {"x": (0, 40)}, "count": True},
    ]
    plan = gm.Request("t", questions=questions, guarantee=G, diagnose=True).plan
    assert len(plan["diagnosis"].names) == 14  # the third asks what the first does
    assert plan["diagnosis"].names[0] == "x below 0" and plan["diagnosis"].names[7] == "adults: x below 0"


def test_on_the_command_line_and_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["release", HEALTH, "--sum", "mdvis:0:7", "--epsilon", "1", "--delta", "1e-6", "--diagnose"]
    assert cli.main([*words, "--out", str(tmp_path / "out")]) == 0
    assert "had mdvis above 7: it counts as 7" in " ".join(capsys.readouterr().out.split())
    assert "had mdvis above 7: it counts as 7" in (tmp_path / "out" / "report.html").read_text("utf-8")
    text = f"source = {json.dumps(HEALTH)}\nsums = {{ mdvis = [0, 7] }}\ndiagnose = true\nguarantee = {{ mu = 1 }}\n"
    (tmp_path / "r.toml").write_text(text, "utf-8")
    assert gm.Request.from_toml(tmp_path / "r.toml").plan.questions == ("answers", "diagnosis")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"count": True}, "nothing-to-diagnose"),
        ({"sums": {"x": (0, 1)}, "diagnose": "yes"}, "diagnose-not-boolean"),
        ({"sums": {"x": (0, 1)}, "by": {"region": "found"}}, "diagnose-of-found-groups"),
        ({"questions": [{"name": "diagnosis", "sums": {"x": (0, 1)}}]}, "question-named-diagnosis"),
    ],
)
def test_what_cannot_be_diagnosed_is_refused(fields: dict[str, Any], code: str) -> None:
    with refused(code):
        gm.Request("t", guarantee=G, **{"diagnose": True, **fields})


def test_an_array_is_refused() -> None:
    import numpy as np

    request = gm.Request(np.zeros((3, 1)), sums={"x": (0, 1)}, guarantee=G, diagnose=True)
    with refused("diagnose-of-array"):
        gm.release(request)


def test_a_rehearsal_has_a_diagnosis_too() -> None:
    request = gm.Request("t", means={"x": (0, 1)}, unit="person", rows_per_unit=3, guarantee=G, diagnose=True)
    assert "x above 1" in gm.rehearse(request, rows=100)["diagnosis"].names

"""Neighbours for hypothesis: two tables that differ in one person, as awkward as a request allows. For your own tests.

    @given(neighbours(request))
    def test_my_pipeline(pair):
        one, other = pair                     # polars frames; write(one, "one.csv") makes files of them
        …

Needs hypothesis: `pip install "gaussmith[audit]"`. This module alone does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from hypothesis import strategies as st
except ImportError as error:  # pragma: no cover (in every environment for tests there is one)
    raise ImportError('gaussmith.audit.strategies needs hypothesis: pip install "gaussmith[audit]"') from error

from gaussmith.audit.scenes import Row, scene_of
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.plans import Plan
from gaussmith.requests.made_up_rows import made_up_table
from gaussmith.requests.request import Request

if TYPE_CHECKING:
    import polars as pl

WHOLE_IDS = (0, -1, 1, 17, 2**53 + 1, -(2**63), 2**63 - 1)
TEXT_IDS = ("a", "A", " a", "a ", "á", "a\u0301", "17", "017", "17.0", "-0", "", "null", "NaN", "\u200b", "x" * 300)
"""Ids that sloppy readers take for one another."""

SUFFIXES = (".csv", ".jsonl", ".parquet")


def neighbours(
    target: Request | Plan, others: int = 4, text_ids: bool = False
) -> st.SearchStrategy[tuple[pl.DataFrame, pl.DataFrame]]:
    """Pairs of tables that differ in one person: one more under add-remove, another under replace-one.

    Other people, at most so many, are drawn like the person: bounds and beyond, inf, NaN, missing values, declared and
    undeclared keys, few rows and many. With `text_ids` the ids of people are texts.
    """
    plan = target.plan if isinstance(target, Request) else target
    scene = scene_of(plan)
    schema = dict(made_up_table(plan, 2).schema)
    ids = TEXT_IDS if text_ids else WHOLE_IDS
    row = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in scene.choices.items()})

    def person(name: Any, least: int = 1) -> st.SearchStrategy[list[Row]]:
        if scene.unit is None:
            return st.lists(row, min_size=1, max_size=1)
        rows = st.lists(row, min_size=least, max_size=3 * scene.rows)
        return rows.map(lambda found: [{**each, scene.unit: name} for each in found])

    def table(found: list[Row]) -> pl.DataFrame:
        import polars as pl

        own: dict[str, Any] = {**schema, **({scene.unit: pl.String} if scene.unit is not None and text_ids else {})}
        return pl.DataFrame({name: [each[name] for each in found] for name in own}, schema=own, strict=False)

    @st.composite
    def pair(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
        names = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=others + 1, unique=True))
        rest = [each for name in names[1:] for each in draw(person(name))]
        if scene.unit is not None and draw(st.booleans()):
            rest += draw(person(None))  # rows of nobody
        before = [] if plan.neighbours == ADD_REMOVE else draw(person(names[0]))
        after = draw(person(names[0]))
        at = draw(st.integers(0, len(rest)))
        return table(rest[:at] + before + rest[at:]), table(rest[:at] + after + rest[at:])

    return pair()


def write(frame: pl.DataFrame, path: str | Path) -> Path:
    """Write a table as .csv, .jsonl or .parquet, by the ending of the path."""
    path = Path(path)
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        raise ValueError(f"{path.suffix!r} is not one of {', '.join(SUFFIXES)}")
    return path

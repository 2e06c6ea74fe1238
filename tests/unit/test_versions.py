"""Versions of engines: those outside the range, calls that fail, and whose fault that is said to be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from polars.io.plugins import register_io_source
from pyarrow import dataset
from refusals import check_refusal, refusal, refused
from small_sources import SOURCES, G, ask, parquet

import gaussmith as gm
from gaussmith import cli
from gaussmith.engines import versions
from gaussmith.engines.registry import open_source, packages_needed
from gaussmith.errors import SourceError
from gaussmith.ledger.book import Ledger

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=1))


# ---- the range -------------------------------------------------------------------------------------------------------


def test_the_ranges_are_those_that_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    declared: dict[str, set[SpecifierSet]] = {}
    texts = [*project["project"]["dependencies"], *(text for extra in extras.values() for text in extra)]
    for requirement in map(Requirement, [*texts, *project["dependency-groups"]["lowest"]]):
        declared.setdefault(requirement.name, set()).add(requirement.specifier)
    for package, (oldest, unknown) in versions.RANGES.items():
        wanted = SpecifierSet(f">={oldest}" + (f",<{unknown}" if unknown else ""))
        assert declared[package] == {wanted}, package


def test_the_page_tells_the_ranges() -> None:
    rows = re.findall(
        r"^\| (\w+) \| ([0-9.]+) \| ([0-9]*) ?\|", (ROOT / "docs/files.md").read_text("utf-8"), re.MULTILINE
    )
    assert {name: (oldest, unknown or None) for name, oldest, unknown in rows} == versions.RANGES


CASES = [
    ("array", "numpy", "2.1.3"),
    ("array", "numpy", "3.0.0"),
    ("polars", "polars", "1.35.2"),
    ("polars", "polars", "3.0.0a1"),
    ("pandas", "pandas", "2.1.4"),
    ("pandas", "pandas", "4.0.0"),
    ("pandas", "polars", "1.0.0"),
    ("pyarrow", "pyarrow", "17.0.0"),
    ("duckdb", "duckdb", "1.4.5"),
    ("duckdb", "duckdb", "3.0.0"),
    ("duckdb", "narwhals", "3.0"),
    ("parquet", "polars", "1.35.2"),
    ("csv", "polars", "1.35.2"),
    ("database", "duckdb", "1.4.5"),
]


@pytest.mark.parametrize(("kind", "package", "version"), CASES)
def test_other_versions_are_refused_before_anything_is_read_or_charged(
    kind: str, package: str, version: str, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SOURCES[kind](tmp_path)
    monkeypatch.setattr(f"{package}.__version__", version)
    with refused("unsupported-version", SourceError) as caught:
        plan = gm.plan(gm.Box([0], [100]), G)
        if kind == "array":
            plan.release(source, ledger=ledger)
        else:
            gm.release(ask(source), ledger=ledger)
    oldest, unknown = versions.RANGES[package]
    below = "" if unknown is None else f",<{unknown}"
    expected = refusal(
        "unsupported-version",
        says=f"pip install '{package}>={oldest}{below}'",
        package=package,
        found=version,
        oldest=oldest,
    )
    check_refusal(caught.value, expected)
    assert ledger.spent == 0


def test_narwhals_is_checked_where_it_is_used(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("narwhals.__version__", "2.19.0")
    source, dated = SOURCES["polars"](Path()), pl.DataFrame({"age": [42.0], "day": ["2024-05-31"]})
    for asked in (
        lambda: ask(source, unit="person"),
        lambda: ask(source, where="age > 1"),
        lambda: ask(source, by={"person": ["Ada"]}),
        lambda: ask(dated.with_columns(pl.col("day").str.to_date())),
    ):
        with refused("unsupported-version", SourceError, package="narwhals", found="2.19.0"):
            gm.release(asked(), ledger=ledger)
        assert ledger.spent == 0
    gm.release(ask(source))


@pytest.mark.parametrize(("engine", "package"), [("duckdb", "duckdb"), ("spark", "pyspark")])
def test_the_engine_for_files_is_checked_too(
    engine: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package, reason=f"{package} is not part of the light environment of ./run test --lowest")
    monkeypatch.setattr(f"{package}.__version__", "0.9")
    with refused("unsupported-version", package=package, found="0.9"):
        gm.release(ask(parquet(tmp_path)), engine=engine)


@pytest.mark.parametrize("end", [0, 1])
def test_versions_within_the_range_are_taken(end: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = {package: f"{int(unknown or 1000) - 1}.999.9" for package, (_, unknown) in versions.RANGES.items()}
    for package, (oldest, _) in versions.RANGES.items():
        if package != "pyspark":
            monkeypatch.setattr(f"{package}.__version__", newest[package] if end else oldest)
    for make in SOURCES.values():
        versions.check_versions(packages_needed(make(tmp_path)))
        (tmp_path / "study.db").unlink(missing_ok=True)


def test_the_command_line_refuses_another_version_with_exit_code_2(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("polars.__version__", "1.35.2")
    words = [
        "release",
        parquet(tmp_path),
        "--sum",
        "age:0:100",
        "--mu",
        "0.5",
        "--ledger",
        str(tmp_path / "study.ledger"),
    ]
    assert cli.main(words) == 2
    assert "Error: polars is version 1.35.2\n" in capsys.readouterr().err
    assert ledger.spent == 0


def test_branches_on_versions_are_in_one_file() -> None:
    """What differs between versions is called through `versions`, wherever it is needed."""
    differs = re.compile(
        r"\.(collect_batches|sink_batches|scan_csv|fetch_record_batch|to_arrow_reader)\b|\.__version__"
    )
    for path in (ROOT / "src").rglob("*.py"):
        if path.name != "versions.py":
            assert not differs.search(path.read_text("utf-8")), path


# ---- what differs ----------------------------------------------------------------------------------------------------


def failing(rows: int) -> pl.LazyFrame:
    """So many rows, and then an engine that fails."""

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"age": np.ones(rows)})
        raise ValueError("secret 42")

    return register_io_source(batches, schema={"age": pl.Float64})


@pytest.mark.parametrize("ordered", [False, True])
def test_batches_hold_all_rows_or_fail(ordered: bool) -> None:
    rows = pl.LazyFrame({"age": np.arange(100_000.0)})
    found = [batch["age"].to_numpy() for batch in versions.collect_batches(rows, 1 << 10, ordered)]
    assert len(found) > 1 and np.array_equal(np.sort(np.concatenate(found)), np.arange(100_000.0))
    if ordered:
        assert np.array_equal(np.concatenate(found), np.arange(100_000.0))
    with pytest.raises((pl.exceptions.ComputeError, ValueError)):
        for _ in versions.collect_batches(failing(100_000), 1 << 10, ordered):
            pass


def test_a_release_is_not_made_of_the_rows_before_a_failure(ledger: Ledger) -> None:
    with refused("data-not-readable"):
        gm.release(ask(failing(100_000)), ledger=ledger)


@pytest.mark.parametrize("polars", [(1, 37), (2,)])
def test_columns_of_csv_files_are_matched_by_name(
    polars: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if polars == (2,) and int(pl.__version__.split(".")[0]) < 2:
        pytest.skip("this Polars is older than 2 and has no such keyword")
    monkeypatch.setattr(versions, "_polars", lambda: polars)
    texts = ["a,b\n1,2\n3,4\n", "b,a\n20,10\n", "b,note,a\n200,x,100\n"]
    for j, text in enumerate(texts):
        (tmp_path / f"{j}.csv").write_text(text)
    request = gm.Request(str(tmp_path / "*.csv"), sums={"a": (0, 999), "b": (0, 999)}, guarantee=gm.Guarantee(mu=1e6))
    release = gm.release(request)
    assert [round(release[name].value) for name in ("a_sum", "b_sum")] == [114, 226]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_views_of_an_old_pyarrow_are_refused(kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"age": [1.0, 2.0], "name": pa.array(["x", "y"]).cast(kind)})
    monkeypatch.setattr("pyarrow.__version__", "24.0.0")
    for source in (table, dataset.dataset(table), table.to_reader()):
        with refused("views-with-old-pyarrow"):
            open_source(source)
    column = pd.Series(pd.array(["x", "y"], dtype=pd.ArrowDtype(pa.string()))).astype(pd.ArrowDtype(kind))
    with refused("column-of-objects", column="name"):
        gm.release(gm.Request(pd.DataFrame({"name": column}), sums={"name": (0, 1)}, guarantee=G))

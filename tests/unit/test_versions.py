"""Versions of engines: those outside the range, calls that fail, and whose fault that is said to be."""

from __future__ import annotations

import gc
import re
import threading
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from polars.io.plugins import register_io_source
from pyarrow import dataset

import gaussmith as gm
from gaussmith import cli
from gaussmith.engines import versions
from gaussmith.engines.failures import OURS
from gaussmith.engines.registry import open_source, packages_needed
from gaussmith.errors import DataError, InternalError, SourceError
from gaussmith.ledger import Ledger
from gaussmith.totals.rehearsal import SAMPLES, reads_sample

ROOT = Path(__file__).parents[2]
FRAME = pl.DataFrame({"age": [42.0, 17.0], "person": ["Ada", "Bob"]})
G = gm.Guarantee(mu=0.5)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=1))


def parquet(folder: Path) -> str:
    FRAME.write_parquet(folder / "data.parquet")
    return str(folder / "data.parquet")


def csv(folder: Path) -> str:
    FRAME.write_csv(folder / "data.csv")
    return str(folder / "data.csv")


def json_lines(folder: Path) -> str:
    FRAME.write_ndjson(folder / "data.ndjson")
    return str(folder / "data.ndjson")


def database(folder: Path) -> str:
    with duckdb.connect(str(folder / "study.db")) as connection:
        connection.execute("create table visits as select 42.0 as age")
    return f"duckdb://{folder / 'study.db'}?table=visits"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "array": lambda _: FRAME.select("age").to_numpy(),
    "polars": lambda _: FRAME,
    "pandas": lambda _: FRAME.to_pandas(),
    "pyarrow": lambda _: FRAME.to_arrow(),
    "duckdb": lambda _: duckdb.from_arrow(FRAME.to_arrow()),
    "parquet": parquet,
    "csv": csv,
    "json lines": json_lines,
    "database": database,
}


def ask(source: Any, **more: Any) -> gm.Request:
    return gm.Request(source, sums={"age": (0, 100)}, guarantee=G, **more)


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


CASES = [
    ("array", "numpy", "2.1.3"),
    ("array", "numpy", "3.0.0"),
    ("polars", "polars", "1.35.2"),
    ("polars", "polars", "3.0.0a1"),
    ("polars", "narwhals", "2.19.0"),
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
    with pytest.raises(SourceError) as caught:
        plan = gm.plan(gm.Box([0], [100]), G)
        if kind == "array":
            plan.release(source, ledger=ledger)
        else:
            gm.release(ask(source), ledger=ledger)
    oldest, unknown = versions.RANGES[package]
    until, below = ("or newer", "") if unknown is None else (f"to below {unknown}", f",<{unknown}")
    assert str(caught.value) == (
        f"{package} is version {version} · versions {oldest} {until} are supported; nothing was read and nothing was "
        f"charged · install one of them: pip install '{package}>={oldest}{below}'"
    )
    assert ledger.spent == 0


@pytest.mark.parametrize(("engine", "package"), [("duckdb", "duckdb"), ("spark", "pyspark")])
def test_the_engine_for_files_is_checked_too(
    engine: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package, reason=f"{package} is not part of the light environment of ./run test --lowest")
    monkeypatch.setattr(f"{package}.__version__", "0.9")
    with pytest.raises(SourceError, match=rf"{package} is version 0.9 · versions .* nothing was charged"):
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


@pytest.mark.parametrize("collect", [versions.collect_batches, versions._pushed_batches])
@pytest.mark.parametrize("ordered", [False, True])
def test_batches_hold_all_rows_or_fail(collect: Any, ordered: bool) -> None:
    rows = pl.LazyFrame({"age": np.arange(100_000.0)})
    found = [batch["age"].to_numpy() for batch in collect(rows, 1 << 10, ordered)]
    assert len(found) > 1 and np.array_equal(np.sort(np.concatenate(found)), np.arange(100_000.0))
    if ordered:
        assert np.array_equal(np.concatenate(found), np.arange(100_000.0))
    with pytest.raises((pl.exceptions.ComputeError, ValueError)):
        for _ in collect(failing(100_000), 1 << 10, ordered):
            pass


def test_a_release_is_not_made_of_the_rows_before_a_failure(ledger: Ledger) -> None:
    with pytest.raises(DataError, match="the data could not be read to its end"):
        gm.release(ask(failing(100_000)), ledger=ledger)


def test_batches_that_nobody_waits_for_end() -> None:
    before = threading.active_count()
    batches = versions._pushed_batches(pl.LazyFrame({"age": np.arange(1e6)}), 1 << 10, False)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() <= before


@pytest.mark.parametrize("polars", [(1, 36, 1), (2,)])
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
        with pytest.raises(SourceError, match=r"a table with views .* · Polars cannot read them with a pyarrow older"):
            open_source(source)
    column = pd.Series(pd.array(["x", "y"], dtype=pd.ArrowDtype(pa.string()))).astype(pd.ArrowDtype(kind))
    with pytest.raises(SourceError, match="column='name' holds Python objects"):
        gm.release(gm.Request(pd.DataFrame({"name": column}), sums={"name": (0, 1)}, guarantee=G))


# ---- errors of ours --------------------------------------------------------------------------------------------------

SAID = (
    "an error inside Gaussmith or one of its packages, not of the data · {}; what it says is not shown, because it "
    "could hold data · install supported versions (docs/files.md), or report it; GAUSSMITH_DEBUG=1 shows it, and is "
    "not private"
)


def fail(error: type[Exception]) -> Callable[..., Any]:
    def broken(*_: object, **__: object) -> Any:
        raise error("unexpected keyword 'secret 42'")

    return broken


@pytest.mark.parametrize("error", OURS)
@pytest.mark.parametrize(
    ("kind", "broken", "more"),
    [
        ("polars", "gaussmith.engines.polars.collect_batches", {}),
        ("polars", "polars.LazyFrame.collect", {"unit": "person"}),
        ("polars", "narwhals.LazyFrame.group_by", {"unit": "person"}),
        ("polars", "gaussmith.engines.polars.Polars.key_table", {"by": {"person": ["Ada"]}}),
        ("polars", "gaussmith.engines.polars.derive", {"where": "age > 3"}),
        ("pandas", "polars.LazyFrame.select", {}),
        ("pyarrow", "polars.from_arrow", {}),
        ("duckdb", "gaussmith.engines.duckdb.arrow_batches", {}),
        ("duckdb", "narwhals.LazyFrame.group_by", {"unit": "person"}),
        ("parquet", "polars.scan_parquet", {}),
        ("csv", "polars.scan_csv", {}),
        ("json lines", "gaussmith.engines.files._scan_objects", {}),
    ],
)
def test_a_call_that_fails_is_found_before_the_charge(
    kind: str,
    broken: str,
    more: dict[str, Any],
    error: type[Exception],
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = SOURCES[kind](tmp_path)
    reads_sample.cache_clear()
    monkeypatch.delenv("GAUSSMITH_DEBUG", raising=False)
    with monkeypatch.context() as patch:
        patch.setattr(broken, fail(error))
        with pytest.raises(InternalError) as caught:
            gm.release(ask(source, **more), ledger=ledger)
    assert str(caught.value) == SAID.format("nothing was charged")
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert caught.value.exit_code == 4 and ledger.spent == 0
    gm.release(ask(source, **more), ledger=ledger)
    assert ledger.spent > 0


def with_rows(real: Callable[..., Any], error: type[Exception]) -> Callable[..., Any]:
    """Works on a batch without rows, as a rehearsal has, and fails on others."""

    def broken(batch: Any) -> Any:
        if len(batch):
            raise error("the salary of Ada is 4242")
        return real(batch)

    return broken


@pytest.mark.parametrize("error", OURS)
@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_an_error_of_ours_after_the_charge_is_no_fault_of_the_data(
    kind: str,
    error: type[Exception],
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = import_module(f"gaussmith.engines.{kind}")
    monkeypatch.delenv("GAUSSMITH_DEBUG", raising=False)
    monkeypatch.setattr(engine, "_columns_of", with_rows(engine._columns_of, error))
    with pytest.raises(InternalError) as caught:
        gm.release(ask(SOURCES[kind](tmp_path)), ledger=ledger)
    assert str(caught.value) == SAID.format("a charge stays")
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert ledger.spent > 0


def test_a_release_that_fails_leaves_the_connection_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB answers no query while a reader is open, and an error may keep one alive for long."""
    from gaussmith.engines import duckdb as engine

    connection = duckdb.connect()
    relation = connection.from_arrow(FRAME.to_arrow())
    gc.disable()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(engine, "_columns_of", with_rows(engine._columns_of, TypeError))
            with pytest.raises(InternalError):
                gm.release(ask(relation))
        gm.release(ask(relation))
    finally:
        gc.enable()


def test_the_command_line_says_that_it_is_an_error_of_ours(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gaussmith.engines import polars as engine

    monkeypatch.delenv("GAUSSMITH_DEBUG", raising=False)
    monkeypatch.setattr(engine, "_columns_of", with_rows(engine._columns_of, TypeError))
    words = ["release", parquet(tmp_path), "--sum", "age:0:100", "--mu", "0.5"]
    assert cli.main(words) == 4
    out, err = capsys.readouterr()
    assert out == "" and "Error: an error inside Gaussmith or one of its packages, not of the data" in err
    assert "4242" not in err and "check" not in err
    assert cli.main([*words, "--json"]) == 4
    assert '"kind": "InternalError"' in capsys.readouterr().err
    monkeypatch.setenv("GAUSSMITH_DEBUG", "1")
    assert cli.main(words) == 4
    assert "TypeError: the salary of Ada is 4242" in capsys.readouterr().err


@pytest.mark.parametrize("error", [*OURS, ValueError])
def test_what_a_function_of_the_user_raises_on_data_is_said_in_one_way(error: type[Exception], ledger: Ledger) -> None:
    """Which record made it fail, and how, must not show."""

    def theirs(column: pl.Series) -> pl.Series:
        raise error(str(column.to_list()))

    lazy = FRAME.lazy().with_columns(pl.col("age").map_batches(theirs, return_dtype=pl.Float64))
    with pytest.raises(DataError) as caught:
        gm.release(ask(lazy), ledger=ledger)
    assert "the data could not be read to its end" in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_objects_of_the_user_that_cannot_be_opened_are_their_own_fault() -> None:
    class Elsewhere:
        def __array__(self, *_: object, **__: object) -> Any:
            raise TypeError("memory of another device")

    with pytest.raises(SourceError, match=r"source of type .*Elsewhere whose columns cannot be told"):
        open_source(Elsewhere())
    with pytest.raises(SourceError, match="source of type DuckDBPyConnection · this type of data is not known"):
        open_source(duckdb.connect())


@pytest.mark.parametrize("format", SAMPLES)
def test_samples_are_read_as_they_should(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads_sample.cache_clear()
    assert reads_sample(format)
    reads_sample.cache_clear()
    name, text = SAMPLES[format]
    monkeypatch.setitem(SAMPLES, format, (name, text.replace("1", "3")))
    assert not reads_sample(format)
    reads_sample.cache_clear()

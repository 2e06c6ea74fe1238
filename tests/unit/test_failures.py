"""Errors of our own: found before the charge where they can be, and never said to be a fault of the data."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from refusals import refused
from small_sources import FRAME, SOURCES, ask, parquet

import gaussmith as gm
from gaussmith import cli
from gaussmith.engines.registry import open_source
from gaussmith.engines.versions import OURS
from gaussmith.errors import DataError, InternalError
from gaussmith.ledger.book import Ledger
from gaussmith.totals.opened import SAMPLES, reads_sample


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=1))


SAID = (
    "an error in Gaussmith or one of its dependencies, not in the data · {}; details are hidden because they could "
    "contain data · install supported versions (docs/files.md) or report it; GAUSSMITH_DEBUG=1 shows details that are "
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
        ("polars", "gaussmith.totals.groups.add_rows", {"by": {"person": ["Ada"]}}),
        (
            "polars",
            "gaussmith.engines.polars.Polars.key_table",
            {"unit": "person", "by": {"person": ["Ada"]}, "groups_per_unit": 1},
        ),
        ("polars", "gaussmith.engines.polars.derive", {"where": "age > 3"}),
        ("pandas", "polars.LazyFrame.select", {}),
        ("pyarrow", "polars.from_arrow", {}),
        ("duckdb", "gaussmith.engines.duckdb.arrow_batches", {}),
        ("duckdb", "gaussmith.totals.limbs._add_up", {"unit": "person"}),
        ("parquet", "polars.scan_parquet", {}),
        ("csv", "polars.scan_csv", {}),
        ("json lines", "gaussmith.engines.text_files.scan_objects", {}),
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
    assert (caught.value.code, dict(caught.value.fields)) == ("internal-error", {})
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
    name = {"polars": "columns_of", "duckdb": "_columns_of"}[kind]
    monkeypatch.setattr(engine, name, with_rows(getattr(engine, name), error))
    with pytest.raises(InternalError) as caught:
        gm.release(ask(SOURCES[kind](tmp_path)), ledger=ledger)
    assert str(caught.value) == SAID.format("a charge stays")
    assert (caught.value.code, dict(caught.value.fields)) == ("internal-error", {})
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert ledger.spent > 0


def test_the_command_line_says_that_it_is_an_error_of_ours(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gaussmith.engines import polars as engine

    monkeypatch.delenv("GAUSSMITH_DEBUG", raising=False)
    monkeypatch.setattr(engine, "columns_of", with_rows(engine.columns_of, TypeError))
    words = ["release", parquet(tmp_path), "--sum", "age:0:100", "--mu", "0.5"]
    assert cli.main(words) == 4
    out, err = capsys.readouterr()
    assert out == "" and "Error: an error in Gaussmith or one of its dependencies, not in the data" in err
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
    assert (caught.value.code, dict(caught.value.fields)) == ("data-not-readable", {})
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_objects_of_the_user_that_cannot_be_opened_are_their_own_fault() -> None:
    class Elsewhere:
        def __array__(self, *_: object, **__: object) -> Any:
            raise TypeError("memory of another device")

    with refused("columns-not-told"):
        open_source(Elsewhere())
    with refused("unknown-source-type", type="DuckDBPyConnection"):
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

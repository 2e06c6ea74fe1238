"""Where Spark cannot be started: clear words, nothing read and nothing spent."""

from __future__ import annotations

import importlib.util
import socket
import stat
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gaussmith as gm
from gaussmith.engines import spark as engine
from gaussmith.errors import SourceError

G = gm.Guarantee(mu=1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pl.DataFrame({"age": [1.0, 2.0]}).write_parquet(tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process where no Spark runs."""
    pytest.importorskip("pyspark", reason=f"pyspark is not installed · {engine.INSTALL}")
    monkeypatch.setattr(engine, "_running_session", lambda: None)


def refused(source: Path, master: str | None = None) -> str:
    """The words of the refusal of a charged release, of which nothing was spent."""
    ledger = gm.Ledger.create(source.with_name("refused.ledger"), gm.Guarantee(mu=2))
    with pytest.raises(SourceError) as caught:
        gm.release(gm.Request(source, count=True, guarantee=G), ledger=ledger, engine="spark", master=master)
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, OSError)
    assert ledger.spent == 0
    return str(caught.value)


def test_no_pyspark(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyspark" else find(name))
    assert refused(table) == 'engine="spark" · pyspark is not installed · pip install gaussmith[spark]'


def test_an_old_pyspark(table: Path, no_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "3.5.1")
    assert "pyspark is version 3.5.1 · versions 4.3.0 to below 5 are supported" in refused(table)


def test_no_java(table: Path, no_session: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    message = refused(table, "local[2]")
    assert "there is no Java on this machine; Spark needs Java 17 or newer · install one, for example" in message
    assert "openjdk" in message and "JAVA_HOME" in message


def test_an_empty_java_home(no_session: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SourceError, match="contains no Java; Spark needs Java 17"):
        engine.open_session("local[2]")


@pytest.mark.parametrize(("told", "number"), [('openjdk version "11.0.2"', "11"), ('java version "1.8.0_202"', "8")])
def test_an_old_java(
    told: str, number: str, table: Path, no_session: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert f"Java {number} · Spark needs Java 17 or newer · install one" in refused(table, "local[2]")


@pytest.mark.parametrize("scheme", ["spark://", "sc://", "k8s://https://"])
def test_a_master_that_does_not_answer(scheme: str, table: Path, no_session: None) -> None:
    with socket.socket() as taken:  # bound and not listening: nothing answers there
        taken.bind(("127.0.0.1", 0))
        master = f"{scheme}127.0.0.1:{taken.getsockname()[1]}"
        message = refused(table, f"{master};token=hush" if scheme == "sc://" else master)
    assert message.startswith(f"master={master!r} · nothing answers at this address within 5 seconds · check the host")
    assert "hush" not in message


def test_a_master_that_means_nothing(
    table: Path, no_session: None, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkContext

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Could not parse Master URL: 'nonsense'")

    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", refuse)
    assert "master='nonsense' · Spark could not be started there · check the address" in refused(table, "nonsense")


def test_connect_without_its_packages(table: Path, no_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        message = refused(table, f"sc://127.0.0.1:{server.getsockname()[1]}")
    assert "Spark Connect needs more packages than Spark itself · pip install" in message
    assert "pyspark[connect]" in message

"""The page on Spark: its blocks of Python run, and what it says about commands is so."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from gaussmith.cli.parser import Parser
from gaussmith.cli.release import add_flags
from gaussmith.engines import spark as engine
from gaussmith.engines.spark import BLOCK_COLUMNS
from gaussmith.engines.versions import RANGES

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_blocks_of_python_run(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    assert len(blocks("python")) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark warns of versions of pandas
        for block in blocks("python"):
            exec(compile(block, "docs/spark.md", "exec"), names)
    released = names["released"]
    assert released.labels == (("north",), ("south",)) and abs(released.values[:, -1].sum() - 2940) < 200
    assert "north" in capsys.readouterr().out


def test_the_commands_are_those_that_exist() -> None:
    parser = Parser("release", "")
    add_flags(parser)
    commands = [line.split("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    found = [words[2:] for words in commands if words[:2] == ["gaussmith", "release"]]
    assert len(found) == 3
    for words in found:
        assert parser.parse(words).engine == "spark"


def test_the_numbers_on_the_page() -> None:
    assert f"Java {engine.OLDEST_JAVA} or newer" in PAGE and f"Spark {RANGES['pyspark'][0].removesuffix('.0')}" in PAGE
    assert f"within {engine.PATIENCE:g} seconds" in PAGE and f"up to {BLOCK_COLUMNS} columns" in PAGE
    assert engine.INSTALL in PAGE

"""Every block of the README is run. What is random must match up to its numbers; everything else to the letter."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from importlib import resources
from pathlib import Path

import polars as pl
import pytest

from gaussmith import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
RANDOM_COMMANDS = {"release", "demo"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.M | re.S)


def shape(text: str) -> list[str]:
    """The text with every number replaced by # and spaces run together, line by line: columns may be wider."""
    return [" ".join(NUMBER.sub("#", line).split()) for line in text.strip().splitlines()]


class Checker(doctest.OutputChecker):
    """Output that comes from a release may differ in its numbers; the runner marks such examples."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or (
            bool(optionflags & RANDOM) and shape(want) == shape(got)
        )


RANDOM = doctest.register_optionflag("RANDOM_NUMBERS")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(str(resources.files("gaussmith") / "data" / "randhie.parquet"), "health.parquet")
    return tmp_path


def test_the_python_tour_runs(here: Path) -> None:
    text = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    assert len(test.examples) > 8
    for example in test.examples:
        if re.search(r"\brelease\b", example.source):
            example.options[RANDOM] = True
    said: list[str] = []
    runner = doctest.DocTestRunner(checker=Checker(), verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    assert (here / "report.html").exists()


def test_the_commands_print_what_the_readme_shows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = [part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    assert len(shown) >= 4
    for part in shown:
        command, _, want = part.partition("\n")
        program, *words = shlex.split(command)
        assert program == "gaussmith"
        cli.main(words)
        out, err = capsys.readouterr()
        if words[0] in RANDOM_COMMANDS:
            assert shape(out + err) == shape(want), command
        else:
            assert out + err == want, command


def test_the_numbers_shown_come_from_real_releases() -> None:
    """What is matched by pattern could be anything: so the samples must lie within their own error of the truth."""
    table = pl.read_parquet(str(resources.files("gaussmith") / "data" / "randhie.parquet"))
    truth = {"mdvis_sum": table["mdvis"].cast(pl.Int64).sum(), "disea_mean": table["disea"].mean(), "count": len(table)}
    shown = re.findall(
        r"^(mdvis_sum|disea_mean|count) +([\d,.]+) +([\d,.]+) +([\d,.]+) to ([\d,.]+)$", README, flags=re.M
    )
    assert len(shown) == 6
    for name, *texts in shown:
        value, error, lower, upper = (float(text.replace(",", "")) for text in texts)
        assert abs(value - truth[name]) < 5 * error
        assert lower < value < upper


def test_a_changed_word_is_noticed() -> None:
    assert shape("a ± 1.5\nb  20,190") == shape("a  ± 22\nb 3")
    assert shape("a ± 1.5") != shape("b ± 1.5")
    assert shape("one line") != shape("one line\nmore")


def test_our_figures_in_the_table_are_those_of_the_block_that_computes_them() -> None:
    row = next(line for line in README.splitlines() if line.startswith("| **Gaussmith**"))
    assert re.findall(r"\*\*([\d.]+)\*\*", row) == re.findall(r"sums: ± ([\d.]+) each", README)


def test_files_the_readme_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    tree = README.split("## The tree")[1].split("```")[1]
    named = [word for line in tree.splitlines() if line.startswith("  ") for word in line[:34].split()]
    assert len(named) > 15
    for name in named:
        assert (ROOT / "src" / "gaussmith" / name.rstrip("/")).exists(), name
    for folder in ("tests", "benchmarks", "docs", "examples", "run"):
        assert (ROOT / folder).exists()

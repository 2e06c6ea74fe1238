"""Every block of the README is run. What is random must match up to its numbers; everything else to the letter."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

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
    return tmp_path


def run_python(blocks: list[str]) -> None:
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", "README.md", 0)
    for example in test.examples:
        if re.search(r"\brelease\b", example.source):
            example.options[RANDOM] = True
    said: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(checker=Checker(), verbose=False, optionflags=flags)
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


def test_the_python_tour_runs(here: Path) -> None:
    python = blocks("python")
    assert sum(block.count(">>> ") for block in python) > 8
    run_python(python)
    assert (here / "report.html").exists()


def test_the_commands_print_what_the_readme_shows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_python(blocks("python")[:1])  # which makes the table
    shown = [part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    assert len(shown) >= 2
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
    assert (here / "week-1" / "report.html").exists()


def test_the_numbers_shown_are_those_of_such_a_table() -> None:
    """What is matched by pattern could be anything: the samples must lie near what the made-up table has on average."""
    people = {"north": 2400, "south": 1600}
    shown = re.findall(
        r"^(\w+) +(minutes_mean|count) +([\d,.]+) +(?:[\d,.]+ +)?([\d,.]+) to ([\d,.]+)$", README, flags=re.M
    )
    assert len(shown) == 4
    for region, name, *texts in shown:
        value, lower, upper = (float(text.replace(",", "")) for text in texts)
        assert lower < value < upper
        assert abs(value - 20) < 3 if name == "minutes_mean" else abs(value - people[region]) < 150


def test_a_changed_word_is_noticed() -> None:
    assert shape("a ± 1.5\nb  20,190") == shape("a  ± 22\nb 3")
    assert shape("a ± 1.5") != shape("b ± 1.5")
    assert shape("one line") != shape("one line\nmore")


def test_our_figures_in_the_table_are_those_of_the_block_that_computes_them() -> None:
    row = next(line for line in README.splitlines() if line.startswith("| **Gaussmith**"))
    assert re.findall(r"\*\*([\d.]+)\*\*", row) == re.findall(r"sums: ± ([\d.]+) each", README)


def test_files_the_readme_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)[)#]|src(?:set)?=\"([^\"]+)\"", README):
        assert (ROOT / "".join(target)).exists(), target


def test_folders_the_tree_names_exist() -> None:
    tree = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("## The tree")[1].split("```")[1]
    named = [word for line in tree.splitlines() if line.startswith("  ") for word in line[:34].split()]
    assert len(named) > 15
    for name in named:
        assert (ROOT / "src" / "gaussmith" / name.rstrip("/")).exists(), name
    for folder in ("tests", "benchmarks", "docs", "examples", "run"):
        assert (ROOT / folder).exists()


def test_the_picture_is_drawn_by_the_library() -> None:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "website" / "pictures.py")
    assert spec is not None and spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    for name, text in pictures.pictures().items():
        assert (ROOT / "docs" / "pictures" / name).read_text("utf-8") == text, "./run python website/pictures.py"


def test_every_line_of_the_table_of_peers_has_its_sources() -> None:
    def names(text: str, start: str) -> list[str]:
        table = text.partition(start)[2].partition("\n\n")[0]
        return [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]

    docs = (ROOT / "docs" / "peers.md").read_text("utf-8")
    stated = names(README, "|:-:|:-:|:-:|:-:|:-:|:-:|\n")
    assert len(stated) > 12 and names(docs, "| | where it says so |\n|---|---|\n") == stated

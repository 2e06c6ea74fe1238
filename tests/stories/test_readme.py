"""Every block of the README is run. What is random must match up to its numbers; everything else to the letter."""

from __future__ import annotations

import csv
import importlib.util
import re
import shlex
from pathlib import Path

import numpy as np
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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_example_prints_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = "\n".join(blocks("python")), "\n".join(blocks("text"))
    assert len(code.splitlines()) > 8 and len(shown.splitlines()) > 11
    exec(compile(code, "README.md", "exec"), {})
    *lines, cut = shape(shown)
    assert cut == "..." and shape(capsys.readouterr().out)[: len(lines)] == lines


def make_visits(path: Path) -> None:
    """The table of the commands: 4 000 people with 1 to 12 visits each."""
    rng = np.random.default_rng()
    home = rng.choice(["north", "south"], 4_000, p=[0.6, 0.4])
    person = np.repeat(np.arange(4_000), rng.integers(1, 13, 4_000))
    minutes = rng.gamma(4, 5, len(person)).round()
    pl.DataFrame({"person": person, "region": home[person], "minutes": minutes}).write_csv(path)


def test_the_commands_print_what_the_readme_shows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_visits(here / "visits.csv")
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


def test_the_picture_shows_the_release_of_the_readme() -> None:
    """Each answer in the file that the picture is drawn from, with its digits, is in the printed release."""
    with (ROOT / "docs" / "pictures" / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    printed = {tuple(line.split()[:2]): line.split()[2] for line in "".join(blocks("text")).splitlines()[:9]}
    assert len(rows) == 8
    for row in rows:
        digits = printed[row["health"], row["answer"]]
        assert float(digits) == round(float(row["value"]), len(digits.partition(".")[2]))


def test_a_changed_word_is_noticed() -> None:
    assert shape("a ± 1.5\nb  20,190") == shape("a  ± 22\nb 3")
    assert shape("a ± 1.5") != shape("b ± 1.5")
    assert shape("one line") != shape("one line\nmore")


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

    page = (ROOT / "docs" / "compared.md").read_text("utf-8")
    stated = names(page, "|:-:|:-:|:-:|:-:|:-:|:-:|\n")
    assert len(stated) > 12 and names(page, "| | where it says so |\n|---|---|\n") == stated

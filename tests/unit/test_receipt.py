"""docs/sources.md: what became of every statement of the sources; all that it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property

import pytest
from cited import ROOT, find, functions_of

PAGE = (ROOT / "docs" / "sources.md").read_text("utf-8")
BECAME = ("implemented", "reproduced", "corrected", "refuted", "answered")
SOURCES = ("The notes", "The report", "The abstract", "The poster", "The slides")


@dataclass(frozen=True)
class Line:
    place: str
    says: str
    became: str
    functions: tuple[str, ...]
    where: str
    tests: tuple[str, ...]


def lines_of(source: str) -> list[Line]:
    section = re.search(rf"^## {source}$(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert section, source
    rows = [row.strip("| ").split(" | ") for row in section[1].splitlines() if row.startswith("| ")][1:]
    assert all(len(row) == 6 for row in rows), [row for row in rows if len(row) != 6]
    named = lambda cell: tuple(re.findall(r"`([^`]+)`", cell))  # noqa: E731
    return [Line(row[0], row[1], row[2], named(row[3]), row[4], named(row[5])) for row in rows]


LINES = {source: lines_of(source) for source in SOURCES}


def numbers(page: str) -> set[int]:
    return {int(n) for n in re.findall(r"^\*\*(\d+)\. ", (ROOT / "docs" / page).read_text("utf-8"), flags=re.MULTILINE)}


def test_sources_are_in_order_and_counted() -> None:
    assert re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE) == list(SOURCES)
    for source, lines in LINES.items():
        found = [sum(line.became == word for line in lines) for word in BECAME]
        assert f"| {source} | {len(lines)} | {' | '.join(map(str, found))} |" in PAGE
    assert [len(lines) for lines in LINES.values()] == [13, 72, 12, 17, 20]


@pytest.mark.parametrize("source", SOURCES)
def test_everything_named_exists(source: str) -> None:
    statements, errata = numbers("theory.md"), numbers("errata.md")
    for line in LINES[source]:
        assert line.became in BECAME, line
        assert line.functions and line.tests, line
        for name in line.functions:
            assert name.startswith("gm.") and callable_or_property(find(name)), name
        for name in line.tests:
            path, _, test = name.partition("::")
            assert test in functions_of(path), name
        assert re.fullmatch(r"(?:(?:statement|erratum) \d+(?:, |$))+", line.where), line
        assert {int(n) for n in re.findall(r"statement (\d+)", line.where)} <= statements, line
        assert {int(n) for n in re.findall(r"erratum (\d+)", line.where)} <= errata, line


def callable_or_property(found: object) -> bool:
    return callable(found) or isinstance(found, property | cached_property)


def test_public_names_are_found_as_they_are_typed() -> None:
    """In a fresh interpreter that imports gaussmith alone: nothing else has imported a module of it."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    typed = re.compile(r"\bgm(?:\.[A-Za-z_]\w*)+|\bgaussmith(?:\.[A-Za-z_]\w*)+(?=\()")
    names = sorted({name for page in pages for name in typed.findall(page.read_text("utf-8"))})
    assert {"gm.papers.rows_needed", "gm.Request", "gm.Guarantee"} <= set(names) and len(names) > 80
    program = """
import sys
import gaussmith, gaussmith as gm
for name in sys.argv[1:]:
    try:
        eval(name)
    except AttributeError:
        print(name)
"""
    asked = [sys.executable, "-c", program, *names]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == ""


def test_pages_of_statements_name_no_module_of_the_package_by_a_dotted_name() -> None:
    """Such a name reads as if it could be typed; what is not public is named by its file."""
    for page in ("sources.md", "theory.md", "catalogue.md"):
        assert re.findall(r"`gaussmith\.[^`]*`", (ROOT / "docs" / page).read_text("utf-8")) == [], page


def test_what_was_wrong_has_an_erratum_and_every_erratum_belongs_to_a_line() -> None:
    cited = set()
    for lines in LINES.values():
        for line in lines:
            errata = {int(n) for n in re.findall(r"erratum (\d+)", line.where)}
            cited |= errata
            assert errata or line.became not in ("corrected", "refuted"), line
    assert cited == numbers("errata.md")


def test_no_line_is_there_twice() -> None:
    for source, lines in LINES.items():
        assert len({(line.place, line.says) for line in lines}) == len(lines), source


def test_the_way_to_the_page() -> None:
    assert "(docs/sources.md)" in (ROOT / "README.md").read_text("utf-8")
    assert "(sources.md)" in (ROOT / "docs" / "theory.md").read_text("utf-8")
    assert "(sources.md)" in (ROOT / "docs" / "errata.md").read_text("utf-8")


def test_the_readme_promises_no_distance_that_some_plan_exceeds() -> None:
    """Every plan states how far it can be from the optimum; for some that is more than a few percent."""
    first = (ROOT / "README.md").read_text("utf-8").split("**")[1]
    assert "minimum" in first
    assert "percent" not in first and "%" not in first

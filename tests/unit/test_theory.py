"""docs/theory.md: numbered without gaps; each statement is claimed by functions and shown by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from cited import find, functions_of, home_of

import gaussmith as gm

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory.md").read_text("utf-8")
LISTED = re.findall(r"^\*\*(\d+)\. (.*?)(?=^\*\*\d+\. |^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
STATEMENTS = dict(LISTED)


def named(statement: str, word: str) -> list[str]:
    line = re.search(rf"\*{word}:\*(.*?)(?: · \*|$)", statement, flags=re.MULTILINE)
    return re.findall(r"`([^`]+)`", line[1]) if line else []


def test_statements_are_numbered_without_gaps() -> None:
    assert [int(number) for number, _ in LISTED] == list(range(1, len(LISTED) + 1))
    assert len(STATEMENTS) >= 25


def test_each_statement_is_claimed_by_functions_that_exist_and_say_what_they_return() -> None:
    for number, statement in STATEMENTS.items():
        functions = named(statement, "Functions")
        assert functions, number
        for name in functions:
            assert (getattr(find(name), "__doc__", None) or "").strip(), (number, name)


def test_each_statement_is_shown_by_tests_that_exist() -> None:
    for number, statement in STATEMENTS.items():
        tests = named(statement, "Tests")
        assert tests, number
        for name in tests:
            path, _, test = name.partition("::")
            assert test in functions_of(path), (number, name)


def test_each_statement_has_a_proof_that_ends() -> None:
    for number, statement in STATEMENTS.items():
        assert "*Proof.*" in statement and "∎" in statement, number


def test_a_statement_that_a_docstring_cites_names_a_function_of_its_module() -> None:
    """Docstrings say (theory, statement n) or docs/theory.md, statements m and n."""
    said = re.compile(r"(?:\(theory,|theory\.md,)\s+statements?\s+(\d+(?:(?:,|\s+and)\s+\d+)*)")
    package = ROOT / "src" / "gaussmith"
    cited = [
        (".".join(path.relative_to(package.parent).with_suffix("").parts), number)
        for path in package.rglob("*.py")
        for numbers in said.findall(path.read_text("utf-8"))
        for number in re.findall(r"\d+", numbers)
    ]
    assert len(cited) >= 12
    for module, number in cited:
        assert module in map(home_of, named(STATEMENTS[number], "Functions")), (module, number)


def test_links_of_the_page_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    assert gm.papers.rank_one  # the public word that statement 17 is about

"""What errors say is written down in errors.md, and a code stands for one mistake."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest
from error_sentences import PAGE, Package, Sentence, describe

CHECKS = {
    "whole-number-out-of-range",
    "number-out-of-range",
    "probability-out-of-range",
    "names-do-not-match-coordinates",
    "coordinate-name-twice",
}
"""Codes of `gaussmith.checks`: an argument is wrong in the same way whatever its name; the caller says the class."""

ONE_MISTAKE_IN_SEVERAL_WORDS = {
    "no-such-column": "a file is named, where there is one",
}
"""Codes of one mistake that is worded in several ways, and why."""


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return Package().sentences()


def test_the_page_holds_every_sentence(sentences: list[Sentence]) -> None:
    said = "errors.md is out of date: run ./run python tests/sentences/record.py and review the diff"
    assert PAGE.read_text("utf-8") == describe(sentences), said
    assert len(sentences) > 500


def test_codes_are_words_with_hyphens(sentences: list[Sentence]) -> None:
    assert [each.code for each in sentences if not re.fullmatch("[a-z]+(-[a-z0-9]+)+", each.code)] == []


def test_a_code_stands_for_one_mistake(sentences: list[Sentence]) -> None:
    """In all places one class and one rule; and two codes never say the same."""
    odd = []
    for code, places in groupby(sentences, key=lambda each: each.code):
        kinds = {(each.error, each.rule) for each in places}
        if code not in CHECKS and len(kinds) > 1 and code not in ONE_MISTAKE_IN_SEVERAL_WORDS:
            odd.append(code)
    assert odd == []
    said: dict[tuple[str, str, str], str] = {}
    for each in sentences:
        if each.code not in CHECKS:
            assert said.setdefault((each.error, each.what, each.rule), each.code) == each.code


def test_errors_write_fields_in_the_notation_of_the_request(sentences: list[Sentence]) -> None:
    """What to write is made by `setting`; no sentence has a field written by hand, as TOML or with Python's braces."""
    toml = re.compile(r"\b([a-z_]+) = [\[{\"]|\[\[question\]\]")
    by_hand = {each.code: toml.findall(each.remedy) for each in sentences if toml.search(each.remedy)}
    assert by_hand == {}, "write it by gaussmith.notations.setting"
    assert sum("{setting(" in each.remedy for each in sentences) > 80


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('raise E("a", "b", "c", code="x-y", n=n)', [("x-y", "E", "a", "b", "c")]),
        ('raise E(f"n={n!r}", "b" if n else "d", code="x-y")', [("x-y", "E", "n={n!r}", "⟨b | d⟩", "")]),
        ('rule = "b"\nif n:\n    rule = "d"\nraise E("a", rule, code="x-y")', [("x-y", "E", "a", "⟨d | b⟩", "")]),
        (
            'T = ("a", "b")\nraise E(*_two(), code="x-y")\ndef _two():\n    return "p", "q"',
            [("x-y", "E", "p", "q", "")],
        ),
        (
            'def refuse(what, *, code):\n    raise E(f"in {what}", code=code)\nrefuse("a a", code="x-y")\n'
            'refuse("b b", code="y-z")',
            [("x-y", "E", "in a a", "", ""), ("y-z", "E", "in b b", "", "")],
        ),
        ("raise E(error.what, error.rule, code=error.code, **error.fields)", []),
    ],
)
def test_sentences_are_read_from_the_source(source: str, expected: list[tuple[str, ...]], tmp_path: Path) -> None:
    (tmp_path / "errors.py").write_text("class E(Exception): ...", "utf-8")
    (tmp_path / "module.py").write_text(source, "utf-8")
    found = Package(tmp_path).sentences()
    assert [(s.code, s.error, s.what, s.rule, s.remedy) for s in found] == expected

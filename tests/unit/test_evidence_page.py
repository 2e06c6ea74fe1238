"""docs/evidence.md says what the files of evidence say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evidence_page import (
    AUDIT,
    PAGE,
    QUANTILES,
    ROOT,
    VECTORS,
    made_page,
    told,
    with_errors_of_quantiles,
    with_errors_of_vectors,
    with_mutants,
    with_planted_bugs,
)

FILES = sorted((ROOT / "docs" / "evidence").glob("*.json"))


def test_the_pages_are_made_from_the_files() -> None:
    assert PAGE.read_text("utf-8") == made_page()
    page = VECTORS.read_text("utf-8")
    assert page == with_errors_of_vectors(page)
    page = AUDIT.read_text("utf-8")
    assert page == with_planted_bugs(page) == with_mutants(page)
    page = QUANTILES.read_text("utf-8")
    assert page == with_errors_of_quantiles(page)


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_file_names_its_proof_and_a_clean_commit(file: Path) -> None:
    found = json.loads(file.read_text("utf-8"))
    assert (ROOT / "proofs" / f"{file.stem}.py").is_file()
    assert len(found["commit"]) == 40 and int(found["commit"], 16)  # "-dirty" would not be a number
    assert found["seconds"] > 0 and found["versions"]["gaussmith"]


@pytest.mark.parametrize(
    ("value", "text"), [(10000, "10 000"), (1.0000852, "1 + 8.5e-05"), (0.25, "0.25"), (True, "yes"), ("a", "a")]
)
def test_numbers_are_told_with_the_digits_that_matter(value: object, text: str) -> None:
    assert told(value) == text

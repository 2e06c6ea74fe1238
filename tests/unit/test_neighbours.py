from __future__ import annotations

import pytest
from refusals import refused

from gaussmith.privacy import neighbours


@pytest.mark.parametrize("spelling", ["add-remove", "Add_Remove", " add remove ", "ADD/REMOVE", "add - remove"])
def test_spellings_of_add_remove(spelling: str) -> None:
    assert neighbours.check(spelling) == neighbours.ADD_REMOVE == "add-remove"


def test_replace_one_is_itself() -> None:
    assert neighbours.check("replace_one") == neighbours.REPLACE_ONE == "replace-one"


def test_the_plain_words() -> None:
    assert neighbours.protects("add-remove") == "adding or removing one person; the number of people is secret"
    assert neighbours.protects("replace-one") == "changing one person's record; the number of people is public"
    assert (
        neighbours.protects("add-remove", unit="visit")
        == "adding or removing one visit; the number of visits is secret"
    )


def test_a_near_miss_is_refused_with_a_hint() -> None:
    with refused("unknown-neighbours", says="did you mean 'add-remove'", neighbours="add-remov"):
        neighbours.check("add-remov")


@pytest.mark.parametrize("value", ["unbounded", "", None, 3, True])
def test_anything_else_is_refused_with_the_choices(value: object) -> None:
    with refused("unknown-neighbours", says="choose one of: add-remove, replace-one"):
        neighbours.check(value)  # type: ignore[arg-type]


def test_protects_refuses_what_check_refuses() -> None:
    with refused("unknown-neighbours", neighbours="zero-out"):
        neighbours.protects("zero-out")

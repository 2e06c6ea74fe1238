"""Errors carry a code and their fields, in every process."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from gaussmith import errors
from gaussmith.errors import BudgetError, GaussmithError, PlanError
from gaussmith.privacy.guarantee import Guarantee

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GaussmithError)]


def test_an_error_without_a_code_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="code"):
        GaussmithError("what", "rule", "remedy")  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_are_copied_and_pickled_whole(kind: type[GaussmithError]) -> None:
    error = kind("a\x1b=1", "the rule", "the remedy", code="some-code", column="a", value=1.5, keys=["x", None])
    error.add_note("a note")
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is kind
        assert str(other) == str(error) == r"a\x1b=1 · the rule · the remedy"
        assert (other.what, other.rule, other.remedy) == (error.what, error.rule, error.remedy)
        assert other.code == "some-code"
        assert dict(other.fields) == {"column": "a", "value": 1.5, "keys": ("x", None)}
        assert other.__notes__ == ["a note"]


def test_fields_cannot_be_changed() -> None:
    error = PlanError("what", code="some-code", column="a")
    with pytest.raises(TypeError):
        error.fields["column"] = "b"  # type: ignore[index]


class _Unwritable:
    def __repr__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (threading.Lock, "<built-in function allocate_lock>"),
        ({"a": 1}, "{'a': 1}"),
        ("x" * 1000, "x" * 1000),
        (range(3), "range(0, 3)"),
        (list(range(1000)), str(list(range(1000)))[:100]),
        ((1, [2, {3}]), (1, (2, "{3}"))),
        (_Unwritable(), "(a _Unwritable)"),
    ],
)
def test_an_error_holds_on_to_no_object_of_the_user(value: object, kept: object) -> None:
    error = PlanError("what", code="some-code", value=value)
    assert error.fields["value"] == kept
    assert pickle.loads(pickle.dumps(error)).fields["value"] == kept


def test_a_refused_charge_says_what_was_asked_and_what_is_left() -> None:
    asked, left = Guarantee(mu=1), Guarantee(mu=0.5)
    error = BudgetError("what", code="some-code", requested=asked, remaining=left)
    again = pickle.loads(pickle.dumps(error))
    assert (again.requested, again.remaining) == (asked, left)

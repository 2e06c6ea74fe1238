"""The shared checks of arguments: what is a number, which limits are included, and what the messages say."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.checks import check_coordinate_names, check_number, check_probability, check_whole, is_number, is_whole
from gaussmith.errors import DomainError, GuaranteeError, PlanError, RequestError
from gaussmith.ledger.units import check_keys_delta, check_mu
from gaussmith.papers.lecture import counting_queries
from gaussmith.requests.question import Question

NO_NUMBERS: list[Any] = [
    True, False, np.True_, None, "1", b"1", [1], np.array([1]), np.array(1), 1j, np.complex128(1), Decimal(1),
    math.nan, np.float64("nan"), 10**400, -(10**400), Fraction(10**400),
]  # fmt: skip
WHOLE: list[Any] = [1, np.int8(1), np.uint64(1), np.int64(1)]
NUMBERS: list[Any] = [*WHOLE, 1.0, np.float16(1), np.float32(1), np.float64(1), np.longdouble(1), Fraction(1)]


@pytest.mark.parametrize("value", WHOLE)
def test_whole_numbers_come_back_as_ints(value: Any) -> None:
    assert is_whole(value)
    found = check_whole("n", value, 1, 1)
    assert (found, type(found)) == (1, int)


@pytest.mark.parametrize(
    "value", [True, False, np.True_, 1.0, np.float64(1), Fraction(1), "1", None, math.nan, math.inf]
)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    assert not is_whole(value)
    with pytest.raises(RequestError) as error:
        check_whole("n", value, 0)
    number = 1 if isinstance(value, float | str) and float(value) == 1 else 0  # what was meant, if that can be seen
    assert str(error.value) == f"n={value!r} · it must be a whole number of at least 0 · write n={number}"


def test_the_limits_of_whole_numbers_are_included() -> None:
    assert [check_whole("n", n, 2, 4) for n in (2, 3, 4)] == [2, 3, 4]
    for n in (1, 5, -(10**400), 10**400):
        with pytest.raises(RequestError, match="it must be a whole number from 2 to 4 · write n=2"):
            check_whole("n", n, 2, 4)
    assert check_whole("n", 10**400, 1) == 10**400


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers_come_back_as_floats(value: Any) -> None:
    assert is_number(value)
    found = check_number("x", value, low=1, high=1)
    assert (found, type(found)) == (1.0, float)


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_refused(value: Any) -> None:
    assert not is_number(value)
    with pytest.raises(RequestError, match=r"^x=.* · it must be a finite number · give a number in this range$"):
        check_number("x", value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, np.float32("inf")])
def test_infinities_are_numbers_but_not_finite_ones(value: Any) -> None:
    assert is_number(value)
    with pytest.raises(RequestError, match="finite"):
        check_number("x", value)


def test_limits_of_numbers() -> None:
    tiny = math.ulp(0.0)
    assert check_number("x", tiny, above=0) == tiny
    assert check_number("x", math.nextafter(1, 0), below=1) < 1
    assert [check_number("x", x, low=0, high=700) for x in (0, 700)] == [0, 700]
    for value, limits, usual in [
        (0, {"above": 0}, "above 0"),
        (1, {"below": 1}, "below 1"),
        (-tiny, {"low": 0, "high": 700}, "of at least 0 and of at most 700"),
        (701, {"low": 0, "high": 700}, "of at least 0 and of at most 700"),
        (Fraction(1, 10**400), {"above": 0}, "above 0"),  # above 0, but the float that is returned is not
    ]:
        with pytest.raises(RequestError) as error:
            check_number("x", value, **limits)
        assert error.value.rule == f"it must be a finite number {usual}"


@pytest.mark.parametrize(
    "value", [0, 1, -0.1, 95, True, False, math.nan, math.inf, "0.5", None, 1 - Fraction(1, 10**30)]
)
def test_what_is_no_probability_is_refused(value: Any) -> None:
    with pytest.raises(PlanError) as error:
        check_probability("confidence", value, error=PlanError)
    assert str(error.value) == f"confidence={value!r} · a confidence must lie strictly between 0 and 1 · write 0.95"


def test_probabilities() -> None:
    for value in (0.5, np.float32(0.5), Fraction(1, 2)):
        assert check_probability("confidence", value) == 0.5
    assert check_probability("confidence", math.ulp(0.0)) > 0


def test_own_sentences_and_errors() -> None:
    with pytest.raises(DomainError, match=r"^n=0 · a rule · a remedy$"):
        check_whole("n", 0, 1, rule="a rule", remedy="a remedy", error=DomainError)
    with pytest.raises(GuaranteeError, match=r"^x=0 · a rule · a remedy$"):
        check_number("x", 0, above=0, rule="a rule", remedy="a remedy", error=GuaranteeError)


def test_long_values_are_cut_and_integers_too_long_to_write_are_named() -> None:
    with pytest.raises(RequestError) as error:
        check_number("x", "a" * 1000)
    assert error.value.what == "x='" + "a" * 99 + "…"
    with pytest.raises(RequestError) as error:
        check_number("x", 10**5000)
    assert error.value.what == "x=(a number of too many digits to show)"


def test_names() -> None:
    assert check_coordinate_names(None, 2) is None
    assert check_coordinate_names(["a", "b"], 2) == ("a", "b")
    for names, what in [
        (["a"], "1 name for 2 coordinates"),
        ([], "0 names for 2 coordinates"),
        (["a", "b", "a"], "3 names for 2 coordinates"),  # two of them different
        (["a", "a"], "name 'a' occurs twice"),
    ]:
        with pytest.raises(DomainError, match=f"^{what} · every coordinate needs its own name · "):
            check_coordinate_names(names, 2)


DOMAINS: dict[str, Any] = {
    "box": lambda names: gm.Box([0, 0], [1, 1], names),
    "ball": lambda names: gm.domains.Ball(2, 1, names=names),
    "points": lambda names: gm.domains.Points([[0, 1], [1, 0]], names=names),
    "gaussian": lambda names: gm.domains.GaussianData(mean=0, sd=[1, 2], rows=100, names=names),
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_with_named_coordinates_checks_them_alike(domain: str) -> None:
    DOMAINS[domain](["a", "b"])
    with pytest.raises(
        DomainError, match=r"^name 'a' occurs twice · every coordinate needs its own name · rename one$"
    ):
        DOMAINS[domain](["a", "a"])
    with pytest.raises(DomainError, match=r"^3 names for 2 coordinates · "):
        DOMAINS[domain](["a", "b", "a"])


def test_limits_given_as_numpy_integers_are_kept_as_ints() -> None:
    question = Question(sums={"a": (0, 1)}, rows_per_unit=np.int64(3), groups_per_unit=np.int32(1))  # type: ignore[arg-type]
    assert (type(question.rows_per_unit), type(question.groups_per_unit)) == (int, int)
    groups = gm.Groups({"region": ["north", "south"]}, gm.Box([0], [1], ["a"]), at_most=np.int64(2))  # type: ignore[arg-type]
    assert json.dumps(groups.at_most) == "2"


def test_integers_that_no_double_holds_are_refused_by_name() -> None:
    """Such an integer is no reason for an OverflowError of Python."""
    plan = gm.plan(gm.Box([0], [1], ["a"]), gm.Guarantee(mu=1), answers="means")
    with pytest.raises(PlanError, match=r"^rows=1000"):
        plan.errors(rows=10**400)
    with pytest.raises(GuaranteeError, match=r"^mu=1000.* cannot be charged"):
        check_mu(10**400)
    with pytest.raises(GuaranteeError, match=r"^keys_delta=1000.* cannot be charged"):
        check_keys_delta(10**400)


def test_a_guess_of_rows_that_is_no_number_is_refused() -> None:
    plan = gm.plan(gm.Box([0], [1], ["a"]), gm.Guarantee(mu=1), answers="means")
    for rows in (None, True, 0, -1, math.inf, math.nan, "many"):
        with pytest.raises(PlanError, match="the error of a mean depends on the number of rows"):
            plan.errors(rows=rows)  # type: ignore[arg-type]


def test_numbers_of_queries_and_rows_are_refused_under_their_own_names() -> None:
    for wrong, what in [({"queries": 0}, "queries=0"), ({"rows": 1.5}, "rows=1.5")]:
        given: dict[str, Any] = {"queries": 10, "rows": 100, "epsilon": 1, "delta": 1e-6, "failure": 0.05, **wrong}
        with pytest.raises(DomainError, match=f"^{what} · it must be a whole number of at least 1"):
            counting_queries(**given)

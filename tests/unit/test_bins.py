"""Bins: exact edges, names that read like intervals, and an error in its own words for each mistake."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import pytest

import gaussmith as gm
from gaussmith.expressions.keys import Cut
from gaussmith.requests.bins import equal_cells, read_bins


def test_a_cell_holds_its_lower_edge_and_not_its_upper_one():
    bins = read_bins("delay", {"bins": [-60, -30, 0, 30, 60]})
    assert bins.labels == ("< -60", "-60 to -30", "-30 to 0", "0 to 30", "30 to 60", "≥ 60")
    below = math.nextafter(-30.0, -math.inf)
    found = [bins.labels[bins.cut.place(x)] for x in (-math.inf, -60.0, below, -30.0, -0.0, 60.0, math.inf)]
    assert found == ["< -60", "-60 to -30", "-60 to -30", "-30 to 0", "0 to 30", "≥ 60", "≥ 60"]


def test_edges_of_one_width_are_the_decimals_that_are_written():
    bins = read_bins("share", {"equal": 10, "between": [0, 1]})
    assert bins.cut.edges == tuple(k / 10 for k in range(11))
    assert bins.labels[3:5] == ("0.2 to 0.3", "0.3 to 0.4")
    assert 3 * 0.1 not in bins.cut.edges  # what adding or multiplying doubles would give
    odd = read_bins("x", {"equal": 3, "between": [0.1, 0.7]}).cut.edges
    assert odd == (0.1, float(Fraction(3, 10)), 0.5, 0.7)


def test_log_bins_have_exact_edges():
    assert read_bins("x", {"log": 10, "between": [1, 10**6]}).cut.edges == tuple(float(10**k) for k in range(7))
    assert read_bins("x", {"log": 2, "between": [0.125, 4]}).cut.edges == tuple(2.0**k for k in range(-3, 3))
    assert read_bins("x", {"log": 10, "between": [0.001, 0.1]}).cut.edges == (0.001, 0.01, 0.1)


@pytest.mark.parametrize(
    ("by", "between", "labels"),
    [
        ("day", ["2024-02-29", "2024-03-01"], ("< 2024-02-29", "2024-02-29", "2024-03-01", "≥ 2024-03-02")),
        ("week", ["2024-01-01", "2024-01-07"], ("< 2024-01-01", "week of 2024-01-01", "≥ 2024-01-08")),
        ("month", ["2023-12", "2024-01"], ("< 2023-12-01", "2023-12", "2024-01", "≥ 2024-02-01")),
        ("quarter", ["2024", "2024-06"], ("< 2024-01-01", "2024-Q1", "2024-Q2", "≥ 2024-07-01")),
        ("year", [2023, 2024], ("< 2023-01-01", "2023", "2024", "≥ 2025-01-01")),
        ("year", [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)], ("< 2024-01-01", "2024", "≥ 2025-01-01")),
    ],
)  # fmt: skip
def test_dates_are_cut_by_whole_periods(by, between, labels):
    bins = read_bins("day", {"by": by, "between": between})
    assert bins.labels == labels
    assert bins.cut.kind == "date" and bins.cut.cells == len(labels)


def test_cells_within_bounds_take_in_what_lies_beyond():
    cut = equal_cells(0, 100, 4)
    assert cut == Cut((25.0, 50.0, 75.0), ends=(0.0, 100.0))
    assert [cut.place(x) for x in (-math.inf, -1.0, 0.0, 24.9, 25.0, 100.0, math.inf)] == [0, 0, 0, 0, 1, 3, 3]
    narrow = equal_cells(1.0, math.nextafter(1.0, 2.0), 256)
    assert narrow.cells == 1  # there is no number between


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("0 to 10", "bins-not-listed"),
        (5, "bins-not-listed"),
        ([], "no-bins"),
        ([0, "10"], "bin-not-a-number"),
        ([0, True], "bin-not-a-number"),
        ([0, math.inf], "bin-not-finite"),
        ([math.nan, 1], "bin-not-finite"),
        ([0, 10**400], "bin-not-finite"),
        ([0, 0], "bin-twice"),
        ([0, -0.0], "bin-twice"),
        ([0, 10, 5], "bins-not-sorted"),
        (list(range(100_001)), "too-many-bins"),
        ({}, "bins-not-given-in-one-way"),
        ({"bins": [1], "equal": 3}, "bins-not-given-in-one-way"),
        ({"edges": [1, 2]}, "unknown-bins-key"),
        ({"bins": [1, 2], "between": [0, 3]}, "between-beside-bins"),
        ({"equal": 3}, "bins-without-between"),
        ({"equal": 0, "between": [0, 1]}, "equal-not-a-number-of-cells"),
        ({"equal": 2.5, "between": [0, 1]}, "equal-not-a-number-of-cells"),
        ({"equal": 3, "between": [1, 1]}, "between-not-two-numbers"),
        ({"equal": 3, "between": [1, 0]}, "between-not-two-numbers"),
        ({"equal": 3, "between": [0, math.inf]}, "between-not-two-numbers"),
        ({"equal": 3, "between": "01"}, "between-not-two-numbers"),
        ({"log": 1, "between": [1, 8]}, "log-not-above-1"),
        ({"log": True, "between": [1, 8]}, "log-not-above-1"),
        ({"log": 2, "between": [0, 8]}, "log-bins-from-0"),
        ({"log": 2, "between": [1, 9]}, "log-bins-miss-the-end"),
        ({"log": 1.0000001, "between": [1, 9]}, "too-many-log-bins"),
        ({"by": "fortnight", "between": ["2024", "2024"]}, "unknown-period"),
        ({"by": "month"}, "bins-without-between"),
        ({"by": "month", "between": ["2024-13", "2024-12"]}, "between-not-two-dates"),
        ({"by": "month", "between": ["2024-01"]}, "between-not-two-dates"),
        ({"by": "month", "between": ["May 2024", "2024-12"]}, "between-not-two-dates"),
        ({"by": "month", "between": ["2024-12", "2024-01"]}, "dates-not-in-order"),
        ({"by": "month", "between": ["2024-01-02", "2024-03"]}, "dates-begin-inside-a-period"),
        ({"by": "quarter", "between": ["2024-02", "2024-06"]}, "dates-begin-inside-a-period"),
        ({"by": "week", "between": ["2024-01-02", "2024-03"]}, "dates-begin-inside-a-period"),
        ({"by": "year", "between": ["2024-01", "2024-06"]}, "dates-end-inside-a-period"),
        ({"by": "day", "between": ["0001", "9000"]}, "too-many-bins"),
        ({"by": "year", "between": ["9998", "9999-12-31"]}, "dates-too-late"),
    ],
)  # fmt: skip
def test_each_mistake_has_its_own_words(given, code):
    with pytest.raises(gm.DomainError) as caught:
        read_bins("x", given)
    assert caught.value.code == code
    assert caught.value.what.startswith("cells of 'x'") and caught.value.rule and caught.value.remedy


def test_a_saved_cut_is_read_again_and_a_damaged_one_refused():
    for cut in (Cut((0.1, 3.0)), equal_cells(0, 1, 8), read_bins("d", {"by": "year", "between": [2023, 2024]}).cut):
        assert Cut.from_dict(cut.to_dict()) == cut
    good = equal_cells(0, 1, 4).to_dict()
    for damage in ({"edges": [0.5, 0.25]}, {"edges": [0.5, math.nan]}, {"kind": "colour"}, {"ends": [0.9, 1.0]}):
        with pytest.raises(gm.RequestError, match="edges are not finite and in order"):
            Cut.from_dict(good | damage)

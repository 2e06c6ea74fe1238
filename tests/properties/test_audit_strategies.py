"""The strategies that users test their own pipelines with: pairs are neighbours, and our own path keeps its promise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.audit.scenes import SUFFIXES, neighbours, square_between, watch, write

PEOPLE = gm.Request(
    "visits.parquet", unit="person", rows_per_unit=2, groups_per_unit=1, sums={"spent": (0, 500)}, count=True,
    by={"region": ["n", "s"]}, where="age > 3", guarantee=gm.Guarantee(mu=1),
)  # fmt: skip
REPLACED = gm.Request(
    "people.csv", means={"age": (20, 100)}, neighbours="replace-one", guarantee=gm.Guarantee(mu=1), complete=["age"]
)


def square(request, pair):
    seen = [
        watch(lambda frame=frame: mechanism.release(mechanism.prepare_request(request.plan, frame)), zero=True)
        for frame in pair
    ]
    return square_between(request.plan, *seen)


@settings(max_examples=40, deadline=None)
@given(neighbours(PEOPLE, text_ids=True))
def test_one_more_person_stays_within_the_charge(pair):
    one, other = pair
    assert set(one["person"].drop_nulls()) <= set(other["person"].drop_nulls())
    assert len(set(other["person"].drop_nulls()) - set(one["person"].drop_nulls())) == 1
    assert square(PEOPLE, pair) <= 1


@settings(max_examples=30, deadline=None)
@given(neighbours(REPLACED))
def test_another_person_stays_within_the_charge(pair):
    assert pair[0].height == pair[1].height
    assert square(REPLACED, pair) <= 1


def test_pairs_can_be_written_and_read_in_every_format(tmp_path):
    import polars as pl

    frame = pl.DataFrame({"age": [30.0, 50.0]})
    for suffix in SUFFIXES:
        path = write(frame, tmp_path / f"people{suffix}")
        request = gm.Request(str(path), sums={"age": (20, 100)}, guarantee=gm.Guarantee(mu=1))
        assert watch(lambda r=request: gm.release(r), zero=True).release.values[0] == pytest.approx(80, abs=1e-3)
    with pytest.raises(ValueError, match="is not one of"):
        write(frame, tmp_path / "people.txt")

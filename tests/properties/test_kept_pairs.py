"""Each person keeps the pairs with the largest weights, whatever the ids are and however the pairs come."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaussmith.totals import groups as ranking
from gaussmith.totals.groups import find_kept

IDS: dict[str, Any] = {
    "small": lambda k: k,
    "far apart": lambda k: k * (1 << 58) - (1 << 62),
    "text": lambda k: f"person {k}",
}
PAIRS = st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=40)


def kept_by_sorting(people: list[int], weights: list[int], most: int) -> list[int]:
    """Person by person, from the heaviest down."""
    places = sorted(range(len(people)), key=lambda i: -weights[i])
    rank = {i: sum(people[j] == people[i] for j in places[:at]) for at, i in enumerate(places)}
    return [i for i in range(len(people)) if rank[i] < most and weights[i] > 0]


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("piece", [1, 3, ranking.PIECE])
@given(pairs=PAIRS, most=st.integers(1, 4), large=st.sampled_from([0, 1 << 30, 1 << 61]))
def test_the_heaviest_pairs_are_kept(
    kind: str, piece: int, pairs: list[tuple[int, bool]], most: int, large: int
) -> None:
    people = [who for who, _ in pairs]
    weights = [0 if is_gone else large + place + 1 for place, (_, is_gone) in enumerate(pairs)]
    named = pl.Series(map(IDS[kind], people), dtype=pl.String if kind == "text" else pl.Int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "PIECE", piece)
        found = find_kept(named, np.array(weights, np.int64), most)
    assert sorted(found.tolist()) == kept_by_sorting(people, weights, most)

"""A few visits of a few people, and what is answered about them when there is hardly any noise."""

from __future__ import annotations

from typing import Any

import polars as pl

import gaussmith as gm

G = gm.Guarantee(epsilon=1, delta=1e-6)
LOUD = gm.Guarantee(mu=1e6)  # hardly any noise: to see what is answered

VISITS = pl.DataFrame(
    {
        "person": ["ada", "ada", "ada", "ada", "bob", "cyd", None],
        "region": ["north", "north", "south", "north", "south", "west", "south"],
        "spent": [400.0, 200.0, -50.0, None, 20.0, 70.0, 90.0],
        "score": [10.0, 20.0, 30.0, 60.0, 8.0, 44.0, 1.0],
        "age": [36, 36, 36, 36, 17, 50, 60],
    }
)


def ask(source: Any = VISITS, guarantee: gm.Guarantee = LOUD, **fields: Any) -> Any:
    return gm.release(gm.Request(source, guarantee=guarantee, **fields))


def rounded(release: Any) -> dict[str, float]:
    return {answer.name: round(answer.value, 2) for answer in release}

"""Ours: one question about found keys, the count alone."""

from __future__ import annotations

from collections.abc import Mapping

from keys_child import DELTA, EPSILON, measure

import gaussmith as gm


def release(path: str, most: int) -> Mapping[str, float]:
    guarantee = gm.Guarantee(epsilon=EPSILON, delta=DELTA)
    request = gm.Request(
        path, unit="person", by={"key": "found"}, groups_per_unit=most, count=True, guarantee=guarantee
    )
    found = gm.release(request)
    return {label[0]: value for label, value in zip(found.labels, found.values[:, 0].tolist(), strict=True)}


if __name__ == "__main__":
    measure(release, "gaussmith", "polars", "numpy")

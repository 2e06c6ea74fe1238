"""The types of a part: how many of a person's groups hold each corner, all of them listed.

By convexity only corners matter, and by symmetry only how many groups hold each. Under replace-one a group that is kept
can differ by ±2 in every column or by anything between, so that as many are kept as can be.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.parts import Part


def count_types(part: Part, replaced: bool, limited: bool = False) -> int:
    """How many rows `list_types` would list."""
    corners = 2**part.columns
    if not replaced:
        return sum(ways(k, corners) for k in range(part.fewest, part.most + 1))
    return sum(
        (ways(kept, corners) if part.columns else 1) * ways(gained, corners) * ways(lost, corners)
        for gained, lost, kept in changes(part, limited)
    )


def list_types(part: Part, replaced: bool, limited: bool = False) -> tuple[Array, Array]:
    """What a group can hold, a row each: (z, 1), or a difference of two such; and every type, a row of counts each.

    `limited`: the part is in a family, and under replace-one how many groups are kept is listed too.
    """
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=part.columns))).reshape(2**part.columns, -1)
    here = np.hstack([part.corners(signs), np.ones((len(signs), 1))])
    if not replaced:
        return here, np.vstack([spread_over(k, len(here)) for k in range(part.fewest, part.most + 1)])
    assert not part.counts_rows, "rows are counted under add-remove only"
    kept = np.hstack([2.0 * signs, np.zeros((len(signs), 1))])
    if part.always:
        return kept, np.eye(len(kept))
    kept = kept if part.columns or limited else kept[:0]
    types = []
    for gained, lost, both in changes(part, limited):
        lists = [spread_over(both, len(kept)) if len(kept) else np.zeros((1, 0))]
        lists += [spread_over(gained, len(here)), spread_over(lost, len(here))]
        at = np.indices([len(each) for each in lists]).reshape(3, -1)
        types.append(np.hstack([each[i] for each, i in zip(lists, at, strict=True)]))
    return np.vstack([kept, here, -here]), np.vstack(types)


def changes(part: Part, limited: bool = False) -> list[tuple[int, int, int]]:
    """Under replace-one: how many groups a person gains, loses, and at most keeps; where `limited`, or fewer."""
    found = []
    for gained in range(part.most + 1):
        for lost in range(min(part.most, part.groups - gained) + 1):
            kept = min(part.most - max(gained, lost), part.groups - gained - lost)
            if limited:
                found += [(gained, lost, fewer) for fewer in range(kept + 1)]
            elif kept + min(gained, lost) >= part.fewest:
                found.append((gained, lost, kept))
    return found


def states_of(corners: Array, counts: Array) -> Array:
    """A row per type: how many groups are gained, lost and kept, as far as that is listed."""
    return np.stack([counts[:, corners[:, -1] == sign].sum(axis=1) for sign in (1.0, -1.0, 0.0)], axis=1)


def spread_over(groups: int, corners: int) -> Array:
    """All ways to spread so many groups over corners, a row each.

    >>> spread_over(2, 2)
    array([[0., 2.],
           [1., 1.],
           [2., 0.]])
    """
    rows, left = np.zeros((1, 0)), np.array([groups])
    for _ in range(corners - 1):
        at = np.repeat(np.arange(len(rows)), left + 1)
        first = np.concatenate([[0], np.cumsum(left + 1)[:-1]])
        taken = np.arange(len(at)) - first[at]
        rows, left = np.hstack([rows[at], taken[:, None]]), left[at] - taken
    return np.hstack([rows, left[:, None].astype(float)])


def ways(groups: int, corners: int) -> int:
    """How many rows `spread_over` lists."""
    return math.comb(groups + corners - 1, corners - 1)

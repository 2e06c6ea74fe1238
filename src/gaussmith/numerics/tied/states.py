"""The states of a part: how many groups a person gains, loses and keeps, all that a largest norm may need."""

from __future__ import annotations

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.parts import Part
from gaussmith.numerics.tied.types import changes, spread_over, ways

MAX_STATES = 2_000_000
"""Limit on the numbers of groups, of several parts jointly where they are tied."""


def list_states(part: Part, replaced: bool, few: bool) -> Array:
    """How many groups a person gains, loses and keeps, a row each; `few`: as many as a value linear in them needs.

    Given the net number gained, such a value is linear in the number lost up to where the groups run out (lost =
    groups − most) and from there on: its largest is at an end of one of the two.
    """
    limit(part.most + 1, MAX_STATES)
    if not replaced:
        k = np.arange(part.fewest, part.most + 1.0)[:, None]
        if not part.counts_rows:
            return np.hstack([k, 0.0 * k, 0.0 * k])
        limit(ways(part.most, 3), MAX_STATES)
        return np.vstack([spread_over(int(n), 2) for (n,) in k])  # with all rows, and with one
    if not few or part.fewest:
        limit((part.most + 1) ** 2, MAX_STATES)
        return np.array(changes(part), float).reshape(-1, 3)
    g, m = part.groups, part.most
    net = np.repeat(np.arange(m + 1), 3)
    end = np.minimum(m - net, (g - net) // 2)
    lost = np.where(
        np.arange(len(net)) % 3 == 0, 0, np.where(np.arange(len(net)) % 3 == 1, end, np.minimum(g - m, end))
    )
    kept = np.minimum(m - net - lost, g - net - 2 * lost)
    more = np.stack([net + lost, lost, kept], axis=1).astype(float)
    return np.unique(np.vstack([more, more[:, [1, 0, 2]]]), axis=0)


def all_states(part: Part) -> Array:
    """The same of a part in a family, under replace-one: all numbers, as what is kept takes from a common limit."""
    limit((part.most + 1.0) ** 3, MAX_STATES)
    return np.array(changes(part, limited=True), float).reshape(-1, 3)


def one_row(part: Part) -> float:
    """t of a person with one row, rounded down so far that all sums of it over groups are exact.

    With t from here to 1 there are more people than with t from 1/k: the bound can only grow.
    """
    unit = 1 << 52 - (2 * part.most).bit_length()
    return unit // part.max_rows / unit


def limit(size: float, most: int) -> None:
    """Refuse a lift that would be certified in more ways than these."""
    if size > most:
        raise PlanError(
            f"a lift that ties questions in {size:.3g} ways",
            f"its largest norm is certified by visiting at most {most:.3g}",
            "plan the questions with fewer ties",
            code="tied-lift-too-large-to-certify",
        )

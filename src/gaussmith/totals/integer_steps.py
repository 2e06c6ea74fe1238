"""What both ways of adding up people share: the inputs of features, weights of groups, and totals from summed limbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.engines.engine import GroupTotals, Totals, Words
from gaussmith.totals.features import (
    Contribution,
    Feature,
    Input,
    PersonProduct,
    ProductInput,
    RowProduct,
    factors_of,
)

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]

MAX_RANKED_ROWS = 1 << 38
"""Limit on the rows of a person in a group by which its groups are ranked."""

Layout = tuple[tuple[tuple[str, int], ...], ...]
"""For each feature the columns that hold its limbs, each with the number of bits it is shifted by."""


def inputs_of(added: Contribution) -> dict[Input, int]:
    """What is read and coded row by row, with its place; products of two columns of a row come last."""
    factors = [f for feature in added.features for f in factors_of(feature)]
    read = dict.fromkeys(f.input for f in factors if f.input is not None)
    of_rows = PersonProduct | RowProduct if added.unit is None else RowProduct
    read |= dict.fromkeys(f.input for f in added.features if isinstance(f, of_rows) and f.input is not None)
    return {each: j for j, each in enumerate(read)}


def plain_inputs(inputs: Mapping[Input, int]) -> dict[Input, int]:
    """Those that are read from a column."""
    return {each: j for each, j in inputs.items() if not isinstance(each, ProductInput)}


def place_of(feature: Feature, inputs: Mapping[Input, int]) -> int:
    return -1 if feature.input is None else inputs[feature.input]


def totals_of_limbs(whole: Mapping[str, Words], layout: Layout) -> Sequence[Totals]:
    """The totals of groups from the summed limbs of each, and n."""
    groups = len(whole["n"])
    largest = {name: int(np.abs(values).max(initial=0)) for name, values in whole.items()}
    if all(sum(largest[name] << shift for name, shift in parts) < 1 << 62 for parts in layout):
        sums = [sum((whole[name] << shift for name, shift in parts), np.zeros(groups, np.int64)) for parts in layout]
        return GroupTotals(np.array(sums, np.int64).reshape(len(layout), groups).T, whole["n"])
    lists = {name: values.tolist() for name, values in whole.items()}
    return [
        Totals([sum(lists[name][g] << shift for name, shift in parts) for parts in layout], lists["n"][g])
        for g in range(groups)
    ]


def weigh_group(groups: int) -> nw.Expr:
    """The weight of a person's group g with n rows, by which its groups are ranked: n·groups − g, in 64 bits.

    No two groups of a person have the same. Rows above 2^38 (above 2^62 / groups if that is less) are not told apart.
    """
    import narwhals as nw

    most = weight_limit(groups)
    rows = nw.when(nw.col("n") < most).then(nw.col("n")).otherwise(nw.lit(most))
    return rows * groups - nw.col("g")


def weight_limit(groups: int) -> int:
    """The number of rows from which on they are not told apart."""
    return min(MAX_RANKED_ROWS, (1 << 62) // groups)

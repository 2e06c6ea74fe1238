"""Groups of rows, each of which is a person: values come here in batches, and are added up by the place of their group.

The codes are those of `features`, in the same two limbs of 21 bits. Limbs are added up as doubles within a batch, where
2^32 of them are exact, and over batches in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.declared_values import frame_places, valued_columns
from gaussmith.engines.engine import Engine, Totals, Words
from gaussmith.expressions import GroupKeys, as_number, kinds_of
from gaussmith.totals.features import CODE_LIMB, Coding, Contribution, ProductInput
from gaussmith.totals.integer_steps import inputs_of, totals_of_limbs
from gaussmith.totals.limbs import feature_limbs

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    Frame = nw.LazyFrame[Any]

MAX_COMBINATIONS = 1 << 22
"""Limit on the combinations of keys of several columns that are looked up in a table."""

MIN_ROWS, MAX_ROWS = 1 << 15, 1 << 20
"""Limits on the rows that are added up at a time."""


def add_rows(frame: Frame, added: Contribution, groups: GroupKeys, engine: Engine) -> Sequence[Totals] | None:
    """The exact totals of each declared group, in order, where each row is a person.

    None where another way is better: of texts that the engine would have to hand over, and of too many combinations.
    """

    columns = _columns_of(groups)
    if any(kind in ("text", "object") for kind in groups.kinds) and not engine.hands_over_texts:
        return None
    if math.prod(len(column.codes) for column in columns) > MAX_COMBINATIONS:
        return None
    inputs, find = inputs_of(added), _group_finder(groups, columns)
    kinds = kinds_of(frame.collect_schema())
    plain = {j: each for each, j in inputs.items() if not isinstance(each, ProductInput)}
    crossed = {
        j: (inputs[each.first], inputs[each.second]) for each, j in inputs.items() if isinstance(each, ProductInput)
    }
    numbers = [as_number(each.column, kinds[each.column]).alias(f"x{j}") for j, each in plain.items()]
    values = valued_columns(frame, columns, numbers)
    size = len(groups.codes)
    whole = {"n": np.zeros(size, np.int64)}
    whole |= {f"{limb}{j}": np.zeros(size, np.int64) for j in inputs.values() for limb in "hl"}
    for batch in engine.batches(values, max(MIN_ROWS, min(8 * size, MAX_ROWS))):
        at = find(batch) + 1  # the first counts what is not declared
        whole["n"] += np.bincount(at, minlength=size + 1)[1:]
        codes = {j: _codes(each.coding, batch[f"x{j}"]) for j, each in plain.items()}  # type: ignore[attr-defined]
        codes |= {j: codes[a] * codes[b] for j, (a, b) in crossed.items()}  # of 21 bits each: exact
        for j, code in codes.items():
            high = np.floor(code * 2.0**-CODE_LIMB)
            for limb, part in (("h", high), ("l", code - high * 2.0**CODE_LIMB)):
                whole[f"{limb}{j}"] += np.bincount(at, part, size + 1)[1:].astype(np.int64)
    return totals_of_limbs(whole, feature_limbs(frame, added, ())[1])


def _codes(coding: Coding, column: pl.Series) -> npt.NDArray[np.float64]:
    """The codes of numbers, as `Coding.code` spells them for engines."""
    x = column.to_numpy()
    with np.errstate(all="ignore"):
        code = np.clip(x, coding.low, coding.top)
        if coding.low:
            code -= coding.low
        code *= coding.scale
        code += 0.5
        np.floor(code, out=code)
        if np.isnan(code.sum()):
            missing = np.clip(coding.substitute, coding.low, coding.top)
            np.copyto(code, np.floor((missing - coding.low) * coding.scale + 0.5), where=np.isnan(code))
    return np.asarray(code, np.float64)


def _columns_of(groups: GroupKeys) -> list[GroupKeys]:
    """The different keys of each column by itself."""
    if len(groups.columns) == 1:
        return [groups]
    cuts = dict(groups.cuts)
    found = []
    for j, (name, kind) in enumerate(zip(groups.columns, groups.kinds, strict=True)):
        codes = tuple(dict.fromkeys((code[j],) for code in groups.codes))
        found.append(GroupKeys((name,), codes, (kind,), codes, ((name, cuts[name]),) if name in cuts else ()))
    return found


def _group_finder(groups: GroupKeys, columns: Sequence[GroupKeys]) -> Callable[[pl.DataFrame], Words]:
    """What finds the group of each row, by the places of its keys in their columns; −1 if it is not declared."""
    find = frame_places(columns)
    if len(columns) == 1:  # no two groups have the same key
        return lambda batch: find(batch)[:, 0]
    sizes = [len(column.codes) for column in columns]
    places = [{code: i for i, (code,) in enumerate(column.codes)} for column in columns]
    table = np.full(math.prod(sizes), -1, np.int64)
    at = [[place[code[j]] for code in groups.codes] for j, place in enumerate(places)]
    table[np.ravel_multi_index(at, sizes)] = np.arange(len(groups.codes))

    def find_groups(batch: pl.DataFrame) -> Words:
        each = find(batch)
        declared = (each >= 0).all(axis=1)
        return np.where(declared, table[np.ravel_multi_index(np.maximum(each, 0).T, sizes)], -1)

    return find_groups

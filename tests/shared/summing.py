"""Sums over people and groups of narwhals frames, by the engine that the frame belongs to."""

from __future__ import annotations

from typing import Any

from gaussmith.engines.engine import Engine, Totals
from gaussmith.engines.registry import engine_of
from gaussmith.expressions import GroupKeys
from gaussmith.totals import groups, limbs
from gaussmith.totals.features import Units


def engine_under(frame: Any) -> Engine:
    engine = engine_of(frame.to_native())
    assert engine is not None
    return engine


def unit_totals(frame: Any, units: Units) -> Totals:
    return limbs.unit_totals(frame, units, engine_under(frame))


def group_totals(frame: Any, units: Units, keys: GroupKeys, groups_per_unit: int = 1) -> list[Totals]:
    return groups.group_totals(frame, units, keys, engine_under(frame), groups_per_unit)

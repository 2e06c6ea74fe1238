"""The only file where data meets noise: code → sum → lift → noise → decode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.addresses import short_name
from gaussmith.domains import Cells, Counts, People
from gaussmith.errors import PlanError
from gaussmith.grid import NOISE_BITS
from gaussmith.group_plans import GroupPlan
from gaussmith.group_releases import GroupRelease
from gaussmith.noise import normal_integers
from gaussmith.numerics.linear import Integers, Words
from gaussmith.plans import Plan
from gaussmith.readings import Reading
from gaussmith.releases import Release
from gaussmith.source_tables import read_source
from gaussmith.sums import Source, Totals, open_source
from gaussmith.sums.forms import PAIRS, Opened, open_form, total_form
from gaussmith.sums.readings import Table, columns_read, open_table, total_table
from gaussmith.sums.rehearsals import rehearse_form, rehearse_table
from gaussmith.sums.sources import check_once

Progress = Callable[[float | None], None]


def release(
    plan: Plan,
    data: Any,
    columns: Sequence[str] | None = None,
    progress: Progress | None = None,
    form: str | None = None,
) -> Release:
    """The planned answers with exact noise. Checks everything public first; then reads the data once.

    Guarantee: exactly μ-GDP for the plan's neighbours, μ the plan's guarantee.
    """
    return release_opened(plan, prepare(plan, data, columns, form), progress)


def release_opened(plan: Plan, opened: Opened, progress: Progress | None = None) -> Release:
    """The planned answers from a source that `prepare` has opened."""
    made = release_totals(plan, total_form(opened, progress))
    unit = opened.columns[0] if opened.form == PAIRS and opened.columns else None
    told = Reading((), unit).identified(opened.source.told_ids(unit), opened.source.told_query)
    return replace(made, reading=told) if told.ids or told.query else made


def release_table(
    plan: Plan | GroupPlan, table: Table, reading: Reading, progress: Progress | None = None
) -> Release | GroupRelease:
    """The planned answers from a table that `prepare_table` has opened."""
    totals = total_table(table, progress)
    each = plan.each if isinstance(plan, GroupPlan) else plan
    is_text = table.source.is_text or not table.source.texts.isdisjoint(reading.names)
    reading = tell_source(table, reading).opened(table.source.name, is_text, each.substitutes)
    if isinstance(plan, GroupPlan):
        return replace(release_group_totals(plan, totals), reading=reading)
    return replace(release_totals(plan, totals[0]), reading=reading)


def tell_source(table: Table, reading: Reading) -> Reading:
    """The reading with what is to be said of the opened source: how ids are compared, and whether it is a query."""
    return reading.identified(table.source.told_ids(reading.unit), table.source.told_query)


def open_data(data: Any, readings: Sequence[Reading], engine: str | None = None, master: str | None = None) -> Source:
    """The opened source of several readings: names and types. Files are read by `engine`, with Spark at `master`."""
    columns = dict.fromkeys(name for reading in readings for name in columns_read(reading))
    source = open_source(data, engine, master, tuple(columns))
    check_once(source, len(readings))
    return replace(source, name=short_name(read_source(data).data))


def prepare(plan: Plan, data: Any, columns: Sequence[str] | None = None, form: str | None = None) -> Opened:
    """The opened source and the columns to read; refuses what does not fit. No data value is read."""
    if isinstance(plan.domain, People):
        raise PlanError(
            "a plan for people with many rows",
            "it must be said whose rows are whose",
            "release the request it came from: gaussmith.release(request)",
        )
    if form == PAIRS and plan.public_count:
        raise PlanError(
            'form="pairs" under replace-one',
            "there the number of people is public, and in pairs a person without items has no row to be counted by",
            'plan with neighbours="add-remove", or pass one row per person and one column per item',
        )
    plan.certify()  # before anything is opened
    opened = open_form(data, plan.domain, plan.codes, columns, form)
    rehearse_form(opened)
    return opened


def prepare_table(plan: Plan | GroupPlan, data: Any, reading: Reading) -> Table:
    """The opened table, checked against the reading and the plan. No data value is read."""
    plan.certify()  # before anything is opened
    each, groups = (plan.each, plan.groups) if isinstance(plan, GroupPlan) else (plan, None)
    values = () if reading.histogram is None else _values(each)
    table = open_table(data, reading, each.codes, each.substitutes, groups, values)
    rehearse_table(table)
    return table


def _values(plan: Plan) -> Sequence[Any]:
    """The declared values of a histogram."""
    domain = plan.domain
    labels = domain.values[0] if isinstance(domain, Cells) else domain.labels if isinstance(domain, Counts) else None
    if labels is None:
        raise PlanError("a histogram without values", "they are declared in the plan", "plan the request again")
    return labels


def release_totals(plan: Plan, totals: Totals) -> Release:
    """Noise meets the exact sums, here and nowhere else."""
    if len(totals.sums) != plan.codes.width:
        raise PlanError("sums that do not fit the plan", "there is one per coordinate", "sum with the plan's codes")
    lifted = plan.grid.lifted(plan.codes, totals.sums, totals.records)
    noisy = add(lifted, normal_integers(len(lifted), NOISE_BITS))
    features = plan.shape.features.times(noisy.astype(float) / plan.grid.scale)
    public = totals.records if plan.public_count else None
    if public is not None and plan.shape.public is not None:
        features = features + public * plan.shape.public
    return Release(plan, features, public)


def release_group_totals(plan: GroupPlan, totals: Sequence[Totals]) -> GroupRelease:
    """Fresh noise for every declared group, empty or not, in one draw."""
    each = plan.each
    if len(totals) != plan.groups.size:
        raise PlanError("sums that do not fit the groups", "there is one for every declared group", "sum by group")
    lifted = [each.grid.lifted(each.codes, found.sums, found.records) for found in totals]
    m = each.grid.lift.shape[0]
    noise = normal_integers(len(totals) * m, NOISE_BITS).reshape(len(totals), m)
    noisy = [add(y, z).astype(float) / each.grid.scale for y, z in zip(lifted, noise, strict=True)]
    return GroupRelease(plan, np.array([each.shape.features.times(y) for y in noisy]))


def add(lifted: Integers, noise: Words) -> npt.NDArray[Any]:
    """Exact integers plus exact integers: lifted words stay below 2^61, noise below 2^60, so words cannot overflow."""
    if isinstance(lifted, np.ndarray):
        return lifted + noise
    return np.array([y + z for y, z in zip(lifted, noise.tolist(), strict=True)], dtype=object)

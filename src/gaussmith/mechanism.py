"""The only file where data meets noise: code → sum → lift → noise → decode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.addresses import short_name
from gaussmith.errors import PlanError
from gaussmith.noise import normal_integers
from gaussmith.numerics.linear import Array, Integers, Words
from gaussmith.plans import Block, Draw, Plan
from gaussmith.plans.grid import NOISE_BITS
from gaussmith.readings import Reading
from gaussmith.releases import Release
from gaussmith.source_tables import read_source
from gaussmith.sums import Source, Totals, open_source
from gaussmith.sums.forms import PAIRS, Opened, open_form, total_form
from gaussmith.sums.readings import Table, columns_read, open_table, total_table
from gaussmith.sums.rehearsals import rehearse_form, rehearse_table
from gaussmith.sums.sources import check_once

Progress = Callable[[float | None], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan and the opened source of each of its draws; no data value has been read."""

    plan: Plan
    sources: tuple[Table | Opened, ...]


def prepare(plan: Plan, data: Any, columns: Sequence[str] | None = None, form: str | None = None) -> Prepared:
    """Open plain data for a plan of one draw; refuses what does not fit. No data value is read.

    `columns` names the columns of the domain's coordinates where they differ from its own names; `form` says how items
    and ballots are written.
    """
    plan.certify()  # before anything is opened
    draw = plan.draw
    if len(plan.slots) != 1:
        raise PlanError(
            f"a plan of {len(plan.slots)} questions, of which one is chosen",
            "they are released together",
            "release the request it came from: gaussmith.release(request)",
        )
    block = draw.block
    block.domain.check_plain()
    if form == PAIRS and block.public_count:
        raise PlanError(
            'form="pairs" under replace-one',
            "there the number of people is public, and in pairs a person without items has no row to be counted by",
            'plan with neighbours="add-remove", or pass one row per person and one column per item',
        )
    if draw.groups is None:
        opened = open_form(data, block.domain, block.codes, columns, form)
        rehearse_form(opened)
        return Prepared(plan, (opened,))
    names = list(columns) if columns is not None else [block.domain.name(j) for j in range(block.domain.dimension)]
    reading = Reading(tuple(("total", name) for name in names), by=draw.groups.columns)
    return Prepared(plan, (_open_draw(replace(draw, reading=reading), data),))


def prepare_request(plan: Plan, data: Any, engine: str | None = None, master: str | None = None) -> Prepared:
    """Open the table of a request once for all draws of its plan; refuses what does not fit. No data value is read.

    Files are read by `engine`, with Spark at `master`.
    """
    plan.certify()  # before anything is opened
    readings = [_reading(draw) for draw in plan.draws]
    columns = dict.fromkeys(name for reading in readings for name in columns_read(reading))
    source = open_source(data, engine, master, tuple(columns))
    check_once(source, len(readings))
    named = replace(source, name=short_name(read_source(data).data))
    return Prepared(plan, tuple(_open_draw(draw, named) for draw in plan.draws))


def _reading(draw: Draw) -> Reading:
    if draw.reading is None:
        raise PlanError("a plan that is not a request's", "it does not say how a table is read", "use plan.release")
    return draw.reading


def _open_draw(draw: Draw, data: Any | Source) -> Table:
    reading, block = _reading(draw), draw.block
    values = () if reading.histogram is None else _values(block)
    table = open_table(data, reading, block.codes, block.substitutes, draw.groups, values)
    rehearse_table(table)
    return table


def _values(block: Block) -> Sequence[Any]:
    """The declared values of a histogram."""
    labels = block.domain.declared_values
    if labels is None:
        raise PlanError("a histogram without values", "they are declared in the plan", "plan the request again")
    return labels


def release(prepared: Prepared, progress: Progress | None = None) -> Release:
    """The planned answers with exact noise. Reads the data once for each draw.

    Guarantee: exactly μ-GDP for the plan's neighbours, μ the plan's guarantee.
    """
    totals = []
    for source in prepared.sources:
        totals.append([total_form(source, progress)] if isinstance(source, Opened) else total_table(source, progress))
    return replace(release_totals(prepared.plan, totals), readings=told_readings(prepared))


def told_readings(prepared: Prepared) -> tuple[Reading | None, ...]:
    """How the records of each draw come from its source, with what the schema says; None where nothing is to be said.

    That is: how ids are compared, whether the rows are those of a query, and what stands in for missing text.
    """
    return tuple(
        _told_form(source) if isinstance(source, Opened) else _told_table(source, draw.block)
        for draw, source in zip(prepared.plan.draws, prepared.sources, strict=True)
    )


def _told_form(opened: Opened) -> Reading | None:
    unit = opened.columns[0] if opened.form == PAIRS and opened.columns else None
    told = Reading((), unit).identified(opened.source.told_ids(unit), opened.source.told_query)
    return told if told.ids or told.query else None


def _told_table(table: Table, block: Block) -> Reading:
    source, reading = table.source, table.reading
    is_text = source.is_text or not source.texts.isdisjoint(reading.names)
    told = reading.identified(source.told_ids(reading.unit), source.told_query)
    return told.opened(source.name, is_text, block.substitutes)


def release_totals(plan: Plan, totals: Sequence[Sequence[Totals]]) -> Release:
    """Noise meets the exact sums, here and nowhere else: of each draw those of every group, in order."""
    found = [_release_draw(draw, each) for draw, each in zip(plan.draws, totals, strict=True)]
    noisy, records = zip(*found, strict=True)
    return Release(plan, noisy, records, (None,) * len(found))


def _release_draw(draw: Draw, totals: Sequence[Totals]) -> tuple[Array, int | None]:
    """The noisy features of one draw, fresh noise for every group, empty or not; and the public number of records."""
    block = draw.block
    if len(totals) != draw.size:
        raise PlanError("sums that do not fit the groups", "there is one for every declared group", "sum by group")
    if any(len(found.sums) != block.codes.width for found in totals):
        raise PlanError("sums that do not fit the plan", "there is one per coordinate", "sum with the plan's codes")
    lifted = [block.grid.lifted(block.codes, found.sums, found.records) for found in totals]
    m = block.grid.lift.shape[0]
    noise = normal_integers(len(totals) * m, NOISE_BITS).reshape(len(totals), m)
    noisy = (add(y, z).astype(float) / block.grid.scale for y, z in zip(lifted, noise, strict=True))
    features = np.array([block.shape.features.times(y) for y in noisy])
    public = totals[0].records if block.public_count else None
    if public is not None and block.shape.public is not None:
        features = features + public * block.shape.public
    return features, public


def add(lifted: Integers, noise: Words) -> npt.NDArray[Any]:
    """Exact integers plus exact integers: lifted words stay below 2^61, noise below 2^60, so words cannot overflow."""
    if isinstance(lifted, np.ndarray):
        return lifted + noise
    return np.array([y + z for y, z in zip(lifted, noise.tolist(), strict=True)], dtype=object)

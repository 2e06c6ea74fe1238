"""The only file where data meets noise: code → sum → lift → noise → decode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.addresses import short_name
from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import check_once
from gaussmith.engines.source_description import read_source
from gaussmith.errors import PlanError
from gaussmith.noise import normal_integers
from gaussmith.numerics.linear import Array, Integers, Words
from gaussmith.plans import Draw, Plan
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.plans.row_rule import PAIRS, RowRule
from gaussmith.releases import Release
from gaussmith.totals.opened import Opened, columns_read, open_data, plain_rule, total
from gaussmith.totals.rehearsal import rehearse


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan and the opened source of each of its draws; no data value has been read."""

    plan: Plan
    sources: tuple[Opened, ...]


def prepare(plan: Plan, data: Any, columns: Sequence[str] | None = None, form: str | None = None) -> Prepared:
    """Open plain data for a plan of one draw; refuses what does not fit. No data value is read.

    `columns` names the columns of the domain's coordinates where they differ from its own names; `form` says how items
    and ballots are written.
    """
    plan.certify()  # before anything is opened
    draw = plan.draw
    if len(plan.slots) != 1:
        raise PlanError(
            f"a plan of {len(plan.slots)} questions, with one chosen",
            "its questions are released together",
            "release the request it came from: gaussmith.release(request)",
            code="question-released-alone",
            questions=len(plan.slots),
        )
    block = draw.block
    block.domain.check_plain()
    if form == PAIRS and block.public_count:
        raise PlanError(
            'form="pairs" under replace-one',
            "the number of people is public, and in pairs a person without items has no row",
            'plan with neighbours="add-remove", or pass one row per person and one column per item',
            code="pairs-under-replace-one",
        )
    return Prepared(plan, (_open(data, replace(draw, row_rule=plain_rule(draw, columns, form))),))


def prepare_request(plan: Plan, data: Any, engine: str | None = None, master: str | None = None) -> Prepared:
    """Open the table of a request once for all draws of its plan; refuses what does not fit. No data value is read.

    Files are read by `engine`, with Spark at `master`.
    """
    plan.certify()  # before anything is opened
    rules = [draw.row_rule for draw in plan.draws if draw.row_rule is not None]
    columns = dict.fromkeys(name for rule in rules for name in columns_read(rule))
    source = open_source(data, engine, master, tuple(columns))
    check_once(source, len(rules))
    named = replace(source, name=short_name(read_source(data).data))
    return Prepared(plan, tuple(_open(named, draw) for draw in plan.draws))


def _open(data: Any, draw: Draw) -> Opened:
    opened = open_data(data, draw)
    rehearse(opened)
    return opened


def release(prepared: Prepared, progress: Progress | None = None) -> Release:
    """The planned answers with exact noise. Reads the data once for each draw.

    Guarantee: exactly μ-GDP for the plan's neighbours, μ the plan's guarantee.
    """
    totals = [total(opened, progress) for opened in prepared.sources]
    return replace(release_totals(prepared.plan, totals), row_rules=told_rules(prepared))


def told_rules(prepared: Prepared) -> tuple[RowRule | None, ...]:
    """The row rule of each draw with what its source's schema says; None where nothing is to be said."""
    draws = prepared.plan.draws
    return tuple(opened.told_rule(draw.block.substitutes) for draw, opened in zip(draws, prepared.sources, strict=True))


def release_totals(plan: Plan, totals: Sequence[Sequence[Totals]]) -> Release:
    """Noise meets the exact sums, here and nowhere else: of each draw those of every group, in order."""
    found = [_release_draw(draw, each) for draw, each in zip(plan.draws, totals, strict=True)]
    noisy, records = zip(*found, strict=True)
    return Release(plan, noisy, records, (None,) * len(found))


def _release_draw(draw: Draw, totals: Sequence[Totals]) -> tuple[Array, int | None]:
    """The noisy features of one draw, fresh noise for every group, empty or not; and the public number of records."""
    block = draw.block
    if len(totals) != draw.size:
        what = "sums that do not fit the groups"
        raise PlanError(
            what, "there must be one for every declared group", "sum by group", code="sums-do-not-match-groups"
        )
    if any(len(found.sums) != block.codes.width for found in totals):
        what = "sums that do not fit the plan"
        raise PlanError(
            what, "there must be one per coordinate", "sum with the plan's codes", code="sums-do-not-match-plan"
        )
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

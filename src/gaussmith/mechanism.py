"""The only file where data meets noise: code → sum → lift → noise → decode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.engines.addresses import short_name
from gaussmith.engines.engine import Progress, Totals
from gaussmith.engines.failures import data_error
from gaussmith.engines.registry import open_source
from gaussmith.engines.source import check_once
from gaussmith.engines.source_description import read_source
from gaussmith.errors import PlanError
from gaussmith.noise import normal_integers
from gaussmith.numerics.linear import Array, Integers, Words
from gaussmith.numerics.products import python
from gaussmith.plans import Draw, Plan
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.plans.draw import AnyTie
from gaussmith.plans.row_rule import PAIRS, RowRule
from gaussmith.plans.tied_people import counts_everybody
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
    rules = (plain_rule(draw, columns, form), *(RowRule(()) for _ in plan.draws[1:]))  # others count people for a tie
    return Prepared(plan, tuple(_open(data, replace(d, row_rule=r)) for d, r in zip(plan.draws, rules, strict=True)))


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
    for draw, each in zip(plan.draws, totals, strict=True):
        _check_sums(draw, each)
    found = {i: _release_draw(draw, totals[i]) for i, draw in enumerate(plan.draws) if draw.tie is None}
    for tie in plan.ties:
        members = [(plan.draws[i], totals[i]) for i in tie.members]
        found |= zip(tie.members, ((features, None) for features in _release_tie(tie, members)), strict=True)
    noisy, records = zip(*(found[i] for i in range(len(plan.draws))), strict=True)
    return Release(plan, noisy, records, (None,) * len(found))


def _check_sums(draw: Draw, totals: Sequence[Totals]) -> None:
    """Refuse sums of other groups or other coordinates."""
    if len(totals) != draw.size:
        raise PlanError(
            "sums that do not fit the groups",
            "there must be one for every declared group",
            "sum by group",
            code="sums-do-not-match-groups",
        )
    if any(len(found.sums) != draw.block.codes.width for found in totals):
        raise PlanError(
            "sums that do not fit the plan",
            "there must be one per coordinate",
            "sum with the plan's codes",
            code="sums-do-not-match-plan",
        )


def _release_draw(draw: Draw, totals: Sequence[Totals]) -> tuple[Array, int | None]:
    """The noisy features of one draw, fresh noise for every group, empty or not; and the public number of records."""
    block = draw.block
    lifted = [block.grid.lifted(block.codes, found.sums, found.records) for found in totals]
    m = block.grid.lift.shape[0]
    noise = normal_integers(len(totals) * m, NOISE_BITS).reshape(len(totals), m)
    noisy = (add(y, z).astype(float) / block.grid.scale for y, z in zip(lifted, noise, strict=True))
    features = np.array([block.shape.features.times(y) for y in noisy])
    public = totals[0].records if block.public_count and not draw.hides_membership else None
    if public is not None and block.shape.public is not None:
        features = features + public * block.shape.public
    return features, public


def _release_tie(tie: AnyTie, members: Sequence[tuple[Draw, Sequence[Totals]]]) -> list[Array]:
    """The noisy features of draws that share their noise: groups × features of each."""
    lifted = lift_members(tie, members)
    noise = normal_integers(len(lifted), NOISE_BITS)
    return tie.features([draw for draw, _ in members], add(lifted, noise).astype(float) / tie.grid[1])


def lift_members(tie: AnyTie, members: Sequence[tuple[Draw, Sequence[Totals]]]) -> list[int]:
    """The integers to which the noise of a tie is added."""
    draws = [draw for draw, _ in members]
    cores = [_cores(draw, tie, totals) for draw, totals in members]
    people = 0 if tie.people is None else members[tie.people][1][0].records
    if not tie.is_steady(cores, people):
        raise data_error()
    return tie.lifted(draws, cores, people)


def _cores(draw: Draw, tie: AnyTie, totals: Sequence[Totals]) -> list[Sequence[int]]:
    """The summed cores of the groups of a tied draw, in integers: columns, then the number of people in the group."""
    codes = draw.block.codes
    found = [python(codes.centred(each.sums, each.records)) for each in totals]
    if draw.block.domain.marks_at_most is not None:
        return [[count] for count in found[0]]
    if counts_everybody(draw, tie.where):
        return list(found)
    return [[*core, each.records] for core, each in zip(found, totals, strict=True)]


def add(lifted: Integers, noise: Words) -> npt.NDArray[Any]:
    """Exact integers plus exact integers: lifted words stay below 2^61, noise below 2^60, so words cannot overflow."""
    if isinstance(lifted, np.ndarray):
        return lifted + noise
    return np.array([y + z for y, z in zip(lifted, noise.tolist(), strict=True)], dtype=object)

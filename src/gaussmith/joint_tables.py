"""Plans and releases of groups and of several questions as text, for a terminal and for a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from gaussmith.explanation import (
    COVERS,
    RELEASE_HEADER,
    answers_table,
    guarantee_notes,
    html_table,
    plan_html,
    plan_table,
    release_rows,
    wrap_notes,
)
from gaussmith.group_plans import GroupPlan
from gaussmith.group_releases import GroupRelease
from gaussmith.group_tables import group_answers_table, group_rows
from gaussmith.joint_plans import JointPlan
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.joint_releases import JointRelease
    from gaussmith.plans import Plan


def any_plan_table(plan: Plan | GroupPlan | JointPlan, rows: int | None = None) -> str:
    """The errors of a plan of any kind; `rows` is a guess of the number of rows that means are over."""
    if isinstance(plan, GroupPlan):
        return group_plan_table(plan, rows)
    return joint_plan_table(plan, rows) if isinstance(plan, JointPlan) else plan_table(plan, rows)


def any_plan_html(plan: Plan | GroupPlan | JointPlan) -> str:
    """The same for a notebook."""
    if isinstance(plan, GroupPlan):
        return group_plan_html(plan)
    return joint_plan_html(plan) if isinstance(plan, JointPlan) else plan_html(plan)


def group_plan_table(plan: GroupPlan, rows: int | None = None) -> str:
    """How many groups, and the errors in each of them."""
    before, lead, after = _about_groups(plan)
    return "\n".join([before, plan_table(plan.each, rows, lead, plan.standard_scale), *after])


def group_plan_html(plan: GroupPlan) -> str:
    """The same for a notebook."""
    before, lead, after = _about_groups(plan)
    return _lines([before]) + plan_html(plan.each, lead, plan.standard_scale) + _lines(after)


def _about_groups(plan: GroupPlan) -> tuple[str, str, list[str]]:
    """What stands above the errors of a group, before how good they are, and below."""
    m = plan.groups.at_most
    held = "one group" if m == 1 else f"at most {m} groups"
    before = f"{plan.groups.size:,} groups, a person in {held}; in each of them"
    if plan.each.guarantee == plan.guarantee:
        return before, "", []
    after = [f"all groups together: {plan.guarantee}", *guarantee_notes(plan.guarantee)[1:]]
    return before, "at its share of μ ", after


def joint_plan_table(plan: JointPlan, rows: int | None = None) -> str:
    """Question by question, then who shares what of the guarantee."""
    texts = [f"{printable(name)}\n{textwrap.indent(any_plan_table(part, rows), '  ')}\n" for name, part in plan]
    return "\n".join([*texts, *_sharing(plan)])


def joint_plan_html(plan: JointPlan) -> str:
    """The same for a notebook."""
    tables = [f"<h4>{escape(printable(name))}</h4>{any_plan_html(part)}" for name, part in plan]
    return "".join(tables) + _lines(_sharing(plan))


def joint_table(release: JointRelease) -> str:
    """The answers of each question, then what holds for all."""
    texts = []
    for name, part in release:
        table = group_answers_table(part) if isinstance(part, GroupRelease) else answers_table(part)
        notes = [] if part.reading is None else [printable(note) for note in part.reading.notes()]
        texts.append(f"{printable(name)}\n{textwrap.indent(chr(10).join([table, *notes]), '  ')}\n")
    charged = [] if release.id is None else [f"release id {printable(release.id)}", f"receipt {release.receipt}"]
    return "\n".join([*texts, *wrap_notes([*_sharing(release.plan), *charged, COVERS])])


def joint_html(release: JointRelease) -> str:
    """The same for a notebook."""
    tables = []
    for name, part in release:
        if isinstance(part, GroupRelease):
            header, rows = group_rows(part)
        else:
            header, rows = list(RELEASE_HEADER), release_rows(part)
        tables.append(f"<h4>{escape(printable(name))}</h4>{html_table(header, rows)}")
    return "".join(tables) + _lines([*_sharing(release.plan), COVERS])


def _lines(notes: Sequence[str]) -> str:
    return "".join(f"<div>{escape(line)}</div>" for line in notes)


def _sharing(plan: JointPlan) -> list[str]:
    return [
        *(printable(line) for line in plan.describe_shares()),
        f"all questions together: {plan.guarantee}",
        *guarantee_notes(plan.guarantee)[1:],
        f"protects {plan.protects}",
    ]

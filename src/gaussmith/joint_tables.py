"""Plans and releases of groups and of several questions as text, for a terminal and for a notebook."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from gaussmith.explanation import (
    COVERS,
    RELEASE_HEADER,
    answers_table,
    html_table,
    plan_table,
    printable,
    release_rows,
    wrap_notes,
)
from gaussmith.group_plans import GroupPlan
from gaussmith.group_releases import GroupRelease
from gaussmith.group_tables import group_answers_table, group_rows
from gaussmith.joint_plans import JointPlan

if TYPE_CHECKING:
    from gaussmith.joint_releases import JointRelease
    from gaussmith.plans import Plan


def any_plan_table(plan: Plan | GroupPlan | JointPlan, rows: int | None = None) -> str:
    """The errors of a plan of any kind; `rows` is a guess of the number of rows that means are over."""
    if isinstance(plan, GroupPlan):
        return group_plan_table(plan, rows)
    return joint_plan_table(plan, rows) if isinstance(plan, JointPlan) else plan_table(plan, rows)


def group_plan_table(plan: GroupPlan, rows: int | None = None) -> str:
    """How many groups, and the errors in each of them."""
    m = plan.groups.at_most
    held = "one group" if m == 1 else f"at most {m} groups"
    lines = [f"{plan.groups.size:,} groups, a person in {held}; in each of them", plan_table(plan.each, rows)]
    if plan.each.guarantee != plan.guarantee:
        lines.append(f"all groups together: {plan.guarantee}")
    return "\n".join(lines)


def joint_plan_table(plan: JointPlan, rows: int | None = None) -> str:
    """Question by question, then who shares what of the guarantee."""
    texts = [f"{printable(name)}\n{textwrap.indent(any_plan_table(part, rows), '  ')}\n" for name, part in plan]
    return "\n".join([*texts, *_sharing(plan)])


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
    from html import escape

    tables = []
    for name, part in release:
        if isinstance(part, GroupRelease):
            header, rows = group_rows(part)
        else:
            header, rows = list(RELEASE_HEADER), release_rows(part)
        tables.append(f"<h4>{escape(printable(name))}</h4>{html_table(header, rows)}")
    notes = "".join(f"<div>{escape(line)}</div>" for line in [*_sharing(release.plan), COVERS])
    return "".join(tables) + notes


def _sharing(plan: JointPlan) -> list[str]:
    return [
        *(printable(line) for line in plan.describe_shares()),
        f"all questions together: {plan.guarantee}",
        f"protects {plan.protects}",
    ]

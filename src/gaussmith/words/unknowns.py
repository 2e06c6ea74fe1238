"""Answers that are unknown everywhere: what may help. It depends on the request and on noisy answers, never on data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gaussmith.problem.features import ROW_SUM
from gaussmith.releases.table import FIXED, UNKNOWN
from gaussmith.releases.unknown_reasons import NUMBERS, RECORDS, SPREAD, Reason, unknown_reasons
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.plans.row_rule import RowRule
    from gaussmith.releases import Release

MAX_NAMED = 4


def unknown_hints(release: Release) -> list[str]:
    """For the only question of a release, a line about the answers that are unknown in every group; else nothing."""
    if release.taken_less is not None or release.path is not None:
        return []  # it says itself what was not found
    columns = release.columns()
    status: dict[str, set[str]] = {}
    for name, each in zip(columns["answer"], columns["status"], strict=True):
        status.setdefault(name, set()).add(each)
    lost = [name for name, seen in status.items() if seen == {UNKNOWN}]
    if not lost:
        return []
    groups = len(columns["answer"]) > len(status) and any(name not in FIXED for name in columns)
    where, reasons = " in every group" if groups else "", unknown_reasons(release)
    found: dict[str, dict[str, Reason]] = {}
    for name in lost:
        reason = reasons.get(name, Reason(RECORDS))
        found.setdefault(reason.what, {})[name] = reason
    return [_told(release, what, each, where) for what, each in found.items()]


def _told(release: Release, what: str, found: Mapping[str, Reason], where: str) -> str:
    """Some answers that are unknown for want of the same thing."""
    lost = list(found)
    named = printable(", ".join(lost[:MAX_NAMED])) + (", …" if lost[MAX_NAMED:] else "")
    columns = dict.fromkeys(column for reason in found.values() for column in reason.columns)
    why = str(Reason(what, tuple(columns))) if what != RECORDS else "the noise is as large as the number of records"
    why = why.replace("in it", "in them") if len(lost) > 1 else why
    return f"{named} {'is' if len(lost) == 1 else 'are'} unknown{where}: {printable(why)}. {_remedies(release, what)}"


def _remedies(release: Release, what: str) -> str:
    """What of this request may be otherwise, the cheapest first."""
    rules = [rule for piece in release.pieces if (rule := piece.row_rules[piece.plan.slot.draw]) is not None]
    tries = ["narrower bounds", "data of more people, or that vary more"] if what == SPREAD else []
    if any(len(rule.by) > len(rule.found) for rule in rules):
        tries.append("keys spelt as in the data")
    if any(rule.where is not None for rule in rules):
        tries.append("a filter (where) that keeps more rows")
    if any((rule.rows_per_unit or 1) > 1 for rule in rules):
        tries.append("a smaller rows_per_unit")
        if any(_is_over_rows(rule) for rule in rules):
            tries.append('mean_of = "units"')
    if any(rule.by and rule.groups_per_unit > 1 for rule in rules):
        tries.append("a smaller groups_per_unit")
    help = f"What may help: {', '.join([*tries, 'a larger ε'])}."
    if what != NUMBERS:
        return help
    return f"{help} Texts such as yes and no are no numbers: a column made of a condition has 1 where it holds, else 0."


def _is_over_rows(rule: RowRule) -> bool:
    return any(kind == ROW_SUM for kind, _ in rule.features)

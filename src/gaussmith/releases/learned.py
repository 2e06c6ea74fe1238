"""What the stages before a release learned: bounds, and how many people these clip; in sentences and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaussmith.plans.limit_cells import ABOVE, BELOW, BOTH
from gaussmith.problem.features import CHECKED_TOTAL, CHECKED_VALUE, OWN_TOTAL, TOTAL
from gaussmith.releases.diagnosis import SOMEBODY, Estimate, is_diagnosis, people_of, sums_of
from gaussmith.stages import NOTHING
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.plans.row_rule import RowRule
    from gaussmith.releases import Release
    from gaussmith.releases.path import Path

NO_BOUNDS, NO_CELLS = "no bounds found", "no cells found"
"""The notes of an answer whose bounds, or cells, could not be learned."""


def not_found(release: Release) -> str:
    """The note of answers about a column of which too little was seen."""
    return NO_CELLS if release.path is not None and "cells" in release.path.last.asks else NO_BOUNDS


def learned_sentences(release: Release) -> list[str]:
    """What was learned, at which price, and how many people are clipped; none where nothing was learned."""
    path = release.path
    if path is None:
        return []
    share = f"{100 * float(path.taken / release.guarantee.mu_squared):.3g} % of the budget"
    found = []
    if path.last.stage == NOTHING and not path.last.asks:
        found.append(
            f"Too few records to see where the columns lie: answers are unknown. {share.capitalize()} was spent."
        )
    if "domain" in path.last.asks:
        found.append(
            f"Where the columns lie, how far they spread and where to clip was learned privately, with {share}."
        )
    if cells := path.last.asks.get("cells"):
        found.append(printable(f"The cells for quantiles of {', '.join(cells)} were found privately, with {share}."))
    if "keys" in path.last.asks:
        found += _keys_sentences(path, share)
    clipped = _clipped(release)
    for column, of, low, high in path.last.asks.get("bounds", ()):
        named = f"a person's total of {column}" if of == "total" else column
        told = f"Bounds [{_number(low)}, {_number(high)}] of {named} were learned privately, with {share}."
        people = clipped.get((column, of))
        if people is not None:
            count, is_seen = people
            if is_seen:
                told += f" {people_of((max(0.0, count[0]), *count[1:])).capitalize()} were clipped; intervals do not "
                told += "cover that."
            else:
                told += f" No sign of people who were clipped: at most about {count[2]:,.0f}."
        found.append(printable(told))
    unknown = [
        f"the total of {column}" if of == "total" else column for column, of in path.last.asks.get("unknown", ())
    ]
    if unknown:
        what, apart = ("cells", "") if "cells" in path.last.asks else ("bounds", ", or their values lie too far apart")
        told = f"No {what} found for {', '.join(unknown)}: too few people have a value{apart}."
        told += " Answers about this are unknown."
        if release.taken_less is not None:
            told += f" {share.capitalize()} was spent, and no more."
        found.append(printable(told))
    return found


def _keys_sentences(path: Path, share: str) -> list[str]:
    """Which keys were found before the answers were asked, and at which price."""
    told = []
    for question, keys in path.last.asks["keys"].items():
        of = f" of {question}" if len(path.asked) > 1 else ""
        one = "1 key was" if len(keys) == 1 else f"{len(keys):,} keys were"
        told.append(f"{one} found first{of}, with {share}: each person's groups are chosen among these.")
    hidden = [name for name in path.last.asks["hidden"] if name]
    if path.last.asks["hidden"]:
        of = f" of {', '.join(hidden)}" if len(path.asked) > 1 and hidden else ""
        spent = f" {share.capitalize()} was spent, and no more." if path.last.stage == NOTHING else ""
        told.append(f"No key{of} has enough people to be shown, so there are no groups.{spent}")
    return [printable(line) for line in told]


def _clipped(release: Release) -> dict[tuple[str, str], tuple[Estimate, bool]]:
    """By column how many people are below or above its bounds: the value, and the ends of its 95 % interval.

    Beside it whether the diagnosis sees somebody on one of the sides, so that both say the same.
    """
    found: dict[tuple[str, str], tuple[Estimate, bool]] = {}
    whole = release.whole
    if whole.taken_less is not None:
        return {}
    for question in [whole] if len(whole.plan) == 1 else list(whole):
        if not is_diagnosis(question):
            continue
        for piece in question.pieces:
            rule = piece.row_rules[piece.plan.slot.draw]
            assert rule is not None
            kind, column = rule.features[0]
            if kind in (CHECKED_VALUE, CHECKED_TOTAL):
                both, add = [BOTH] if len(piece.names) > BOTH else [], sums_of(piece)
                seen = any(add([side, *both])[1] >= SOMEBODY for side in (BELOW, ABOVE))
                of = "total" if kind == CHECKED_TOTAL else "value"
                found.setdefault((column, of), (add([BELOW, ABOVE, *both]), seen))
    return found


def learned_note(release: Release, rule: RowRule, made: str, column: str) -> str:
    """What stands beside an answer about a column whose bounds were learned; empty for others."""
    path = release.path
    if path is None:
        return ""
    total = made in (TOTAL, OWN_TOTAL) and rule.unit is not None and not rule.person_columns
    for name, of, low, high in path.last.asks.get("bounds", ()):
        if (name, of) == (column, "total" if total else "value"):
            return f"bounds [{_number(low)}, {_number(high)}] learned privately"
    return ""


def lost_rows(release: Release) -> list[dict[str, Any]]:
    """Rows for answers that are missing because their bounds could not be learned, while others could."""
    path = release.path
    if path is None or path.last.asks.get("bounds", ()) == [] or release.view.groups is not None or release.view.answer:
        return []
    if "keys" in path.last.asks:  # a question without keys has no groups, and no rows
        return []
    known = {name: tuple(release.whole.plan[name].names) for name in release.whole.plan.questions}
    shown = release.plan.questions
    return [
        {"question": question, "answer": name, "status": "unknown", "note": not_found(release)}
        for question, names in path.asked
        for name in names
        if name not in known.get(question, ()) and (question in shown or len(release.plan) == len(release.plan.slots))
    ]


def _number(value: float) -> str:
    return f"{value:,.12g}"

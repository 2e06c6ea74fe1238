"""The path of a staged release: every stage with its plan and noisy outputs, and what the rule made of them.

Everything here is public. `Path.check` replays the rule on the stored noisy outputs and adds up what was spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.domains.features import CHECKED_TOTAL, CHECKED_VALUE, OWN_TOTAL, TOTAL
from gaussmith.errors import PlanError, printable
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import Query
from gaussmith.planning.row_rule import ABOVE, BELOW, BOTH
from gaussmith.planning.staging import ANSWERS, NOTHING, Rule, Seen, StageStep, read_rule
from gaussmith.releases.diagnosis import (
    SOMEBODY,
    Estimate,
    is_diagnosis,
    joint_width,
    people_of,
    sums_of,
    upper_estimate,
)
from gaussmith.statistics.quantile import Quantiles

if TYPE_CHECKING:
    from gaussmith.expressions.keys import Cut
    from gaussmith.planning.row_rule import RowRule
    from gaussmith.privacy.guarantee import Guarantee
    from gaussmith.releases.release import Release


Bounds = tuple[tuple[str, str], tuple[float, float]]
"""A column, whether they are of its values or of totals, and the bounds themselves."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage that was released: what it was asked, and its release."""

    step: StageStep
    release: Release = field(repr=False)


@dataclass(frozen=True, eq=False)
class Path:
    """The stages of a release in order, and the step to which they led; `plan_hash` is that of the staged plan."""

    rule: Rule
    stages: tuple[Stage, ...]
    last: StageStep
    plan_hash: str
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The questions of the staged plan with the names of their answers: some may be lost on the way."""

    @property
    def taken(self) -> Fraction:
        """Σ μ_i² of the stages before the last, exactly."""
        return sum((stage.release.plan.spent for stage in self.stages), Fraction(0))

    def check(self, plan: Plan, guarantee: Guarantee) -> None:
        """Replay the rule and add up what was spent, in fractions; raises PlanError where either does not hold.

        `plan` is that of the last stage, `guarantee` that of the whole.
        """
        whole = left = guarantee.mu_squared
        seen: list[Seen] = []
        for stage in self.stages:
            step = self.rule.step(seen, left)
            own = stage.release.plan
            if not _same(step, stage.step) or own.neighbours != plan.neighbours or not asks_as(own, step):
                raise _broken()
            if step.share is None or own.spent > _least(left, step, whole):
                what, rule = f"stage {step.stage!r} that spends too much", "its μ² must fit in its share"
                raise PlanError(what, rule, "check the file", code="stage-spends-too-much", stage=step.stage)
            left -= own.spent
            seen.append(seen_of(step.stage, stage.release))
        step = self.rule.step(seen, left)
        unplanned = replace(step, stage=NOTHING)  # no noise fits what was learned
        if not step.is_last or not (_same(step, self.last) or _same(unplanned, self.last)):
            raise _broken()
        self._check_last(plan, _least(left, self.last, whole))

    def _check_last(self, plan: Plan, most: Fraction) -> None:
        """The plan of the last stage is what the rule asked, and spends `most` of μ² at most."""
        if self.last.stage == ANSWERS and not asks_as(plan, self.last):
            raise _broken()
        found = [each for stage in self.stages for each in stage.release.plan.keys_found]
        if found and self.last.stage == ANSWERS and list(plan.keys_before) != found:
            what, rule = "stages whose keys cost other than stated", "the answers must state what finding keys took"
            raise PlanError(what, rule, "check the file", code="stages-of-other-keys")
        if self.last.stage != NOTHING and plan.spent > most:
            what, rule = "stages that spend too much", "all μ² together must fit in the guarantee's"
            raise PlanError(what, rule, "check the file", code="stages-spend-too-much")

    @property
    def is_unplanned(self) -> bool:
        """Whether something was learned for which no noise can be planned."""
        return self.last.stage == NOTHING and any(self.last.asks.get(name) for name in ("bounds", "cells", "domain"))

    def to_dict(self) -> dict[str, Any]:
        from gaussmith.releases.saved import queries_to_dict

        return {
            "rule": self.rule.to_dict(),
            "plan_hash": self.plan_hash,
            "asked": [[question, list(names)] for question, names in self.asked],
            "stages": [
                {
                    **_step_to_dict(stage.step),
                    "plan": stage.release.plan.to_dict(),
                    "queries": queries_to_dict(stage.release),
                }
                for stage in self.stages
            ],
            "last": _step_to_dict(self.last),
            "spent": str(self.taken),
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Path:
        """The path that `to_dict` described; `check` says whether it holds."""
        from gaussmith.releases.saved import release_of

        stages = tuple(
            Stage(_step_from_dict(each), release_of(Plan.from_dict(each["plan"]), each["queries"]))
            for each in fields["stages"]
        )
        asked = tuple((str(question), tuple(map(str, names))) for question, names in fields["asked"])
        last = _step_from_dict(fields["last"])
        return cls(read_rule(fields["rule"]), stages, last, str(fields["plan_hash"]), asked)


def seen_of(stage: str, release: Release) -> Seen:
    """What a rule sees of a stage: the noisy numbers of each question, and their standard errors.

    Of quantiles, between which edges each may be, low and high in turn: all that is read from their noisy cells.
    """
    from gaussmith.releases.quantities import kinds_of

    several = [release] if len(release.plan) == 1 else list(release)
    if all(kind == Quantiles.kind for each in several for kind in kinds_of(each)):
        ends = {each.questions[0]: _ends_of(each) for each in several}
        return Seen(stage, ends, {name: (0.0,) * len(each) for name, each in ends.items()})
    values = {each.questions[0]: tuple(np.ravel(each.values).tolist()) for each in several}
    errors = {each.questions[0]: tuple(np.ravel(each.standard_errors).tolist()) for each in several}
    labels = {each.questions[0]: each.labels for each in several} if release.plan.finds_keys else {}
    return Seen(stage, values, errors, labels)


def _ends_of(release: Release) -> tuple[float, ...]:
    """Where the quantiles of one question may be."""
    from gaussmith.planning.learned_cells import WIDTH
    from gaussmith.releases.readout import quantiles_in

    readout, quantiles = quantiles_in(release)
    lows, highs = quantiles.intervals(readout.noisy, WIDTH)
    return tuple(float(end) for pair in zip(np.ravel(lows), np.ravel(highs), strict=True) for end in pair)


def asks_as(plan: Plan, step: StageStep) -> bool:
    """Whether a plan asks what a step says: this domain, these keys, cells with these edges, or columns in bounds."""
    for what, asks in _ASKS.items():
        if step.asks.get(what) is not None:
            return asks(plan, step.asks)
    return True


def _asks_to_find(plan: Plan, asks: Any) -> bool:
    return list(plan.questions) == asks["find"] and all(each.groups and each.groups.is_found for each in plan)


def _asks_domain(plan: Plan, asks: Any) -> bool:
    from gaussmith.domains.registry import domain_from_dict

    return len(plan.queries) == 1 and plan.queries[0].block.domain == domain_from_dict(dict(asks["domain"]))


def _asks_edges(plan: Plan, asks: Any) -> bool:
    return bool({name: list(cut.edges) for name, cut in _cuts_in(plan)} == asks["edges"])


def _asks_cells(plan: Plan, asks: Any) -> bool:
    cells, found = asks["cells"], [(name, list(cut.edges)) for name, cut in _cuts_in(plan) if cut.ends is None]
    return {name for name, _ in found} >= {*cells} and all(cells.get(name, own) == own for name, own in found)


def _cuts_in(plan: Plan) -> list[tuple[str, Cut]]:
    return [each for query in plan.queries if query.row_rule for each in query.row_rule.cuts]


def _asks_bounds(plan: Plan, asks: Any) -> bool:
    bounds = {(column, of): (low, high) for column, of, low, high in asks["bounds"]}
    return all(bounds.get(key, pair) == pair for key, pair in bounds_in(plan))


def _asks_keys(plan: Plan, asks: Any) -> bool:
    """Whether the groups of these questions have these keys, in this order, and hidden questions are not asked."""
    keys, hidden = asks["keys"], asks["hidden"]
    known = {slot.name: [plan.queries[i].groups for i in slot.queries] for slot in plan.slots}
    labels = {
        name: [None if each is None else [list(label) for label in each.labels] for each in known.get(name, ())]
        for name in keys
    }
    return known.keys().isdisjoint(hidden) and all(
        bool(labels[name]) and all(each == own for each in labels[name]) for name, own in keys.items()
    )


_ASKS: dict[str, Callable[[Plan, Any], bool]] = {
    "find": _asks_to_find, "keys": _asks_keys, "domain": _asks_domain, "edges": _asks_edges, "cells": _asks_cells,
    "bounds": _asks_bounds,
}  # fmt: skip
"""Whether a plan asks what a step says; a step says one of these."""


def bounds_in(plan: Plan) -> list[Bounds]:
    """The bounds of columns in a plan: (column, "value" or "total") with each pair that it is clipped to."""
    return [pair for query in plan.queries for pair in bounds_of(query) if pair is not None]


def bounds_of(query: Query) -> list[Bounds | None]:
    """The same of the coordinates of a query, one for each; None where it has none."""
    from gaussmith.domains.features import CHECKED, CHECKED_TOTAL, OWN_TOTAL, TOTAL

    rule = query.row_rule
    if rule is None:
        return []
    totals = (TOTAL, OWN_TOTAL, CHECKED_TOTAL) if rule.unit is not None and not rule.person_columns else ()
    found: list[Bounds | None] = []
    for (made, column), pair in zip(rule.features, _pairs(query), strict=False):
        of = "total" if made in totals else "value"
        cut = rule.cut_of(column)
        ends = cut.ends if cut is not None else None if made in CHECKED else pair
        found.append(None if ends is None else ((column, of), (float(ends[0]), float(ends[1]))))
    return found


def _pairs(query: Query) -> list[tuple[float, float] | None]:
    """The bounds of each coordinate of a query; None where it has none."""
    assert query.row_rule is not None
    block, places = query.block, range(min(len(query.row_rule.features), query.block.domain.dimension))
    if query.row_rule.is_counted or query.row_rule.counts_marks:
        return [None] * len(query.row_rule.features)
    table = block.domain.bounds_table(block.problem, places, block.substitutes)
    return [None] * len(places) if table is None else [(row[1][0], row[1][1]) for row in table.rows]


def _least(left: Fraction, step: StageStep, whole: Fraction) -> Fraction:
    """What a step may spend of μ²."""
    return left if step.share is None else min(left, step.share * whole)


def _same(one: StageStep, other: StageStep) -> bool:
    return one.stage == other.stage and one.share == other.share and one.asks == other.asks


def _broken() -> PlanError:
    what, rule = (
        "stages that do not follow from their noisy outputs",
        "every stage is what the rule makes of those before",
    )
    return PlanError(what, rule, "check the file", code="stages-do-not-follow")


def _step_to_dict(step: StageStep) -> dict[str, Any]:
    return {"stage": step.stage, "share": None if step.share is None else str(step.share), "asks": dict(step.asks)}


def _step_from_dict(fields: Any) -> StageStep:
    share = None if fields["share"] is None else Fraction(fields["share"])
    return StageStep(str(fields["stage"]), share, dict(fields["asks"]))


# What the stages before a release learned: bounds, and how many people these clip; in sentences and notes.

NO_BOUNDS, NO_CELLS, NO_NOISE = "no bounds found", "no cells found", "no noise fits what was learned"
"""The notes of an answer whose bounds, or cells, could not be learned; and of one that cannot be planned with them."""


def not_found(release: Release) -> str:
    """The note of answers about a column of which too little was seen."""
    if release.path is not None and release.path.is_unplanned:
        return NO_NOISE
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
        found.append(printable(told + _clipped_sentence(clipped.get((column, of)))))
    if path.is_unplanned:
        found.append(
            "No noise can be planned for what was learned beside the other columns, whose scales are too far from it: "
            f"answers are unknown. {share.capitalize()} was spent, and no more."
        )
    if path.last.asks.get("unknown"):
        spent = "" if release.taken_less is None else f" {share.capitalize()} was spent, and no more."
        found.append(printable(_unknown_sentence(path) + spent))
    return found


def _clipped_sentence(people: tuple[Estimate, bool] | None) -> str:
    """How many people are beyond learned bounds, behind a sentence about these; empty where nobody counted them."""
    if people is None:
        return ""
    count, is_seen = people
    if not is_seen:
        return f" Probably nobody was clipped ({upper_estimate(count)})."
    about = people_of((max(0.0, count[0]), *count[1:])).capitalize()
    return f" {about} had values beyond these bounds, which were clipped; intervals do not cover that."


def _unknown_sentence(path: Path) -> str:
    named = ", ".join(f"the total of {column}" if of == "total" else column for column, of in path.last.asks["unknown"])
    what, apart = ("cells", "") if "cells" in path.last.asks else ("bounds", ", or their values lie too far apart")
    return f"No {what} found for {named}: too few people have a value{apart}. Answers about this are unknown."


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
    """By column how many people are below or above its bounds: the value, and the ends of its interval,
    all of which hold at once with 95 %.

    Beside it whether the diagnosis sees somebody on one of the sides, so that both say the same.
    """
    found: dict[tuple[str, str], tuple[Estimate, bool]] = {}
    whole = release.whole
    if whole.taken_less is not None:
        return {}
    width = joint_width(whole)
    for question in [whole] if len(whole.plan) == 1 else list(whole):
        if not is_diagnosis(question.plan):
            continue
        for piece in question.pieces:
            rule = piece.own_rule
            assert rule is not None
            kind, column = rule.features[0]
            if kind in (CHECKED_VALUE, CHECKED_TOTAL):
                both, add = [BOTH] if len(piece.names) > BOTH else [], sums_of(piece, width)
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

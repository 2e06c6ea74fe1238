"""The one table of a release, the source of all printed text, pages, files and frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.checks import is_whole
from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array
from gaussmith.plans import Block
from gaussmith.plans.error_distribution import normal_width
from gaussmith.releases.diagnosis import cell_rules
from gaussmith.releases.learned import learned_note, lost_rows, not_found
from gaussmith.releases.limits_in_view import row_counts
from gaussmith.releases.shares_in_view import share_names, share_rules, shares_of_groups, shows_shares
from gaussmith.releases.unknown_reasons import unknown_reasons
from gaussmith.statistics import ONE

if TYPE_CHECKING:
    from gaussmith.releases.release import Release

NOISY, EXACT, UNKNOWN = "noisy", "exact", "unknown"
"""The status of an answer: noisy, public and exact, or unknown because of the noise."""

FIXED = ("question", "answer", "value", "standard_error", "lower", "upper", "status", "note")
"""The columns that are not keys of groups."""

MADE_UP = "made up"
"""The note of answers to a rehearsal."""

NOTES = {NOISY: "", EXACT: "public", UNKNOWN: "too few records for this noise"}

BEYOND = "noise took the value beyond what is possible, where the interval is cut"
"""The note of a value outside its interval."""


def answer_columns(release: Release, confidence: float) -> dict[str, list[Any]]:
    """question · keys · answer · value · standard_error · lower · upper · status · note, by columns."""
    if len(release.plan) == 1:
        return _with_lost(release, _of_one(release, confidence))
    tables = [(name, _of_one(release[name], confidence)) for name in release.questions]
    fixed = ("answer", "value", "standard_error", "lower", "upper", "status", "note")
    keys = dict.fromkeys(column for _, table in tables for column in table if column not in fixed)
    found: dict[str, list[Any]] = {name: [] for name in ("question", *keys, *fixed)}
    for name, table in tables:
        size = len(table["answer"])
        found["question"] += [name] * size
        for column in keys:
            found[column] += table.get(column, [None] * size)
        for column in fixed:
            found[column] += table[column]
    return _with_lost(release, found | {column: _of_one_type(found[column]) for column in keys})


def _of_one_type(keys: list[Any]) -> list[Any]:
    """Keys of one column in several questions: as they are, or as texts where their types differ."""
    if len({type(key) for key in keys if key is not None}) <= 1:
        return keys
    return [None if key is None else str(key) for key in keys]


def _with_lost(release: Release, found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The table with a row for each answer that is missing because its bounds could not be learned."""
    for row in lost_rows(release):
        for column in found:
            usual = math.nan if column in ("value", "standard_error", "lower", "upper") else None
            found[column].append(row.get(column, usual))
    return found


def _of_one(release: Release, confidence: float) -> dict[str, list[Any]]:
    lower, upper = release.raw_intervals(normal_width(confidence))
    errors, names = release.standard_errors, list(release.names)
    status = np.where(errors == 0, EXACT, np.where(np.isfinite(lower) & np.isfinite(upper), NOISY, UNKNOWN))
    labels = _labels(release)
    grouped = bool(labels) or (release.groups is not None and release.view.groups is None)
    columns = release.groups.columns if grouped and release.groups is not None else ()
    keys = {column: [label[i] for label in labels for _ in names] for i, column in enumerate(columns)}
    lower, upper = release.intervals(confidence)
    numbers = {"value": release.values, "standard_error": errors, "lower": lower, "upper": upper}
    told = status.ravel().tolist()
    rules = _rules(release, names) * (len(labels) if grouped else 1)
    found: dict[str, list[Any]] = {
        **keys,
        "answer": names * (len(labels) if grouped else 1),
        **{name: array.ravel().tolist() for name, array in numbers.items()},
        "status": told,
        "note": [
            "; ".join(filter(None, (MADE_UP if release.made_up else "", note, beyond, rule)))
            for note, beyond, rule in zip(
                _notes(release, told), _beyond(release, lower, upper, told), rules, strict=True
            )
        ],
    }
    return _with_shares(release, found, confidence)


def _beyond(release: Release, lower: Array, upper: Array, told: Sequence[str]) -> list[str]:
    """What is said of each value that lies outside its interval, which is cut to what is possible."""
    outside = ((release.values < lower) | (release.values > upper)).ravel().tolist()
    return [BEYOND if out and status == NOISY else "" for out, status in zip(outside, told, strict=True)]


def _notes(release: Release, told: Sequence[str]) -> list[str]:
    """What is said of each status; of an unknown answer why."""
    if UNKNOWN not in told:
        return [NOTES[status] for status in told]
    if release.taken_less is not None:
        return [not_found(release) if status == UNKNOWN else NOTES[status] for status in told]
    reasons, names = unknown_reasons(release), list(release.names)
    return [
        str(reasons.get(names[i % len(names)], NOTES[status])) if status == UNKNOWN else NOTES[status]
        for i, status in enumerate(told)
    ]


def _with_shares(release: Release, found: dict[str, list[Any]], confidence: float) -> dict[str, list[Any]]:
    """The table with a row for each share, where the question asks for proportions; in each group its own."""
    if release.view.answer is not None or not shows_shares(release):
        return found
    names = share_names(release)
    for label, shares in shares_of_groups(release):
        columns = shares.columns(confidence)
        keys = dict(zip(release.groups.columns if release.groups is not None else (), label, strict=False))
        known = {**{column: [key] * len(names) for column, key in keys.items()}, **columns, "answer": names}
        lead = MADE_UP if release.made_up else ""
        told = zip(known["note"], share_rules(release), strict=True)
        known["note"] = ["; ".join(filter(None, (lead, note, rule))) for note, rule in told]
        for name in found:
            found[name] += known.get(name, [None] * len(names))
    return found


def _rules(release: Release, names: Sequence[str]) -> list[str]:
    """What was done about missing values, for each answer in view; of a share what it is a share of."""
    found = dict(zip(share_names(release), share_rules(release), strict=True)) if shows_shares(release) else {}
    for piece in release.pieces:
        rule, block = piece.row_rules[piece.plan.slot.draw], piece.block
        features = block.problem.features
        found |= dict.fromkeys(row_counts(piece), "of rows")
        if rule is not None and rule.is_checked:
            names_of = block.answers.names
            found |= dict(zip(names_of, cell_rules(rule, len(names_of)), strict=True))
        if rule is not None and rule.is_counted:
            told = dict.fromkeys(
                each
                for feature in rule.features
                for each in (rule.own_values, rule.missing_rule(*feature), learned_note(release, rule, *feature))
            )
            found |= dict.fromkeys(block.answers.names, "; ".join(filter(None, told)))
        if rule is None or rule.counts_marks or features.is_linear or not rule.features:
            continue
        for name, lead in zip(block.answers.names, block.answers.leads.tolist(), strict=True):
            made = [] if lead == ONE else [rule.features[i] for i in block.domain.read_from(int(features.index[lead]))]
            rules = (
                each
                for kind, column in made
                if column
                for each in (
                    rule.weight_rule(kind), rule.missing_rule(kind, column), learned_note(release, rule, kind, column)
                )
            )  # fmt: skip
            found[name] = "; ".join(dict.fromkeys(filter(None, (found.get(name), *rules))))
    return [found.get(name, "") for name in names]


def _labels(release: Release) -> Sequence[tuple[Any, ...]]:
    """The keys of the groups in view; none where there are no groups, or they are added up."""
    groups, chosen = release.groups, release.view.groups
    if groups is None or release.view.summed:
        return ()
    return groups.labels if chosen is None else [groups.labels[g] for g in chosen]


def marginal(block: Block, values: Array, attributes: Sequence[str | int]) -> Array:
    """The table of one marginal among the values of a release, an axis per attribute, in the order given."""
    work, names = block.problem.features.marginals, block.domain.attribute_names
    if work is None:
        what = "a marginal of answers that are not marginals"
        raise PlanError(what, "the plan was not made for marginals", "use release.values", code="answers-not-marginals")
    places = [_place(attribute, names) for attribute in attributes]
    way = tuple(sorted(places))
    if way not in work.ways:
        what, rule = f"marginal {tuple(attributes)}", "the plan does not include it"
        raise PlanError(what, rule, "ask for it when planning", code="marginal-not-asked", marginal=tuple(attributes))
    start = work.offsets[work.ways.index(way)]
    size = work.sizes[work.ways.index(way)]
    table = values[start : start + size].reshape([work.shape[i] for i in way])
    return np.transpose(table, [way.index(i) for i in places])


def _place(attribute: str | int, names: Sequence[str]) -> int:
    """The place of an attribute, which is given by its name or by its place."""
    if is_whole(attribute) and 0 <= int(attribute) < len(names):
        return int(attribute)
    if not isinstance(attribute, str) or attribute not in names:
        what, rule = f"attribute {attribute!r}", "the cells have no such attribute"
        raise PlanError(what, rule, nearest(str(attribute), names), code="no-such-attribute", attribute=attribute)
    return names.index(attribute)

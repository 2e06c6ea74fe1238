"""The one table of a release, the source of all printed text, pages, files and frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussmith.checks import is_whole
from gaussmith.domains.features import VECTOR
from gaussmith.domains.groups import FoundGroups, largest_few
from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.exact import Array
from gaussmith.planning.answer_notes import read_by
from gaussmith.planning.block import Block
from gaussmith.planning.error_distribution import normal_width
from gaussmith.planning.row_rule import truth_of
from gaussmith.releases.diagnosis import cell_rules
from gaussmith.releases.path import bounds_of, learned_note, lost_rows, not_found
from gaussmith.statistics.mean import Means
from gaussmith.statistics.statistic import ONE, counts_records
from gaussmith.statistics.sum import Count

if TYPE_CHECKING:
    from gaussmith.planning.row_rule import RowRule
    from gaussmith.releases.contrasts import Contrasts
    from gaussmith.releases.release import Release
    from gaussmith.statistics.statistic import Statistic


# Shares among the answers of a release: where a question asks for proportions, each value has one, by its name.

SHARE = "{}_share"
"""What the share of a value is called."""


@dataclass(frozen=True, eq=False)
class ShareInView:
    """One share, of each group in view or of all people; it has what a release shows of an answer."""

    each: tuple[Contrasts, ...]
    grouped: bool

    @property
    def values(self) -> Array:
        return self._shaped([share.value for share in self.each])

    @property
    def standard_errors(self) -> Array:
        return self._shaped([share.standard_error for share in self.each])

    @property
    def limits(self) -> tuple[Array, Array]:
        return np.zeros(1), np.ones(1)

    def ends(self, width: float) -> tuple[Array, Array]:
        """`width` standard errors of the normal law to either side, not cut."""
        found = [share.each[0].ends(width) for share in self.each]
        return self._shaped([low for low, _ in found]), self._shaped([high for _, high in found])

    def _shaped(self, numbers: list[float]) -> Array:
        return np.array(numbers).reshape(-1, 1) if self.grouped else np.array(numbers)


def shows_shares(release: Release) -> bool:
    """Whether the only question of a release shows shares beside its answers."""
    return release.plan.shows_shares


def share_names(release: Release) -> list[str]:
    """The names of the shares of the only question."""
    if not shows_shares(release):
        return []
    return [
        SHARE.format(name)
        for piece in release.plan.pieces
        for each in piece.answers.statistics
        if each.shows_shares
        for name in each.names
    ]


def share_rules(release: Release) -> list[str]:
    """What each of these shares is a share of, in a few words; empty for plain data."""
    found: list[str] = []
    for piece in release.pieces:
        names = [name for each in piece.block.answers.statistics if each.shows_shares for name in each.names]
        if names:
            found += ["" if piece.row_rule is None else share_rule(piece.row_rule)] * len(names)
    return found


def share_notes(release: Release) -> list[str]:
    """The same as notes below a table, each once."""
    if not shows_shares(release) or release.view.answer is not None:
        return []
    rules = [
        piece.row_rule
        for piece in release.pieces
        if any(each.shows_shares for each in piece.plan.pieces[0].answers.statistics)
    ]
    return list(dict.fromkeys(_share_note(rule) for rule in rules if rule is not None))


def share_rule(rule: RowRule) -> str:
    """What the shares of a histogram's values are shares of, in a few words.

    >>> from gaussmith.planning.row_rule import RowRule
    >>> share_rule(RowRule((("values", "site"),), unit="person", values_per_unit=3))
    'of all pairs of a person and a value'
    """
    if _counts_pairs(rule):
        return "of all pairs of a person and a value"
    return "of people with a value" if dict(rule.cuts) else "of people with a declared value"


def _counts_pairs(rule: RowRule) -> bool:
    """Whether a person may count several times, once for each value of theirs."""
    return rule.unit is not None and not rule.person_columns and not rule.by and rule.values_per_unit > 1


def _share_note(rule: RowRule) -> str:
    if not _counts_pairs(rule):
        return f"shares are {share_rule(rule)} of {rule.histogram}"
    return (
        f"shares are {share_rule(rule)} of {rule.histogram}, and add up to 1; the share of people who have a value is "
        f"the mean of a person column, such as any({rule.histogram} == 'a')"
    )


def shares_of_groups(release: Release) -> list[tuple[tuple[Any, ...], Contrasts]]:
    """The shares of all values, in each group in view with its label; of all people where there are no groups."""
    whole = replace(release, view=replace(release.view, answer=None))
    if not whole.labels:
        return [((), whole.shares())]
    return [(label, group.shares()) for label, group in zip(whole.labels, whole, strict=True)]


def share_in_view(release: Release) -> ShareInView | None:
    """The share that a release was narrowed to; None where it is an ordinary answer, or several."""
    name = release.view.answer
    if name is None or name in release.plan.names or name not in (known := share_names(release)):
        return None
    at = known.index(name)
    return ShareInView(tuple(shares[at] for _, shares in shares_of_groups(release)), bool(release.labels))


# What is said of the bounds of the answers in view, and of counts that are not of people.

MAX_LISTED = 8
"""Limit on the bounds listed in a note."""


def row_counts(piece: Release) -> list[str]:
    """The names of the answers of a piece that are numbers of rows."""
    counts = (each for each in piece.plan.pieces[0].answers.statistics if each.kind == Count.kind)
    return [name for each in counts if not counts_records(each) for name in each.names]


def selection_notes(release: Release) -> list[str]:
    """Which of the found groups are shown, where their number is limited."""
    groups = release.groups
    return [largest_few(groups.top)] if isinstance(groups, FoundGroups) and groups.top is not None else []


def limit_notes(release: Release) -> list[str]:
    """Within which bounds sums and means count, and which counts are of rows; for tables only."""
    shown = {*release.names}
    pieces = [piece for piece in release.pieces if piece.own_rule is not None and not shown.isdisjoint(piece.names)]
    counted = dict.fromkeys(name for piece in pieces for name in row_counts(piece) if name in shown)
    found: dict[tuple[str, float, float], dict[str, None]] = {}
    for of, column, low, high in (each for piece in pieces for each in _bounds(piece, release.view.answer)):
        found.setdefault((of, low, high), {})[column] = None
    told = [
        f"{of}{_some([*names])} {'is' if len(names) == 1 else 'are'} clipped to [{low:,.12g}, {high:,.12g}]"
        for (of, low, high), names in found.items()
    ]
    lines = [f"{', '.join(counted)} is of rows" if counted else "", _some(told)]
    return [line for line in lines if line]


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:MAX_LISTED]) + (", …" if len(texts) > MAX_LISTED else "")


def _bounds(piece: Release, answer: str | None) -> list[tuple[str, str, float, float]]:
    """The bounds of what a piece adds up, with the column and whether totals are meant; quantiles tell their own."""
    query = piece.plan.queries[piece.plan.slot.query]
    rule = query.row_rule
    if rule is None or rule.is_counted or rule.counts_marks or any(kind == VECTOR for kind, _ in rule.features):
        return []
    asked, found = read_by(piece.plan, answer), []
    for i, pair in enumerate(bounds_of(query)):
        if pair is not None and (asked is None or i in asked):
            (column, of), (low, high) = pair
            if column and truth_of(rule, column) is None:
                found.append(("a total of " if of == "total" else "", column, low, high))
    return found


# Why an answer is unknown: what the noise hides. It depends on the kind of answer and on names, never on data.


class Reason(NamedTuple):
    """What there is too little of, and of which columns."""

    what: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.what == SPREAD:
            return f"the spread of {' or '.join(self.columns) or 'a column'} is too small for this noise"
        if self.what == NUMBERS:
            return "too few rows with a number in it, or too much noise"
        return "too few records for this noise"


RECORDS, SPREAD, NUMBERS = "records", "spread", "numbers"


def unknown_reasons(release: Release) -> dict[str, Reason]:
    """By answer of the only question why it would be unknown; those that are not here: too few records."""
    found: dict[str, Reason] = {}
    for piece in release.pieces:
        rule = piece.own_rule
        for statistic in piece.block.answers.statistics:
            if statistic.needs_spread or (statistic.kind == Means.kind and rule is not None and rule.is_text):
                found |= {name: _reason(piece, rule, statistic, at) for at, name in enumerate(statistic.names)}
    return found


def _reason(piece: Release, rule: RowRule | None, statistic: Statistic, at: int) -> Reason:
    places = statistic.places[at, statistic.needs_spread or slice(0, 1)]
    index, domain = piece.block.problem.features.index, piece.block.domain
    read = dict.fromkeys(i for place in places.tolist() for i in domain.input.made_of(int(index[place])))
    columns = () if rule is None else tuple(dict.fromkeys(rule.features[i][1] for i in read if rule.features[i][1]))
    if statistic.needs_spread:
        return Reason(SPREAD, columns)
    numbers = rule is not None and all(name in rule.present and truth_of(rule, name) is None for name in columns)
    return Reason(NUMBERS, columns) if numbers and columns else Reason(RECORDS)


NOISY, EXACT, UNKNOWN = "noisy", "exact", "unknown"
"""The status of an answer: noisy, public and exact, or unknown because of the noise."""

FIXED = ("question", "answer", "value", "standard_error", "lower", "upper", "status", "note")
"""The columns that are not keys of groups."""

MADE_UP = "made up"
"""The note of answers to a rehearsal."""

NOTES = {NOISY: "", EXACT: "public", UNKNOWN: "too few records for this noise"}

BEYOND = "noise took the value beyond what is possible, where the interval is cut"
"""The note of a value outside its interval."""

LUCKY = "noise may have helped to show this group: its count is too high on average, which only the interval allows for"
"""The note of a value in a found group whose count is near the least that is shown."""


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
    low, high = release.limits
    errors, names = release.standard_errors, list(release.names)
    status = np.where(errors == 0, EXACT, np.where(np.isfinite(lower) & np.isfinite(upper), NOISY, UNKNOWN))
    labels = _labels(release)
    grouped = bool(labels) or (release.groups is not None and release.view.groups is None)
    columns = release.groups.columns if grouped and release.groups is not None else ()
    keys = {column: [label[i] for label in labels for _ in names] for i, column in enumerate(columns)}
    lower, upper = np.clip(lower, low, high), np.clip(upper, low, high)
    numbers = {"value": release.values, "standard_error": errors, "lower": lower, "upper": upper}
    told = status.ravel().tolist()
    rules = _rules(release, names) * (len(labels) if grouped else 1)
    found: dict[str, list[Any]] = {
        **keys,
        "answer": names * (len(labels) if grouped else 1),
        **{name: array.ravel().tolist() for name, array in numbers.items()},
        "status": told,
        "note": [
            "; ".join(filter(None, (MADE_UP if release.made_up else "", note, beyond, lucky, rule)))
            for note, beyond, lucky, rule in zip(
                _notes(release, told), _beyond(release, lower, upper, told), _lucky(release), rules, strict=True
            )
        ],
    }
    return _with_shares(release, found, confidence)


def _beyond(release: Release, lower: Array, upper: Array, told: Sequence[str]) -> list[str]:
    """What is said of each value that lies outside its interval, which is cut to what is possible."""
    outside = ((release.values < lower) | (release.values > upper)).ravel().tolist()
    return [BEYOND if out and status == NOISY else "" for out, status in zip(outside, told, strict=True)]


def _lucky(release: Release) -> list[str]:
    """What is said of each value of a group that its noise may have helped to be shown."""
    return [LUCKY if lucky else "" for lucky in release.shown_by_luck.ravel().tolist()]


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
    names, rules = share_names(release), share_rules(release)
    lead = MADE_UP if release.made_up else ""
    for label, shares in shares_of_groups(release):
        columns = shares.columns(confidence)
        keys = dict(zip(release.groups.columns if release.groups is not None else (), label, strict=False))
        known = {**{column: [key] * len(names) for column, key in keys.items()}, **columns, "answer": names}
        known["note"] = [
            "; ".join(filter(None, (lead, note, rule))) for note, rule in zip(known["note"], rules, strict=True)
        ]
        for name in found:
            found[name] += known.get(name, [None] * len(names))
    return found


def _rules(release: Release, names: Sequence[str]) -> list[str]:
    """What was done about missing values, for each answer in view; of a share what it is a share of."""
    found = dict(zip(share_names(release), share_rules(release), strict=True)) if shows_shares(release) else {}
    for piece in release.pieces:
        found |= dict.fromkeys(row_counts(piece), "of rows")
        rule, answers = piece.own_rule, piece.block.answers
        if rule is None:
            continue
        if rule.is_checked:
            found |= dict(zip(answers.names, cell_rules(rule, len(answers.names)), strict=True))
        elif rule.is_counted:
            told = (
                each
                for feature in rule.features
                for each in (rule.own_values, rule.missing_rule(*feature), learned_note(release, rule, *feature))
            )
            found |= dict.fromkeys(answers.names, _once(told))
        if rule.features and not rule.counts_marks and not piece.block.problem.features.is_linear:
            found |= {name: _once((found.get(name), *rules)) for name, rules in _rules_of(release, piece, rule)}
    return [found.get(name, "") for name in names]


def _rules_of(release: Release, piece: Release, rule: RowRule) -> Iterator[tuple[str, list[str]]]:
    """What was done about missing values of the columns of each answer."""
    block = piece.block
    for name, lead in zip(block.answers.names, block.answers.leads.tolist(), strict=True):
        places = [] if lead == ONE else block.domain.input.made_of(int(block.problem.features.index[lead]))
        yield name, [
            each
            for kind, column in (rule.features[i] for i in places)
            if column
            for each in (
                rule.weight_rule(kind), rule.missing_rule(kind, column), learned_note(release, rule, kind, column)
            )
        ]  # fmt: skip


def _once(notes: Iterable[str | None]) -> str:
    """Notes on one line, each once."""
    return "; ".join(dict.fromkeys(filter(None, notes)))


def _labels(release: Release) -> Sequence[tuple[Any, ...]]:
    """The keys of the groups in view; none where there are no groups, or they are added up."""
    groups, chosen = release.groups, release.view.groups
    if groups is None or release.view.summed:
        return ()
    return groups.labels if chosen is None else [groups.labels[g] for g in chosen]


def marginal(block: Block, values: Array, attributes: Sequence[str | int]) -> Array:
    """The table of one marginal among the values of a release, an axis per attribute, in the order given."""
    work, names = block.problem.features.marginals, block.domain.input.attributes
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

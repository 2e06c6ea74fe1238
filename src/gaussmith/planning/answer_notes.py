"""Notes on the answers of a question: how their tables were read. What does not hold for all says for which it does."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gaussmith.errors import RequestError, nearest
from gaussmith.notations import setting
from gaussmith.planning.row_rule import Definitions, columns_needed, definitions_of, notes_of, told_definitions

if TYPE_CHECKING:
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.row_rule import RowRule


MAX_NAMED = 4
"""Limit on the answers named before a note."""


class Told(NamedTuple):
    """Some answers of a query, and what the notes on them depend on.

    counts:  whether they are the number of people alone, which a note on numbers of the same query is not about
    groups:  how many groups are declared; None where there are none, or they are found
    values:  how many values or ranges a histogram counts people in; None where it does not
    """

    query: int
    names: Sequence[str]
    counts: bool
    rule: RowRule | None
    groups: int | None
    values: int | None

    def notes(self) -> list[str]:
        """The rules in plain words, one a line."""
        return [] if self.rule is None else notes_of(self.rule, self.groups, self.values)


def told_of(piece: Plan, rule: RowRule | None, answer: str | None = None) -> Told:
    """What is told of the answers of one piece, or of one of them, where its table is read by this rule."""
    names, groups = piece.names, piece.groups
    counted = piece.answers.count
    return Told(
        piece.slot.query,
        names[:-1] if counted and len(names) > 1 else names,
        counted and len(names) == 1,
        rule if rule is None or answer is None else _about(piece, rule, answer),
        None if groups is None or groups.is_found else groups.size,
        piece.query.block.domain.dimension if rule is not None and rule.histogram is not None else None,
    )


def _about(piece: Plan, rule: RowRule, answer: str) -> RowRule:
    """The rule as far as it is about one answer: its columns, and those that they are derived from."""
    if rule.counts_marks or rule.is_counted or answer not in piece.names:
        return rule
    read = read_by(piece, answer)
    if read is None:
        return rule
    own = tuple(feature for i, feature in enumerate(rule.features) if i in read)
    columns = {column for _, column in own}
    rule = replace(
        rule.about(columns),
        features=own,
        complete=tuple(name for name in rule.complete if name in columns),
        complete_by_type=tuple(name for name in rule.complete_by_type if name in columns),
    )
    needed = columns_needed(rule, columns)
    limit = None if piece.answers.count and answer == piece.names[-1] else rule.rows_per_unit
    return replace(rule, rows_per_unit=limit, columns=tuple(pair for pair in rule.columns if pair[0] in needed))


def read_by(piece: Plan, answer: str | None) -> set[int] | None:
    """The coordinates of a record that an answer of one piece is read from, or all its answers; None where they mix."""
    features = piece.block.problem.features
    if features.is_linear:
        return None
    kept = range(len(features.index)) if answer is None else piece.answers.picked([list(piece.names).index(answer)])[1]
    return {i for place in kept for i in piece.domain.input.made_of(int(features.index[place]))}


def notes_on(pieces: Sequence[Told]) -> list[str]:
    """How the tables of some answers were read, one note a line. A derived column is told once, for itself."""
    notes = {piece.query: piece.notes() for piece in pieces}
    common = [line for line in next(iter(notes.values())) if all(line in each for each in notes.values())]
    derived = [definitions_of(piece.rule) for piece in pieces if piece.rule is not None]
    defined = {line for each in derived for line in told_definitions(each)}
    own = [line for line in told_definitions(_all_of(derived)) if line not in common]
    told: dict[tuple[int, ...], list[str]] = {}
    for line in dict.fromkeys(line for lines in notes.values() for line in lines if line not in (*common, *defined)):
        told.setdefault(tuple(query for query, lines in notes.items() if line in lines), []).append(line)
    for queries, lines in told.items():
        some = [piece for piece in pieces if piece.query in queries]
        names = [name for piece in [each for each in some if not each.counts] or some for name in piece.names]
        shown = ", ".join(names[:MAX_NAMED]) + (", …" if names[MAX_NAMED:] else "")
        own.append(f"{shown}: {'; '.join(lines)}")
    return [*common, *own]


def _all_of(derived: Iterable[Definitions]) -> dict[str, tuple[str, str]]:
    """Derived columns of several rules, each once: as told where its own values count, not where it only filters."""
    found: dict[str, tuple[str, str]] = {}
    for each in derived:
        found |= {name: told for name, told in each.items() if name not in found or told[1]}
    return found


# What a curator says about a release: who publishes what, for which purpose, and why with these numbers.
#
#     [about]
#     curator = "Ministry of Health"
#     purpose = "Planning of clinics"
#
# It is part of the plan and of the record, and is shown in the report. `release.registry()` fills an entry of the
# registry of deployments with it (docs/publishing.md). Nothing of it changes a number.

MAX_TEXT = 4_000
"""Limit on the characters of one text."""

MAX_LISTED = 50
"""Limit on the names in a list."""

LISTS = ("curator", "authors", "sources")
DATES = ("published", "data_from", "data_until")
CHOICES = {
    "deployment_model": ("central", "federated"),
    "release_type": ("one release", "many releases"),
    "data_source": ("static", "dynamic"),
    "sector": ("technology", "healthcare", "education", "government", "energy", "finance"),
}
"""What may be chosen. Noise is added where the data of all people is: never on their own devices."""


def _said(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True, kw_only=True)
class About:
    """What is said in `[about]`; empty where nothing was said."""

    name: str = _said("", "what the published tables are called")
    curator: tuple[str, ...] = _said((), "who publishes them, a name or a list of names")
    purpose: str = _said("", "what they are meant for")
    description: str = _said("", "what they are, in a few sentences")
    contact: str = _said("", "where questions go")
    published: str = _said("", "the day of publication")
    data_from: str = _said("", "the first day that the data describe")
    data_until: str = _said("", "the last day that the data describe")
    region: str = _said("", "the region that the data describe, or whose laws apply")
    sector: str = _said("", "technology, healthcare, education, government, energy or finance")
    deployment_model: str = _said("", "central (one party holds the data and adds the noise) or federated")
    release_type: str = _said("", "one release, or many releases")
    data_source: str = _said("", "static, or dynamic where new data come in")
    actors: str = _said("", "who may see the data and the results, and who is trusted with what")
    rationale_epsilon: str = _said("", "why this guarantee")
    rationale_bounds: str = _said("", "where the bounds and limits come from")
    preprocessing: str = _said("", "what was done to the data before, and what was learned from it unprotected")
    post_processing: str = _said("", "what is done to the answers before they are published")
    security: str = _said("", "how the data are kept, and who has access")
    unprotected: str = _said("", "what is published beside this without protection")
    authors: tuple[str, ...] = _said((), "who filled in this form")
    sources: tuple[str, ...] = _said((), "links to papers, code and the tables")
    notes: str = _said("", "all else")

    def to_dict(self) -> dict[str, Any]:
        """What was said, for JSON."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items() if value}


MEANINGS: dict[str, str] = {each.name: each.metadata["help"] for each in fields(About)}
"""The keys of `[about]`, and what each means."""


def read_about(given: Any) -> About | None:
    """What a table says; None where it says nothing. Refuses names, dates and choices that do not exist.

    >>> read_about({"curator": "Ministry", "published": datetime.date(2026, 1, 31)}).to_dict()
    {'curator': ['Ministry'], 'published': '2026-01-31'}
    """
    if given is None or isinstance(given, About):
        return given
    if not isinstance(given, Mapping):
        what, remedy = f"about={given!r}"[:120], f"write {setting('about', {'curator': ..., 'purpose': ...})}"
        raise RequestError(what, "it must be a table", remedy, code="about-not-a-table")
    said = {str(name): _read(str(name), value) for name, value in given.items()}
    said = {name: value for name, value in said.items() if value}
    first, last = said.get("data_from", ""), said.get("data_until", "")
    if first and last and first > last:
        what, rule = f"data_from={first} and data_until={last}", "the first day comes before the last"
        raise RequestError(what, rule, "swap the two", code="about-dates-reversed")
    return About(**said) if said else None


def _read(name: str, value: Any) -> Any:
    if name not in MEANINGS:
        what, rule = f"unknown key {name!r} in about", "there is no such key"
        remedy = nearest(name, MEANINGS, most=len(MEANINGS))
        raise RequestError(what, rule, remedy, code="unknown-key-in-about", key=name)
    if name in DATES:
        return _date(name, value)
    if name in LISTS:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or len(names) > MAX_LISTED:
            what, rule = f"about.{name}={value!r}"[:120], f"it must be a text, or a list of at most {MAX_LISTED} texts"
            raise RequestError(what, rule, f"write {setting(name, [...])}", code="about-list-malformed", key=name)
        return tuple(_text(name, each) for each in names)
    text = _text(name, value)
    if name in CHOICES and text and text.lower() not in CHOICES[name]:
        rule = f"it must be one of: {', '.join(CHOICES[name])}"
        remedy = nearest(text, CHOICES[name])
        if text.lower() in ("local", "shuffle"):
            remedy = "noise is added where the data of all people is: write central"
        raise RequestError(f"about.{name}={text[:80]!r}", rule, remedy, code="about-choice-unknown", key=name)
    return text.lower() if name in CHOICES else text


def _text(name: str, value: Any) -> str:
    if (
        not isinstance(value, str)
        or len(value) > MAX_TEXT
        or not value.replace("\n", "").replace("\t", "").isprintable()
    ):
        what, rule = f"about.{name}={value!r}"[:120], f"it must be printable text of at most {MAX_TEXT:,} characters"
        raise RequestError(what, rule, f"write {setting(name, ...)}", code="about-not-text", key=name)
    return value.strip()


def _date(name: str, value: Any) -> str:
    if value == "":
        return ""
    day = value.date() if isinstance(value, datetime.datetime) else value
    try:
        found = day if isinstance(day, datetime.date) else datetime.date.fromisoformat(day)
        return found.isoformat()
    except (TypeError, ValueError):
        what, rule = f"about.{name}={value!r}"[:120], "it must be a day"
        remedy = f"write {setting(name, datetime.date(2026, 1, 31))}"
        raise RequestError(what, rule, remedy, code="about-not-a-date", key=name) from None

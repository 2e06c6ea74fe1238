"""What a curator says about a release: who publishes what, for which purpose, and why with these numbers.

    [about]
    curator = "Ministry of Health"
    purpose = "Planning of clinics"

It is part of the plan and of the record, and is shown in the report. `release.registry()` fills an entry of the
registry of deployments with it (docs/publishing.md). Nothing of it changes a number.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gaussmith.errors import RequestError, nearest
from gaussmith.values import dataclass

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


@dataclass(frozen=True, kw_only=True)
class About:
    """What is said in `[about]`; empty where nothing was said.

    name:              what the published tables are called
    curator:           who publishes them, a name or a list of names
    purpose:           what they are meant for
    description:       what they are, in a few sentences
    contact:           where questions go
    published:         the day of publication
    data_from, data_until: the first and the last day that the data describe
    region:            the region that the data describe, or whose laws apply
    sector:            technology, healthcare, education, government, energy or finance
    deployment_model:  central (one party holds the data and adds the noise) or federated
    release_type:      one release, or many releases
    data_source:       static, or dynamic where new data come in
    actors:            who may see the data and the results, and who is trusted with what
    rationale_epsilon: why this guarantee
    rationale_bounds:  where the bounds and limits come from
    preprocessing:     what was done to the data before, and whether anything was learned from it unprotected
    post_processing:   what is done to the answers before they are published
    security:          how the data are kept, and who has access
    unprotected:       what is published beside this without protection
    authors:           who filled in this form
    sources:           links to papers, code and the tables
    notes:             all else
    """

    name: str = ""
    curator: tuple[str, ...] = ()
    purpose: str = ""
    description: str = ""
    contact: str = ""
    published: str = ""
    data_from: str = ""
    data_until: str = ""
    region: str = ""
    sector: str = ""
    deployment_model: str = ""
    release_type: str = ""
    data_source: str = ""
    actors: str = ""
    rationale_epsilon: str = ""
    rationale_bounds: str = ""
    preprocessing: str = ""
    post_processing: str = ""
    security: str = ""
    unprotected: str = ""
    authors: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What was said, for JSON."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items() if value}


NAMES = tuple(each.name for each in fields(About))


def read_about(given: Any) -> About | None:
    """What a table says; None where it says nothing. Refuses names, dates and choices that do not exist.

    >>> read_about({"curator": "Ministry", "published": datetime.date(2026, 1, 31)}).to_dict()
    {'curator': ['Ministry'], 'published': '2026-01-31'}
    """
    if given is None or isinstance(given, About):
        return given
    if not isinstance(given, Mapping):
        what, remedy = f"about={given!r}"[:120], 'write about = { curator = "…", purpose = "…" }'
        raise RequestError(what, "it must be a table", remedy, code="about-not-a-table")
    said = {str(name): _read(str(name), value) for name, value in given.items()}
    said = {name: value for name, value in said.items() if value}
    first, last = said.get("data_from", ""), said.get("data_until", "")
    if first and last and first > last:
        what, rule = f"data_from={first} and data_until={last}", "the first day comes before the last"
        raise RequestError(what, rule, "swap the two", code="about-dates-reversed")
    return About(**said) if said else None


def _read(name: str, value: Any) -> Any:
    if name not in NAMES:
        what, rule = f"unknown key {name!r} in about", "there is no such key"
        raise RequestError(what, rule, nearest(name, NAMES, most=len(NAMES)), code="unknown-key-in-about", key=name)
    if name in DATES:
        return _date(name, value)
    if name in LISTS:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or len(names) > MAX_LISTED:
            what, rule = f"about.{name}={value!r}"[:120], f"it must be a text, or a list of at most {MAX_LISTED} texts"
            raise RequestError(what, rule, f'write {name} = ["…"]', code="about-list-malformed", key=name)
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
        raise RequestError(what, rule, f'write {name} = "…"', code="about-not-text", key=name)
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
        raise RequestError(what, rule, f"write {name} = 2026-01-31", code="about-not-a-date", key=name) from None

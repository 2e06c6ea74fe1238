"""A suggestion is learned: up to three releases whose shares add up to one small guarantee, fixed before any is made.

Everything that decides is public: names and types of columns, what the analyst says, and the noisy outputs of the
releases before. A crash spends no more than these shares; with the same id the releases are continued.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gaussmith import charged_release, mechanism
from gaussmith.charged_release import ledger_unit, open_ledger
from gaussmith.errors import GaussmithError, RequestError
from gaussmith.guarantee import Guarantee
from gaussmith.ledger import Ledger
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.releases import Release
from gaussmith.releases.path import seen_of
from gaussmith.requests.request import Request
from gaussmith.stages.bounds import LearnBounds
from gaussmith.suggestions.columns import Columns, choose_columns
from gaussmith.suggestions.questions import (
    STEPS,
    WEIGHTS,
    Bounds,
    Shares,
    ask_bounds,
    ask_keys,
    ask_people,
    split_guarantee,
)
from gaussmith.suggestions.suggestion import Limit, Outside, Suggestion

Progress = Callable[[float | None], None]

VAGUE = 100
"""By how much the end of an interval lies above a limit, if it says nothing."""


def suggest(
    source: Any,
    guarantee: Guarantee,
    *,
    unit: str | None = None,
    numbers: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    keys_delta: float | None = None,
    ledger: Any = None,
    id: str | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    master: str | None = None,
) -> Suggestion:
    """What a request about a table needs, learned under `guarantee`: bounds, keys, rows and groups of a person.

        Σ μ_i² ≤ μ²   over all releases, fixed before the first

    By default all columns of numbers and of text are asked about; `numbers` and `groups` name some instead. A tenth of
    δ goes to finding keys, or `keys_delta`. With a ledger every release is charged to it, under `id` and its part:
    id-bounds, id-keys, id-people.

    >>> import gaussmith as gm, polars as pl
    >>> people = pl.DataFrame({"age": [20.0 + i % 60 for i in range(20_000)], "sex": ["f", "m"] * 10_000})
    >>> found = gm.suggest(people, gm.Guarantee(epsilon=0.5, delta=1e-7))
    >>> found.keys
    {'sex': ('f', 'm')}
    >>> low, high = found.bounds["age"]
    >>> low <= 20 and 79 <= high < 10_000
    True
    """
    if not isinstance(guarantee, Guarantee):
        raise RequestError(
            f"guarantee of type {type(guarantee).__name__}",
            "a suggestion spends a small guarantee",
            "write gaussmith.Guarantee(epsilon=0.1, delta=1e-7)",
            code="suggestion-without-guarantee",
        )
    book = open_ledger(ledger, id)
    kinds, written = mechanism.read_kinds(source, engine, master)
    columns = choose_columns(kinds, written, unit, numbers, groups)
    reason = _why_no_keys(guarantee, keys_delta, book)
    finds = bool(columns.groups) and not reason
    shares = split_guarantee(guarantee, columns, unit, finds, keys_delta)
    releases: dict[str, Release] = {}

    def prepare(request: Request) -> Request:
        mechanism.prepare_request(request.plan, source, engine, master)
        return request

    def make(name: str, request: Request) -> Release:
        own = None if id is None else f"{id}-{name}"
        made = charged_release.release(request, book, own, progress, engine, master)
        releases[name] = made
        return made

    asked = {}
    if shares.bounds is not None:
        asked["bounds"] = ask_bounds(source, columns, unit, shares.bounds)
    if shares.keys is not None:
        asked["keys"] = ask_keys(source, columns, unit, shares.keys, shares.keys_delta)
    if shares.people is not None:  # planned once before the charge, for what could be learned
        prepare(_people(source, unit, shares.people, dict.fromkeys(columns.numbers, (0.0, 100.0)), {}))
    for request in asked.values():
        prepare(request)
    if book is not None:
        _check_budget(book, unit, shares, id)
    bounds = _bounds(make("bounds", asked["bounds"])) if "bounds" in asked else {}
    keys = _keys(make("keys", asked["keys"]), columns) if "keys" in asked else {}
    known = {name: pair for name, pair in bounds.items() if pair is not None}
    people = None
    if shares.people is not None and (known or unit is not None):
        try:
            last = prepare(_people(source, unit, shares.people, known, keys))
        except GaussmithError:  # the found keys do not fit in a formula, and only their groups are not counted
            last = _people(source, unit, shares.people, known, {})
        people = make("people", last)
    return Suggestion(
        source, unit, guarantee, shares.whole, float(shares.keys_delta), columns, bounds,
        _outside(people, known, unit) if people else {},
        keys or dict.fromkeys(columns.groups),
        _limit(people, "rows") if people and unit is not None else None,
        {
            name: limit
            for i, (name, found) in enumerate(keys.items())
            if people and (limit := _limit(people, f"groups {i}", len(found)))
        },
        reason, "" if book is None else book.where, releases,
    )  # fmt: skip


def _people(
    source: Any, unit: str | None, guarantee: Guarantee, bounds: Bounds, keys: dict[str, tuple[Any, ...]]
) -> Request:
    request = ask_people(source, unit, guarantee, bounds, keys)
    assert request is not None, "there are bounds, or there is a unit"
    return request


def _why_no_keys(guarantee: Guarantee, keys_delta: float | None, book: Ledger | None) -> str:
    """Why keys are not looked for; empty where they are."""
    if book is not None and not book.keys_delta:
        return "the ledger has no δ for found keys"
    if guarantee.delta is None and keys_delta is None:
        return "a guarantee stated as μ or ρ has no δ for them (give keys_delta)"
    return ""


def _check_budget(book: Ledger, unit: str | None, shares: Shares, id: str | None) -> None:
    """Refuse now what the ledger would refuse later, when a part is charged already; a known id goes on."""
    known = {entry.release_id for entry in book.entries()} if id is not None else set()
    if not any(f"{id}-{name}" in known for name in WEIGHTS):
        book.check_protection(ADD_REMOVE, ledger_unit(unit))
        book.afford(shares.whole, shares.keys_delta)


def _bounds(release: Release) -> dict[str, tuple[float, float] | None]:
    """Generous bounds from the noisy cells of all stages."""
    path = release.path
    assert path is not None and isinstance(path.rule, LearnBounds)
    seen = [seen_of(stage.step.stage, stage.release) for stage in path.stages]
    return {column: pair for (column, _), pair in path.rule.generous_bounds(seen).items()}


def _keys(release: Release, columns: Columns) -> dict[str, tuple[Any, ...]]:
    """The keys that were shown, of each column."""
    return {name: tuple(key for (key,) in _question(release, name).labels) for name in columns.groups}


def _outside(release: Release, bounds: Bounds, unit: str | None) -> dict[str, Outside]:
    """The part of people beyond the bounds of each column."""
    found = {}
    for i, name in enumerate(bounds):
        ends = ("bounds {}", "bounds {}") if unit is None else ("min {}", "max {}")
        low, high = (_question(release, end.format(i)) for end in ends)
        everybody = (float(low.values.sum()) + float(high.values.sum())) / 2
        if everybody <= 0:
            continue
        beyond = float(low.values.flat[0]) + float(high.values.flat[2])
        error = math.hypot(float(low.standard_errors.flat[0]), float(high.standard_errors.flat[2]))
        shares = (beyond, beyond - 2 * error, max(beyond, 0.0) + 2 * error)  # a count below 0 promises nothing
        found[name] = Outside(*(min(max(share / everybody, 0.0), 1.0) for share in shares))
    return found


def _limit(release: Release, name: str, size: int | None = None) -> Limit | None:
    """The number of rows or groups that nearly all people have at most; None where too little was seen.

    `size` is the number of groups. An interval from 1 to all of them, or to numbers of another order, says nothing.
    """
    if name not in release.questions:
        return None
    answer = _question(release, name)
    value = float(answer.values.flat[0])
    low, high = answer.interval(0.95)
    if not math.isfinite(value) or value <= 0.5:
        return None
    ends = [_step(end) if math.isfinite(end) else None for end in (value, max(low, 1.0), high)]
    most, low_end, high_end = (end if size is None or (end is not None and end <= size) else size for end in ends)
    assert most is not None and low_end is not None
    if high_end is not None and high_end > VAGUE * most:
        high_end = None
    if low_end <= 1 and (high_end is None or (size is not None and 2 < size <= high_end)):
        return None
    return Limit(most, min(low_end, most), None if high_end is None else max(high_end, most))


def _step(value: float) -> int:
    """The largest whole number of the cell that a value is in."""
    return next((step for step in STEPS if value <= step + 0.5), STEPS[-1])


def _question(release: Release, name: str) -> Release:
    return release[name] if len(release.questions) > 1 else release

"""A suggestion is learned: up to three releases whose shares add up to one small guarantee, fixed before any is made.

Everything that decides is public: names and types of columns, what the analyst says, and the noisy outputs of the
releases before. A crash spends no more than these shares; with the same id the releases are continued.
"""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from gaussmith import __version__, mechanism
from gaussmith.checks import CONFIDENCE, checks_arguments
from gaussmith.engines.addresses import read_source, short_name, without_password
from gaussmith.errors import GaussmithError, RequestError, printable
from gaussmith.ledger.book import Ledger
from gaussmith.notations import toml_key, toml_string
from gaussmith.pipeline import release as charged_release
from gaussmith.pipeline.release import ledger_unit, open_ledger
from gaussmith.pipeline.suggestion import (
    FEW_VALUES,
    STEPS,
    WEIGHTS,
    Bounds,
    Columns,
    Keys,
    Limit,
    Outside,
    Shares,
    Suggestion,
    ask_bounds,
    ask_keys,
    ask_people,
    choose_columns,
    plain_number,
    split_guarantee,
    told_limit,
)
from gaussmith.planning.error_distribution import normal_width
from gaussmith.planning.learned_bounds import LearnBounds
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE
from gaussmith.releases.path import seen_of
from gaussmith.releases.release import Release
from gaussmith.requests.readers import without
from gaussmith.requests.request import Request

Progress = Callable[[float | None], None]

VAGUE = 100
"""By how much the end of an interval lies above a limit, if it says nothing."""


@checks_arguments
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
    >>> found.bounds["age"][0] <= 20 and 79 <= found.bounds["age"][1] < 10_000
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
        mechanism.prepare_request(request.plan, mechanism.open_table([request.plan], source, engine, master))
        return request

    def make(name: str, request: Request) -> Release:
        own = None if id is None else f"{id}-{name}"
        made = charged_release.release(request, book, own, progress, engine, master)
        releases[name] = made
        return made

    def ask_last(bounds: Bounds, keys: Keys) -> Request | None:
        request = None if shares.people is None else ask_people(source, unit, shares.people, bounds, keys)
        return None if request is None else prepare(request)

    asked = {}
    if shares.bounds is not None:
        asked["bounds"] = ask_bounds(source, columns, unit, shares.bounds)
    if shares.keys is not None:
        asked["keys"] = ask_keys(source, columns, unit, shares.keys, shares.keys_delta)
    ask_last(dict.fromkeys(columns.numbers, (0.0, 100.0)), {})  # planned once before the charge
    for request in asked.values():
        prepare(request)
    if book is not None:
        _check_budget(book, unit, shares, id)
    bounds = _bounds(make("bounds", asked["bounds"])) if "bounds" in asked else {}
    keys = _keys(make("keys", asked["keys"]), columns) if "keys" in asked else {}
    known = {name: pair for name, pair in bounds.items() if pair is not None}
    found = Suggestion(
        source, unit, guarantee, shares.whole, float(shares.keys_delta), columns, bounds, {},
        keys or dict.fromkeys(columns.groups), None, {}, reason, "" if book is None else book.where, releases,
    )  # fmt: skip
    try:
        last = ask_last(known, keys)
    except GaussmithError:  # the found keys do not fit in a formula, and only their groups are not counted
        last = ask_last(known, {})
    if last is None:
        return found
    people = make("people", last)
    counted = {name: _limit(people, f"groups {i}", len(each)) for i, (name, each) in enumerate(keys.items())}
    return replace(
        found,
        outside=_outside(people, known, unit),
        rows_per_unit=None if unit is None else _limit(people, "rows"),
        groups_per_unit={name: limit for name, limit in counted.items() if limit is not None},
    )


def _why_no_keys(guarantee: Guarantee, keys_delta: float | None, book: Ledger | None) -> str:
    """Why keys are not looked for; empty where they are."""
    if book is not None and not book.keys_delta:
        return "the ledger has no δ for found keys"
    if guarantee.delta is None and keys_delta is None:
        return "a guarantee stated as μ or ρ has no δ for them (give keys_delta)"
    return ""


def _check_budget(book: Ledger, unit: str | None, shares: Shares, id: str | None) -> None:
    """Refuse now what the ledger would refuse later, when a part is charged already; a known id goes on."""
    if id is None or not any(book.is_charged(f"{id}-{name}") for name in WEIGHTS):
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
    """The part of people beyond the bounds of each column, with intervals that hold for all columns at once."""
    found, width = {}, normal_width(CONFIDENCE, max(1, len(bounds)))
    for i, name in enumerate(bounds):
        ends = ("bounds {}", "bounds {}") if unit is None else ("min {}", "max {}")
        low, high = (_question(release, end.format(i)) for end in ends)
        everybody = (float(low.values.sum()) + float(high.values.sum())) / 2
        if everybody <= 0:
            continue
        beyond = float(low.values.flat[0]) + float(high.values.flat[2])
        error = math.hypot(float(low.standard_errors.flat[0]), float(high.standard_errors.flat[2]))
        shares = (beyond, beyond - width * error, max(beyond, 0.0) + width * error)  # a count below 0 promises nothing
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
    low, high = answer.interval(CONFIDENCE)
    if not math.isfinite(value) or value <= 0.5:
        return None
    most, low_end, high_end = (_cell_of(end, size) for end in (value, max(low, 1.0), high))
    assert most is not None and low_end is not None
    if high_end is not None and high_end > VAGUE * most:
        high_end = None
    if low_end <= 1 and (high_end is None or (size is not None and 2 < size <= high_end)):
        return None
    return Limit(most, min(low_end, most), None if high_end is None else max(high_end, most))


def _cell_of(value: float, size: int | None) -> int | None:
    """The largest whole number of the cell that a value is in, of `size` at most; None where it has no end."""
    if not math.isfinite(value):
        return size
    step = next((step for step in STEPS if value <= step + 0.5), STEPS[-1])
    return step if size is None else min(step, size)


def _question(release: Release, name: str) -> Release:
    return release[name] if len(release.questions) > 1 else release


# The file of a suggested request: TOML with comments, as a colleague would hand it over.

NO_BOUNDS = f"no bounds found for {{}}: {FEW_VALUES}. Write them from what you know, such as {{}} = [0, 1]"
MEANS = (
    "Means within bounds. Delete those you do not need: the others become more exact. Most bounds are powers of two, "
    "so a column of 0 and 1 has [0, 2]: write [0, 1] where you know it."
)
WIDTH = 100


def request_text(found: Suggestion, beside: Path | None) -> str:
    """The whole file."""
    return "\n".join([*_head(found, beside), *_numbers(found), *_groups(found)]) + "\n"


def _head(found: Suggestion, beside: Path | None) -> list[str]:
    data = read_source(found.source).data
    is_named = isinstance(data, str | os.PathLike)
    name = short_name(data) or f"a {type(data).__name__}"
    lines = [
        f"#:schema {schema_address()}",
        *_comment(f"A request about {name}, suggested by Gaussmith {__version__}."),
        "#",
        *_comment(
            f"Bounds, limits and keys were learned from the data, and that is paid for: {found.told_spent}. It adds to "
            "what this request will spend. All of it is noisy. What you know from a codebook is better: change it here."
        ),
        *_comment("Look at the errors next (gaussmith plan, which touches no data), then release."),
        "",
        f"source = {_source(found, beside)}" + ("" if is_named else "  # it was a frame: name its file here"),
    ]
    if found.unit is not None:
        lines.append(f"unit = {toml_string(found.unit)}  # all rows with the same value are one person")
    else:
        lines.append('# unit = "person"  # add this if a person may have several rows; now every row is one person')
    delta = found.guarantee.delta
    return [
        *lines,
        "",
        *_comment("How well people are protected by this release: yours to choose."),
        f"guarantee = {{ epsilon = 1, delta = {plain_number(1e-6 if delta is None else delta)} }}",
    ]


def schema_address() -> str:
    """Where editors find the schema of a request: the file that is installed with the package."""
    return Path(str(resources.files("gaussmith") / "data" / "request.schema.json")).absolute().as_uri()


def _source(found: Suggestion, beside: Path | None) -> str:
    told = read_source(found.source)
    path = without_password(os.fspath(told.data)) if isinstance(told.data, str | os.PathLike) else "people.parquet"
    if beside is not None and "://" not in path and not os.path.isabs(os.path.expanduser(path)):
        path = os.path.relpath(path, beside)
    if not told.said:
        return toml_string(path)
    said = ", ".join(f"{key} = {_value(value)}" for key, value in told.said.items())
    return f"{{ path = {toml_string(path)}, {said} }}"


def _numbers(found: Suggestion) -> list[str]:
    """The question about numbers: means within the learned bounds, and how many people there are."""
    lines = ["", "[[question]]", 'name = "numbers"', "count = true"]
    known = {name: pair for name, pair in found.bounds.items() if pair is not None}
    if found.unit is not None and known:
        limit, told = found.rows_per_unit, told_limit(found.rows_per_unit, "rows")
        if limit is None:
            lines += _comment(f"Rows of a person: {told}. Write the number that you expect.")
        else:
            lines += _comment(f"{told}; people with more are scaled down.")
        lines.append(f"rows_per_unit = {1 if limit is None else limit.most}")
    if found.columns.others:
        lines += _comment("Not asked about, because of their types or names: " + ", ".join(found.columns.others) + ".")
    lines += _means(found, known) if known else []
    for name in without(found.bounds, known):
        lines += _comment(NO_BOUNDS.format(name, toml_key(name)))
    return lines


def _means(found: Suggestion, known: Bounds) -> list[str]:
    """The means within these bounds, with who is outside beside each."""
    lines = ["", *_comment(MEANS), "[question.means]"]
    entries = [f"{toml_key(name)} = [{_value(low)}, {_value(high)}]" for name, (low, high) in known.items()]
    width = max(map(len, entries))
    for entry, (name, bounds) in zip(entries, known.items(), strict=True):
        told = f"  # {found.outside[name].told(bounds)}" if name in found.outside else ""
        lines.append(f"{entry:<{width}}{told}".rstrip())
    return lines


def _groups(found: Suggestion) -> list[str]:
    """A question for each column of groups."""
    lines = []
    for name, keys in found.keys.items():
        if not keys:
            told = found.told_keys(keys) if keys is None else "too few people share one"
            lines += ["", *_comment(f"No keys of {name}: {told}. Write them from what you know:")]
            lines += ["# [[question]]", f"# name = {toml_string('by ' + name)}", "# count = true"]
            lines += ["# groups_per_unit = 1"] if found.unit is not None else []
            lines += [f'# by = {{ {toml_key(name)} = ["…", "…"] }}']
            continue
        said = ["Keys that enough people have. Rarer ones were not shown: add those that you know."]
        lines += _question_lines(found, name, keys, said)
    for name in found.columns.truths:
        lines += _question_lines(found, name, (False, True), [])
    return lines


def _question_lines(found: Suggestion, name: str, keys: Sequence[Any], said: Sequence[str]) -> list[str]:
    lines = ["", "[[question]]", f"name = {toml_string('by ' + name)}", "count = true"]
    if found.unit is not None:
        limit = found.groups_per_unit.get(name)
        few = len(keys) if len(keys) < 3 and limit is None else 1
        if limit is not None:
            rest = "; people with more keep those of most rows" if limit.most < len(keys) else ""
            lines += _comment(f"{limit.told('of these keys')}{rest}.")
        else:
            lines += _comment("In how many of these groups a person counts. Errors grow with its square root.")
        lines.append(f"groups_per_unit = {few if limit is None else min(limit.most, len(keys))}")
    for each in said:
        lines += _comment(each)
    return [*lines, f"by = {{ {toml_key(name)} = [{_listed(keys)}] }}"]


def _listed(keys: Sequence[Any]) -> str:
    """The keys on one line, or on several if they are many; no key is broken."""
    rows = [""]
    for key in map(_value, keys):
        if rows[-1] and len(rows[-1]) + len(key) > WIDTH - 20:
            rows.append("")
        rows[-1] += f"{', ' if rows[-1] else ''}{key}"
    return rows[0] if len(rows) == 1 else "".join(f"\n  {row}," for row in rows) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        printable(text), WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 2**53):
        return str(int(value))
    return repr(value) if isinstance(value, float) else toml_string(str(value))

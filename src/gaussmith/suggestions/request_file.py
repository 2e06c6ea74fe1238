"""The file of a suggested request: TOML with comments, as a colleague would hand it over."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith import __version__
from gaussmith.engines.addresses import short_name, without_password
from gaussmith.engines.source_description import read_source
from gaussmith.requests.toml_text import toml_key, toml_string
from gaussmith.suggestions.suggestion import FEW_VALUES, plain_number, told_limit
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.suggestions.suggestion import Suggestion

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
    if known:
        lines += ["", *_comment(MEANS)]
        lines.append("[question.means]")
        entries = [f"{toml_key(name)} = [{_value(low)}, {_value(high)}]" for name, (low, high) in known.items()]
        width = max(map(len, entries))
        for entry, name in zip(entries, known, strict=True):
            told = f"  # {found.outside[name]}" if name in found.outside else ""
            lines.append(f"{entry:<{width}}{told}".rstrip())
    for name, pair in found.bounds.items():
        if pair is None:
            lines += _comment(NO_BOUNDS.format(name, toml_key(name)))
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
        lines += _question(found, name, keys, said)
    for name in found.columns.truths:
        lines += _question(found, name, (False, True), [])
    return lines


def _question(found: Suggestion, name: str, keys: Sequence[Any], said: Sequence[str]) -> list[str]:
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

"""A request as a draft: what a request file says, in the fields of the form; what has no field stays TOML below it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gaussmith.engines.source_description import read_source
from gaussmith.requests.toml_text import write_toml
from gaussmith.web.drafts import Ask, Derived, Draft, write_reasons
from gaussmith.web.filled_lines import fill_asks, fill_groups, fill_questions, write_number

_LIMITS = ("rows_per_unit", "groups_per_unit", "values_per_unit")


def fill(fields: Mapping[str, Any], reasons: Mapping[str, str] | None = None, source: str | None = None) -> Draft:
    """The draft of a request file; `reasons` are comments behind bounds, by column; `source` is its path.

    >>> fill({"source": "a.csv", "guarantee": {"mu": 1.0}, "means": {"age": [0, 100]}, "count": True}).asks[0].high
    '100'
    """
    rest = dict(fields)
    told = read_source(rest.pop("source", ""))
    path = os.fspath(told.data) if source is None else source
    said: dict[str, Any] = {"source": path, "ids": told.ids or "", "unit": rest.pop("unit", "")}
    said["promises"] = " ".join(name for name in told.said if name != "ids")
    said |= _protection(rest.pop("guarantee", {"epsilon": 1, "delta": 1e-6}))
    said["neighbours"] = rest.pop("neighbors", rest.pop("neighbours", "add-remove"))
    count = rest.pop("count", False)
    said["count"] = "rows" if count == "rows" else "people" if count else ""
    said |= {name: str(rest.pop(name)) for name in _LIMITS if isinstance(rest.get(name), int)}
    for name, words in (("mean_of", ("rows", "units")), ("weights", ("relative", "equal"))):
        if isinstance(rest.get(name), str) and rest[name] in words:
            said[name] = rest.pop(name)
    if isinstance(rest.get("where"), str):
        said["where"] = rest.pop("where")
    said["derived"] = _derived(rest)
    questions, asks, by = fill_questions(rest, reasons or {})
    said["questions"] = questions
    said["by"] = fill_groups(rest) + by
    said["asks"] = fill_asks(rest, reasons or {}) + asks
    said["commented"] = _reasons_left(rest, said["asks"])
    said["more"] = write_toml(rest) if rest else ""
    return Draft(**said)


def read_reasons(text: str) -> dict[str, str]:
    """The comments behind the keys of a request file.

    >>> read_reasons("[sums]\\nmdvis = [0, 80]      # visits to a doctor in a year")
    {'mdvis': 'visits to a doctor in a year'}
    """
    found = re.findall(r'^\s*(?:"([^"]+)"|([\w-]+))\s*=\s*\[[^#\n]*\]\s*#\s*(.+?)\s*$', text, re.MULTILINE)
    return {quoted or bare: comment for quoted, bare, comment in found}


def _reasons_left(rest: dict[str, Any], asks: Sequence[Ask]) -> str:
    """The reasons of these lines, if the file has them as comments alone; `[about]` is rid of what the lines say."""
    text, about = write_reasons(asks), rest.get("about")
    if not isinstance(about, Mapping) or about.get("rationale_bounds") != text:
        return text
    rest["about"] = {name: value for name, value in about.items() if name != "rationale_bounds"}
    if not rest["about"]:
        del rest["about"]
    return ""


def _protection(guarantee: Any) -> dict[str, str]:
    stated = dict(guarantee) if isinstance(guarantee, Mapping) else guarantee.to_dict()
    way = next((name for name in ("mu", "rho") if name in stated), "epsilon")
    return {"protection": way, **{name: write_number(value) for name, value in stated.items()}}


def _derived(rest: dict[str, Any]) -> tuple[Derived, ...]:
    texts = rest.get("columns")
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        return ()
    del rest["columns"]
    return tuple(Derived(str(name), text.strip()) for name, text in texts.items())

"""One field of the form: a number, or a refusal that stands beside it."""

from __future__ import annotations

from gaussmith.errors import RequestError
from gaussmith.web.lists import read_item


def read_whole(field: str, text: str) -> int:
    number = read_number(field, text)
    if not abs(number) < 1e18 or number != int(number):
        raise refused_field(field, text, "it must be a whole number", "write 1, or more")
    return int(number)


def read_number(field: str, text: str) -> float:
    number = read_item(text.replace("−", "-").replace("_", ""))
    if isinstance(number, bool | str):
        name = field.rpartition("-")[2]
        raise refused_field(field, text, "it must be a number", f"write {_EXAMPLES.get(name, '1')}")
    return float(number) if isinstance(number, float) else int(number)


_EXAMPLES = {
    "delta": "1e-6",
    "low": "0",
    "high": "100",
    "rows": "10000",
    "mu": "0.5",
    "rho": "0.1",
    "target_error": "5",
}


_WORDS = {
    "target_error": "the error", "target": "the answer", "stand_in": "the stand-in", "rows": "the guess",
    "low": "smallest", "high": "largest", "listed": "the list", "keys": "the list of groups", "cells": "count by",
    "rows_per_unit": "rows per person", "groups_per_unit": "groups per person", "values_per_unit": "values per person",
    "source": "data", "epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ", "kind": "statistic",
}  # fmt: skip
"""Fields as the form calls them."""


def refused_field(field: str, text: str, rule: str, remedy: str) -> RequestError:
    name = field.rpartition("-")[2]
    what = f"{_WORDS.get(name, name)} = {text!r}"[:80] if text else f"{_WORDS.get(name, name)} is empty"
    if name == "more" and not text:
        what = "the text of the request"
    return RequestError(what, rule, remedy, code="form-field-refused", field=field)

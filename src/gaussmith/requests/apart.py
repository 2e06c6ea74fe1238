"""The answers of a request without questions, taken apart: sums, means and count together, each histogram by itself."""

from __future__ import annotations

from typing import Any

from gaussmith.requests.bins import read_all_bins
from gaussmith.requests.bounds import settle_values
from gaussmith.requests.fields import Fields, is_found, read_counted, read_values
from gaussmith.statistics.registry import asked_by_field

ANSWERS = (*asked_by_field(), "medians", "count")
"""The fields that ask for answers."""

TOGETHER = "answers"
"""The name of the sums, means and count of a request that has histograms too."""


def questions_apart(request: Fields) -> list[dict[str, Any]]:
    """A request's own answers as questions; empty where it has no histograms."""
    if not (request.histograms or request.proportions):
        return []
    declared = {**read_all_bins("bins", request.bins), **read_values("values", request.values)}
    counted_fields = ("histograms", "proportions")
    settled = {
        name: settle_values(name, read_counted(name, getattr(request, name)), declared) for name in counted_fields
    }
    counted_columns = [(name, *pair) for name, columns in settled.items() for pair in columns.items()]
    declared_ones = [len(values) for _, _, values in counted_columns if not is_found(values)]
    longest = max(declared_ones, default=0)
    none: dict[str, Any] = {name: {} for name in ANSWERS} | {"count": False, "values_per_unit": None}
    apart: list[dict[str, Any]] = []
    own: dict[str, Any]
    others = {name: getattr(request, name) for name in ANSWERS if name not in (*counted_fields, "count")}
    if any(others.values()) or (request.count and not declared_ones):
        apart.append({**none, **others, "count": request.count, "name": TOGETHER})
    counted = bool(apart)  # else the first histogram brings the number of people
    for field_name, column, values in counted_columns:
        again = field_name == "proportions" and column in settled["histograms"]
        title = f"{column} shares" if again else str(column)
        own = {field_name: {column: values}, "count": request.count and not counted, "name": title}
        given = request.values_per_unit
        if is_found(values):
            apart.append({**none, **own, "count": False, "values_per_unit": given})
            continue
        few = min(given, len(values)) if isinstance(given, int) and given <= longest else given
        apart.append({**none, **own, "values_per_unit": few, "weights": "equal"})
        counted = True
    return apart

"""Comparisons over a range of one parameter, as a table, a chart and a page."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaussmith.catalogue.comparison import Comparison, Row, page_table, paragraphs, write, write_csv
from gaussmith.errors import PlanError
from gaussmith.neighbours import protects
from gaussmith.values import dataclass
from gaussmith.words.numbers import figure
from gaussmith.words.tables import text_table, wrap_notes

WIDTH = 80
"""A table that is wider continues below."""

MARK = " †"
"""Stands behind the name of a mechanism that is not private as claimed."""

WHAT = "Total squared error, divided by that of the best mechanism whose claim is true"
COINCIDE = "Lines with equal errors cover each other: the table has their numbers."


@dataclass(frozen=True)
class Sweep:
    """Comparisons over a range of one parameter: d, ε, k or n."""

    over: str
    values: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    def table(self) -> list[dict[str, Any]]:
        """One record per value and mechanism that applies there."""
        return [
            {self.over: value, **asdict(row)}
            for value, comparison in zip(self.values, self.comparisons, strict=True)
            for row in comparison.applied
        ]

    def to_dict(self) -> dict[str, Any]:
        return {"over": self.over, "values": list(self.values), "comparisons": [c.to_dict() for c in self.comparisons]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        return write_csv(self.table())

    @property
    def title(self) -> str:
        """What is compared, as far as it is the same for all values."""
        parts = [
            {c.domain for c in self.comparisons},
            {f"ε = {c.epsilon:g}" for c in self.comparisons},
            {f"δ = {c.delta:g}" for c in self.comparisons},
            {protects(c.neighbours) for c in self.comparisons},
        ]
        return ", ".join(part.pop() for part in parts if len(part) == 1)

    @property
    def remarks(self) -> list[str]:
        """What the marks mean, and where and why mechanisms do not apply."""
        rows = [row for c in self.comparisons for row in c.rows]
        told = []
        if any(row.applies and row.sound == "no" for row in rows):
            told.append(f"{MARK.strip()} not private as claimed; its error is shown as claimed")
        for name, found in self._by_mechanism():
            missing = [v for v, row in zip(self.values, found, strict=True) if row is None or not row.applies]
            why = "; ".join(dict.fromkeys(row.note for row in found if row and not row.applies and row.note))
            if missing and why:
                where = "" if len(missing) == len(self.values) else f" at {self.over} = {_listed(missing)}"
                told.append(f"{name} does not apply{where}: {why}")
        return [*told, *dict.fromkeys(note for c in self.comparisons for note in c.notes)]

    def lines(self) -> list[list[str]]:
        """The table: a line per mechanism that applies somewhere, a column per value."""
        found = []
        for name, rows in self._by_mechanism():
            if any(row is not None and row.applies for row in rows):
                ratios = ["—" if r is None or r.ratio_to_best is None else _times(r.ratio_to_best) for r in rows]
                found.append([name + (MARK if _is_unsound(rows) else ""), *ratios])
        return found

    def _by_mechanism(self) -> Iterator[tuple[str, list[Row | None]]]:
        """Every mechanism with its row at each value, in the order of the first value where it applies."""
        names = [row.mechanism for c in self.comparisons for row in c.applied]
        names += [name for c in self.comparisons for name in c.mechanisms]
        by_name = [{row.mechanism: row for row in c.rows} for c in self.comparisons]
        for name in sorted(dict.fromkeys(names), key=lambda name: _is_unsound([rows.get(name) for rows in by_name])):
            yield name, [rows.get(name) for rows in by_name]

    def __str__(self) -> str:
        """Total errors relative to the best, a line per mechanism and a column per value."""
        tables = _side_by_side([self.over, *(f"{value:g}" for value in self.values)], self.lines())
        notes = wrap_notes(self.remarks)
        head = [*wrap_notes([WHAT, self.title]), ""]
        return "\n".join([*head, "\n\n".join(tables), *([""] if notes else []), *notes])

    def chart(self) -> Any:
        """Standard errors over the parameter, a line per mechanism, unsound ones dashed (an Altair chart)."""
        from gaussmith.catalogue.charts import sweep_spec
        from gaussmith.chart_packages import altair_chart

        return altair_chart(sweep_spec(self))

    def save(self, path: str | Path) -> Path:
        """Write a picture (.png, .svg), a page (.html) or the numbers (.json, .csv), by the suffix."""
        from gaussmith.catalogue.charts import sweep_spec

        lines = self.lines()
        table = page_table(
            [self.over, *(f"{value:g}" for value in self.values)], lines, [line[0].endswith(MARK) for line in lines]
        )
        page = f"<h1>{html.escape(WHAT)}</h1>\n{paragraphs([self.title])}\n{table}\n"
        return write(path, self, lambda: sweep_spec(self), page + paragraphs([*self.remarks, COINCIDE]))


def sweep(over: str, values: Sequence[float], case: Callable[[Any], Comparison]) -> Sweep:
    """Comparisons over a range of one parameter: `case` makes the comparison at each value.

    >>> import gaussmith as gm
    >>> found = gm.catalogue.sweep("d", [4, 16], lambda d: gm.compare(gm.Box([0] * d, [1] * d), epsilon=1, delta=1e-6))
    >>> [round(c["analytic Gaussian"].ratio_to_best, 2) for c in found.comparisons]
    [1.78, 2.56]
    """
    if not values:
        raise PlanError(
            "no values", "a sweep needs at least one value", "write values=[2, 4, 8]", code="sweep-without-values"
        )
    return Sweep(over, tuple(values), tuple(case(value) for value in values))


def _is_unsound(rows: Sequence[Row | None]) -> bool:
    return any(row is not None and row.applies and row.sound == "no" for row in rows)


def _times(ratio: float) -> str:
    """A ratio with three digits; a large one as a power of ten, which keeps columns narrow."""
    return figure(ratio, 3) if ratio < 1e6 else f"{ratio:.2e}".replace("e+", "e")


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values[:4]) + (", …" if values[4:] else "")


def _side_by_side(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table, in as many parts below each other as fit into lines of WIDTH; each repeats the names."""
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    parts: list[list[int]] = [[]]
    for i in range(1, len(header)):
        if parts[-1] and widths[0] + sum(2 + widths[j] for j in [*parts[-1], i]) > WIDTH:
            parts.append([])
        parts[-1].append(i)
    return [
        text_table([header[0], *(header[i] for i in part)], [[line[0], *(line[i] for i in part)] for line in lines])
        for part in parts
    ]

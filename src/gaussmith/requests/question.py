"""One question about a table: which answers, of which rows, in which groups. Checked here, without data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from gaussmith.checks import check_whole, is_number
from gaussmith.errors import DomainError, RequestError, nearest
from gaussmith.expressions import parse
from gaussmith.statistics.mean import read_mean_within

Bounds = Mapping[str, tuple[float, float]]

MEANS_OF = ("rows", "units")


@dataclass(frozen=True, eq=False)
class Question:
    """One question about a table; all fields except `name` and `share` may also be set in the request itself.

    sums, means:      columns with their bounds
    count:            True: the number of people; "rows": the number of rows
    by:               declared groups: {"region": ["north", "south"]}, or a list of combinations
    rows_per_unit:    the limit on rows per person that count, for means over rows and for count = "rows"
    groups_per_unit:  the number of groups a person counts in
    group_weights:    how much the errors of a group matter: {"north": 4}, with several key columns
                      {"region": {"north": 4}}; groups that are not named weigh 1
    mean_of:          "rows": means over rows; "units": means over people of each person's own mean
    where, columns:   a filter and derived columns (docs/expressions.md)
    mean_within:      where means lie, for the errors stated before a release: {"age": [30, 50]}, or the middle fraction
                      of the bounds, such as 0.5; by default anywhere within the bounds. It does not change the noise
    missing:          the substitute for a missing value, by column
    weights:          "relative" (to what one person can change), "equal", or one number per sum, then per mean
    histograms:       how many people have each of the declared values of a column: {"health": ["good", "poor"]}
    values_per_unit:  how many of these values a person counts in
    share:            its share of μ², relative to those of the others; without any, questions are planned together
    error_at_most:    the largest standard error allowed in its sums, counts and cells; all else is as good as it gets
    """

    name: str = ""
    sums: Bounds = field(default_factory=dict)
    means: Bounds = field(default_factory=dict)
    count: bool | str = False
    by: Any = field(default_factory=dict)
    rows_per_unit: int | None = None
    groups_per_unit: int = 1
    group_weights: Any = None
    mean_of: str = "rows"
    where: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)
    mean_within: Mapping[str, Any] | float = field(default_factory=dict)
    weights: Any = "relative"
    histograms: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    values_per_unit: int = 1
    share: float | None = None
    error_at_most: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "histograms", read_values(self.histograms))
        object.__setattr__(self, "sums", _bounds("sums", self.sums))
        object.__setattr__(self, "means", _bounds("means", self.means))
        self.where_means_lie  # noqa: B018 (read here, or refused)
        object.__setattr__(self, "by", _keys(self.by))
        object.__setattr__(self, "columns", _texts("columns", self.columns, 'bmi = "weight / (height * height)"'))
        if not isinstance(self.count, bool) and self.count != "rows":
            what, rule = f"count={self.count!r}", 'it must be true, false or "rows"'
            raise RequestError(what, rule, "write count = true", code="unknown-count", count=self.count)
        if self.mean_of not in MEANS_OF:
            rule, remedy = 'it must be "rows" or "units"', nearest(str(self.mean_of), MEANS_OF)
            raise RequestError(f"mean_of={self.mean_of!r}", rule, remedy, code="unknown-mean-of", mean_of=self.mean_of)
        if self.where is not None and not isinstance(self.where, str):
            what, rule = f"where={self.where!r}", "a filter must be text"
            raise RequestError(what, rule, 'write where = "age >= 18"', code="where-not-text", where=self.where)
        for text in (*self.columns.values(), self.where):
            if text is not None:
                parse(text)  # names of columns and their kinds are checked when the source is there
        if not isinstance(self.missing, Mapping):
            what = f"missing={self.missing!r}"
            rule = "it must map columns to numbers"
            remedy = "write missing = { age = 40 }"
            raise RequestError(what, rule, remedy, code="missing-not-a-mapping", missing=self.missing)
        for column in self.missing:
            if column not in {*self.sums, *self.means}:
                what = f"missing names {column!r}"
                rule = "it must be a column that is asked for"
                remedy = nearest(str(column), [*self.sums, *self.means])
                raise RequestError(what, rule, remedy, code="missing-of-unasked-column", column=column)
            if not _is_plain(self.missing[column]):
                raise RequestError(
                    f"missing of {column!r} = {self.missing[column]!r}",
                    "it must be a number",
                    "write missing = { age = 40 }",
                    code="missing-not-a-number",
                    column=column,
                    missing=self.missing[column],
                )
        self._check_limit("groups_per_unit")
        self._check_limit("values_per_unit")
        lists = self.by.values() if isinstance(self.by, Mapping) else [self.by]
        if self.by and all(isinstance(keys, list) for keys in lists):  # others are refused as no keys at all
            _check_fits("groups_per_unit", self.groups_per_unit, math.prod(map(len, lists)), "groups")
        if self.rows_per_unit is not None:
            self._check_limit("rows_per_unit", 1 << 20)
        if not isinstance(self.name, str) or not self.name.isprintable() or self.name != self.name.strip():
            what, rule = f"name={self.name!r}", "the name of a question must be printable text"
            raise RequestError(what, rule, "choose another name", code="question-name-unusable", name=self.name)
        if self.share is not None and not (_is_plain(self.share) and 0 < self.share < math.inf):
            what, rule = f"share={self.share!r}", "a share must be a number above 0"
            raise RequestError(what, rule, "write share = 2", code="share-not-positive", share=self.share)
        if self.error_at_most is not None:
            self._check_error()
        if not (self.sums or self.means or self.count or self.histograms):
            rule = "a request has at least one answer"
            raise RequestError(
                "nothing is asked for", rule, "add sums, means or count, e.g. --count", code="nothing-asked"
            )
        if self.histograms:
            self._check_histogram()
        elif self.values_per_unit != 1:
            raise RequestError(
                f"values_per_unit={self.values_per_unit} without histograms",
                "it applies only to histograms",
                "leave it out",
                code="values-per-unit-without-histograms",
                values_per_unit=self.values_per_unit,
            )

    @cached_property
    def where_means_lie(self) -> dict[str, tuple[float, float]]:
        """Between which numbers means are stated to lie, by column."""
        return read_mean_within(self.mean_within, self.means)

    def _check_error(self) -> None:
        """A largest error is a number, and what it is about has a standard error that is known beforehand."""
        if not (_is_plain(self.error_at_most) and 0 < float(self.error_at_most or 0) < math.inf):
            raise RequestError(
                f"error_at_most={self.error_at_most!r}",
                "it is a standard error above 0",
                "write error_at_most = 50",
                code="error-limit-not-positive",
            )
        if self.share is not None:
            raise RequestError(
                "error_at_most beside share",
                "either says how much of the guarantee a question takes",
                "leave one out",
                code="error-limit-beside-share",
            )
        if not (self.sums or self.count or self.histograms):
            raise RequestError(
                "error_at_most of means alone",
                "the error of a mean depends on how many it is over, which is not known beforehand",
                "ask for sums or counts too, or choose weights",
                code="error-limit-of-means-alone",
            )

    def _check_limit(self, name: str, most: int | None = None) -> None:
        """Limits are whole numbers, and are kept as Python's own."""
        object.__setattr__(self, name, check_whole(name, getattr(self, name), 1, most, remedy=f"write {name} = 1"))

    def _check_histogram(self) -> None:
        """A histogram is a question of its own; beside it only the number of people may be asked."""
        _check_fits("values_per_unit", self.values_per_unit, max(map(len, self.histograms.values())), "values")
        if len(self.histograms) > 1 or self.sums or self.means:
            raise RequestError(
                "a histogram together with other answers in one question",
                "each histogram must be its own question",
                "write a [[question]] for each, or ask for them outside the questions",
                code="histogram-beside-other-answers",
            )
        if self.by or self.count == "rows":
            raise RequestError(
                "a histogram by groups, or with a number of rows",
                "a histogram counts people, once for each value",
                'leave by and count = "rows" out of its question',
                code="histogram-by-groups-or-rows",
            )

    def check_unit(self, unit: str | None) -> None:
        """Refuse what makes no sense for people named by this column, or for rows that are people."""
        if unit is None:
            limits = ("rows_per_unit", "groups_per_unit", "values_per_unit")
            for name, value in ((name, getattr(self, name)) for name in limits):
                if value not in (None, 1):
                    raise RequestError(
                        f"{name}={value} without a unit",
                        "without a unit each row is a person",
                        'name the column that identifies people: unit = "person"',
                        code="limit-without-unit",
                        name=name,
                        value=value,
                    )
            return
        over_rows = "means over rows" if self.means and self.mean_of == "rows" else ""
        over_rows = over_rows or ('count="rows"' if self.count == "rows" else "")
        if over_rows and self.rows_per_unit is None:
            raise RequestError(
                f"{over_rows} without rows_per_unit",
                "a limit on the rows that count per person is needed",
                'write rows_per_unit = 12, or mean_of = "units" for the mean over people',
                code="rows-per-unit-missing",
                answer=over_rows,
            )

    def described(self) -> dict[str, Any]:
        """What decides which rows are read and how: questions that agree in it can be planned together."""
        return {
            "by": self.by,
            "rows_per_unit": self.rows_per_unit,
            "groups_per_unit": self.groups_per_unit,
            "group_weights": self.group_weights,
            "mean_of": self.mean_of,
            "where": self.where,
            "columns": dict(self.columns),
            "weights": self.weights,
            "histograms": dict(self.histograms),
        }

    def given(self) -> dict[str, Any]:
        """What this question says itself: all that is not as it would be anyway."""
        usual = Question(count=True)
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v for name, v in found.items() if name == "count" or v != getattr(usual, name)}

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The fields of a question."""
        return tuple(f.name for f in fields(cls))


def _bounds(which: str, bounds: Any) -> dict[str, tuple[float, float]]:
    if not isinstance(bounds, Mapping):
        rule, remedy = "it must map columns to bounds", f"write {which} = {{ age = [0, 100] }}"
        raise RequestError(f"{which}={bounds!r}", rule, remedy, code="bounds-not-a-mapping", which=which, bounds=bounds)
    checked = {}
    for column, pair in bounds.items():
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and all(_is_plain(b) for b in pair)):
            raise DomainError(
                f"bounds of {column!r} = {pair!r}",
                "every column needs two numbers, known without looking at the data",
                f"write {which} = {{ {column} = [0, 100] }}",
                code="request-bounds-not-two-numbers",
                column=column,
                bounds=pair,
            )
        checked[str(column)] = (float(pair[0]), float(pair[1]))
    return checked


def read_values(histograms: Any) -> dict[str, list[Any]]:
    """Columns with the values that are counted; their rules are those of `Cells`."""
    if not isinstance(histograms, Mapping):
        shown = 'write histograms = { health = ["good", "fair", "poor"] }'
        what, rule = f"histograms={histograms!r}"[:120], "it must map columns to lists of values"
        raise RequestError(what, rule, shown, code="histograms-not-a-mapping", histograms=histograms)
    found = {}
    for column, values in histograms.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise DomainError(
                f"values of {column!r} = {values!r}"[:120],
                "list at least one value, chosen without looking at the data",
                f'write histograms = {{ {column} = ["good", "fair", "poor"] }}',
                code="histogram-values-not-listed",
                column=column,
                values=values,
            )
        found[str(column)] = _dates(values)
    return found


def _keys(by: Any) -> Any:
    """Declared keys with dates as texts; their rules are those of `Groups`."""
    if isinstance(by, Mapping):
        return {str(c): _dates(keys) if isinstance(keys, list | tuple) else keys for c, keys in by.items()}
    if isinstance(by, Sequence) and not isinstance(by, str):
        if not all(isinstance(group, Mapping) for group in by):
            raise _no_keys(by)
        return [dict(zip(group, _dates(list(group.values())), strict=True)) for group in by]
    raise _no_keys(by)


def _no_keys(by: Any) -> RequestError:
    rule = "it must map columns to lists of keys, or list combinations of keys"
    return RequestError(
        f"by={by!r}"[:120], rule, 'write by = { region = ["north", "south"] }', code="by-malformed", by=by
    )


def _dates(keys: Sequence[Any]) -> list[Any]:
    for key in keys:
        if isinstance(key, datetime.datetime) and key.time() != datetime.time():
            what, rule = f"key {key.isoformat()}", "dates are matched without a time of day"
            raise DomainError(what, rule, "write a date without a time", code="key-date-with-time", key=key.isoformat())
    return [key.isoformat()[:10] if isinstance(key, datetime.date) else key for key in keys]


def _texts(which: str, texts: Any, example: str) -> dict[str, str]:
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        what, rule, remedy = (
            f"{which}={texts!r}",
            "it must map names to expressions",
            f"write {which} = {{ {example} }}",
        )
        raise RequestError(what, rule, remedy, code="expressions-not-a-mapping", which=which, texts=texts)
    return {str(name): text for name, text in texts.items()}


def _check_fits(name: str, value: int, size: int, what: str) -> None:
    if value > max(size, 1):
        raise RequestError(
            f"{name}={value}",
            f"only {size} {what} are declared",
            f"write {name} = {size}, or less",
            code="limit-exceeds-declared",
            name=name,
            value=value,
            size=size,
        )


def _is_plain(value: Any) -> bool:
    """Whether this is a number that a request file can hold."""
    return isinstance(value, int | float) and is_number(value)

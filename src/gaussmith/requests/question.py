"""One question about a table: which answers, of which rows, in which groups. Checked here, without data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, NoReturn

from gaussmith.errors import RequestError, nearest
from gaussmith.expressions.grammar import parse
from gaussmith.notations import setting
from gaussmith.requests.bins import Bins, settle_marginals, settle_quantiles
from gaussmith.requests.fields import PRIVATE, Fields, QuestionFields, described, usual
from gaussmith.requests.readers import (
    OF_BOUNDED,
    READERS,
    fill_absent,
    is_found,
    joined_columns,
    read_all_bins,
    read_complete,
    read_counted,
    read_values,
    refuse_unknown,
    without,
)
from gaussmith.statistics.mean import read_mean_within
from gaussmith.statistics.registry import asked_by_field

# What is said once holds for every answer about a column: bounds of a row, bounds of a person's total, values.

Pair = tuple[float, float]
Said = Mapping[str, Pair]


def settle_rows(which: str, columns: Mapping[str, Pair | None], bounds: Said) -> dict[str, Pair]:
    """The bounds of one row of each column: those beside it, or those in `bounds`."""
    return {name: _said_once(which, name, pair, "bounds", bounds) or _unbounded(which, name, bounds)
            for name, pair in columns.items()}  # fmt: skip


def settle_totals(
    columns: Mapping[str, Pair | None], bounds: Said, total_bounds: Said, rows: int | None
) -> dict[str, Pair]:
    """The bounds of a person's total of each column: beside it, in `total_bounds`, or of so many rows within `bounds`.

    >>> settle_totals({"spent": None}, {"spent": (-1, 50)}, {}, 12)
    {'spent': (-12.0, 600.0)}
    >>> settle_totals({"age": None}, {"age": (18, 65)}, {}, 2)     # a person without a value adds nothing
    {'age': (0.0, 130.0)}
    """
    found = {}
    for name, pair in columns.items():
        own = _said_once("sums", name, pair, "total_bounds", total_bounds)
        if own is None and name in bounds and rows is not None:
            low, high = bounds[name]
            own = (float(min(0.0, rows * low)), float(max(0.0, rows * high)))
        if own is None and name in bounds:
            low, high = bounds[name]
            raise RequestError(
                f"the sum of {name!r} with bounds of one row, [{low:g}, {high:g}]",
                "with a unit, a sum adds up a person's total, which needs bounds of its own",
                f"write {setting('total_bounds', {name: [0, 500]})}, or {setting('rows_per_unit', 12)} for the total "
                "of 12 rows",
                code="total-without-bounds",
                column=name,
            )
        found[name] = own or _unbounded("sums", name, {**bounds, **total_bounds}, "total_bounds")
    return found


def settle_values(which: str, columns: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The declared values of each column: those beside it, all of them in `values` if it is there too."""
    found: dict[str, Any] = {}
    for name, own in columns.items():
        if own is None and name not in values:
            found_too = f", or {setting('by', {name: 'found'})} to find them privately" if which == "by" else ""
            found_too += f", or {setting('bins', {name: [0, 10, 20]})} for numbers and dates"
            raise RequestError(
                f"{name!r} in {which} has no values",
                "what is counted must be declared, without looking at the data",
                f"write {setting('values', {name: ['a', 'b']})}, or {setting(which, {name: ['a', 'b']})}{found_too}",
                code="column-without-values",
                which=which,
                column=name,
            )
        for value in own if isinstance(own, list) and name in values else ():
            if value not in values[name]:
                what = f"{value!r} of {name!r} in {which}"
                rule = "values declares the values of this column, and it is not one of them"
                remedy = nearest(str(value), list(map(str, values[name])))
                raise RequestError(what, rule, remedy, code="value-not-declared", which=which, column=name, value=value)
        found[name] = values[name] if own is None else own
    return found


def _said_once(which: str, name: str, own: Pair | None, where: str, said: Said) -> Pair | None:
    """The one pair of bounds of a column; refuses two that differ."""
    other = said.get(name)
    if own is not None and other is not None and own != other:
        what = f"two bounds of {name!r}: {_shown(own)} in {which}, {_shown(other)} in {where}"
        rule, remedy = "bounds that are said once hold for every answer", f"leave one out: {setting(which, [name])}"
        raise RequestError(what, rule, remedy, code="bounds-said-twice", column=name)
    return own if own is not None else other


def _unbounded(which: str, name: str, said: Said, where: str = "bounds") -> Pair:
    near = f" (bounds are said of {', '.join(map(repr, list(said)[:4]))})" if said else ""
    beside = "" if which == "regression" else f", or {setting(which, {name: [0, 100]})}"
    what = f"{name!r} in {which} has no bounds{near}"
    rule = "every column needs two bounds, known without looking at the data"
    remedy = f"write {setting(where, {name: [0, 100]})}{beside}"
    raise RequestError(what, rule, remedy, code="column-without-bounds", which=which, column=name)


def _shown(pair: Pair) -> str:
    return f"[{pair[0]:g}, {pair[1]:g}]"


@cache
def _usual_fields() -> dict[str, Any]:
    return {each.name: usual(each) for each in fields(Question)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Question(QuestionFields):
    """One question about a table; all fields but `name`, `share`, `error_at_most` may be set in the request itself."""

    def __new__(cls, *values: Any, **given: Any) -> Question:
        refuse_unknown(given, cls.field_names())
        return super().__new__(cls)

    def __post_init__(self) -> None:
        fill_absent(self)
        self._read_fields()
        if (self.means or self.mean_within != {}) and not {None, PRIVATE} & set(self.means.values()):
            self.where_means_lie  # noqa: B018 (read here, or refused)
        self._check_missing()
        self._check_groups()
        if self.error_at_most is not None:
            self._check_error()
        if not any(getattr(self, name, None) for name in ANSWERS):
            rule = "a request has at least one answer"
            remedy = f"add sums, means or count, such as {setting('count', True)}"
            raise RequestError("nothing is asked for", rule, remedy, code="nothing-asked")
        if self.histograms or self.proportions:
            self._check_histogram()
        elif self.values_per_unit not in (None, 1):
            self._refuse_values()

    def _read_fields(self) -> None:
        for name, read in READERS.items():
            given = getattr(self, name)
            if given or type(given) is not type(_usual_fields()[name]):  # nothing is read of what was not said
                object.__setattr__(self, name, read(name, given))

    @property
    def columns_of_numbers(self) -> list[str]:
        """The columns of which sums, means, moments or quantiles are asked."""
        bounded = self._bounded().values()
        return list(dict.fromkeys(column for some in (*bounded, self.quantiles, self.medians) for column in some))

    @cached_property
    def where_means_lie(self) -> dict[str, tuple[float, float]]:
        """Between which numbers means are stated to lie, by column."""
        return read_mean_within(self.mean_within, self.means)

    @property
    def finds(self) -> bool:
        """Whether keys of its groups are found in the data."""
        return isinstance(self.by, Mapping) and any(map(is_found, self.by.values()))

    def _refuse_values(self) -> NoReturn:
        """Refuse a limit on the values of a histogram where there is none."""
        if self.marginals:
            what, rule = "marginals with values_per_unit", "a person is in one cell of each table"
            raise RequestError(what, rule, "leave it out", code="marginals-with-several-values")
        what, rule = f"values_per_unit={self.values_per_unit} without histograms", "it applies only to histograms"
        code = "values-per-unit-without-histograms"
        raise RequestError(what, rule, "leave it out", code=code, values_per_unit=self.values_per_unit)

    def _check_missing(self) -> None:
        """What is said of missing values is about columns that are asked for."""
        asked = self.columns_of_numbers
        for which in ("missing", "complete"):
            for column in getattr(self, which):
                if column not in asked:
                    what, rule = f"{which} names {column!r}", "it must be a column that is asked for"
                    remedy = nearest(str(column), asked)
                    raise RequestError(what, rule, remedy, code="missing-of-unasked-column", column=column)
        for column in self.complete:
            if column in self.missing:
                what = f"{column!r} in missing and in complete"
                rule = "a column without missing values needs nothing that stands in for them"
                raise RequestError(what, rule, "leave one out", code="complete-beside-missing", column=column)

    def _check_groups(self) -> None:
        """There are as many declared groups as a person may be in; what are no keys at all is refused elsewhere."""
        lists = self.by.values() if isinstance(self.by, Mapping) else [self.by]
        if self.by and all(isinstance(keys, list | Bins) for keys in lists):
            _check_fits("groups_per_unit", self.groups_per_unit or 1, math.prod(map(len, lists)), "groups")

    def _check_error(self) -> None:
        """What a largest error is about has a standard error that is known beforehand."""
        if self.share is not None:
            rule = "either says how much of the guarantee a question takes"
            raise RequestError("error_at_most beside share", rule, "leave one out", code="error-limit-beside-share")
        if not (self.sums or self.count or self.histograms or self.proportions):
            rule = "the error of a mean depends on how many it is over, which is not known beforehand"
            remedy = "ask for sums or counts too, or choose weights"
            raise RequestError("error_at_most of means alone", rule, remedy, code="error-limit-of-means-alone")

    def _check_histogram(self) -> None:
        """A histogram is a question of its own; beside it only the number of people may be asked."""
        counted = [*self.histograms.values(), *self.proportions.values()]
        if None not in counted and not any(map(is_found, counted)):
            _check_fits("values_per_unit", self.values_per_unit or 1, max(map(len, counted)), "values")
        if len(counted) > 1 or self.columns_of_numbers or self.marginals:
            what = "a histogram together with other answers in one question"
            rule = "each histogram must be its own question"
            remedy = f"write a {setting('question')} for each, or ask for them outside the questions"
            raise RequestError(what, rule, remedy, code="histogram-beside-other-answers")
        if self.count == "rows":
            column = next(iter((*self.histograms, *self.proportions)))
            raise RequestError(
                "a histogram with a number of rows",
                "a histogram counts people",
                f"to count rows in its cells, make them groups: {setting('by', [column])} in place of the histogram, "
                f"with {setting('groups_per_unit', 3)} where there is a unit",
                code="histogram-with-rows",
            )
        if self.by and self.values_per_unit not in (None, 1):
            raise RequestError(
                f"a histogram by groups with values_per_unit={self.values_per_unit}",
                "in each of its groups a person has one value, the one with the most rows",
                "leave values_per_unit out, or make the groups values of a second histogram",
                code="histogram-by-groups-of-several-values",
                values_per_unit=self.values_per_unit,
            )

    def check_unit(self, unit: str | None) -> None:
        """Refuse what makes no sense for people named by this column, or for rows that are people."""
        if self.group_weights and not self.by:
            what, rule = "group_weights without groups", "they apply only to groups"
            raise RequestError(what, rule, _declare(), code="group-weights-without-groups")
        if unit is None or self.person_columns:
            self._check_rows_are_people(unit)
            return
        over_rows = self._over_rows()
        if over_rows and self.rows_per_unit is None:
            what, rule = f"{over_rows} without rows_per_unit", "a limit on the rows that count per person is needed"
            remedy = (
                f"write {setting('rows_per_unit', 12)}, say, or as many as hardly anybody exceeds; or "
                f"{setting('mean_of', 'units')} for the mean over people"
            )
            raise RequestError(what, rule, remedy, code="rows-per-unit-missing", answer=over_rows)
        limit = self.groups_per_unit
        if limit not in (None, 1) and not (self.by or self.histograms or self.proportions):
            what, rule = f"groups_per_unit={limit} without groups", "it applies only to groups"
            raise RequestError(what, rule, _declare(), code="groups-per-unit-without-groups", groups_per_unit=limit)

    def _check_rows_are_people(self, unit: str | None) -> None:
        """Refuse limits on the rows of a person where each has one."""
        if unit is None and self.person_columns:
            rule = "they put together the rows of a person"
            raise RequestError("person_columns without a unit", rule, _identify(), code="person-columns-without-unit")
        for name in ("rows_per_unit", "groups_per_unit", "values_per_unit"):
            value = getattr(self, name)
            if value in (None, 1):
                continue
            if self.person_columns:
                what = f"{name}={value} beside person_columns"
                rule, remedy = "with person_columns each person is one row, in one group", "leave it out"
                raise RequestError(what, rule, remedy, code="limit-beside-person-columns", name=name, value=value)
            what, rule = f"{name}={value} without a unit", "without a unit each row is a person"
            raise RequestError(what, rule, _identify(), code="limit-without-unit", name=name, value=value)

    def _over_rows(self) -> str:
        """What is asked about rows of which a person may have several; empty where nothing is."""
        if self.means and self.mean_of == "rows":
            return "means over rows"
        if (self.variances or self.covariance or self.regression) and self.mean_of == "rows":
            return "moments over rows"
        return 'count="rows"' if self.count == "rows" else ""

    @property
    def is_over_rows(self) -> bool:
        """Whether means and moments are over the rows of people, of whom some have several."""
        return self.mean_of == "rows" and (self.rows_per_unit or 1) > 1

    def settled(self, unit: str | None) -> Question:
        """The same where every column has its bounds or values, beside it or said once; refuses what has none."""
        bounds, totals = ({} if isinstance(said, str) else said for said in (self.bounds, self.total_bounds))
        found: dict[str, Any] = {}
        for name, own in self._bounded().items():
            if name != "sums":
                found[name] = settle_rows(name, own, bounds)
            elif unit is not None:
                found[name] = settle_totals(own, bounds, totals, self.rows_per_unit)
            else:  # where a row is a person, its total is the row
                found[name] = settle_rows(name, own, {**totals, **bounds})
        for name in ("histograms", "proportions", "by"):
            if isinstance(own := getattr(self, name), Mapping):
                cells = {column: edges for column, edges in self.bins.items() if own.get(column, ()) is None}
                found[name] = settle_values(name, own, {**cells, **self.values})
        if self.quantiles or self.medians:
            found["quantiles"] = settle_quantiles(self.quantiles, self.medians, bounds, totals, self.bins, unit)
            found["medians"] = {}
        if self.marginals:
            found["marginals"] = settle_marginals(self.marginals, self.values, self.bins)
        return replace(self, **found)

    def skips(self, column: str) -> bool:
        """Whether missing values of a column are left out by statistics that can leave them out."""
        return column not in self.missing and column not in self.complete

    def _bounded(self) -> dict[str, Any]:
        """The fields that ask about columns with bounds."""
        return {name: getattr(self, name) for name, read in READERS.items() if read in OF_BOUNDED}

    def given(self) -> dict[str, Any]:
        """What this question says itself: all that is not as it would be anyway."""
        usual = Question(count=True)
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v for name, v in found.items() if name == "count" or v != getattr(usual, name)}

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The fields of a question."""
        return tuple(f.name for f in fields(cls))


Question.__doc__ = f"{Question.__doc__}\n\n{described(Question)}\n"


def _declare() -> str:
    return f"declare them: {setting('by', ...)}"


def _identify() -> str:
    return f"name the column that identifies people: {setting('unit', 'person')}"


def _check_fits(name: str, value: int, size: int, what: str) -> None:
    if value > max(size, 1):
        rule, remedy = f"the number of declared {what} is {size}", f"write {setting(name, size)}, or less"
        raise RequestError(
            f"{name}={value}", rule, remedy, code="limit-exceeds-declared", name=name, value=value, size=size
        )


# The questions of a request: its own fields and those of each question; or, without questions, its answers taken apart:
# sums, means and count together, each histogram by itself.

ANSWERS = (*asked_by_field(), "medians", "count")
"""The fields that ask for answers."""

OF_COLUMNS = tuple(name for name in ANSWERS if name not in ("count", "marginals"))
"""Those that map columns to something."""

TOGETHER = "answers"
"""The name of the sums, means and count of a request that has histograms too."""


def joined_fields(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says for all questions and one of them itself, which comes first; both filters, all columns."""
    fields = {**shared, **own}
    if own.get("where") is not None and shared["where"] is not None:
        for text in (shared["where"], own["where"]):
            parse(text)  # each by itself: brackets of one must not close those of the other
        fields["where"] = f"({shared['where']}) and ({own['where']})"
    for which in ("columns", "person_columns"):
        if own.get(which) and shared[which]:
            fields[which] = joined_columns(shared[which], own[which])
    for name in ("bounds", "total_bounds", "values", "bins"):
        if isinstance(shared[name], Mapping) and isinstance(own.get(name), Mapping):
            fields[name] = {**shared[name], **own[name]}
    return fields | (_of_asked(shared, own) if own else {})


def _of_asked(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says of missing values and of means, of the columns that a question asks for."""
    named = [name for name in OF_COLUMNS if own.get(name)]
    asked = {column for name in named for column in READERS[name](name, own[name])}
    found: dict[str, Any] = {"complete": [c for c in read_complete("complete", shared["complete"]) if c in asked]}
    for name, columns in (("missing", asked), ("mean_within", own.get("means") or ())):
        if isinstance(shared[name], Mapping):
            found[name] = {column: said for column, said in shared[name].items() if column in columns}
    return without(found, own)


def questions_apart(request: Fields) -> list[dict[str, Any]]:
    """A request's own answers as questions; empty where it has no histograms."""
    if not (request.histograms or request.proportions):
        return []
    declared = {**read_all_bins("bins", request.bins), **read_values("values", request.values)}
    counted = [
        (field, column, values)
        for field in COUNTED
        for column, values in settle_values(field, read_counted(field, getattr(request, field)), declared).items()
    ]
    none: dict[str, Any] = {name: {} for name in ANSWERS} | {"count": False, "values_per_unit": None}
    others = {name: getattr(request, name) for name in ANSWERS if name not in (*COUNTED, "count")}
    longest = max((len(values) for _, _, values in counted if not is_found(values)), default=0)
    apart: list[dict[str, Any]] = []
    if any(others.values()) or (request.count and not longest):
        apart.append({**none, **others, "count": request.count, "name": TOGETHER})
    count = request.count and not apart  # else the first histogram brings the number of people
    limit = request.values_per_unit
    columns = [column for field, column, _ in counted if field == "histograms"]
    for field, column, values in counted:
        name = f"{column} shares" if field == "proportions" and column in columns else column
        own = {**none, field: {column: values}, "name": name, "values_per_unit": limit}
        if not is_found(values):
            fits = min(limit, len(values)) if isinstance(limit, int) and limit <= longest else limit
            own |= {"count": count, "weights": "equal", "values_per_unit": fits}
            count = False
        apart.append(own)
    return apart


COUNTED = ("histograms", "proportions")
"""The fields that count the values of a column."""

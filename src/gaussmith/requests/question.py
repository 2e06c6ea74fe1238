"""One question about a table: which answers, of which rows, in which groups. Checked here, without data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, fields, replace
from functools import cached_property
from typing import Any

from gaussmith.checks import check_whole, meant
from gaussmith.errors import RequestError, nearest
from gaussmith.expressions import parse
from gaussmith.requests.bins import PRIVATE, Bins
from gaussmith.requests.bounds import settle_rows, settle_totals, settle_values
from gaussmith.requests.fields import OF_BOUNDED, READERS, Fields, is_found, is_plain, read_counted, read_keys
from gaussmith.requests.given import fill_absent, refuse_unknown
from gaussmith.requests.marginals import settle_marginals
from gaussmith.requests.quantiles import settle_quantiles
from gaussmith.statistics.mean import read_mean_within
from gaussmith.statistics.registry import asked_by_field
from gaussmith.values import dataclass

MEANS_OF = ("rows", "units")


@dataclass(frozen=True, eq=False, kw_only=True)
class Question(Fields):
    """One question about a table; all fields except `name` and `share` may also be set in the request itself.

    bounds:           bounds of one row, by column, for every answer about it; "private" for bounds that are learned
                      from the data, of a column or of all (docs/bounds.md)
    total_bounds:     bounds of a person's total over all rows, by column
    values:           the declared values of a column, for histograms and groups
    bins:             the cells of a column of numbers or dates: {"age": [18, 40, 65]}; in a request, "private" for
                      cells that are found around quantiles (docs/quantiles.md)
    sums, means:      columns; or columns with their bounds, which for a sum with a unit are those of a person's total
    variances:        columns, or columns with their bounds; standard deviations come beside them
    covariance:       two columns or more, or with their bounds: covariances and correlations of every two
    regression:       {"of": "income", "on": ["age", "bmi"]}: slopes and the constant
    count:            True: the number of people; "rows": the number of rows
    by:               declared groups: {"region": ["north", "south"]}, or a list of combinations; or found in the data:
                      {"airport": "found"}; or cells of numbers or dates: {"age": {"bins": [18, 40]}}
    rows_per_unit:    the limit on rows per person that count, for means over rows and for count = "rows"
    groups_per_unit:  the number of groups a person counts in; must be given where there are groups and a unit
    group_weights:    how much the errors of a group matter: {"north": 4}, with several key columns
                      {"region": {"north": 4}}; groups that are not named weigh 1
    mean_of:          "rows": means over rows; "units": means over people of each person's own mean
    where, columns:   a filter and derived columns (docs/expressions.md)
    mean_within:      where means lie, for the errors stated before a release: {"age": [30, 50]}, or the middle fraction
                      of the bounds, such as 0.5; by default anywhere within the bounds. It does not change the noise
    person_columns:   a person's own numbers: {"visits": "count()"}; then each person is one row (docs/people.md)
    missing:          "skip": a mean is over the values that are there; or what stands in for a missing value, by
                      column. In a sum a missing value adds 0
    complete:         columns that have a value in every row: a promise, by which their means need less noise
    weights:          "relative" (to what one person can change), "equal", or one number per sum, then per mean
    histograms:       how many people have each of the declared values of a column: {"health": ["good", "poor"]};
                      or each value that is found in the data: {"diagnosis": "found"}
    proportions:      the same, with the share of each value in all of them: ["region"]
                      or each of its bins: {"delay": {"bins": [-60, 0, 60]}}
    quantiles:        quantiles of columns that have bounds or bins: {"income": [0.1, 0.5, 0.9]}
    medians:          the same at 0.5: ["income"], or with bounds {"income": [0, 200000]}
    marginals:        tables over columns that have values or bins, which add up: [["age", "sex"], ["region"]]
    values_per_unit:  how many of these values a person counts in; must be given where there is a unit
    keys_at_least:    found keys with fewer people are never shown
    top:              show at most so many found groups, those with the largest noisy counts
    share:            its share of μ², relative to those of the others; without any, questions are planned together
    error_at_most:    the largest standard error allowed in its sums, counts and cells; all else is as good as it gets
    """

    name: str = field(default="", kw_only=False)
    share: float | None = None
    error_at_most: float | None = None

    def __new__(cls, *values: Any, **given: Any) -> Question:
        refuse_unknown(given, cls.field_names())
        return super().__new__(cls)

    def __post_init__(self) -> None:
        fill_absent(self)
        for name, read in READERS.items():
            object.__setattr__(self, name, read(name, getattr(self, name)))
        if not {None, PRIVATE} & set(self.means.values()):
            self.where_means_lie  # noqa: B018 (read here, or refused)
        if not isinstance(self.count, bool) and self.count != "rows":
            what, rule = f"count={self.count!r}", 'it must be true, false or "rows"'
            raise RequestError(what, rule, "write count = true", code="unknown-count", count=self.count)
        if self.mean_of not in MEANS_OF:
            rule, remedy = 'it must be "rows" or "units"', nearest(str(self.mean_of), MEANS_OF)
            raise RequestError(f"mean_of={self.mean_of!r}", rule, remedy, code="unknown-mean-of", mean_of=self.mean_of)
        if self.where is not None and not isinstance(self.where, str):
            what, rule = f"where={self.where!r}", "a filter must be text"
            raise RequestError(what, rule, 'write where = "age >= 18"', code="where-not-text", where=self.where)
        for formula in self.person_columns.values():
            parse(formula, of_people=True)
        for text in (*self.columns.values(), self.where):
            if text is not None:
                parse(text)  # names of columns and their kinds are checked when the source is there
        asked = self.columns_of_numbers
        for which, columns in (("missing", self.missing), ("complete", self.complete)):
            for column in columns:
                if column not in asked:
                    what, rule = f"{which} names {column!r}", "it must be a column that is asked for"
                    remedy = nearest(str(column), asked)
                    raise RequestError(what, rule, remedy, code="missing-of-unasked-column", column=column)
        for column in self.complete:
            if column in self.missing:
                raise RequestError(
                    f"{column!r} in missing and in complete",
                    "a column without missing values needs nothing that stands in for them",
                    "leave one out",
                    code="complete-beside-missing",
                    column=column,
                )
        for limit in ("groups_per_unit", "values_per_unit"):
            if getattr(self, limit) is not None:
                self._check_limit(limit)
        if self.finds:
            self._check_found()
        lists = self.by.values() if isinstance(self.by, Mapping) else [self.by]
        if self.by and all(isinstance(keys, list | Bins) for keys in lists):  # others are refused as no keys at all
            _check_fits("groups_per_unit", self.groups_per_unit or 1, math.prod(map(len, lists)), "groups")
        if self.rows_per_unit is not None:
            self._check_limit("rows_per_unit", 1 << 20)
        if not isinstance(self.name, str) or not self.name.isprintable() or self.name != self.name.strip():
            what, rule = f"name={self.name!r}", "the name of a question must be printable text"
            raise RequestError(what, rule, "choose another name", code="question-name-unusable", name=self.name)
        if self.share is not None and not (is_plain(self.share) and 0 < self.share < math.inf):
            what, rule = f"share={self.share!r}", "a share must be a number above 0"
            raise RequestError(what, rule, "write share = 2", code="share-not-positive", share=self.share)
        if self.error_at_most is not None:
            self._check_error()
        if not (self.count or self.medians or any(getattr(self, name, None) for name in asked_by_field())):
            rule = "a request has at least one answer"
            raise RequestError(
                "nothing is asked for", rule, "add sums, means or count, such as count = true", code="nothing-asked"
            )
        if self.marginals and self.values_per_unit not in (None, 1):
            raise RequestError(
                "marginals with values_per_unit",
                "a person is in one cell of each table",
                "leave it out",
                code="marginals-with-several-values",
            )
        if self.histograms or self.proportions:
            self._check_histogram()
        elif self.values_per_unit not in (None, 1):
            raise RequestError(
                f"values_per_unit={self.values_per_unit} without histograms",
                "it applies only to histograms",
                "leave it out",
                code="values-per-unit-without-histograms",
                values_per_unit=self.values_per_unit,
            )

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

    def _check_found(self) -> None:
        """Limits on found keys are whole numbers."""
        self._check_limit("keys_at_least")
        if self.top is not None:
            self._check_limit("top")

    def _check_error(self) -> None:
        """A largest error is a number, and what it is about has a standard error that is known beforehand."""
        if not (is_plain(self.error_at_most) and 0 < float(self.error_at_most or 0) < math.inf):
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
        if not (self.sums or self.count or self.histograms or self.proportions):
            raise RequestError(
                "error_at_most of means alone",
                "the error of a mean depends on how many it is over, which is not known beforehand",
                "ask for sums or counts too, or choose weights",
                code="error-limit-of-means-alone",
            )

    def _check_limit(self, name: str, most: int | None = None) -> None:
        """Limits are whole numbers, and are kept as Python's own."""
        given = getattr(self, name)
        object.__setattr__(
            self, name, check_whole(name, given, 1, most, remedy=f"write {name} = {meant(given, 1, most)}")
        )

    def _check_histogram(self) -> None:
        """A histogram is a question of its own; beside it only the number of people may be asked."""
        counted = [*self.histograms.values(), *self.proportions.values()]
        if None not in counted and not any(map(is_found, counted)):
            _check_fits("values_per_unit", self.values_per_unit or 1, max(map(len, counted)), "values")
        if len(counted) > 1 or self.columns_of_numbers or self.marginals:
            raise RequestError(
                "a histogram together with other answers in one question",
                "each histogram must be its own question",
                "write a [[question]] for each, or ask for them outside the questions",
                code="histogram-beside-other-answers",
            )
        if self.count == "rows":
            column = next(iter((*self.histograms, *self.proportions)))
            raise RequestError(
                "a histogram with a number of rows",
                "a histogram counts people",
                f'to count rows in its cells, make them groups: by = ["{column}"] in place of the histogram, with '
                "groups_per_unit = 3 where there is a unit",
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
            raise RequestError(
                "group_weights without groups",
                "they apply only to groups",
                "declare them: by = …",
                code="group-weights-without-groups",
            )
        if self.person_columns and unit is None:
            raise RequestError(
                "person_columns without a unit",
                "they put together the rows of a person",
                'name the column that identifies people: unit = "person"',
                code="person-columns-without-unit",
            )
        if unit is None or self.person_columns:
            limits = ("rows_per_unit", "groups_per_unit", "values_per_unit")
            for name, value in ((name, getattr(self, name)) for name in limits):
                if value not in (None, 1) and self.person_columns:
                    raise RequestError(
                        f"{name}={value} beside person_columns",
                        "with person_columns each person is one row, in one group",
                        "leave it out",
                        code="limit-beside-person-columns",
                        name=name,
                        value=value,
                    )
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
        moments = self.variances or self.covariance or self.regression
        over_rows = "means over rows" if self.means and self.mean_of == "rows" else ""
        over_rows = over_rows or ("moments over rows" if moments and self.mean_of == "rows" else "")
        over_rows = over_rows or ('count="rows"' if self.count == "rows" else "")
        if over_rows and self.rows_per_unit is None:
            raise RequestError(
                f"{over_rows} without rows_per_unit",
                "a limit on the rows that count per person is needed",
                "write rows_per_unit = 12, say, or as many as hardly anybody exceeds; or "
                'mean_of = "units" for the mean over people',
                code="rows-per-unit-missing",
                answer=over_rows,
            )
        if self.groups_per_unit not in (None, 1) and not self.by and not (self.histograms or self.proportions):
            raise RequestError(
                f"groups_per_unit={self.groups_per_unit} without groups",
                "it applies only to groups",
                "declare them: by = …",
                code="groups-per-unit-without-groups",
                groups_per_unit=self.groups_per_unit,
            )

    @property
    def is_over_rows(self) -> bool:
        """Whether means and moments are over the rows of people, of whom some have several."""
        return self.mean_of == "rows" and (self.rows_per_unit or 1) > 1

    def settled(self, unit: str | None) -> Question:
        """The same where every column has its bounds or values, beside it or said once; refuses what has none."""
        bounds, totals = ({} if isinstance(said, str) else said for said in (self.bounds, self.total_bounds))
        found: dict[str, Any] = {}
        for name, read in READERS.items():
            own = getattr(self, name)
            if name == "sums" and unit is not None:
                found[name] = settle_totals(own, bounds, totals, self.rows_per_unit)
            elif read in OF_BOUNDED:
                of_rows = totals if name == "sums" else {}  # where a row is a person, its total is the row
                found[name] = settle_rows(name, own, {**of_rows, **bounds})
            elif read is read_counted or (read is read_keys and isinstance(own, Mapping)):
                cells = {c: self.bins[c] for c in own if own[c] is None and c in self.bins and c not in self.values}
                found[name] = settle_values(name, own, {**self.values, **cells})
        quantiles = settle_quantiles(self.quantiles, self.medians, bounds, totals, self.bins, unit)
        marginals = settle_marginals(self.marginals, self.values, self.bins)
        return replace(self, **found, quantiles=quantiles, medians={}, marginals=marginals)

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


def _check_fits(name: str, value: int, size: int, what: str) -> None:
    if value > max(size, 1):
        raise RequestError(
            f"{name}={value}",
            f"the number of declared {what} is {size}",
            f"write {name} = {size}, or less",
            code="limit-exceeds-declared",
            name=name,
            value=value,
            size=size,
        )

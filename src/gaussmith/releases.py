"""A release: the noisy answers, their error bars, and everything needed to publish them. A value; it holds no data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gaussmith.accuracy import normal_width
from gaussmith.addresses import without_secrets
from gaussmith.domains import Cells
from gaussmith.errors import GaussmithError, PlanError, RequestError, nearest
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.linear import Array
from gaussmith.plans import Plan
from gaussmith.readings import Reading
from gaussmith.readout import Readout
from gaussmith.workloads import Marginals

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Answer:
    """One released number."""

    name: str
    value: float
    standard_error: float
    _release: Release
    _position: int

    def interval(
        self, confidence: float = 0.95, simultaneous: bool = False, method: str = "fieller"
    ) -> tuple[float, float]:
        """The range that holds the answer without noise, with this confidence."""
        lower, upper = self._release.interval(confidence, simultaneous, method)
        return float(lower[self._position]), float(upper[self._position])

    def __repr__(self) -> str:
        return f"{self.name} = {self.value:.6g} ± {self.standard_error:.2g}"


@dataclass(frozen=True, eq=False)
class Release:
    """What `plan.release` and `gaussmith.release` return. Values are unclamped and unbiased: a small count can be < 0.

    `features` are the noisy numbers all answers are read from; `records` is the number of records where that is public.
    """

    plan: Plan
    features: Array
    records: int | None = None
    id: str | None = None
    receipt: str | None = None
    reading: Reading | None = None
    """How the records came from a table; None for plain data."""
    software: str | None = None
    """The version that made it; None: this one."""

    def named(self, id: str, receipt: str) -> Release:
        """The same release under the id that a ledger charged, with the ledger's receipt."""
        return replace(self, id=id, receipt=receipt)

    @property
    def guarantee(self) -> Guarantee:
        """What this release keeps."""
        return self.plan.guarantee

    @cached_property
    def _readout(self) -> Readout:
        return Readout(self.plan, self.features, self.records)

    @property
    def values(self) -> Array:
        """The answers in order, the count left out (see `count`)."""
        return self._readout.values[: self.plan.answers.visible]

    @property
    def count(self) -> float | None:
        """The number of people (or of rows, if that was asked), noisy where it is private; None unless asked."""
        if self.plan.answers.count:
            return float(self._readout.count)
        place = self.plan.rows_place
        return None if place is None else float(self.features[place])

    @property
    def standard_errors(self) -> Array:
        """Of the answers in order; of a mean by the delta method, in the mean's own units."""
        return self._readout.standard_errors[: self.plan.answers.visible]

    @property
    def count_standard_error(self) -> float | None:
        """Of the count, if asked; 0 where the number of records is public."""
        return self.plan.count_standard_error

    @property
    def names(self) -> Sequence[str]:
        """The answers' names in order, the count last if asked."""
        names = self.plan.answers.names[: self.plan.answers.visible]
        return (*names, "count") if self.plan.answers.count else names

    def interval(
        self, confidence: float = 0.95, simultaneous: bool = False, method: str = "fieller"
    ) -> tuple[Array, Array]:
        """Lower and upper ends for all answers (the count last if asked); with `simultaneous` they hold all at once.

        Means: method "fieller" (exact) or "delta" (symmetric, for large counts).
        """
        if method not in ("fieller", "delta"):
            raise PlanError(f"method={method!r}", 'it is "fieller" or "delta"', nearest(method, ["fieller", "delta"]))
        width = normal_width(confidence, len(self.names) if simultaneous else 1)
        shown = self.plan.answers.visible
        lower, upper = (ends[:shown] for ends in self._readout.intervals(width, method))
        if self.plan.answers.count:
            n, error = self.count or 0.0, self.count_standard_error or 0.0
            lower, upper = np.append(lower, n - width * error), np.append(upper, n + width * error)
        return lower, upper

    def covariance(self) -> Array:
        """Of the released answers, the count last if asked; of means to first order, at the released values."""
        answers = self.plan.answers
        size = answers.size
        F = self.plan.shape.features.dense()
        C = F @ F.T * self.plan.noise_scale**2
        J = np.eye(size, len(F))[: answers.visible]
        for i in np.flatnonzero((answers.means | answers.ratios)[: answers.visible]):
            by_count = answers.over[i] < 0
            below = float(self._readout.count) if by_count else float(self.features[answers.over[i]])
            below = below or np.nan  # a mean of no records has no error to speak of
            J[i, i] = 1 / below
            if not by_count or self.plan.shape.counted:
                J[i, size if by_count else answers.over[i]] = -self.features[i] / below**2
        if answers.count:
            last = np.zeros((1, len(F)))
            if self.plan.shape.counted:
                last[0, -1] = 1.0
            J = np.vstack([J, last])
        return np.asarray(J @ C @ J.T)

    def marginal(self, *attributes: str | int) -> Array:
        """The table of one released marginal, an axis per attribute (by name or number), in the order given.

        >>> import gaussmith as gm
        >>> cells = gm.Cells({"age": 3, "sex": ["f", "m"]})
        >>> plan = gm.plan(cells, gm.Guarantee(mu=1), answers=gm.workloads.marginals([3, 2], 2))
        >>> plan.release([[0, "f"], [2, "m"]]).marginal("sex", "age").shape
        (2, 3)
        """
        work, domain = self.plan.answers.workload, self.plan.domain
        if not isinstance(work, Marginals) or not isinstance(domain, Cells):
            raise PlanError("a marginal of other answers", "the plan was not made for marginals", "use release.values")
        names = [domain.attribute_name(i) for i in range(len(domain.sizes))]
        for name in attributes:
            if str(name) not in names:
                raise PlanError(f"attribute {name!r}", "the cells have no such attribute", nearest(str(name), names))
        places = [names.index(str(name)) for name in attributes]
        way = tuple(sorted(places))
        if way not in work.ways:
            raise PlanError(f"marginal {tuple(attributes)}", "it was not asked", "ask for it when planning")
        start = work.offsets[work.ways.index(way)]
        size = work.sizes[work.ways.index(way)]
        table = self.values[start : start + size].reshape([work.shape[i] for i in way])
        return np.transpose(table, [way.index(i) for i in places])

    def __getitem__(self, key: str | int) -> Answer:
        names = self.names
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            position = range(len(names))[int(key)]
        elif key in names:
            position = names.index(key)
        else:
            raise PlanError(f"answer {key!r}", "the release has no such answer", nearest(str(key), names))
        if position == self.plan.answers.visible:
            return Answer("count", float(self.count or 0.0), float(self.count_standard_error or 0.0), self, position)
        return Answer(
            names[position], float(self.values[position]), float(self.standard_errors[position]), self, position
        )

    def __iter__(self) -> Iterator[Answer]:
        return (self[i] for i in range(len(self.names)))

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """One row per answer: answer, value, standard_error, lower, upper."""
        lower, upper = self.interval(confidence)
        values, errors = self.values, self.standard_errors
        if self.plan.answers.count:
            values = np.append(values, self.count or 0.0)
            errors = np.append(errors, self.count_standard_error or 0.0)
        columns = (self.names, values.tolist(), errors.tolist(), lower.tolist(), upper.tolist())
        return [
            {"answer": name, "value": v, "standard_error": e, "lower": low, "upper": high}
            for name, v, e, low, high in zip(*columns, strict=True)
        ]

    def to_polars(self, confidence: float = 0.95) -> pl.DataFrame:
        """The rows as a Polars table."""
        import polars as pl

        schema = {"answer": pl.String, **dict.fromkeys(["value", "standard_error", "lower", "upper"], pl.Float64)}
        return pl.DataFrame(self.rows(confidence), schema=schema)

    # -- saved form -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        from gaussmith import __version__

        g = self.guarantee
        return {
            "format": FORMAT,
            "kind": "release",
            "gaussmith": self.software or __version__,
            "plan_hash": self.plan.hash,
            "protects": self.plan.protects,
            "guarantee": {"epsilon": g.epsilon, "delta": g.delta, "mu": g.mu, "rho": g.rho},
            "answers": [
                {k: (v if not isinstance(v, float) or np.isfinite(v) else None) for k, v in row.items()}
                for row in self.rows()
            ],
            "confidence": 0.95,
            "intervals_cover": "the noise; not clipping to the bounds, not sampling",
            "features": self.features.tolist(),
            "records": self.records,
            "id": self.id,
            "receipt": self.receipt,
            "reading": None if self.reading is None else self.reading.to_dict(),
            "plan": self.plan.to_dict(),
        }

    def to_json(self) -> str:
        """The whole record as JSON: released values, errors, guarantee, plan. Nothing else of the data."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Release:
        """The release that `to_dict` described."""
        features = np.array(fields["features"], float)
        return cls(
            Plan.from_dict(fields["plan"]),
            features,
            fields["records"],
            fields.get("id"),
            fields.get("receipt"),
            read_reading(fields),
            fields.get("gaussmith"),
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Release:
        """The release that `to_json` wrote."""
        return read_record(text, {"release": cls.from_dict})

    # -- words and pages --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from gaussmith.explanation import release_table

        return release_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.explanation import release_html

        return release_html(self)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained page about this release."""
        return write_page(self, path)


def write_page(release: Any, path: str | Path) -> Path:
    """Write one self-contained page about a release of any kind; refuses a path that no page can be written to."""
    from gaussmith.report import write_report

    file = Path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise RequestError(
            f"report {without_secrets(path)!r}",
            "it is an .html page",
            f"write {without_secrets(file.with_suffix('.html'))!r}; browsers print it",
        )
    try:
        return write_report(release, file)
    except OSError as error:
        raise RequestError(
            f"report {without_secrets(path)!r}",
            f"it cannot be written: {error.strerror}",
            "name a file in a folder of yours",
        ) from None


def read_record(text: str | bytes, kinds: Mapping[str, Callable[[dict[str, Any]], T]]) -> T:
    """The value that a record holds, read by the function for its kind; refuses what is not understood."""
    try:
        fields = json.loads(text)
        if fields["format"] != FORMAT:
            raise PlanError(
                f"release format = {fields['format']!r}", f"this version reads format {FORMAT}", "upgrade gaussmith"
            )
        if fields["kind"] not in kinds:
            raise PlanError(
                f"a record of the kind {fields['kind']!r}",
                f"here it is one of: {', '.join(kinds)}",
                "read it with gaussmith.read",
            )
        return kinds[fields["kind"]](fields)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        if isinstance(error, GaussmithError):
            raise
        raise PlanError(
            "a record that is not a release", "releases are saved by release.to_json()", "check the file"
        ) from None


def read_reading(fields: dict[str, Any]) -> Reading | None:
    """The reading in a record."""
    return None if fields.get("reading") is None else Reading.from_dict(fields["reading"])

"""A release: the noisy answers, their error bars, and everything needed to publish them. A value; it holds no data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.accuracy import delta_intervals, fieller_intervals, normal_width, ratio_errors, sum_intervals
from gaussmith.errors import PlanError, nearest
from gaussmith.numerics.linear import Array
from gaussmith.plans import Plan

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

FORMAT = 1


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

    def named(self, id: str) -> Release:
        """The same release under the id that a ledger charged."""
        return replace(self, id=id)

    @cached_property
    def _count_estimate(self) -> float:
        """The number of records that means are divided by; not a number where it was neither asked nor needed."""
        if self.records is not None:
            return float(self.records)
        return float(self.features[-1]) if self.plan.shape.counted else float("nan")

    @cached_property
    def values(self) -> Array:
        """The answers in order, the count left out (see `count`)."""
        answers = self.plan.answers
        values = self.features[: answers.size].copy()
        if answers.any_mean:
            n, means = self._count_estimate, answers.means
            centre = self.plan.domain.coded[0][answers.index[means]]
            with np.errstate(divide="ignore", invalid="ignore"):
                values[means] = centre + values[means] / n
        return values

    @property
    def count(self) -> float | None:
        """The number of records, noisy where it is private; None unless asked."""
        return self._count_estimate if self.plan.answers.count else None

    @cached_property
    def _moments(self) -> tuple[Array, float, Array]:
        """Variance of each feature, of the count, and their covariance."""
        unit = self.plan.noise_scale**2
        F = self.plan.shape.features
        size = self.plan.answers.size
        variances = self.plan.shape.variances() * unit
        if not self.plan.shape.counted:
            return variances[:size], 0.0, np.zeros(size)
        with_count = F.times(F.row(size))[:size] * unit  # the covariance of every feature with the count
        return variances[:size], float(variances[-1]), with_count

    @cached_property
    def standard_errors(self) -> Array:
        """Of the answers in order; of a mean by the delta method, in the mean's own units."""
        answers = self.plan.answers
        variances, count_variance, covariances = self._moments
        errors = np.sqrt(variances)
        if answers.any_mean:
            means, n = answers.means, self._count_estimate
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = self.features[: answers.size][means] / n
                errors[means] = ratio_errors(ratio, n, variances[means], count_variance, covariances[means])
        return errors

    @property
    def count_standard_error(self) -> float | None:
        """Of the count, if asked; 0 where the number of records is public."""
        return self.plan.count_standard_error

    @property
    def names(self) -> tuple[str, ...]:
        """The answers' names in order, the count last if asked."""
        return (*self.plan.answers.names, "count") if self.plan.answers.count else self.plan.answers.names

    def interval(
        self, confidence: float = 0.95, simultaneous: bool = False, method: str = "fieller"
    ) -> tuple[Array, Array]:
        """Lower and upper ends for all answers (the count last if asked); with `simultaneous` they hold all at once.

        Means: method "fieller" (exact) or "delta" (symmetric, for large counts).
        """
        if method not in ("fieller", "delta"):
            raise PlanError(f"method={method!r}", 'it is "fieller" or "delta"', nearest(method, ["fieller", "delta"]))
        answers = self.plan.answers
        width = normal_width(confidence, len(self.names) if simultaneous else 1)
        variances, count_variance, covariances = self._moments
        lower, upper = sum_intervals(self.features[: answers.size], np.sqrt(variances), width)
        if answers.any_mean:
            means, n = answers.means, self._count_estimate
            ratio = fieller_intervals if method == "fieller" else delta_intervals
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high = ratio(
                    self.features[: answers.size][means],
                    n,
                    variances[means],
                    count_variance,
                    covariances[means],
                    width,
                )
            centre = self.plan.domain.coded[0][answers.index[means]]
            lower[means], upper[means] = centre + low, centre + high
        if answers.count:
            n, error = self.count or 0.0, self.count_standard_error or 0.0
            lower, upper = np.append(lower, n - width * error), np.append(upper, n + width * error)
        return lower, upper

    def covariance(self) -> Array:
        """Of the released answers, the count last if asked; of means to first order, at the released values."""
        answers = self.plan.answers
        size = answers.size
        F = self.plan.shape.features.dense()
        C = F @ F.T * self.plan.noise_scale**2
        J = np.eye(size, len(F))
        if answers.any_mean:
            n = self._count_estimate
            ratio = self.features[:size] / n
            for i in np.flatnonzero(answers.means):
                J[i, i] = 1 / n
                if self.plan.shape.counted:
                    J[i, -1] = -ratio[i] / n
        if answers.count:
            last = np.zeros((1, len(F)))
            if self.plan.shape.counted:
                last[0, -1] = 1.0
            J = np.vstack([J, last])
        return np.asarray(J @ C @ J.T)

    def __getitem__(self, key: str | int) -> Answer:
        names = self.names
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            position = range(len(names))[int(key)]
        elif key in names:
            position = names.index(key)
        else:
            raise PlanError(f"answer {key!r}", "the release has no such answer", nearest(str(key), names))
        if position == self.plan.answers.size:
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

        g = self.plan.guarantee
        return {
            "format": FORMAT,
            "gaussmith": __version__,
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
            "plan": self.plan.to_dict(),
        }

    def to_json(self) -> str:
        """The whole record as JSON: released values, errors, guarantee, plan. Nothing else of the data."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Release:
        """The release that `to_json` wrote."""
        try:
            fields = json.loads(text)
            if fields["format"] != FORMAT:
                raise PlanError(
                    f"release format = {fields['format']!r}", f"this version reads format {FORMAT}", "upgrade gaussmith"
                )
            plan = Plan.from_dict(fields["plan"])
            return cls(plan, np.array(fields["features"], float), fields["records"], fields.get("id"))
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, PlanError):
                raise
            raise PlanError(
                "a record that is not a release", "releases are saved by release.to_json()", "check the file"
            ) from None

    # -- words and pages --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from gaussmith.explanation import release_table

        return release_table(self)

    def _repr_html_(self) -> str:
        from gaussmith.explanation import release_html

        return release_html(self)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained page about this release."""
        from gaussmith.report import write_report

        return write_report(self, path)

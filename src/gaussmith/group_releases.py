"""Releases of groups: a table with one row per declared group and answer. Values; they hold no data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gaussmith.accuracy import normal_width
from gaussmith.errors import PlanError, nearest
from gaussmith.group_plans import GroupPlan
from gaussmith.guarantee import Guarantee
from gaussmith.numerics.linear import Array
from gaussmith.readings import Reading
from gaussmith.readout import Readout
from gaussmith.releases import Release, read_reading, read_record, write_page

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

FORMAT = 1


@dataclass(frozen=True, eq=False)
class GroupRelease:
    """The noisy answers of every declared group; `features` has one row per group.

    Keys are those that were declared; an empty group has noise like any other. Noise is independent between groups, so
    totals over groups are sums of their parts and their errors add up in squares (`total`).
    """

    plan: GroupPlan
    features: Array
    id: str | None = None
    receipt: str | None = None
    reading: Reading | None = None
    software: str | None = None

    def named(self, id: str, receipt: str) -> GroupRelease:
        """The same release under the id that a ledger charged, with the ledger's receipt."""
        return replace(self, id=id, receipt=receipt)

    @property
    def guarantee(self) -> Guarantee:
        """What this release keeps."""
        return self.plan.guarantee

    @cached_property
    def _readout(self) -> Readout:
        return Readout(self.plan.each, self.features)

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The declared keys in order."""
        return self.plan.groups.labels

    @property
    def names(self) -> tuple[str, ...]:
        """The answers' names in order, the count last if asked."""
        answers = self.plan.answers
        names = tuple(answers.names[: answers.visible])
        return (*names, "count") if answers.count else names

    @property
    def values(self) -> Array:
        """Groups × answers, the count left out (see `count`)."""
        return np.asarray(self._readout.values[:, : self.plan.answers.visible])

    @property
    def count(self) -> Array | None:
        """The noisy number of people (or of rows, if that was asked) in every group; None unless asked."""
        if self.plan.answers.count:
            return self._readout.count
        place = self.plan.each.rows_place
        return None if place is None else np.asarray(self.features[:, place])

    @property
    def standard_errors(self) -> Array:
        """Groups × answers, the count left out."""
        return np.asarray(self._readout.standard_errors[:, : self.plan.answers.visible])

    def interval(
        self, confidence: float = 0.95, simultaneous: bool = False, method: str = "fieller"
    ) -> tuple[Array, Array]:
        """Lower and upper ends, groups × answers (the count last if asked); `simultaneous`: for the whole table."""
        if method not in ("fieller", "delta"):
            raise PlanError(f"method={method!r}", 'it is "fieller" or "delta"', nearest(method, ["fieller", "delta"]))
        width = normal_width(confidence, len(self.names) * self.plan.groups.size if simultaneous else 1)
        shown = self.plan.answers.visible
        lower, upper = (ends[:, :shown] for ends in self._readout.intervals(width, method))
        if self.plan.answers.count:
            half = width * (self.plan.count_standard_error or 0.0)
            n = self._readout.count[:, None]
            lower, upper = np.hstack([lower, n - half]), np.hstack([upper, n + half])
        return lower, upper

    def __getitem__(self, label: Any) -> Release:
        """The release of one group, by its key (`release["north"]`, or `release["north", "f"]` for two columns)."""
        wanted = label if isinstance(label, tuple) else (label,)
        if wanted not in self.labels:
            known = [" · ".join(map(str, each)) for each in self.labels]
            raise PlanError(f"group {label!r}", "it was not declared", nearest(" · ".join(map(str, wanted)), known))
        return Release(self.plan.each, self.features[self.labels.index(wanted)], reading=self.reading)

    def __len__(self) -> int:
        return self.plan.groups.size

    def total(self, **keys: Any) -> Release:
        """The release of several groups together: all, or those with these keys (`total(region="north")`).

        It is the sum of the groups' own noisy sums and counts, so totals agree with their parts; a person in several
        of the groups is counted in each.
        """
        columns = self.plan.groups.columns
        for column in keys:
            if column not in columns:
                raise PlanError(f"key column {column!r}", "groups have no such column", nearest(column, columns))
        chosen = [
            i
            for i, label in enumerate(self.labels)
            if all(label[columns.index(column)] == key for column, key in keys.items())
        ]
        if not chosen:
            raise PlanError(f"groups with {keys!r}", "no declared group has these keys", "choose declared keys")
        features = self.features[chosen].sum(axis=0)
        return SummedRelease(self.plan.each, features, reading=self.reading, parts=len(chosen), whole=self.plan)

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """One row per group and answer: keys, answer, value, standard_error, lower, upper."""
        columns = self.columns(confidence)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def columns(self, confidence: float = 0.95) -> dict[str, list[Any]]:
        """The table by columns."""
        lower, upper = self.interval(confidence)
        values, errors = self.values, self.standard_errors
        if self.plan.answers.count:
            values = np.hstack([values, self._readout.count[:, None]])
            errors = np.hstack([errors, np.full((len(self), 1), self.plan.count_standard_error or 0.0)])
        k = len(self.names)
        keys = {
            column: [label[i] for label in self.labels for _ in range(k)]
            for i, column in enumerate(self.plan.groups.columns)
        }
        ends: dict[str, npt.NDArray[np.float64]] = {
            "value": values,
            "standard_error": errors,
            "lower": lower,
            "upper": upper,
        }
        return {**keys, "answer": list(self.names) * len(self), **{n: a.ravel().tolist() for n, a in ends.items()}}

    def to_polars(self, confidence: float = 0.95) -> pl.DataFrame:
        """The rows as a Polars table."""
        import polars as pl

        return pl.DataFrame(self.columns(confidence), strict=False)

    def to_dict(self) -> dict[str, Any]:
        from gaussmith import __version__

        g = self.guarantee
        return {
            "format": FORMAT,
            "kind": "groups",
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
            "id": self.id,
            "receipt": self.receipt,
            "reading": None if self.reading is None else self.reading.to_dict(),
            "plan": self.plan.to_dict(),
        }

    def to_json(self) -> str:
        """The whole record as JSON."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupRelease) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> GroupRelease:
        """The release that `to_dict` described."""
        plan = GroupPlan.from_dict(fields["plan"])
        features = np.array(fields["features"], float).reshape(plan.groups.size, -1)
        return cls(
            plan, features, fields.get("id"), fields.get("receipt"), read_reading(fields), fields.get("gaussmith")
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> GroupRelease:
        """The release that `to_json` wrote."""
        return read_record(text, {"groups": cls.from_dict})

    def __str__(self) -> str:
        from gaussmith.group_tables import group_table

        return group_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.group_tables import group_html

        return group_html(self)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained page about this release."""
        return write_page(self, path)


@dataclass(frozen=True, eq=False, repr=False)
class SummedRelease(Release):
    """Several groups' features added up: `parts` independent noises instead of one."""

    parts: int = 1
    whole: GroupPlan = field(kw_only=True)

    @property
    def guarantee(self) -> Guarantee:
        """That of all groups together: a person may be in several."""
        return self.whole.guarantee

    @cached_property
    def _readout(self) -> Readout:
        return Readout(self.plan, self.features, None, self.parts)

    @property
    def count_standard_error(self) -> float | None:
        alone = self.plan.count_standard_error
        return None if alone is None else alone * float(np.sqrt(self.parts))

    def covariance(self) -> Array:
        return super().covariance() * self.parts

    def to_dict(self) -> dict[str, Any]:
        fields = super().to_dict() | {"kind": "total", "parts": self.parts}
        return fields | {"plan": self.whole.to_dict(), "plan_hash": self.whole.hash, "protects": self.whole.protects}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> SummedRelease:
        """The total that `to_dict` described."""
        whole = GroupPlan.from_dict(fields["plan"])
        parts = fields["parts"]
        if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= whole.groups.size:
            raise PlanError(f"a total of {parts!r} groups", f"there are {whole.groups.size}", "check the file")
        return cls(
            whole.each,
            np.array(fields["features"], float),
            reading=read_reading(fields),
            software=fields.get("gaussmith"),
            parts=parts,
            whole=whole,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> SummedRelease:
        """The total that `to_json` wrote."""
        return read_record(text, {"total": cls.from_dict})

"""The releases of several questions under one guarantee. A value; it holds no data."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussmith.addresses import without_secrets
from gaussmith.errors import PlanError, RequestError
from gaussmith.group_plans import GroupPlan
from gaussmith.group_releases import GroupRelease, SummedRelease
from gaussmith.guarantee import Guarantee
from gaussmith.joint_plans import JointPlan
from gaussmith.releases import FORMAT, Release, read_record, write_page

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class JointRelease:
    """What `gaussmith.release` returns for a request with several questions: one release each, by name.

    `parts` holds one release for every plan; a question shows some of the answers of its part.
    """

    plan: JointPlan
    parts: tuple[Release | GroupRelease, ...]
    id: str | None = None
    receipt: str | None = None
    software: str | None = None

    def named(self, id: str, receipt: str) -> JointRelease:
        """The same release under the id that a ledger charged, with the ledger's receipt."""
        return replace(self, id=id, receipt=receipt)

    @property
    def guarantee(self) -> Guarantee:
        """What all questions keep together."""
        return self.plan.guarantee

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the questions."""
        return self.plan.names

    def __getitem__(self, name: str) -> Release | GroupRelease:
        """The release of one question."""
        slot = self.plan.slot(name)
        part = self.parts[slot.part]
        whole = part.plan.each if isinstance(part.plan, GroupPlan) else part.plan
        plan, kept = whole.part(slot.shown, slot.count)
        reading = part.reading
        if reading is not None:
            places = plan.answers.index.tolist() if reading.histogram is None else []
            reading = reading.about({reading.features[j][1] for j in places})
        if isinstance(part, GroupRelease):
            groups = GroupPlan(part.plan.groups, part.plan.guarantee, part.plan.neighbours, plan)
            return GroupRelease(groups, part.features[:, kept], self.id, self.receipt, reading, self.software)
        return Release(plan, part.features[kept], part.records, self.id, self.receipt, reading, self.software)

    def __iter__(self) -> Iterator[tuple[str, Release | GroupRelease]]:
        return ((name, self[name]) for name in self.names)

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """One row per question, group and answer: question, keys, answer, value, standard_error, lower, upper.

        Key columns are those of all questions, as text, None where a question does not have them.
        """
        keys: dict[str, None] = {}
        for _, release in self:
            if isinstance(release, GroupRelease):
                keys |= dict.fromkeys(release.plan.groups.columns)
        found = []
        for name, release in self:
            for row in release.rows(confidence):
                label = {column: None if row.get(column) is None else str(row[column]) for column in keys}
                found.append({"question": name, **label, **{k: v for k, v in row.items() if k not in keys}})
        return found

    def to_polars(self, confidence: float = 0.95) -> pl.DataFrame:
        """The rows as a Polars table."""
        import polars as pl

        return pl.DataFrame(self.rows(confidence), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        from gaussmith import __version__

        g = self.plan.guarantee
        return {
            "format": FORMAT,
            "kind": "questions",
            "gaussmith": self.software or __version__,
            "plan_hash": self.plan.hash,
            "protects": self.plan.protects,
            "guarantee": {"epsilon": g.epsilon, "delta": g.delta, "mu": g.mu, "rho": g.rho},
            "shares": self.plan.shares(),
            "questions": {name: release.to_dict()["answers"] for name, release in self},
            "confidence": 0.95,
            "intervals_cover": "the noise; not clipping to the bounds, not sampling",
            "parts": [
                {"features": p.features.tolist(), "records": _records(p), "reading": p.reading and p.reading.to_dict()}
                for p in self.parts
            ],
            "id": self.id,
            "receipt": self.receipt,
            "plan": self.plan.to_dict(),
        }

    def to_json(self) -> str:
        """The whole record as JSON: released values, errors, guarantee, plan. Nothing else of the data."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JointRelease) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> JointRelease:
        """The release that `to_dict` described."""
        plan = JointPlan.from_dict(fields["plan"])
        if len(fields["parts"]) != len(plan.parts):
            raise PlanError("a record of other parts than its plan's", "each plan has its release", "check the file")
        parts: list[Release | GroupRelease] = []
        for part, saved in zip(plan.parts, fields["parts"], strict=True):
            kind = GroupRelease if isinstance(part.plan, GroupPlan) else Release
            reading = saved.get("reading") or part.reading.to_dict()
            whole = {**saved, "plan": part.plan.to_dict(), "reading": reading}
            parts.append(kind.from_dict(whole))
        return cls(plan, tuple(parts), fields.get("id"), fields.get("receipt"), fields.get("gaussmith"))

    @classmethod
    def from_json(cls, text: str | bytes) -> JointRelease:
        """The release that `to_json` wrote."""
        return read_record(text, {"questions": cls.from_dict})

    def __str__(self) -> str:
        from gaussmith.joint_tables import joint_table

        return joint_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.joint_tables import joint_html

        return joint_html(self)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained page about this release."""
        return write_page(self, path)


def _records(part: Release | GroupRelease) -> int | None:
    return part.records if isinstance(part, Release) else None


def read(text: str | bytes | os.PathLike[str]) -> Release | GroupRelease | JointRelease:
    """The release in a record, whatever its kind: what `to_json` of any release wrote, or the `Path` of such a file."""
    kinds: dict[str, Callable[[dict[str, Any]], Release | GroupRelease | JointRelease]] = {
        "release": Release.from_dict,
        "groups": GroupRelease.from_dict,
        "total": SummedRelease.from_dict,
        "questions": JointRelease.from_dict,
    }
    if isinstance(text, os.PathLike):
        try:
            text = Path(text).read_bytes()
        except OSError as error:
            what = f"record {without_secrets(text)!r}"
            raise RequestError(what, f"it cannot be read: {error.strerror}", "check the name") from None
    return read_record(text, kinds)

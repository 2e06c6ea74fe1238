"""Several questions under one guarantee: planned together where they read the same people alike, else by shares of μ².

    Σ μ_part² ≤ μ²

A part is one plan with its own noise; a question is some of the answers of one part.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gaussmith.errors import GaussmithError, PlanError, nearest
from gaussmith.group_plans import GroupPlan
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import check, protects
from gaussmith.numerics.linear import Array
from gaussmith.plans import Plan
from gaussmith.readings import Reading

if TYPE_CHECKING:
    from gaussmith.certificate import Certificates

FORMAT = 1


@dataclass(frozen=True)
class Part:
    """One plan, how its records come from the table, and its share of the whole μ²."""

    plan: Plan | GroupPlan
    reading: Reading
    share: float


@dataclass(frozen=True)
class Slot:
    """A question: its name, the part it belongs to, the places of its answers there, and whether it shows the count."""

    name: str
    part: int
    shown: tuple[int, ...]
    count: bool


@dataclass(frozen=True, eq=False)
class JointPlan:
    """What a request with several questions is planned as."""

    guarantee: Guarantee
    neighbours: str
    parts: tuple[Part, ...]
    slots: tuple[Slot, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the questions."""
        return tuple(slot.name for slot in self.slots)

    @property
    def protects(self) -> str:
        """What is protected, in plain words."""
        return protects(self.neighbours)

    def slot(self, name: str) -> Slot:
        """The question of this name."""
        for slot in self.slots:
            if slot.name == name:
                return slot
        raise PlanError(f"question {name!r}", "the request has no such question", nearest(str(name), self.names))

    def asked_of(self, part: int) -> list[str]:
        """The names of the questions that a part answers."""
        return [slot.name for slot in self.slots if slot.part == part]

    def question(self, name: str) -> Plan | GroupPlan:
        """The plan as far as one question goes."""
        slot = self.slot(name)
        plan = self.parts[slot.part].plan
        if isinstance(plan, GroupPlan):
            return GroupPlan(plan.groups, plan.guarantee, plan.neighbours, plan.each.part(slot.shown, slot.count)[0])
        return plan.part(slot.shown, slot.count)[0]

    def __iter__(self) -> Iterator[tuple[str, Plan | GroupPlan]]:
        return ((name, self.question(name)) for name in self.names)

    def shares(self) -> dict[str, float]:
        """Each question's share of μ²; questions that are planned together have theirs in common."""
        return {slot.name: self.parts[slot.part].share for slot in self.slots}

    # -- errors -----------------------------------------------------------------------------------------------------

    @property
    def standard_errors(self) -> dict[str, Array]:
        """Of the answers of each question, the count left out; of a mean: n times its error."""
        return {name: plan.standard_errors for name, plan in self}

    def errors(self, rows: int | None = None) -> dict[str, dict[str, float]]:
        """The standard error of each answer by question, in its own units; means need a guess of the rows."""
        return {name: plan.errors(rows) for name, plan in self}

    @property
    def total_variance(self) -> float:
        """The weighted totals of all parts."""
        return sum(part.plan.total_variance for part in self.parts)

    @cached_property
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller total: each part needs as much even with all of μ."""
        mu = self.guarantee.mu
        return sum(part.plan.lower_bound * (part.plan.guarantee.mu / mu) ** 2 for part in self.parts)

    @property
    def optimality(self) -> float:
        """total_variance / lower_bound: what is known over all parts. At its share of μ each has its own."""
        return max(1.0, self.total_variance / self.lower_bound) if self.lower_bound else 1.0

    @cached_property
    def certificate(self) -> Certificates:
        """The certificates of the parts in order, each at its share of the guarantee."""
        from gaussmith.certificate import Certificates

        return Certificates(self.hash, tuple(part.plan.certificate for part in self.parts))

    # -- the guarantee ----------------------------------------------------------------------------------------------

    def certify(self) -> None:
        """Check in exact arithmetic that the parts together keep the guarantee; raises PlanError otherwise."""
        for part in self.parts:
            part.plan.certify()
            if part.plan.neighbours != self.neighbours:
                raise PlanError("parts with other neighbours than the whole", "all protect the same", "plan again")
        spent = sum((Fraction(part.plan.guarantee.mu) ** 2 for part in self.parts), start=Fraction(0))
        if spent > Fraction(self.guarantee.mu) ** 2:
            raise PlanError("parts that spend too much", "their μ² add up to the guarantee's", "plan again")
        for part in self.parts:
            if not math.isclose(part.share, (part.plan.guarantee.mu / self.guarantee.mu) ** 2, rel_tol=1e-9):
                raise PlanError(f"share={part.share!r}", "a part's share is its μ² over the guarantee's", "plan again")

    def describe_shares(self) -> list[str]:
        """Who shares what, one line for each part."""
        lines = []
        for i, part in enumerate(self.parts):
            named = self.asked_of(i)
            together = "planned together, " if len(named) > 1 else ""
            lines.append(
                f"{', '.join(named)}: {together}{100 * part.share:.3g} % of the budget (μ={part.plan.guarantee.mu:.4g})"
            )
        return lines

    def explain(self) -> str:
        """What was chosen and why, question by question."""
        texts = [*self.describe_shares()]
        for i, part in enumerate(self.parts):
            named = self.asked_of(i)
            texts.append(f"\n{', '.join(named)}\n{part.plan.explain()}")
        if len(self.parts) > 1:
            texts.append(
                f"\nAll questions together: the total is {self.total_variance:.6g}, and no Gaussian noise with the "
                f"whole guarantee can go below {self.lower_bound:.6g}: within a factor {self.optimality:.3g} of it."
            )
        return "\n".join(texts)

    def __str__(self) -> str:
        from gaussmith.joint_tables import joint_plan_table

        return joint_plan_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gaussmith.joint_tables import joint_plan_html

        return joint_plan_html(self)

    def chart(self, question: str, columns: tuple[str, str] | None = None, kind: str = "shape") -> Any:
        """A picture of the noise in one question (an Altair chart), as `Plan.chart` draws it."""
        return self.question(question).chart(columns, kind)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": "questions",
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "parts": [{"plan": p.plan.to_dict(), "reading": p.reading.to_dict(), "share": p.share} for p in self.parts],
            "questions": [
                {"name": s.name, "part": s.part, "answers": list(s.shown), "count": s.count} for s in self.slots
            ],
        }

    def to_json(self) -> str:
        """The plan as canonical JSON."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_dict(cls, fields: Any) -> JointPlan:
        """The plan that `to_dict` described, certified anew."""
        expected = {"format", "kind", "guarantee", "neighbours", "parts", "questions"}
        if not isinstance(fields, dict) or fields.get("format") != FORMAT or set(fields) != expected:
            raise PlanError(
                "a plan of questions that is not understood", f"this version reads format {FORMAT}", "plan again"
            )
        try:
            parts = tuple(
                Part(_plan(part["plan"]), Reading.from_dict(part["reading"]), float(part["share"]))
                for part in fields["parts"]
            )
            slots = tuple(
                Slot(str(s["name"]), int(s["part"]), tuple(int(i) for i in s["answers"]), bool(s["count"]))
                for s in fields["questions"]
            )
            plan = cls(Guarantee.from_dict(fields["guarantee"]), check(fields["neighbours"]), parts, slots)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
            if isinstance(error, GaussmithError):
                raise
            raise PlanError(
                f"a damaged plan ({type(error).__name__})", "every field must be as it was saved", "plan again"
            ) from None
        plan.certify()
        return plan

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JointPlan) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)


def read_plan(text: str | bytes) -> Plan | GroupPlan | JointPlan:
    """The plan in a file, whatever its kind: what `to_json` of any plan wrote; certified anew."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise PlanError("a plan that is not JSON", "plans are saved by plan.to_json()", "check the file") from None
    kind = fields.get("kind") if isinstance(fields, dict) else None
    if kind in ("certificate", "certificates"):
        raise PlanError("a certificate where a plan is expected", "the plan comes first", "swap the two files")
    if kind is not None and "plan_hash" in fields:
        raise PlanError(
            "a release where a plan is expected", "its plan is one of its fields", "save that: release.plan"
        )
    return JointPlan.from_dict(fields) if kind == "questions" else _plan(fields)


def _plan(fields: Any) -> Plan | GroupPlan:
    if not isinstance(fields, dict):
        return Plan.from_dict(fields)  # refused there
    return GroupPlan.from_dict(fields) if fields.get("kind") == "groups" else Plan.from_dict(fields)

"""Several questions under one guarantee: planned together where they read the same people alike, else by shares of μ².

    Σ μ_part² ≤ μ²

A part is one plan with its own noise; a question is some of the answers of one part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from gaussmith.errors import GaussmithError, PlanError, nearest
from gaussmith.group_plans import GroupPlan
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import check, protects
from gaussmith.plans import Plan
from gaussmith.readings import Reading

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

    def certify(self) -> None:
        """Check in exact arithmetic that the parts together keep the guarantee; raises PlanError otherwise."""
        for part in self.parts:
            part.plan.certify()
            if part.plan.neighbours != self.neighbours:
                raise PlanError("parts with other neighbours than the whole", "all protect the same", "plan again")
        spent = sum((Fraction(part.plan.guarantee.mu) ** 2 for part in self.parts), start=Fraction(0))
        if spent > Fraction(self.guarantee.mu) ** 2:
            raise PlanError("parts that spend too much", "their μ² add up to the guarantee's", "plan again")

    def describe_shares(self) -> list[str]:
        """Who shares what, one line for each part."""
        lines = []
        for i, part in enumerate(self.parts):
            named = [slot.name for slot in self.slots if slot.part == i]
            together = "planned together, " if len(named) > 1 else ""
            lines.append(
                f"{', '.join(named)}: {together}{100 * part.share:.3g} % of the budget (μ={part.plan.guarantee.mu:.4g})"
            )
        return lines

    def explain(self) -> str:
        """What was chosen and why, question by question."""
        texts = [*self.describe_shares()]
        for i, part in enumerate(self.parts):
            named = [slot.name for slot in self.slots if slot.part == i]
            texts.append(f"\n{', '.join(named)}\n{part.plan.explain()}")
        return "\n".join(texts)

    def __str__(self) -> str:
        from gaussmith.joint_tables import joint_plan_table

        return joint_plan_table(self)

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


def _plan(fields: Any) -> Plan | GroupPlan:
    return GroupPlan.from_dict(fields) if fields.get("kind") == "groups" else Plan.from_dict(fields)

"""The stages before the queries of a plan: an adaptive rule, the first plan, and what is guessed until then.

Every stage has an ordinary plan, certified before its data is read. Stages after the first are planned when the ones
before were seen, from their noisy outputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from gaussmith.domains.registry import Kinds
from gaussmith.errors import PlanError, damaged_plan, nearest
from gaussmith.numerics.exact import sqrt_downward
from gaussmith.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from gaussmith.planning.plan import Plan


# Adaptive stages: what a later stage asks follows from the noisy outputs of earlier ones, by a rule without data.
#
#     step 1 ──noisy──▶ rule ──▶ step 2 ──noisy──▶ rule ──▶ … ──▶ the answers
#
# A rule is a pure function: no data, no randomness, the same floats on every machine. So the whole release is exactly
# μ-GDP if Σ μ_i² ≤ μ² on every path, although a stage and its share depend on earlier outputs (docs/theory.md).

ANSWERS = "answers"
"""The last stage: what was asked for, at all of μ² that is left."""

NOTHING = "nothing"
"""Instead of the last stage, where too little was seen to plan it: answers are unknown, and no more is spent."""


@dataclass(frozen=True)
class Seen:
    """The noisy outputs of one stage: by question the noisy numbers in order, and the standard error of each."""

    stage: str
    values: Mapping[str, tuple[float, ...]]
    errors: Mapping[str, tuple[float, ...]]
    labels: Mapping[str, tuple[tuple[Any, ...], ...]] = field(default_factory=dict)
    """Of questions that find keys: those that were shown, in order."""


@dataclass(frozen=True)
class StageStep:
    """What comes next.

    share: the part of the whole μ² that the stage may spend; None: all that is left (ANSWERS), or no more (NOTHING)
    asks:  what it asks, as JSON has it: edges of cells, learned bounds, keys. Only this depends on earlier outputs
    """

    stage: str
    share: Fraction | None = None
    asks: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_last(self) -> bool:
        """Whether no stage follows this one."""
        return self.stage in (ANSWERS, NOTHING)


class Rule(Protocol):
    """One adaptive rule with its parameters, which are part of the hash of a plan."""

    kind: ClassVar[str]

    def step(self, seen: Sequence[Seen], left: Fraction) -> StageStep:
        """The step that follows what was seen, with so much of μ² left. A pure function."""
        ...

    @property
    def most_before(self) -> Fraction:
        """The largest part of μ² that all stages before the last take on any path."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Its kind and parameters."""
        ...

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rule:
        """The rule that `to_dict` described."""
        ...

    def describe(self) -> list[str]:
        """Its stages and their shares in plain words, before any data is read."""
        ...


Planner = Callable[[StageStep, Guarantee], "Plan"]
"""The plan of a step, which may spend so much. It sees no data: a step has what follows from noisy outputs."""


@dataclass(frozen=True, eq=False)
class Staging:
    """What comes before the queries of a plan.

    guess:   what is assumed about the outcome of the stages, in words, for the errors that the plan states
    planner: makes the plans of later stages; None in a plan that was read from a file, which cannot be released
    """

    rule: Rule
    first: Plan
    guess: str
    planner: Planner | None = field(default=None, repr=False)

    def certify(self, guarantee: Guarantee, neighbours: str) -> Fraction:
        """What the stages take of μ² on any path, at most; refuses a first stage that takes more than its part."""
        self.first.certified()
        step = self.rule.step((), guarantee.mu_squared)
        if step.share is None or self.first.spent > step.share * guarantee.mu_squared:
            raise damaged_plan("a first stage that spends too much")
        if self.first.neighbours != neighbours:
            raise damaged_plan("a stage whose neighbours differ from the plan's")
        return self.rule.most_before * guarantee.mu_squared

    def most_after(self, guarantee: Guarantee) -> Fraction:
        """What is spent of μ² after the first stage, on any path."""

        left = guarantee.mu_squared - self.first.spent
        return min(left, self.rule.answers * guarantee.mu_squared) if isinstance(self.rule, KeysFirst) else left

    def finder(self, questions: Sequence[str]) -> Plan:
        """The first stage, as far as it finds the keys of the only question."""

        assert isinstance(self.rule, KeysFirst)
        names = dict(self.rule.finders)
        found = [names[question] for question in questions if question in names]
        return self.first if len(found) != 1 else self.first[found[0]]

    def asked(self) -> dict[str, Any]:
        """What was asked of the stages, without noise."""
        return {"rule": self.rule.to_dict(), "first": self.first.asked()}

    def to_dict(self) -> dict[str, Any]:
        return {"rule": self.rule.to_dict(), "first": self.first.to_dict(), "guess": self.guess}

    @classmethod
    def from_dict(cls, fields: Any) -> Staging:
        """The stages that `to_dict` described, without what plans the later ones."""
        from gaussmith.planning.plan import Plan

        return cls(read_rule(fields["rule"]), Plan.from_dict(fields["first"]), str(fields["guess"]))


def share_of(whole: Guarantee, step: StageStep, left: Fraction) -> Guarantee:
    """What a step may spend: its share of the whole μ², or all that is left. Rounded down."""
    square = left if step.share is None else min(left, step.share * whole.mu_squared)
    return Guarantee(mu=sqrt_downward(square))


# Keys first: one stage finds the keys that enough people have, the next asks about these keys alone.
#
# keys people by key; a key is shown if its noisy number of people passes a threshold half of μ², all of κ answers the
# shown keys are declared groups: a person's m groups are chosen among them the rest of μ²
#
# What the second stage asks follows from the keys that were shown, which are public. The probability κ is spent in
# the first stage alone, and the second takes a part of μ² that is fixed beforehand: docs/theory.md, keys first.

KEYS = "keys"

MOST_KEYS = 1_000_000
"""If more keys are shown, those with the largest noisy counts are asked about."""


@dataclass(frozen=True)
class KeysFirst:
    """The rule of `keys_first`; shares are parts of μ².

    finders: each question about found keys, with the question of the first stage that finds them
    keys:    the share of the first stage
    answers: the share of the answers
    alone:   whether all questions are about found keys, so that nothing is asked where none is shown
    """

    finders: tuple[tuple[str, str], ...]
    keys: Fraction
    answers: Fraction
    alone: bool

    kind: ClassVar[str] = "keys"

    @property
    def most_before(self) -> Fraction:
        """The share of the keys."""
        return self.keys

    def step(self, seen: Sequence[Seen], left: Fraction) -> StageStep:
        """The keys, then the answers about those that were shown; questions whose keys are all hidden are left out."""
        if not seen:
            return StageStep(KEYS, self.keys, {"find": list(dict.fromkeys(finder for _, finder in self.finders))})
        shown = {question: _largest(seen[0], finder) for question, finder in self.finders}
        asked: dict[str, Any] = {"keys": {question: keys for question, keys in shown.items() if keys}}
        asked["hidden"] = [question for question, keys in shown.items() if not keys]
        if self.alone and not asked["keys"]:
            return StageStep(NOTHING, None, asked)
        return StageStep(ANSWERS, self.answers, asked)

    def example(self, keys: Mapping[str, Sequence[Any]]) -> StageStep:
        """The step that would follow if one key were shown, which is given by the question that finds it."""
        shown = {question: [list(keys[finder])] for question, finder in self.finders}
        return StageStep(ANSWERS, self.answers, {"keys": shown, "hidden": []})

    def to_dict(self) -> dict[str, Any]:
        shares = {"keys": str(self.keys), "answers": str(self.answers)}
        return {"kind": self.kind, "finders": [list(pair) for pair in self.finders], **shares, "alone": self.alone}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rule:
        """The rule that `to_dict` described."""
        finders = tuple((str(question), str(finder)) for question, finder in fields["finders"])
        if not isinstance(fields["alone"], bool) or not finders:
            raise ValueError("a rule of keys has questions")
        return cls(finders, Fraction(fields["keys"]), Fraction(fields["answers"]), fields["alone"])

    def describe(self) -> list[str]:
        """The stages and their shares."""
        return [
            f"stage 1, {100 * float(self.keys):.3g} % of the budget: which keys enough people have",
            "then the answers about these keys, with the rest; the groups of a person are chosen among them",
        ]


def _largest(seen: Seen, finder: str) -> list[list[Any]]:
    """The keys that were shown, in their order; if there are very many, those with the largest noisy counts."""
    labels, counts = seen.labels[finder], seen.values[finder]
    largest = sorted(range(len(labels)), key=lambda i: -counts[i])[:MOST_KEYS]
    return [list(labels[i]) for i in sorted(largest)]


# The kinds of adaptive rules: one line each.

RULES = Kinds(
    {
        "bounds": "gaussmith.planning.learned_bounds.LearnBounds",
        "keys": "gaussmith.planning.staging.KeysFirst",
        "quantile-cells": "gaussmith.planning.learned_cells.FindCells",
        "vector-means": "gaussmith.papers.vector_rule.VectorRule",
    }
)
"""By what they are called in saved plans."""


def read_rule(fields: Mapping[str, Any]) -> Rule:
    """The rule that its `to_dict` described; refuses one that this version does not know."""
    kind = fields["kind"]
    if kind not in RULES:
        what, why = f"rule {kind!r} of stages", "this version has no such rule"
        raise PlanError(what, why, nearest(str(kind), list(RULES)), code="unknown-rule-of-stages", kind=kind)
    rule: Rule = RULES[kind].from_dict(fields)
    return rule

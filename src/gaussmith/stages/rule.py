"""Adaptive stages: what a later stage asks follows from the noisy outputs of earlier ones, by a rule without data.

    step 1 ──noisy──▶ rule ──▶ step 2 ──noisy──▶ rule ──▶ … ──▶ the answers

A rule is a pure function: no data, no randomness, the same floats on every machine. So the whole release is exactly
μ-GDP if Σ μ_i² ≤ μ² on every path, although a stage and its share depend on earlier outputs (docs/theory.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from gaussmith.values import dataclass

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
class Step:
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

    def step(self, seen: Sequence[Seen], left: Fraction) -> Step:
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

"""The verdict of an audit: what was claimed, what was tried, what would have been noticed, and what was found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from gaussmith.values import dataclass

ERROR = 1e-5
"""The probability that an audit refutes a true claim, over all its attempts together, unless another is given."""

EXACT, SAMPLED = "exact", "sampled"

UNTRIED = "not tried"
"""The kind of a line that says what the audit did not look at; it never refutes."""


@dataclass(frozen=True)
class Attempt:
    """One attempt to refute a claim.

    limit, found:  what the claim allows and what was found, in the unit of the attempt; None where it has no number
    error:         the probability that this attempt refutes a true claim; 0 where nothing was sampled
    detects:       what it would have noticed with probability 0.8 or more, in words
    """

    name: str
    kind: str
    refutes: bool
    finding: str
    limit: float | None = None
    found: float | None = None
    error: float = 0.0
    samples: int = 0
    detects: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {name: _finite(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Verdict:
    """What an audit found. `survived` says whether no attempt refuted the claim.

    A claim that survived is not proven: `power` says what would have been noticed.
    """

    target: str
    claim: str
    attempts: tuple[Attempt, ...] = field(repr=False)
    error: float = ERROR
    mu: float | None = None
    """What is claimed, as μ."""
    bound: float | None = None
    """The largest lower bound on the true μ that was found; it holds with probability 1 − `error`."""
    seconds: float = 0.0

    @property
    def survived(self) -> bool:
        """Whether no attempt refuted the claim."""
        return not self.refuted_by

    @property
    def refuted_by(self) -> tuple[Attempt, ...]:
        """The attempts that refuted the claim."""
        return tuple(each for each in self.attempts if each.refutes)

    @property
    def power(self) -> tuple[str, ...]:
        """What would have been noticed with probability 0.8 or more, in words."""
        return tuple(f"{each.name}: {each.detects}" for each in self.attempts if each.detects)

    @property
    def samples(self) -> int:
        """How many noisy samples were drawn in all."""
        return sum(each.samples for each in self.attempts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "survived": self.survived,
            "target": self.target,
            "claim": self.claim,
            "claimed_mu": _finite(self.mu),
            "bound_on_mu": _finite(self.bound),
            "error": self.error,
            "samples": self.samples,
            "seconds": round(self.seconds, 3),
            "attempts": [each.to_dict() for each in self.attempts],
        }

    def to_json(self) -> str:
        """The verdict as one JSON document."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """The verdict as one page."""
        from gaussmith.audit.page import verdict_page

        return verdict_page(self)

    def __str__(self) -> str:
        lines = [f"{'Survived' if self.survived else 'Refuted'}: {self.claim}", f"Target: {self.target}", ""]
        for each in self.attempts:
            mark = "✗" if each.refutes else "–" if each.kind == UNTRIED else "✓"
            lines.append(f"{mark} {each.name}: {each.finding}")
        if self.survived and self.power:
            lines += ["", "Would have been noticed with probability 0.8 or more:"]
            lines += [f"  {text}" for text in self.power]
        lines += ["", f"A true claim is refuted with probability at most {self.error:g}."]
        return "\n".join(lines)


def shares(error: float, weights: Sequence[float]) -> list[float]:
    """The error probability split over attempts by weight; the parts add up to no more than the whole."""
    total = sum(weights)
    return [error * weight / total * (1 - 1e-12) for weight in weights]


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value

"""The verdict of an audit: what was claimed, what was tried, what would have been noticed, and what was found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from threading import RLock
from typing import TYPE_CHECKING, Any

ERROR = 1e-5
"""The probability that an audit refutes a true claim, over all its attempts together, unless another is given."""

LOCK = RLock()
"""Held while functions of the mechanism are replaced, so that one audit at a time looks at it."""

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
    """The largest lower bound on the true μ, or on a pure ε, that was found; it holds with probability 1 − `error`."""
    seconds: float = 0.0
    epsilon: float | None = None
    """What a plan of a pure ε claims; `bound` is then one on ε."""

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
            **self._numbers(),
            "error": self.error,
            "samples": self.samples,
            "seconds": round(self.seconds, 3),
            "attempts": [each.to_dict() for each in self.attempts],
        }

    def _numbers(self) -> dict[str, Any]:
        if self.epsilon is not None:
            return {"claimed_epsilon": self.epsilon, "bound_on_epsilon": _finite(self.bound)}
        return {"claimed_mu": _finite(self.mu), "bound_on_mu": _finite(self.bound)}

    def to_json(self) -> str:
        """The verdict as one JSON document."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """The verdict as one page."""

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


# The one-page HTML verdict: what was claimed, what was tried, what would have been noticed, what was found.

if TYPE_CHECKING:
    pass

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.survived { color: #14532d; } .refuted { color: #991b1b; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #d4d4d4; }
tr.refuted td { background: #fef2f2; } td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
"""


def verdict_page(verdict: Verdict) -> str:
    """The page as one document without scripts or further files."""
    word = "survived" if verdict.survived else "refuted"
    rows = "\n".join(
        f'<tr class="{"refuted" if each.refutes else "passed"}"><td>{escape(each.name)}</td><td>{each.kind}</td>'
        f'<td class="number">{each.samples:,}</td>'
        f"<td>{'refuted: ' if each.refutes else ''}{escape(each.finding)}</td></tr>"
        for each in verdict.attempts
    )
    power = "\n".join(f"<li>{escape(text)}</li>" for text in verdict.power) or "<li>exact attempts only</li>"
    of = "μ" if verdict.epsilon is None else "ε"
    bound = "" if not verdict.bound else f"<p>The largest lower bound on {of} that was found: {verdict.bound:.6g}.</p>"
    claimed = "" if verdict.mu is None else f" (μ={verdict.mu:.6g})"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Audit: {word}</title><style>{_STYLE}</style></head><body>
<h1 class="{word}">The claim {"survived" if verdict.survived else "is refuted"}</h1>
<h2>What was claimed</h2><p>{escape(verdict.target)}: {escape(verdict.claim)}{claimed}</p>
<h2>What was tried, and found</h2>
<table><thead><tr><th>attempt</th><th>kind</th><th>samples</th><th>finding</th></tr></thead><tbody>
{rows}
</tbody></table>{bound}
<h2>What would have been noticed, with probability 0.8 or more</h2><ul>{power}</ul>
<p>A true claim is refuted with probability at most {verdict.error:g}. A claim that survived is not proven by that.
It took {verdict.seconds:.1f} s.</p>
</body></html>
"""


# How hard an audit tries, and whom it tells how far it is.

SAMPLES = 400_000
"""Noisy samples of a plan by default: a noise 1 % too small in one coordinate is noticed."""


@dataclass(frozen=True)
class Effort:
    """How hard an audit tries."""

    samples: int = SAMPLES
    processes: int = 1
    progress: Callable[[float], None] | None = None

    def report(self, part: float) -> None:
        """Tell how far it is, as a part of 1."""
        if self.progress is not None:
            self.progress(part)

    def within(self, low: float, high: float) -> Effort:
        """The same for one step of an audit, whose parts lie between these two of the whole."""
        return replace(self, progress=lambda part: self.report(low + (high - low) * part))

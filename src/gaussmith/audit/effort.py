"""How hard an audit tries, and whom it tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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

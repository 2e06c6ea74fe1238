"""Guarantees as events of dp_accounting, and back: for those who compose releases with that library.

A release of Gaussmith is the event of one Gaussian mechanism with noise multiplier 1/μ. Of other events, those are read
that μ covers: Gaussian and Laplace noise (which is pure ε-DP), and compositions of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from gaussmith.errors import GuaranteeError
from gaussmith.numerics.exact import fraction_down
from gaussmith.privacy.pure import gdp_of_pure


def gaussian_event(mu: float) -> Any:
    """The event of a Gaussian mechanism at μ; its noise multiplier 1/μ rounded down, so that it promises no more."""
    dp_accounting = _library()
    return dp_accounting.GaussianDpEvent(noise_multiplier=fraction_down(1 / Fraction(mu)))


def squares_of(event: Any) -> Iterator[Fraction]:
    """The μ² of each mechanism in an event, never too small; refuses what μ does not cover."""
    dp_accounting = _library()
    if isinstance(event, dp_accounting.GaussianDpEvent) and event.noise_multiplier > 0:
        yield 1 / Fraction(event.noise_multiplier) ** 2
    elif isinstance(event, dp_accounting.LaplaceDpEvent) and event.noise_multiplier > 0:
        yield Fraction(gdp_of_pure(1 / Fraction(event.noise_multiplier))) ** 2
    elif isinstance(event, dp_accounting.ComposedDpEvent):
        for each in event.events:
            yield from squares_of(each)
    elif isinstance(event, dp_accounting.SelfComposedDpEvent):
        yield event.count * sum(squares_of(event.event), Fraction(0))
    elif not isinstance(event, dp_accounting.NoOpDpEvent):
        raise GuaranteeError(
            f"a {type(event).__name__}",
            "no μ covers it: known are Gaussian and Laplace noise, and compositions of these",
            "charge an (ε, δ) that it satisfies to a ledger: gaussmith ledger add",
            code="event-not-covered",
            event=type(event).__name__,
        )


def _library() -> Any:
    try:
        import dp_accounting
    except ImportError:
        raise GuaranteeError(
            "dp_accounting is not installed",
            "events are values of that library",
            "install the package dp-accounting",
            code="dp-accounting-not-installed",
        ) from None
    return dp_accounting

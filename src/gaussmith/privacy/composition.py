"""What releases take together: three sums that add up. And guarantees as events of dp_accounting, and back.

A release takes pure ε, μ² or κ, or some of each (`Charge`). Each sum adds up by itself, also where a release is chosen
after earlier ones were seen (docs/theory.md, statement 81).

For those who compose releases with dp_accounting: a release with Gaussian noise is the event of one Gaussian mechanism
with noise multiplier 1/μ. Of other events, those are read that μ covers: Gaussian and Laplace noise (which is pure
ε-DP), and compositions of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gaussmith.errors import GuaranteeError
from gaussmith.numerics.exact import fraction_down
from gaussmith.privacy.pure import gdp_of_pure

NOTHING = Fraction(0)


@dataclass(frozen=True)
class Charge:
    """What one release takes of a ledger: pure ε, μ² of Gaussian noise, κ of found keys; exact, each 0 or more.

    >>> Charge(pure=Fraction(1, 2)) + Charge(mu_squared=Fraction(1, 64)) + Charge(pure=Fraction(1, 10))
    Charge(pure=Fraction(3, 5), mu_squared=Fraction(1, 64), kappa=Fraction(0, 1))
    """

    pure: Fraction = NOTHING
    mu_squared: Fraction = NOTHING
    kappa: Fraction = NOTHING

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, Fraction) or value < 0:
                what, rule = f"{name}={value!r} of a charge", "each part of a charge is an exact fraction, 0 or more"
                remedy = f"write {name}=Fraction(1, 2), or leave it out"
                raise GuaranteeError(what, rule, remedy, code="charge-not-a-fraction", name=name, value=value)

    def __add__(self, other: object) -> Charge:
        """What both take together."""
        if not isinstance(other, Charge):
            return NotImplemented
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Charge(*(one + two for one, two in pairs))


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

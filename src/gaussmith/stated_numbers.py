"""The numbers of a guarantee: which ε, δ, μ and ρ can be stated."""

from __future__ import annotations

import math

from gaussmith.errors import GuaranteeError

LARGEST_EPSILON = 100.0
SMALLEST_EPSILON = 1e-90


def check_epsilon(epsilon: float) -> None:
    if not math.isfinite(epsilon):
        what, rule = f"epsilon={epsilon}", "ε must be a finite number"
        raise GuaranteeError(what, rule, "give a number, say epsilon=1", code="epsilon-not-finite", epsilon=epsilon)
    if epsilon <= 0:
        what, rule = f"epsilon={plain(epsilon)}", "ε must be above 0: at 0 nothing could be learned"
        raise GuaranteeError(what, rule, "give a number, say epsilon=1", code="epsilon-not-positive", epsilon=epsilon)
    if epsilon > LARGEST_EPSILON:
        raise GuaranteeError(
            f"epsilon={plain(epsilon)}",
            "ε must be at most 100: a factor of e^100 in likelihood protects nobody",
            "give a smaller number; 0.1 to 10 is usual",
            code="epsilon-too-large",
            epsilon=epsilon,
        )
    if epsilon < SMALLEST_EPSILON:
        raise GuaranteeError(
            f"epsilon={plain(epsilon)}",
            "ε must be at least 1e-90: noise of that size cannot be drawn",
            "give a larger number; 0.1 to 10 is usual",
            code="epsilon-too-small",
            epsilon=epsilon,
        )


def check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        rule, remedy = "δ is a probability: 0 < δ < 1", "give one far below 1/(number of people), say delta=1e-9"
        raise GuaranteeError(f"delta={plain(delta)}", rule, remedy, code="delta-out-of-range", delta=delta)


def check_parameter(name: str, value: float, smallest: float, largest: float) -> None:
    if not math.isfinite(value):
        what, rule, remedy = f"{name}={value}", f"{name} must be a finite number", f"give a number, say {name}=0.5"
        raise GuaranteeError(what, rule, remedy, code="guarantee-number-not-finite", name=name, value=value)
    if value <= 0:
        raise GuaranteeError(
            f"{name}={plain(value)}",
            f"{name} must be above 0: at 0 nothing could be learned",
            f"give a number, say {name}=0.5",
            code="guarantee-number-not-positive",
            name=name,
            value=value,
        )
    if not smallest <= value <= largest:
        raise GuaranteeError(
            f"{name}={plain(value)}",
            f"{smallest:g} ≤ {name} ≤ {largest:g}: outside this range there is no privacy, or no noise to draw",
            f"give a number in the usual range, say {name}=0.5",
            code="guarantee-number-out-of-range",
            name=name,
            value=value,
            smallest=smallest,
            largest=largest,
        )


def plain(number: float | None) -> str:
    return repr(number).removesuffix(".0")

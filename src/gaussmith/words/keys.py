"""Keys that are found in the data, in plain words: what a release with them satisfies, and which groups are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gaussmith.domains import FoundGroups
from gaussmith.numerics.exact import fraction_up
from gaussmith.texts import printable
from gaussmith.words.blocks import guarantee_notes

if TYPE_CHECKING:
    from gaussmith.plans import Draw, Plan

OFTEN = 0.95
"""How often a group is shown that is said to be shown nearly always."""


def kappa_of(plan: Plan) -> float:
    """κ of all questions together, rounded up."""
    return fraction_up(plan.keys_delta)


def statement(plan: Plan) -> str:
    """What a release satisfies, in one line: with found keys it is not μ-GDP, and never said to be.

    >>> import gaussmith as gm
    >>> asked = {"by": {"airport": "found"}, "count": True, "guarantee": gm.Guarantee(mu=0.5)}
    >>> statement(gm.Request("flights.csv", keys_delta=1e-7, **asked).plan)
    'κ-approximately μ-GDP with κ=1e-07 and μ=0.5'
    """
    g = plan.guarantee
    if not plan.pays_for_keys:
        return str(g)
    kappa, mu = f"{kappa_of(plan):.4g}", f"{plan.spends.mu:.4g}"
    if g.epsilon is None:
        return f"κ-approximately μ-GDP with κ={kappa} and μ={mu}"
    stated = str(g).split(", that is")[0]
    return f"{stated}; κ-approximately μ-GDP with κ={kappa} and μ={mu}"


def statement_notes(plan: Plan) -> list[str]:
    """The statement, what κ is where there is one, and a warning where δ promises little."""
    told = guarantee_notes(plan.guarantee)[1:]
    if plan.pays_for_keys:
        told = [f"with probability at most κ={kappa_of(plan):.4g} a key that one person alone has is shown", *told]
    return [statement(plan), *told]


def promise(plan: Plan) -> str:
    """What the guarantee means for one person, in plain words; with found keys κ has its part in it."""
    g = plan.guarantee
    if not plan.pays_for_keys:
        return g.describe()
    kappa, mu = kappa_of(plan), plan.spends.mu
    told_apart = kappa + (1 - kappa) * math.erf(mu / math.sqrt(8))
    right = math.ceil(500 * (1 + told_apart) * (1 + 2.0**-40)) / 10
    guess = (
        "Guessing from the release whether one person's record was used "
        f"is right at most {right:g} % of the time (a coin flip: 50 %)."
    )
    return guess if g.epsilon is None else f"{g.describe().partition('. ')[0]}. {guess}"


def describe_groups(draw: Draw) -> str:
    """Where the groups of a draw come from."""
    groups = draw.groups
    assert isinstance(groups, FoundGroups)
    declared = dict(groups.declared)
    found = ", ".join(printable(name) for name in groups.columns if name not in declared)
    beside = ", ".join(printable(name) for name in groups.columns if name in declared)
    return f"one group for each key found in {found}" + (f", by declared keys of {beside}" if beside else "")


def describe_shown(plan: Plan) -> list[str]:
    """How large a group must be to be shown, of a plan of one question about found keys.

    >>> import gaussmith as gm
    >>> asked = {"by": {"airport": "found"}, "count": True, "guarantee": gm.Guarantee(epsilon=1, delta=1e-5)}
    >>> describe_shown(gm.Request("flights.csv", **asked).plan)
    ['a group of 17 people is shown half of the time, one of 23 in 95 %']
    """
    from gaussmith.plans.threshold import SPARE_FROM

    groups = plan.groups
    assert isinstance(groups, FoundGroups)
    half, often = (shown_at(plan, level) for level in (0.5, OFTEN))
    lines = [f"a group of {half:,.0f} people is shown half of the time, one of {often:,.0f} in {100 * OFTEN:g} %"]
    if groups.at_most >= SPARE_FROM:  # people in fewer groups make theirs easier to find
        lines[0] += f", if each of them is in {groups.at_most} groups"
    if groups.at_least > 1:
        lines.append(f"keys with fewer than {groups.at_least:,} people are never shown")
    if groups.top is not None:
        lines.append(f"at most {groups.top:,} groups are shown: those with the largest noisy counts")
    return lines


def shown_at(plan: Plan, level: float) -> float:
    """The number of people of a group that is shown with this probability."""
    groups = plan.groups
    assert isinstance(groups, FoundGroups)
    low, high = float(groups.at_least), max(plan.threshold, 1.0) * 2 + groups.at_least
    while plan.shown(high) < level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if plan.shown(middle) >= level else (middle, high)
    return high

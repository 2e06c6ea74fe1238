"""Keys that are found in the data, in plain words: what a release with them satisfies, and which groups are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.checks import CONFIDENCE
from gaussmith.domains.groups import FoundGroups, largest_few
from gaussmith.errors import counted, printable
from gaussmith.numerics.exact import fraction_up
from gaussmith.report.charts import OURS, WIDTH, Spec, chart
from gaussmith.report.tables import guarantee_notes

if TYPE_CHECKING:
    from gaussmith.planning.plan import Plan
    from gaussmith.planning.query import Query


OFTEN = CONFIDENCE
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


def percent_up(chance: float) -> str:
    """A chance in percent, to three digits, rounded up.

    >>> percent_up(0.5471056), percent_up(0.9999)
    ('54.8 %', '100 %')
    """
    return f"{math.ceil(1000 * chance * (1 - 2.0**-50)) / 10:g} %"


def guess_of(plan: Plan) -> str:
    """How often somebody can guess right, at most, whether a person is in the table; κ of found keys has its part.

    >>> import gaussmith as gm
    >>> guess_of(gm.plan(gm.Records(), gm.Guarantee(epsilon=1), count=True))
    'guessing whether a person is in the table is right at most 73.2 % of the time'
    """
    chance = plan.guarantee.guess_bound
    if plan.pays_for_keys:
        kappa = kappa_of(plan)
        chance = (1 + kappa + (1 - kappa) * (2 * plan.spends.guess_bound - 1)) / 2
    return f"guessing whether a person is in the table is right at most {percent_up(chance)} of the time"


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


def describe_groups(query: Query) -> str:
    """Where the groups of a query come from."""
    groups = query.groups
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
    from gaussmith.planning.discovered_groups import SPARE_FROM

    groups = plan.groups
    assert isinstance(groups, FoundGroups)
    half, often = (shown_at(plan, level) for level in (0.5, OFTEN))
    small = counted(half, "person", "people")
    lines = [f"a group of {small} is shown half of the time, one of {often:,.0f} in {100 * OFTEN:g} %"]
    if groups.at_most >= SPARE_FROM:  # people in fewer groups make theirs easier to find
        lines[0] += f", if each of them is in {counted(groups.at_most, 'group')}"
    if groups.at_least > 1:
        lines.append(f"keys with fewer than {groups.at_least:,} people are never shown")
    if groups.top is not None:
        lines.append(largest_few(groups.top))
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


# The picture of found keys: how often a group is shown, by its number of people.

CAPTION = "How often a group is shown, by the number of its people."

POINTS = 60


def shown_chart(plan: Plan) -> tuple[Spec, str, list[str]] | None:
    """The curve of P(shown), its caption and what is said beside it; None where no keys are found."""
    if plan.groups is None or not plan.groups.is_found:
        return None
    most = shown_at(plan, 0.999)
    people = np.unique(np.linspace(0, most * 1.05, POINTS).round())
    values = [{"people": float(n), "shown": 100 * plan.shown(float(n))} for n in people]
    spec: Spec = {
        **chart(WIDTH, WIDTH * 2 // 3),
        "data": {"values": values},
        "mark": {"type": "line", "color": OURS},
        "encoding": {
            "x": {"field": "people", "type": "quantitative", "title": "people in the group"},
            "y": {
                "field": "shown",
                "type": "quantitative",
                "title": "% of such groups shown",
                "scale": {"domain": [0, 100]},
            },
        },
    }
    return spec, CAPTION, describe_shown(plan)

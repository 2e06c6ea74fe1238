"""The picture of found keys: how often a group is shown, by its number of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.report.charts import OURS, WIDTH, Spec, chart
from gaussmith.words.keys import describe_shown, shown_at

if TYPE_CHECKING:
    from gaussmith.plans import Plan

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

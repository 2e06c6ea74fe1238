"""Which answers share noise: the correlations between the errors of all answers that one noise is added to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.linear import Array
from gaussmith.report.charts import WIDTH, Spec, chart
from gaussmith.texts import printable

if TYPE_CHECKING:
    from gaussmith.plans import Draw, Plan
    from gaussmith.plans.draw import AnyTie

MAX_SHOWN = 24
"""Limit on the answers in the picture."""


def shown_ties(plan: Plan) -> list[AnyTie]:
    """The noises that answers share; one that only counts everybody for others has no answers of its own."""
    answered = {i for slot in plan.slots for i in slot.draws}
    return [tie for tie in plan.ties if not answered.isdisjoint(tie.members)]


def shared_answers(plan: Plan, tie: AnyTie) -> tuple[list[str], Array]:
    """Names of answers that share a noise, and the correlations of their errors; of groups one, and another."""
    held: list[tuple[str, Draw, int, bool, int]] = []
    for slot, i in ((each, i) for each in plan.slots for i in each.draws):
        draw = plan.draws[i]
        if draw.tie is not tie:
            continue
        lead = f"{slot.name}: " if slot.name else ""
        block = draw.block
        shown, count = slot.piece_of(i).chosen(block.answers)
        marks = block.domain.marks_at_most is not None
        places = [0] if marks else list(shown)
        names = ["one value"] if marks else [block.answers.names[i] for i in shown]
        if count:
            names.append("count")
            places.append(1 if marks else block.shape.features.shape[0] - 1)
        if draw.by_weight and draw.groups is not None:
            for at, (weight, _) in enumerate(draw.groups.classes):
                of = f" (weight {weight:.3g})"
                held += [
                    (printable(f"{lead}{name}{of}"), draw, place, False, at)
                    for name, place in zip(names, places, strict=True)
                ]
            continue
        several = draw.groups is not None or marks
        for again in (False, True) if several else (False,):
            of = (" (another)" if again else " (one)") if several and not marks else " (another)" if again else ""
            for name, place in zip(names, places, strict=True):
                if not (marks and again and name == "count"):
                    held.append((printable(f"{lead}{name}{of}"), draw, place, again, 0))
    held = held[:MAX_SHOWN]
    size = len(held)
    found = np.zeros((size, size))
    for i, (_, one, a, first, left) in enumerate(held):
        for j, (_, other, b, second, right) in enumerate(held):
            found[i, j] = tie.covariance_of(one, other, first == second, (left, right))[a, b]
    scale = np.sqrt(np.diag(found))
    return [name for name, *_ in held], found / np.outer(scale, scale)


def sharing_spec(plan: Plan, tie: AnyTie) -> Spec:
    """A square for each pair of answers, coloured by how their errors go together."""
    names, found = shared_answers(plan, tie)
    names = [f"{name}  {i}" for i, name in enumerate(names, start=1)]
    numbers = [str(i) for i in range(1, len(names) + 1)]
    rows = [
        {"one": numbers[i], "other": names[j], "correlation": round(float(found[i, j]), 4)}
        for i in range(len(names))
        for j in range(len(names))
    ]
    side = max(WIDTH * 2 // 3, 18 * len(names))
    axis = {"title": None, "labelLimit": 180, "grid": False, "domain": False, "ticks": False}
    scale = {"domain": [-1, 0, 1], "range": ["#b2532e", "#f4f2ee", "#1f5f99"], "interpolate": "rgb"}
    return {
        **chart(side, side),
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 1},
                "encoding": {
                    "x": {"field": "one", "type": "nominal", "sort": numbers, "axis": {**axis, "labelAngle": 0}},
                    "y": {"field": "other", "type": "nominal", "sort": names, "axis": axis},
                    "color": {
                        "field": "correlation",
                        "type": "quantitative",
                        "scale": scale,
                        "legend": {"title": "correlation of errors"},
                    },
                },
            }
        ],
    }

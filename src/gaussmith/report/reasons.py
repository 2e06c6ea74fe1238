"""The section of a page that says why this noise was chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaussmith.plans.tied_people import NAME
from gaussmith.words.blocks import describe_shape
from gaussmith.words.tables import html_table

if TYPE_CHECKING:
    from gaussmith.plans import Block
    from gaussmith.plans.draw import AnyTie


def reasons(block: Block) -> str:
    """Why this noise: what was minimised, what other noise would have cost, and the least there is."""
    if block.tie is not None:
        return _tied_reasons(block.tie)
    together = " of this question and the questions planned together with it" if block.whole is not None else ""
    block = block.whole[0] if block.whole is not None else block
    weighting = {
        "equal": "",
        "relative": ", each relative to what one person can change",
        "given": ", weighted as given",
    }[block.answers.weighting]
    worst = block.problem.features.targets is not None
    aim = "to minimise the sum of squared errors"
    if worst:
        aim = "to minimise the squared error of the worst answer, relative to its squared target"
    prices = [(block.shape.name, block.price, "chosen")]
    prices += [
        (name, price * block.noise_scale**2, "") for name, price in sorted(block.alternatives, key=lambda p: p[1])
    ]
    rows = [
        [describe_shape(name) + (f" ({note})" if note else ""), f"{price / block.price:.2f} ×"]
        for name, price, note in prices
    ]
    if math.isfinite(block.optimality):
        least = f"{1 / block.optimality:.2f} ×"
        rows.append(["lower bound for any Gaussian noise with this guarantee", least])
    return (
        f"<p>The noise was chosen {aim}{together}{weighting}. The choice used only the bounds and the guarantee, "
        "never the data.</p>\n"
        f"{_table(['noise', 'largest squared error' if worst else 'total squared error'], rows)}"
    )


def _tied_reasons(tie: AnyTie) -> str:
    rows = [
        [f"{describe_shape(NAME)} (chosen)", "1.00 ×"],
        ["separate noise for each question or group, with the best shares", f"{tie.apart / tie.total_variance:.2f} ×"],
        ["lower bound for any Gaussian noise with this guarantee", f"{1 / tie.optimality:.2f} ×"],
    ]
    return (
        "<p>The noise was chosen to minimise the sum of squared errors of all answers that share it, each relative to "
        "what one person can change. The choice used only the bounds and the guarantee, never the data.</p>\n"
        f"{_table(['noise', 'total squared error'], rows)}"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f'<div class="table">{html_table(header, rows)}</div>'

"""Groups of one question that weigh differently: the parts of a family in closed form, around one centre for each.

Every part has the noise of `centred`, and a person spends the common limit where the noise is worst: with κ₁ the mean
number of groups by part,

    √T = max over Σ κ₁ ≤ m of Σ_q √T_q(κ₁_q)

is concave, and at its largest the slopes of all parts are the same, or κ₁ is at an end. What is found there is brought
to norm 1 for everybody who keeps the limit, part by part the best number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.blocks import Block, side_by_side, unboxed
from gaussmith.numerics.tied.centred import Batch, Law, make_rows
from gaussmith.numerics.tied.parts import Part

_PLACES = 300
_BEND = 3e-3


def solve_weighted(members: Sequence[int], parts: Sequence[Part], most: int, outside: float) -> Block:
    """The best block of this form for a family, beside a constant that weighs `outside` elsewhere."""
    from scipy.optimize import minimize

    batch = Batch([part.boxed for part in parts])
    n, width = batch.w.shape
    units = np.maximum(np.abs(batch.mid), batch.r)
    free = batch.w > 0

    def law_at(x: Array, bend: float = 0.0) -> Law:
        gamma = np.zeros((n, width))
        gamma[free] = x[n:]
        return _spread(batch, x[:n] * batch.m, gamma * units, most, bend)

    def value(x: Array, bend: float) -> tuple[float, Array]:
        law = law_at(x, bend)
        (root_k, root_c), (energy_k, energy_c) = law.slopes()
        root = math.sqrt(outside + float(law.energies.sum()))
        half = 2.0 * max(root, 1e-150)
        in_kappa, in_gamma = (root_k + energy_k / half) * batch.m, (root_c + energy_c / half) * units
        return float((law.roots + law.bent).sum()) + root, np.concatenate([in_kappa, in_gamma[free]])

    share = min(1.0, most / float(batch.g.sum()))
    inner = np.sign(batch.mid) * np.minimum(batch.r, np.abs(batch.mid)) / units
    bounds = [(0.0, 1.0)] * n + [(-1.0, 1.0)] * int(free.sum())
    nothing = np.zeros(n + int(free.sum()))
    found = [] if outside else [nothing]
    for part in (0.8, 0.4):
        start = np.append(np.full(n, part * share * batch.g / batch.m).clip(0.0, 1.0), (0.7 * share * inner)[free])
        options = {"maxiter": 60, "ftol": 1e-7}
        found += [minimize(value, start, (_BEND,), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x]
    blocks = [_make_block(members, parts, most, law_at(x)) for x in found]
    return min(blocks, key=lambda block: block.root + math.sqrt(outside + block.energy))


def _spread(batch: Batch, kappa: Array, gamma: Array, most: int, bend: float) -> Law:
    """The worst law: mean numbers of groups within the common limit, found where all slopes are the same."""
    curve = bend * batch.sizes
    grid = np.linspace(0.0, 1.0, _PLACES + 1)[1:]
    places = batch.m[:, None] * np.append(grid[:-1], 1.0 - 1e-12)
    slopes = np.minimum.accumulate(batch.slopes(places, kappa, gamma, curve), axis=1)  # concave, but for rounding

    def first(price: float) -> Array:
        """κ₁ of every part at which the slope falls to a price."""
        return np.array([np.interp(-price, -line, at) for line, at in zip(slopes, places, strict=True)])

    low, top = 0.0, float(slopes.max())
    if first(0.0).sum() > most:
        for _ in range(50):
            price = 0.5 * (low + top)
            low, top = (price, top) if first(price).sum() > most else (low, price)
    else:
        top = 0.0
    return batch.law_at(kappa, gamma, first(top), curve)


def _make_block(members: Sequence[int], parts: Sequence[Part], most: int, law: Law) -> Block:
    root = float(law.roots.sum())
    rows = [make_rows(part.boxed, law, q, root) for q, part in enumerate(parts)]
    worst = np.zeros(most + 1)  # the largest squared norm by how many groups are taken
    for each in rows:
        worst = _both(worst, each.squares)
    norm = float(worst.max())
    blocks = [
        unboxed(Block((q,), (each.own,), each.ties, each.constant, math.sqrt(each.cost), each.energy), part)
        for q, (each, part) in enumerate(zip(rows, parts, strict=True))
    ]
    return side_by_side(members, blocks, np.full(len(blocks), 1.0 / math.sqrt(norm)))


def _both(worst: Array, squares: Array) -> Array:
    """The largest sums by how many groups both take."""
    found = np.full(len(worst), -np.inf)
    for k, value in enumerate(squares[: len(worst)]):
        found[k:] = np.maximum(found[k:], worst[: len(worst) - k] + value)
    return found

"""Blocks solved by types: the best noise of several parts together, whatever the number of their groups (theorem A).

With a constant of weight w the best noise is around a centre c: what is left of it, given the noise of the constant, is
the best noise of y − c·n, so that √T(c) + √(‖c‖² + w) is as small as it can be. Other blocks are felt through w alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.blocks import Block
from gaussmith.numerics.tied.parts import Family, Part
from gaussmith.numerics.tied.reduced import Index, Reduced
from gaussmith.numerics.tied.worst_law import People, WorstLaw, find_worst_law, root_of_moment
from gaussmith.values import dataclass


@dataclass(frozen=True, eq=False)
class Solved:
    """A block with the law that proves it best, for the weight of the constant it was solved with."""

    block: Block
    law: WorstLaw


_STIFF = 2.0**22
"""How much more precise than any other a sum is known that is the same for everybody."""


def solve_types(
    members: Sequence[int],
    parts: Sequence[Part],
    weight: float,
    *,
    replaced: bool = False,
    gap: float = 1e-6,
    families: Sequence[Family] = (),
) -> Solved:
    """The best block of these parts beside a constant of this weight; all combinations of types are listed.

    `families` are those of the parts, by their places in the list.
    """
    extra = 0.0 if replaced else sum(part.count_weight for part in parts if part.always)
    only = len(parts) == 1 and weight + extra == 0
    shared = {q for family in families for q in family.members}
    reduced = [Reduced(part, replaced, alone=only, limited=q in shared) for q, part in enumerate(parts)]
    law = find_worst_law(People(reduced, math.sqrt(weight + extra), families), gap)
    return Solved(_block(tuple(members), reduced, weight + extra, extra, law), law)


def _block(members: tuple[int, ...], reduced: Sequence[Reduced], weight: float, extra: float, law: WorstLaw) -> Block:
    S = law.roots.total
    m, V = law.roots.along
    answers = sum(part.answers for part in reduced)
    if law.people.basis is not None:
        V = law.people.basis @ V
    inverse = (V / (S * m)) @ V.T
    if law.people.basis is not None:  # what nobody moves has next to no noise
        inverse += _STIFF * float(np.abs(1.0 / (S * m)).max()) * (np.eye(len(V)) - V @ V.T)
    e, U = root_of_moment(inverse[:answers, :answers])
    L, back = (U * e) @ U.T, (U / e**2) @ U.T  # of y given the constant: ‖L(y − c n)‖, covariance `back`
    centre, share = np.zeros(answers), 0.0
    if weight > 0:
        coupling = inverse[:answers, -1]
        centre = -(back @ coupling) * math.sqrt(weight)
        share = weight * float(inverse[-1, -1] - coupling @ back @ coupling)
    cost = float(np.trace(back)) if answers else 0.0
    across = iter(zip(law.people.scattered, law.roots.across, strict=True))
    lifts: list[Array] = []
    turned = {
        (q, rows): root
        for (q, _), rows, root in zip(law.people.turning, law.people.of_rows, law.roots.turned, strict=True)
    }
    for part in reduced:
        if part.part.groups > 1 and part.answers:
            _, (m, V) = next(across)
            cost += (part.part.groups - 1) * S * float(m.sum())
            lifts.append((V / np.sqrt(S * m)) @ V.T)
        else:
            lifts.append(np.zeros((part.answers, part.answers)))
    cost += S * sum(turned.values())
    own, ties, constant = _rows(reduced, lifts, L, centre, {at: S * root for at, root in turned.items()})
    norm = law.excess - share  # the constant's own row is the same for everybody
    scale = 1.0 / math.sqrt(norm)
    return Block(
        members,
        tuple(each * scale for each in own),
        ties * scale,
        constant * scale,
        math.sqrt(cost * norm),
        float(centre @ centre) + extra,
    )


def _rows(
    reduced: Sequence[Reduced], lifts: Sequence[Array], L: Array, centre: Array, turned: dict[tuple[int, bool], float]
) -> tuple[list[Array], Array, Array]:
    """From lifts of answers, across groups and along them, to rows over cores, sums of cores and the constant."""
    widths = [part.part.width for part in reduced]
    heights = [part.part.columns + part.counted for part in reduced]
    columns = np.cumsum([0, *widths])
    places = np.cumsum([0, *heights])
    starts = np.cumsum([0, *(part.answers for part in reduced)])
    # What the answers, summed over groups and over √groups, are of the sums and of the constant.
    seen = np.zeros((starts[-1], columns[-1] + 1))
    own: list[Array] = []
    for q, part in enumerate(reduced):
        asked = np.zeros((part.answers, widths[q] + 1))  # a last column for the constant
        asked[:, part.moving] = part.asked[:, :-1]
        asked[:, part.part.columns] = part.asked[:, -1]
        seen[starts[q] : starts[q + 1], columns[q] : columns[q + 1]] = asked[:, :-1] / math.sqrt(part.part.groups)
        seen[starts[q] : starts[q + 1], -1] += asked[:, -1]
        own.append(np.zeros((heights[q], widths[q])))
        rows = answer_rows(part)
        inner = slice(starts[q], starts[q + 1])
        own[q][rows] = (lifts[q] if part.part.groups > 1 else L[inner, inner]) @ asked[:, :-1]
        for over_rows, spread in ((False, part.spread), (True, part.row_spread)):
            if (q, over_rows) in turned:  # lifted by 1/√variance: √w r · √(root of all columns / (S · Σ√w r))
                roots = np.sqrt(part.part.weights) * part.part.radius
                variance = turned[q, over_rows] / (part.part.groups * spread)
                at = part.turning[part.of_rows == over_rows]
                own[q][at, at] = np.sqrt(roots / variance)[at]
    seen[:, -1] -= centre
    ties = np.zeros((places[-1], columns[-1] + 1))
    for q, part in enumerate(reduced):
        rows = places[q] + answer_rows(part)
        g = part.part.groups
        ties[rows] = L[starts[q] : starts[q + 1]] @ seen / math.sqrt(g)
        at = slice(columns[q], columns[q + 1])
        ties[rows, at] = ties[rows, at] - own[q][answer_rows(part)] / g if g > 1 else 0.0
    return own, ties[:, :-1], ties[:, -1]


def answer_rows(part: Reduced) -> Index:
    """The rows of a part's answers among all of its rows: the moving columns, then the count."""
    return np.append(part.moving, [part.part.columns] * part.counted).astype(int)

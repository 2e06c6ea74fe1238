"""Lower bounds for a whole request: what any law on its people proves about every plan, however it was made.

Every person is a vector of weighted answers, group by group and question by question. Query one from a law on types and
put its groups in random order, which are people too; the moment matrix of these is M, and by statement 8 no Gaussian
noise at μ = 1 has a weighted total below (tr M^½)². Random order splits M into a part for the differences between the
groups of each question, g − 1 times, and one for the sums of all questions:

    tr M^½ = Σ_q (g_q − 1) tr M_q^½ + tr M_b^½
    M_q = E[Σ_i (x_i − x̄)(x_i − x̄)ᵀ]/(g_q − 1),  x_i the answers of group i        M_b = E[b bᵀ],  b = (√g_q x̄_q, √w)

with w what the number of people is worth. Under replace-one the differences of each question are independent and have
either sign, so that M_b falls into blocks, and the number of people is public. Where the groups of a question weigh
differently those of one weight are put in random order, and its parts stay together in M_b.

Other questions of other columns may stand beside the body, each with a law of its own, independent of it and of each
other (`Beside`): what they add to M_b beyond their means stands apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.law import TypesLaw
from gaussmith.numerics.joint.parts import Body, JointPart
from gaussmith.numerics.trace_roots import nuclear_lower, square_down
from gaussmith.privacy.neighbours import ADD_REMOVE, check

_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Beside:
    """The law of a question beside a body: weighted answers of its people, one a row, and how likely each is.

    `alone` are rows of mean 0 whose squares are in the second moment besides: answers that have either sign.
    """

    points: Array
    chances: Array
    alone: Array
    doubt: float
    """How far a point may be off, as a share of the largest numbers that it was computed from."""
    root: float = 0.0
    """tr of the root of what else is in the second moment, orthogonal to all of this and of mean 0; rounded down."""


def lower_bound(body: Body, neighbours: str, law: TypesLaw, beside: Sequence[Beside] = ()) -> float:
    """No Gaussian noise at μ = 1 has a smaller weighted total for the questions of this body; rounded down.

    `beside` are laws of questions of other columns, under add-remove.

    Guarantee: whatever the law, and whoever found it. Requires (checked): it is one of people of this body, or of
    differences of two under replace-one. Rounding: every product and sum is bounded and given away.

    >>> from gaussmith.domains.joint_bounds import find_law
    >>> part = JointPart(2, 0, 2, np.zeros(0), np.zeros(0), np.zeros(0), 1.0)       # two filtered counts: 8/3
    >>> body = Body((part,))
    >>> 0 <= 8 / 3 - lower_bound(body, "add-remove", find_law(body, "add-remove")) < 0.003
    True
    """
    replaced = check(neighbours) != ADD_REMOVE
    law.check(body, replaced)
    chances = law.weights / math.fsum(law.weights)
    root, sums = (
        0.0,
        [_Answers(part, *each) for part, *each in zip(body.parts, law.corners, law.counts, law.picks, strict=True)],
    )
    for q, answers in enumerate(sums):
        of_types = answers.chances(chances)
        if answers.part.groups > 1:
            root += math.sqrt(answers.part.groups - 1) * (1.0 - 2.0 * _UNIT) * answers.between(of_types)
        if replaced and body.family_of(q) is None:
            root += answers.alone(of_types)
    if replaced:
        assert not beside
        root += sum(_joint([sums[q] for q in family.members], chances, 0.0) for family in body.families)
    else:
        root += _joint(sums, chances, body.people_weight, beside) + sum(each.root for each in beside)
    # Chances and picks are rounded: each person is as likely as computed but for so much.
    most = max([*map(len, law.counts), *(len(each.chances) for each in beside)], default=1)
    doubt = 2.0 * (len(body.parts) + 1) * (most + len(chances) + 8) * _UNIT
    return square_down(max(0.0, root * (1.0 - doubt)))


class _Answers:
    """The weighted answers of a part, type by type, and bounds of what they were computed from."""

    def __init__(self, part: JointPart, corners: Array, counts: Array, picks: Array) -> None:
        rows = part.rows[:, : part.columns + 1]
        picks = picks / picks.sum(axis=1, keepdims=True) if picks.ndim == 2 else picks
        self.part, self.counts, self.picks = part, counts, picks
        self.corners = corners @ rows.T
        self.sizes = np.abs(corners) @ np.abs(rows).T
        self.sums = counts @ self.corners / math.sqrt(part.groups)  # b
        self.sum_sizes = counts @ self.sizes / math.sqrt(part.groups)
        self.doubt = 4.0 * (part.columns + len(corners) + 12) * _UNIT

    def chances(self, of_components: Array) -> Array:
        """How likely each type is."""
        if self.picks.ndim == 2:
            return np.asarray(of_components @ self.picks)
        return np.asarray(np.bincount(self.picks.astype(int), of_components, minlength=len(self.counts)), float)

    def between(self, chances: Array) -> float:
        """tr (E Σ_i (x_i − x̄)(x_i − x̄)ᵀ)^½ from below: a row for every corner of every type, and for absent groups."""
        types = np.flatnonzero(chances > 0)
        mean, size = (each[types] / math.sqrt(self.part.groups) for each in (self.sums, self.sum_sizes))
        absent = self.part.groups - self.counts[types].sum(axis=1)
        at, corner = np.nonzero(self.counts[types])
        root = np.sqrt(chances[types][at] * self.counts[types][at, corner])[:, None]
        gone = np.sqrt(chances[types] * absent)[:, None]
        rows = np.vstack([root * (self.corners[corner] - mean[at]), gone * mean])
        return _nuclear(rows, np.vstack([root * (self.sizes[corner] + size[at]), gone * size]), self.doubt)

    def alone(self, chances: Array) -> float:
        """tr (E b bᵀ)^½ from below."""
        root = np.sqrt(chances)[:, None]
        return _nuclear(root * self.sums, root * self.sum_sizes, self.doubt)

    def of_components(self) -> tuple[Array, Array]:
        """E b given each component, and its size."""
        if self.picks.ndim == 2:
            return self.picks @ self.sums, self.picks @ self.sum_sizes
        at = self.picks.astype(int)
        return self.sums[at], self.sum_sizes[at]

    def column(self, chances: Array) -> _Column:
        """Its means given each component, and what else is in its covariance."""
        mean, size = self.of_components()
        rows, row_sizes = mean[:0], size[:0]
        if self.picks.ndim == 2:
            i, t = np.nonzero(self.picks * chances[:, None])
            root = np.sqrt(chances[i] * self.picks[i, t])[:, None]
            rows, row_sizes = root * (self.sums[t] - mean[i]), root * (self.sum_sizes[t] + size[i])
        return _Column(mean, size, rows, row_sizes, self.doubt, len(self.counts))


@dataclass(frozen=True, eq=False)
class _Column:
    """The answers of a part, or of a question beside: their means in each component, and rows whose squares add up to
    their covariance around these; the sizes of what both were computed from, and how far they may be off."""

    mean: Array
    size: Array
    rows: Array
    row_sizes: Array
    doubt: float
    types: int


def _column_of(law: Beside, components: int) -> _Column:
    """The same of a law beside, whose mean is the same in every component."""
    mean, size = law.chances @ law.points, law.chances @ np.abs(law.points)
    root = np.sqrt(law.chances)[:, None]
    rows = np.vstack([root * (law.points - mean), law.alone])
    row_sizes = np.vstack([root * (np.abs(law.points) + size), np.abs(law.alone)])
    both = np.tile(mean, (components, 1)), np.tile(size, (components, 1))
    return _Column(*both, rows, row_sizes, law.doubt, len(law.chances))


def _joint(parts: list[_Answers], chances: Array, people_weight: float, beside: Sequence[Beside] = ()) -> float:
    """tr M_b^½ from below: columns are independent given the component, so that their covariances stand apart."""
    from scipy.linalg import block_diag

    own = [each.column(chances) for each in parts]
    columns = own + [_column_of(each, len(chances)) for each in beside]
    people = np.full((len(chances), 1), math.sqrt(people_weight))
    root = np.sqrt(chances)[:, None]
    means = np.hstack([*(each.mean for each in columns), people])
    top, sizes = root * means, root * np.hstack([*(each.size for each in columns), people])
    rounding, moving = 0.0, sum(each.mean.shape[1] for each in own)
    if beside and len(chances) > moving + 1:  # all but the means of parts is the same in every component
        R = np.linalg.qr(root * np.hstack([means[:, :moving], np.ones_like(people)]))[1]
        top = np.hstack([R[:, :moving], R[:, moving:] * means[0, moving:]])
        rounding = 16.0 * (moving + 1) * (len(chances) + 4) * _UNIT
        sizes = np.full(top.shape, np.linalg.norm(sizes) / math.sqrt(top.size))
    around = ((0, 0), (0, 1))
    rows = np.vstack([top, np.pad(block_diag(*(each.rows for each in columns)), around)])
    sizes = np.vstack([sizes, np.pad(block_diag(*(each.row_sizes for each in columns)), around)])
    doubt = max((each.doubt for each in columns), default=0.0)
    doubt += rounding + 4.0 * (max((each.types for each in columns), default=0) + 4) * _UNIT
    return _nuclear(rows, sizes, doubt)


def _nuclear(rows: Array, sizes: Array, doubt: float) -> float:
    """The sum of singular values of rows that are off by at most `doubt` of their sizes, from below.

    A matrix of rank r that is off by E in the Frobenius norm has a sum of singular values off by at most √r·E.
    """
    top = float(sizes.max(initial=0.0))
    if top == 0.0:
        return 0.0
    away = doubt * math.sqrt(min(rows.shape)) * float(np.linalg.norm(sizes / top)) * top * (1.0 + 1e-9)
    return max(0.0, nuclear_lower(rows) - away)

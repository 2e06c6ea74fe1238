"""Answers of one question that come from several draws: the noise of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.linear import Array, Dense
from gaussmith.plans.block import Block
from gaussmith.plans.draw import Draw, tied_sum
from gaussmith.plans.error_distribution import ErrorLaw
from gaussmith.plans.promised_errors import check_covariances, law_apart
from gaussmith.plans.tied_features import shared_covariance
from gaussmith.statistics import ONE, Noisy, Statistic

if TYPE_CHECKING:
    from gaussmith.plans.plan import Plan


class Together:
    """The pieces of the only question of a plan, as far as the noise of their features goes.

    blocks: each piece, as far as it goes; kept: which features of its draw it is read from
    """

    def __init__(self, plan: Plan) -> None:
        self.draws = [plan.draws[piece.draw] for piece in plan.slot.pieces]
        pieces = zip(self.draws, plan.slot.pieces, strict=True)
        found = [draw.block.narrowed(*piece.chosen(draw.block.answers)) for draw, piece in pieces]
        self.blocks: list[Block] = [block for block, _ in found]
        self.kept = [features for _, features in found]
        check_covariances(sum(map(len, self.kept)))
        self.starts = np.cumsum([0, *map(len, self.kept)]).tolist()

    def feature_covariance(self, groups: int = 1) -> Array:
        """Of the noise in the features of all pieces, in one group; or in as many groups added up."""
        size = self.starts[-1]
        found = np.zeros((size, size))
        for i, (one, rows) in enumerate(zip(self.draws, self.kept, strict=True)):
            for j, (other, columns) in enumerate(zip(self.draws[: i + 1], self.kept, strict=False)):
                block = _covariance(one, other, groups)
                if block is not None:
                    at = slice(self.starts[i], self.starts[i + 1]), slice(self.starts[j], self.starts[j + 1])
                    found[at] = block[np.ix_(rows, columns)]
                    found[at[::-1]] = found[at].T
        return found

    @property
    def statistics(self) -> list[Statistic]:
        """What is read, of the features of all pieces side by side; the number of records is one of them if noisy."""
        moved = []
        for block, start, stop in zip(self.blocks, self.starts, self.starts[1:], strict=False):
            one = stop - 1 if block.shape.counted and not block.public_count else ONE
            for each in block.answers.statistics:
                places = np.where(each.places == ONE, one, each.places + start)
                moved.append(replace(each, places=places))
        return moved

    def noisy(self) -> Noisy:
        """The noise of all features, without any value of theirs."""
        root = _root(self.feature_covariance())
        return Noisy(np.zeros(len(root)), Dense(root), 1.0, False, 0)

    def covariance(self) -> Array:
        """Of the noise in the answers; squares of the plan's standard errors are on its diagonal."""
        noisy, statistics = self.noisy(), self.statistics
        rows = np.vstack([each.combined_rows(noisy, noisy.rows.dense()) for each in statistics])
        found = np.asarray(rows @ rows.T)
        np.fill_diagonal(found, np.concatenate([block.standard_errors**2 for block in self.blocks]))
        return found

    def error_law(self) -> ErrorLaw:
        """The law of the errors of all answers, the count left out; never too small."""
        kept = [not each.counts_records for block in self.blocks for each in block.answers.statistics]
        statistics = [each for each, shown in zip(self.statistics, kept, strict=True) if shown]
        distances = np.concatenate([b.answers.largest_distances(b.domain)[: b.answers.size] for b in self.blocks])
        alone = all(block.domain.means_vary_alone for block in self.blocks)
        return law_apart(statistics, self.noisy(), distances, alone)


def _covariance(one: Draw, other: Draw, groups: int) -> Array | None:
    """Of the noise in all features of two draws; None where there is none in common."""
    if one is other:
        block, times = one.block, groups
        if one.tie is not None and groups > 1:
            block, times = tied_sum(one, groups), 1
        rows = block.shape.features.dense()
        return np.asarray(rows @ rows.T * (block.noise_scale**2 * times))
    if one.tie is None or one.tie is not other.tie:
        return None
    found = shared_covariance(one.tie, one, other)  # the same for every two groups
    return np.asarray(found[np.ix_(_spread(one), _spread(other))] * groups**2)


def _spread(draw: Draw) -> Sequence[int]:
    """Where the features of a draw are in `shared_covariance`, which tells all values of a histogram by one."""
    size = draw.block.shape.features.shape[0]
    if draw.block.domain.marks_at_most is None:
        return range(size)
    return [0] * draw.block.domain.dimension + [1] * (size - draw.block.domain.dimension)


def _root(covariance: Array) -> Array:
    """F with F Fᵀ = covariance, which may be singular."""
    scale = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.clip(values, 0.0, None)))

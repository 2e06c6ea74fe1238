"""Answers of one question that come from several queries: the noise of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussmith.numerics.exact import Array
from gaussmith.numerics.matrices import Dense
from gaussmith.planning.block import Block, check_covariances, law_apart
from gaussmith.planning.error_distribution import ErrorLaw
from gaussmith.planning.noise_covariances import Combination, NoiseCovariances, NoiseVector, Term
from gaussmith.planning.query import Query, tied_sum
from gaussmith.statistics.statistic import ONE, Noisy, Statistic, combined_rows, counts_records

if TYPE_CHECKING:
    from gaussmith.planning.plan import Plan


class Together:
    """The pieces of the only question of a plan, as far as the noise of their features goes.

    blocks: each piece, as far as it goes; kept: which features of its query it is read from
    """

    def __init__(self, plan: Plan, groups: Sequence[int] | None = None) -> None:
        """Of some groups added up; else of one group, where groups have weights of one whose errors are largest."""
        self.noise, self.places = NoiseCovariances(plan), [piece.query for piece in plan.slot.pieces]
        self.queries = [plan.queries[i] for i in self.places]
        self.groups = tuple(groups or (_least_known(self.queries),))
        pieces = zip(self.queries, plan.slot.pieces, strict=True)
        blocks = [(query.block_of(self.groups[0]), piece) for query, piece in pieces]
        found = [block.narrowed(*piece.chosen(block.answers)) for block, piece in blocks]
        self.blocks: list[Block] = [block for block, _ in found]
        self.kept = [features for _, features in found]
        check_covariances(sum(map(len, self.kept)))
        self.starts = np.cumsum([0, *map(len, self.kept)]).tolist()

    def feature_covariance(self) -> Array:
        """Of the noise in the features of all pieces, in one group or in several added up."""
        size = self.starts[-1]
        found = np.zeros((size, size))
        for i in range(len(self.queries)):
            for j in range(i + 1):
                block = self._covariance(i, j)
                if block is not None:
                    at = slice(self.starts[i], self.starts[i + 1]), slice(self.starts[j], self.starts[j + 1])
                    found[at] = block
                    found[at[::-1]] = found[at].T
        return found

    def _covariance(self, i: int, j: int) -> Array | None:
        """Of the noise in the features of two pieces; None where there is none in common."""
        one, other = self.queries[i], self.queries[j]
        if one is other:
            block, times = one.block, len(self.groups)
            if one.tie is not None and one.groups is not None:
                block, times = tied_sum(one, self.groups), 1
            rows = block.shape.features.dense()
            return np.asarray((rows[self.kept[i]] @ rows[self.kept[j]].T) * (block.noise_scale**2 * times))
        lenders = [query.tie or query.block.lender for query in (one, other)]
        if lenders[0] is None or lenders[0] is not lenders[1]:
            return None
        left, right = ([self._vector(k, place) for place in self.kept[k]] for k in (i, j))
        found = [self.noise.covariance(a, b) for a in left for b in right]
        return np.array(found).reshape(len(left), len(right))

    def _vector(self, i: int, place: int) -> NoiseVector:
        """The noise in one feature of a piece."""
        groups = self.groups if self.queries[i].groups is not None else (0,)
        terms = (Term(self.places[i], group, np.array([place]), np.ones(1)) for group in groups)
        return self.noise.vector(Combination(tuple(terms)))

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
        rows = np.vstack([combined_rows(each, noisy, noisy.rows.dense()) for each in statistics])
        found = np.asarray(rows @ rows.T)
        np.fill_diagonal(found, np.concatenate([block.standard_errors**2 for block in self.blocks]))
        return found

    def error_law(self) -> ErrorLaw:
        """The law of the errors of all answers, the count left out; never too small."""
        kept = [not counts_records(each) for block in self.blocks for each in block.answers.statistics]
        statistics = [each for each, shown in zip(self.statistics, kept, strict=True) if shown]
        distances = np.concatenate([b.answers.largest_distances(b.domain)[: b.answers.size] for b in self.blocks])
        alone = all(block.domain.means.vary_alone for block in self.blocks)
        return law_apart(statistics, self.noisy(), distances, alone)


def _least_known(queries: Sequence[Query]) -> int:
    """A group with the largest errors, by the first query whose groups have noise of different size; else the first."""
    for query in queries:
        if query.by_weight and query.groups is not None:
            at = next(i for i, block in enumerate(query.by_weight) if block is query.block)
            return query.groups.classes[at][1][0]
    return 0


def _root(covariance: Array) -> Array:
    """F with F Fᵀ = covariance, which may be singular."""
    scale = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.clip(values, 0.0, None)))

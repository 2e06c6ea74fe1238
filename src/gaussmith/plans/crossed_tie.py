"""A crossed tie: one noise for tables of the same keys, because a person is in them in one and the same cell.

People by a, by b, and by a and b are three draws, with their own questions. A person in the table by both is in the two
others as well, so that noise made for the three together is smaller than noise that takes them for independent.

What a person may add follows from the draws alone (`plans.crossed_keys`), also when a plan is read from a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.guarantee import Guarantee
from gaussmith.neighbours import check
from gaussmith.numerics.crossed.largest import largest
from gaussmith.numerics.crossed.lift import Counts, CrossedLift
from gaussmith.numerics.crossed.moments import solve
from gaussmith.numerics.exact import sqrt_upward
from gaussmith.numerics.linear import Array, Dense, Matrix
from gaussmith.numerics.threads import single_threaded
from gaussmith.plans.certified_grid import NOISE_BITS
from gaussmith.plans.crossed_keys import Cross, cross_of
from gaussmith.plans.joint_noise import JointNoise, certified_lift
from gaussmith.plans.tied_features import alike_features
from gaussmith.plans.tied_people import NAME, Place
from gaussmith.problem import Law
from gaussmith.problem.law import check_law
from gaussmith.shapes import Shape
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans.draw import Draw

KIND = "crossed"
"""What a crossed tie and its law are called in saved plans."""

_FIELDS = {"kind", "members", "scales", "lift", "guarantee", "neighbours", "law", "apart"}


@dataclass(frozen=True, eq=False)
class CrossedTie(JointNoise):
    """The noise of several tables of one plan: `members` are their places among its draws."""

    members: tuple[int, ...]
    places: tuple[Place, ...]
    people: int | None
    """Which member counts all people that pass the filter; None where none does."""
    where: str | None
    lift: CrossedLift
    guarantee: Guarantee
    neighbours: str
    law: Law
    """The law on people that bounds every noise."""
    apart: float
    """What the total would be if every draw had noise of its own, at the best shares."""
    cross: Cross = field(repr=False)
    """What one person adds, from the draws."""
    how = "crossed"

    @classmethod
    def of(cls, draws: Sequence[Draw], scales: Sequence[float], **fields: Any) -> CrossedTie:
        """The tie of these draws, its members in order; refuses a lift that is not one of theirs."""
        cross = cross_of(draws, scales, fields["neighbours"])
        lift = fields["lift"]
        if (lift.sizes, lift.ways) != (cross.tables.sizes, cross.tables.ways):
            raise PlanError(
                "a lift that does not fit its tables",
                "it has the tables of its draws",
                "plan again",
                code="crossed-lift-does-not-fit",
            )
        counts = [i for i, draw in enumerate(draws) if draw.groups is None and draw.block.answers.count]
        rule = draws[0].row_rule
        where = None if rule is None else rule.where
        return cls(**fields, places=cross.places(scales), people=next(iter(counts), None), where=where, cross=cross)

    # -- privacy ----------------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def grid(self) -> tuple[CrossedLift, float]:
        """The certified integer lift, and how many grid steps one lifted unit is; refuses what cannot be certified."""
        norm, size = self._largest(self.lift), self.lift.size
        return certified_lift(self.guarantee.mu, size, norm, self.lift.scaled, self._largest)

    def certify(self, draws: Sequence[Draw]) -> None:
        """Check in exact arithmetic that the draws of a plan keep the guarantee; raises PlanError otherwise."""
        same = [draw.tie is self for draw in draws] == [i in self.members for i in range(len(draws))]
        if same:
            members = [draws[i] for i in self.members]
            cross = cross_of(members, [place.scale for place in self.places], self.neighbours)
            mine, theirs = self.cross, cross
            same = mine.parts == theirs.parts and mine.tables.hidden == theirs.tables.hidden
            same = same and (mine.tables.sizes, mine.tables.ways) == (theirs.tables.sizes, theirs.tables.ways)
            same = same and all(np.array_equal(a, b) for a, b in zip(mine.cells, theirs.cells, strict=True))
        if not same:
            what, rule = "a tie of other draws", "it was made for all draws that name it"
            raise PlanError(what, rule, "plan again", code="tie-of-other-draws")
        self.grid  # noqa: B018 (made here, or refused)

    def _largest(self, lift: CrossedLift) -> float:
        return largest(lift, self.cross.tables)

    @property
    def reach(self) -> float:
        """The largest difference of neighbours over what the guarantee allows, on the grid: at most 1."""
        found = self._largest(self.grid[0]) + sqrt_upward(float(self.lift.size))
        return found / (self.guarantee.mu * 2.0**NOISE_BITS)

    @property
    def unit(self) -> float:
        """How many grid steps one lifted unit is."""
        return self.grid[1]

    # -- how good it is ---------------------------------------------------------------------------------------------

    @cached_property
    @single_threaded()
    def total_variance(self) -> float:
        """The weighted total of all answers of all draws, each draw's taken by its scale."""
        tables = self.cross.tables
        each = [
            weight * tables.cells(way) * self.lift.covariance(w, w, way)
            for w, (way, weight) in enumerate(zip(tables.ways, tables.weights.tolist(), strict=True))
        ]
        return math.fsum(each) * self.noise_scale**2

    @property
    def bounding_law(self) -> Law:
        """The law on people that proves the lower bound."""
        return self.law

    def proven(self, law: Law) -> float:
        """The bound that a law proves at μ = 1, computed apart from the choice of the lift; rounded down."""
        from gaussmith.proofs.crossed import lower_bound

        check_law(law.kind == KIND)
        return lower_bound(self.cross.tables, law.numbers["weights"])

    def root_without(self, draws: Sequence[Draw], gone: Sequence[int]) -> float:
        """√T at μ = 1 of the best noise for all members but some."""
        kept = [j for j in range(len(draws)) if j not in gone]
        if not kept:
            return 0.0
        cross = cross_of([draws[j] for j in kept], [self.places[j].scale for j in kept], self.neighbours)
        return math.sqrt(solve(cross.tables).total)

    # -- from sums to answers ---------------------------------------------------------------------------------------

    def tables(self, members: Sequence[Sequence[Sequence[int]]], people: int) -> list[Counts]:
        """The exact tables, from the counts of every member and the number of people."""
        found: list[Counts] = [np.zeros(shape, object) for shape in self.lift.shapes]
        for part, cells, groups in zip(self.cross.parts, self.cross.cells, members, strict=True):
            if part is not None:
                found[part][tuple(cells.T)] = [int(count) for (count,) in groups]
        if self.cross.everybody is not None:
            found[self.cross.everybody][()] = people
        return found

    def lifted(self, draws: Sequence[Draw], members: Sequence[Sequence[Sequence[int]]], people: int) -> list[int]:
        """The integers to which the noise is added, from the counts of every member and the number of people."""
        return self.grid[0].exact_times(self.tables(members, people))

    def is_steady(self, members: Sequence[Sequence[Sequence[int]]], people: int) -> bool:
        """Whether the tables of all members can be of the same rows: who is in one is in all by fewer keys."""
        ways, tables = self.lift.ways, self.tables(members, people)
        for way, table in zip(ways, tables, strict=True):
            for other, fewer in zip(ways, tables, strict=True):
                if set(other) < set(way):
                    away = tuple(axis for axis, i in enumerate(way) if i not in other)
                    if (np.asarray(table.sum(axis=away)) > fewer).any():
                        return False
        return True

    def features(self, draws: Sequence[Draw], noisy: Array) -> list[Array]:
        """What is read from the noisy rows of the lift: for each member groups × features."""
        tables = self.lift.undone(noisy)
        everybody = None if self.cross.everybody is None else float(tables[self.cross.everybody])
        found = []
        for draw, part, cells in zip(draws, self.cross.parts, self.cross.cells, strict=True):
            if part is None:
                found.append(np.array([[everybody]], float))
                continue
            counts = tables[part][tuple(cells.T)]
            if draw.groups is not None:
                found.append(counts[:, None])
            else:
                found.append(np.append(counts, [everybody] if draw.block.shape.counted else [])[None].astype(float))
        return found

    def shapes_of(self, draw: Draw, place: Place) -> list[Shape]:
        """The noise in one group of a draw; all groups weigh the same."""
        return [self.shape_of_sum(draw, place, (0,))]

    def shape_of_sum(self, draw: Draw, place: Place, groups: Sequence[int]) -> Shape:
        """The noise in several groups of a draw added up, or in one."""
        none: Matrix = Dense(np.zeros((0, 0)))
        part, all_people = place.part, self.cross.everybody
        counted = bool(draw.block.problem.count_weight)
        people = 0.0 if all_people is None else self.lift.covariance(all_people, all_people, ())
        if part is None:
            return Shape(NAME, none, Dense(np.array([[math.sqrt(people)]])), counted)
        way = self.lift.ways[part]
        if draw.groups is not None:
            chosen = self.cross.cells[place.start][list(groups)]
            root = math.sqrt(self.lift.summed_variance(part, chosen.tolist()))
            return Shape(NAME, none, Dense(np.array([[root]])), counted)
        variance, between = self.lift.covariance(part, part, way), self.lift.covariance(part, part, ())
        beside = self.lift.covariance(part, all_people, ()) if counted and all_people is not None else 0.0
        size = draw.block.domain.dimension
        return Shape(NAME, none, alike_features(size, variance, between, counted, beside, people), counted)

    def covariance_of(self, one: Draw, other: Draw, same_keys: bool, classes: tuple[int, int] = (0, 0)) -> Array:
        """Of the noise in the features of a cell of one draw with those of another's, of the same keys or of others.

        The groups of each draw weigh the same: there is one of `classes`.
        """
        left, right = self._read(one), self._read(other)
        found = np.zeros((len(left), len(right)))
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                shared = set(self.lift.ways[a]) & set(self.lift.ways[b]) if same_keys else ()
                found[i, j] = self.lift.covariance(a, b, shared)
        return found * self.noise_scale**2

    def _read(self, draw: Draw) -> list[int]:
        """The tables that the features of a draw are read from: its own, and that of all people."""
        part = None if draw.place is None else draw.place.part
        people = [self.cross.everybody] if self.cross.everybody is not None and draw.groups is None else []
        own = [] if part is None else [part]
        return own + (people if part is None or draw.block.shape.counted else [])

    def to_dict(self) -> dict[str, Any]:
        """All but what follows from the draws."""
        return {
            "kind": KIND,
            "members": list(self.members),
            "scales": [place.scale for place in self.places],
            "lift": self.lift.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "law": self.law.to_dict(),
            "apart": self.apart,
        }


def crossed_from_dict(fields: dict[str, Any], draws: Sequence[Draw]) -> CrossedTie:
    """The tie that `to_dict` described, of these draws of its plan; refuses what does not fit them."""
    if set(fields) != _FIELDS:
        raise PlanError(
            "a tie that is not understood",
            "it must have exactly the fields it was saved with",
            "plan again",
            code="tie-not-understood",
        )
    members = tuple(int(i) for i in fields["members"])
    if not members or len(set(members)) != len(members) or not all(0 <= i < len(draws) for i in members):
        raise PlanError(
            "a tie of draws that are not there",
            "it names draws of its plan, each once",
            "plan again",
            code="tie-draws-missing",
        )
    made = CrossedTie.of(
        [draws[i] for i in members],
        [float(scale) for scale in fields["scales"]],
        members=members,
        lift=CrossedLift.from_dict(fields["lift"]),
        guarantee=Guarantee.from_dict(fields["guarantee"]),
        neighbours=check(fields["neighbours"]),
        law=Law.from_dict(fields["law"]),
        apart=float(fields["apart"]),
    )
    # A law that proves less than it says would make the plan look better than it is.
    return replace(made, law=replace(made.law, lower=min(made.law.lower, made.proven(made.law))))

"""A query: one noise, its groups, and its share of the guarantee.

A person counts in at most m groups, so the groups of one person together keep μ when each has μ divided by a share:

    add-remove    √m: a person is added to at most m groups
    replace-one   √(m·f): in each of m groups a record may change, or leave one group and enter another

Every group is planned alike, for add-remove inside the group: whether a person is in it is secret.

The noise of a query may be tied to that of others (`plans.tie`): then all of them are certified at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from gaussmith.checks import check_number
from gaussmith.domains.domain import Domain, Problem, free_marks, price_over_bound
from gaussmith.domains.extremes import PersonRows, Product, Signs, Sphere
from gaussmith.domains.features import (
    CHECKED,
    CHECKED_GROUPS,
    CHECKED_TOTAL,
    CHECKED_VALUE,
    MEAN,
    OWN_MEAN,
    OWN_TOTAL,
    OWN_VALUE,
    ROW_SUM,
    ROWS,
    TABLED,
    TOTAL,
    VALUES,
    VECTOR,
)
from gaussmith.domains.groups import FoundGroups, Groups
from gaussmith.domains.moment_strategies import entering_moments
from gaussmith.domains.moments import Moments
from gaussmith.domains.strategies import Strategy, has_standard_shape
from gaussmith.errors import PlanError, damaged_plan
from gaussmith.numerics.doubles import too_far, within_doubles
from gaussmith.numerics.exact import fraction_down, sqrt_upward
from gaussmith.numerics.matrices import Dense, Diagonal
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.block import Block
from gaussmith.planning.choice import at_guarantee
from gaussmith.planning.joint_people import NAME, Place, body_of
from gaussmith.planning.lending import lent_by
from gaussmith.planning.row_rule import RowRule, number_of_cells
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, check
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import answers_to_dict

if TYPE_CHECKING:
    from gaussmith.domains.chosen_cells import ChosenCells
    from gaussmith.planning.crossed_noise import CrossedNoise
    from gaussmith.planning.joint_noise import JointNoise


# Whether a row rule is that of its query: nobody adds more by it than the noise is made for, also in saved plans.


def check_rule(query: Query) -> None:
    """Refuse a row rule by which one person could add more than the domain and the groups of its query say."""
    rule = query.row_rule
    if rule is None:
        return
    if rule.form:
        raise _unfit("a table of plain data")
    if (rule.person_columns or rule.person_where) and (rule.unit is None or not rule.person_columns):
        raise _unfit("numbers of people without people")
    if min(rule.groups_per_unit, rule.values_per_unit, 1 if rule.rows_per_unit is None else rule.rows_per_unit) < 1:
        raise _unfit("a limit below 1")
    if rule.unit is not None and query.groups is not None and rule.groups_per_unit > query.groups.at_most:
        raise _unfit("people in more groups than planned")
    if rule.found != _found(query):
        raise _unfit("other found keys than planned")
    if not _fits(query, rule):
        raise _unfit("other numbers of a person than planned")
    public = query.neighbours != ADD_REMOVE and query.block.public_count and query.tie is None
    block = query.block
    told = block.answers.count or block.shape.public is not None or free_marks(block.domain) is None
    if public and rule.is_filtered and told:
        raise _unfit("a public number of those who pass a filter")


def _found(query: Query) -> tuple[str, ...]:
    """The columns whose keys are found."""
    groups = query.groups
    if not isinstance(groups, FoundGroups):
        return ()
    declared = dict(groups.declared)
    return tuple(name for name in groups.columns if name not in declared)


def _fits(query: Query, rule: RowRule) -> bool:
    """Whether a unit adds no more by this rule than the domain of the query describes."""
    kinds = [kind for kind, _ in rule.features]
    if query.block.domain.reads_vectors:
        return _fits_vector(query, rule, kinds)
    return _READ_APART.get(kinds[0] if kinds else TOTAL, _fits_numbers)(query, rule, kinds)


def _fits_numbers(query: Query, rule: RowRule, kinds: list[str]) -> bool:
    """Totals or means, each of a column of its own; sums over rows beside them, or of rows alone."""
    own = {TOTAL, MEAN}
    match query.block.domain.extremes():
        case Signs(n) | Sphere(n):
            return len(kinds) == n and own.issuperset(kinds)
        case Product((Signs(p), PersonRows(q, max_rows))):
            right = own.issuperset(kinds[:p]) and {ROW_SUM}.issuperset(kinds[p : p + q])
            return right and kinds[p + q :] == [ROWS] and rule.rows_per_unit == max_rows
    from gaussmith.domains.moments import ValueProducts

    match query.block.domain.extremes():
        case ValueProducts(columns, _, 1):  # products are of the very numbers that are read
            return len(kinds) == columns and own.issuperset(kinds)
        case ValueProducts(columns, _, max_rows):
            rows = rule.unit is not None and not rule.person_columns and rule.rows_per_unit == max_rows
            return rows and len(kinds) == columns and {ROW_SUM}.issuperset(kinds)
    return False


def _fits_values(query: Query, rule: RowRule, kinds: list[str]) -> bool:
    """Values of one column: as many of a person as marks; in groups one of each person in each group."""
    domain = query.block.domain
    most, cut = free_marks(domain), rule.cut_of(rule.names[0])
    if len(kinds) != 1 or (cut is not None and cut.cells != domain.dimension):
        return False
    if query.groups is not None:
        return most == rule.values_per_unit == 1 == len(domain.input.attributes)
    return most is not None and not rule.by and (rule.unit is None or rule.values_per_unit <= most)


def _fits_check(query: Query, rule: RowRule, kinds: list[str]) -> bool:
    """One cell of each person, whatever its rows and groups."""
    kind, column = rule.features[0]
    ends = column and (cut := rule.cut_of(column)) is not None and cut.ends is not None
    told = bool(ends) == bool(column) == (kind in (CHECKED_VALUE, CHECKED_TOTAL))
    rows = rule.unit is not None and not rule.person_columns  # people have rows, and may be in several groups
    limit = rule.groups_per_unit if kind == CHECKED_GROUPS else rule.rows_per_unit or 1
    cells = number_of_cells(kind, limit, rows and (kind == CHECKED_VALUE or rule.groups_per_unit > 1))
    domain = query.block.domain
    held = free_marks(domain) == 1 and bool(domain.input.attributes) and domain.dimension == cells
    alone = query.groups is None and len(kinds) == 1 and bool(rule.by) == bool(rule.keys)
    return told and held and alone and (rows or kind == CHECKED_VALUE)


def _fits_tables(query: Query, rule: RowRule, kinds: list[str]) -> bool:
    """One combination of values for each person."""
    sizes = [len(values) for values in query.block.domain.input.labels]
    if set(kinds) != {TABLED} or len(kinds) != len(query.block.domain.input.attributes):
        return False
    cuts = [rule.cut_of(column) for column in rule.names]
    return all(cut is None or cut.cells == n - 1 for cut, n in zip(cuts, sizes, strict=True))


def _fits_number(query: Query, rule: RowRule, kinds: list[str]) -> bool:
    """One number of each person, in one cell or in none."""
    domain, cut = query.block.domain, rule.cut_of(rule.names[0])
    one_row = rule.unit is None or rule.person_columns
    whose = kinds == [OWN_VALUE] if one_row else kinds in ([OWN_MEAN], [OWN_TOTAL])
    held = free_marks(domain) == 1 == len(domain.input.attributes)
    if domain.chosen:
        within = cast("ChosenCells", domain).within
        held = held and cut is not None and cut.ends == within and query.tie is None
    return whose and held and cut is not None and cut.cells == domain.dimension


def _fits_vector(query: Query, rule: RowRule, kinds: list[str]) -> bool:
    """Each row is a person: its numbers within a ball, or one cell of each."""
    alone = query.groups is None and (rule.unit is None or bool(rule.person_columns))
    return alone and set(kinds) == {VECTOR} and len(kinds) == query.block.codes.columns


_READ_APART: dict[str, Callable[[Query, RowRule, list[str]], bool]] = {
    VALUES: _fits_values,
    TABLED: _fits_tables,
    **dict.fromkeys(CHECKED, _fits_check),
    **dict.fromkeys((OWN_VALUE, OWN_MEAN, OWN_TOTAL), _fits_number),
}
"""How a rule is checked whose first feature is of this kind; all others read numbers."""


def _unfit(what: str) -> PlanError:
    return damaged_plan(f"a row rule of {what}")


AnyTie: TypeAlias = "JointNoise | CrossedNoise"
"""A noise that several queries share."""

_FIELDS = {"block", "guarantee", "neighbours", "groups", "row_rule", "scale"}

MAX_SEARCHED = 12
"""Limit on the columns of a group for which a law on people is searched: that takes a second or so."""

UNTOLD = Strategy(NAME, Dense(np.zeros((0, 0))), Dense(np.zeros((0, 0))), False)
"""Stands for the shape of a tied query until its tie is there."""


@dataclass(frozen=True, eq=False)
class Query:
    """The block of every group (or of all records, without groups), and the guarantee of all groups together."""

    block: Block
    guarantee: Guarantee
    neighbours: str
    groups: Groups | None = None
    row_rule: RowRule | None = None
    """How the records come from a table; None for plain data."""
    place: Place | None = None
    """Where the query is among those that share its noise."""
    scale: float = 1.0
    """What its squared errors are worth against those of other queries; of a tied query its place says so."""
    by_weight: tuple[Block, ...] = field(default=(), repr=False)
    """Where groups that weigh differently share a noise: the block of each weight, in the order of `groups.classes`.

    `block` is then the one with the largest errors in total."""
    noise: int | None = None
    """Which noise of a pure ε it has: queries of the same number are drawn together."""

    @property
    def size(self) -> int:
        """How many groups there are; 1 without groups."""
        return 1 if self.groups is None else self.groups.size

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the groups: one for each weight where their noise differs, else the block of all."""
        return self.by_weight or (self.block,)

    def block_of(self, group: int) -> Block:
        """The block of a group, by its number."""
        if not self.by_weight or self.groups is None:
            return self.block
        return next(b for b, (_, at) in zip(self.by_weight, self.groups.classes, strict=True) if group in at)

    def errors(self, rows: int | None = None) -> dict[str, float]:
        """The standard error of each answer in its own units, in whichever group it is largest."""
        found = [block.errors(rows) for block in self.blocks]
        return {name: max(each[name] for each in found) for name in found[0]}

    def narrowed(self, shown: Sequence[int], count: bool) -> Query:
        """The query as far as some of its answers go."""
        by_weight = tuple(block.narrowed(shown, count)[0] for block in self.by_weight)
        return replace(self, block=self.block.narrowed(shown, count)[0], by_weight=by_weight)

    @property
    def tie(self) -> AnyTie | None:
        """The noise that this query shares with others; None where it has its own."""
        return self.block.tie

    @property
    def is_public(self) -> bool:
        """Whether all it answers is public: the number of all people, where a person is replaced. It has no noise."""
        public = self.tie is None and self.groups is None and self.block.neighbours == self.neighbours != ADD_REMOVE
        unfiltered = self.row_rule is None or not self.row_rule.is_filtered
        return public and unfiltered and self.block.shape.lift.shape[0] == 0

    def share_of(self, whole: Guarantee) -> float:
        """What it takes of the μ² or ε of a whole plan: nothing where all it answers is public."""
        if self.guarantee.is_pure:
            return float(self.guarantee.pure_epsilon / whole.pure_epsilon)
        return 0.0 if self.is_public else (self.guarantee.mu / whole.mu) ** 2

    @property
    def hides_membership(self) -> bool:
        """Whether it is secret who is in the records, or in a group, although the number of people may be public."""
        filtered = self.neighbours != ADD_REMOVE and self.row_rule is not None and self.row_rule.is_filtered
        return filtered or self.groups is not None or self.block.neighbours != self.neighbours

    @property
    def is_planned_inside(self) -> bool:
        """Whether its own noise is planned for one person added or removed, although one is replaced.

        So it is in a group or behind a filter; two such changes of one record keep the query's guarantee.
        """
        return self.tie is None and self.block.neighbours != self.neighbours

    @property
    def taken_by_choice(self) -> Fraction:
        """What of μ² is for choosing, in all groups of a person; 0 where nothing is chosen. Rounded up."""
        if not self.block.domain.chosen:
            return Fraction(0)
        domain, groups = cast("ChosenCells", self.block.domain), self.groups
        return domain.charge(self.neighbours, 1 if groups is None else groups.at_most, groups is not None)

    @property
    def held(self) -> float:
        """By how much μ is divided for one group under add-remove: the root of how many a person is in."""
        return 1.0 if self.groups is None else math.sqrt(self.groups.at_most)

    @property
    def is_shared(self) -> bool:
        """Whether a group has less than the query's guarantee, because a person may be in several."""
        return self.block.guarantee != self.guarantee and not self.block.domain.chosen

    @property
    def _times(self) -> int:
        return self.size if self.block.problem.features.targets is None else 1

    @property
    def total_variance(self) -> float:
        """The weighted total over all groups."""
        return self._weighted([block.total_variance for block in self.blocks], self.size)

    @property
    def price(self) -> float:
        """What was made small: the total, or the worst squared error (of any group) in units of its target squared."""
        return self._weighted([block.price for block in self.blocks], self._times)

    def _weighted(self, values: Sequence[float], times: int) -> float:
        """So many times the value of the only block, or the sum over groups by their weights."""
        if not self.by_weight or self.groups is None:
            return times * values[0]
        return sum(w * len(at) * value for (w, at), value in zip(self.groups.classes, values, strict=True))

    @cached_property
    @single_threaded()
    def lower_bound(self) -> float:
        """No Gaussian noise with this guarantee has a smaller price."""
        if self.guarantee.is_pure:
            return 0.0  # none is known
        if self.groups is not None and self.groups.is_found:  # with any number of keys, no noise across them helps
            return self._times * self.block.lower_bound
        # A person in one group, added, removed or moved elsewhere, is an add-remove difference in that group.
        forced = self._times * self.block.lower_bound * self.block.bound_mu**2
        return max(forced, self._held_bound) / self.bound_mu**2

    @property
    def bound_mu(self) -> float:
        """μ of all noise that its answers are read from."""
        return self.guarantee.mu if self.block.lender is None else self.block.bound_mu

    @property
    def _held_bound(self) -> float:
        """The bound at μ = 1 from people in several groups at once; 0 where none is known."""
        from gaussmith.planning.joint_noise import bound_of

        alone = self.neighbours == ADD_REMOVE and (self.groups is None or self.groups.at_most == 1)
        many = self.block.domain.dimension > MAX_SEARCHED and free_marks(self.block.domain) is None
        if alone or many or not self.hides_membership or self.block.problem.features.targets is not None:
            return 0.0
        try:
            with within_doubles():
                body = body_of(self)
                return 0.0 if body is None else bound_of(body, self.neighbours).lower
        except PlanError:
            return 0.0

    @property
    def optimality(self) -> float:
        """price / lower_bound: what is known over all groups. At its share of μ a group has `block.optimality`.

        Of a tied query: of all queries that share its noise.
        """
        if self.guarantee.is_pure:
            return math.inf
        if self.tie is not None:
            return self.tie.optimality
        if not self.hides_membership:
            return self.block.optimality
        return max(1.0, price_over_bound(self.price, self.lower_bound))

    @cached_property
    def standard_scale(self) -> float:
        """The standard Gaussian's errors in a group over those it has at this plan's share of μ: its own may differ."""
        if self.groups is None or self.neighbours == ADD_REMOVE or self.guarantee.is_pure:
            return 1.0  # √m, whatever the shape
        if not has_standard_shape(self.block.problem):
            return 1.0  # it is known by its reach alone, and compared at the same share
        other = self.block.standard
        if other is None:
            return 1.0
        return _share(self.groups, self.neighbours, other) / _share(self.groups, self.neighbours, self.block)

    def certify(self) -> None:
        """Check with all rounding upward that the groups together keep the guarantee; raises PlanError otherwise."""
        check_rule(self)
        if self.guarantee.is_pure:
            from gaussmith.planning.pure_noise import certify_query

            certify_query(self)
            return
        if self.tie is not None:
            _check_tied(self, self.tie)
            return
        self.block.certify()
        if self.groups is None:
            if self.block.neighbours == self.neighbours:
                share = 1.0
            elif self.block.neighbours == ADD_REMOVE:
                share = _filtered_share(self.block)
            else:
                raise damaged_plan("a block whose neighbours differ from its query's")
        else:
            if self.block.neighbours != ADD_REMOVE:
                raise damaged_plan("a group planned with a public number of people")
            share = _share(self.groups, self.neighbours, self.block)
        taken = (Fraction(self.block.guarantee.mu) * Fraction(share)) ** 2 + self.taken_by_choice
        if taken > Fraction(self.guarantee.mu) ** 2:
            what = "a block's guarantee" if self.groups is None else "a group's share"
            raise damaged_plan(f"{what} is too large")

    def asked(self) -> dict[str, Any]:
        """What was asked of whom, without the noise that was found for it."""
        return {
            "domain": self.block.domain.to_dict() | dict.fromkeys(self.block.domain.found_with_noise),
            "answers": answers_to_dict(self.block.answers),
            "substitutes": self.block.substitutes.tolist(),
            "groups": None if self.groups is None else self.groups.to_dict(),
            "row_rule": None if self.row_rule is None else self.row_rule.to_dict(),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "block": self.block.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "neighbours": self.neighbours,
            "groups": None if self.groups is None else self.groups.to_dict(),
            "scale": self.scale,
            "row_rule": None if self.row_rule is None else self.row_rule.to_dict(),
            **({} if self.noise is None else {"noise": self.noise}),
        }

    @classmethod
    def from_dict(cls, fields: Any) -> Query:
        """The query that `to_dict` described; refuses what it does not know."""
        if not isinstance(fields, dict) or set(fields) - {"noise"} != _FIELDS:
            raise damaged_plan("a query that cannot be read")
        untold = isinstance(fields["block"], dict) and fields["block"].get("shape", "") is None
        block = Block.from_dict(fields["block"], UNTOLD if untold else None)
        return cls(
            block,
            Guarantee.from_dict(fields["guarantee"]),
            check(fields["neighbours"]),
            None if fields["groups"] is None else _read_groups(fields["groups"], block.domain),
            None if fields["row_rule"] is None else RowRule.from_dict(fields["row_rule"]),
            scale=check_number("scale", fields["scale"], above=0, error=PlanError),
            noise=int(fields["noise"]) if "noise" in fields else None,
        )


def _read_groups(fields: dict[str, Any], domain: Domain) -> Groups:
    return (FoundGroups if fields.get("found") else Groups).from_dict(fields, domain)


def query_groups(
    groups: Groups, guarantee: Guarantee, neighbours: str, plan_alone: Callable[[Guarantee], Block]
) -> Query:
    """One block for every group, at the share of the guarantee that is left when a person is in `at_most` of them."""

    def share_of(block: Block) -> float:
        return _share(groups, neighbours, block)

    block = plan_alone(guarantee)
    other = None if neighbours == ADD_REMOVE else _cheaper_for_changes(block, 2.0, share_of)
    if other is not None:
        block, plan_alone = other, lambda share: at_guarantee(other, share)
    share = share_of(block)
    if share > 1:
        block = plan_alone(Guarantee(mu=fraction_down(Fraction(guarantee.mu) / Fraction(share))))
    return Query(block, guarantee, neighbours, groups)


def query_public(domain: Domain, answers: Answers, guarantee: Guarantee, neighbours: str) -> Query:
    """A query of the number of all people, which is public: nothing of it is lifted, and nothing gets noise."""
    none = Diagonal(np.zeros(0))
    shape = Strategy("public", none, none, False)
    block = Block(Problem(domain, answers.features, neighbours), answers, guarantee, shape, domain.centre)
    return Query(block, guarantee, neighbours)


def query_filtered(query: Query, neighbours: str, plan_alone: Callable[[Guarantee], Block]) -> Query:
    """A query of the people that pass a filter, whose number is secret also where that of all people is public."""
    other = _cheaper_for_changes(query.block, 1.0, _filtered_share)
    if other is not None:
        query, plan_alone = replace(query, block=other), lambda share: at_guarantee(other, share)
    mu = fraction_down(Fraction(query.guarantee.mu) / Fraction(_filtered_share(query.block)))
    return replace(query, block=plan_alone(Guarantee(mu=mu)), neighbours=neighbours)


def _cheaper_for_changes(block: Block, change: float, share_of: Callable[[Block], float]) -> Block | None:
    """The block with a shape that knows that records also change, if it costs less at its share of μ."""
    if not isinstance(block.domain, Moments):
        return None
    shape = entering_moments(block.problem.over(block.domain), change)
    other = None if shape is None else replace(block, shape=shape)
    if other is None or not other.price * share_of(other) ** 2 < block.price * share_of(block) ** 2:
        return None
    return other


def _filtered_share(block: Block) -> float:
    """By how much μ is divided where a replaced person may also enter or leave; rounded up."""
    unit = block.domain.sensitivity(block.shape.lift, ADD_REMOVE)
    changed = block.domain.extremes().replacement_sensitivity(block.shape.lift)
    return max(1.0, float(np.nextafter(changed / unit, np.inf)) * (1 + 2.0**-50))


def tied(query: Query, tie: AnyTie, place: Place) -> Query:
    """The query with the noise of a tie; refuses a lift that doubles cannot undo."""
    with within_doubles():
        if not tie.lift.is_undone:
            raise too_far()
        shapes = tie.shapes_of(query, place)
    alone = replace(query.block, guarantee=tie.guarantee, alternatives=(), law=None, tie=tie)
    blocks = tuple(replace(alone, shape=shape) for shape in shapes)
    block = blocks[0] if len(blocks) == 1 else max(blocks, key=lambda each: each.total_variance)
    by_weight = blocks if len(blocks) > 1 else ()
    return replace(
        query, block=block, guarantee=tie.guarantee, neighbours=tie.neighbours, place=place, by_weight=by_weight
    )


def tied_sum(query: Query, groups: Sequence[int]) -> Block:
    """The block of a tied query with the noise of these groups added up."""
    assert query.tie is not None and query.place is not None
    return replace(query.block, shape=query.tie.shape_of_sum(query, query.place, groups))


def read_tied(queries: list[Query], saved: Sequence[dict[str, Any]]) -> tuple[Query, ...]:
    """The queries with the ties that were saved beside them; each tied query is in one tie."""
    from gaussmith.planning.crossed_noise import KIND, crossed_from_dict
    from gaussmith.planning.joint_noise import JointNoise, lent_to_others, tie_from_dict

    for fields in saved:
        read = crossed_from_dict if isinstance(fields, dict) and fields.get("kind") == KIND else tie_from_dict
        tie: AnyTie = read(fields, queries)
        for i, place in zip(tie.members, tie.places, strict=True):
            _check_tied(queries[i], tie)
            if queries[i].block.shape is not UNTOLD:
                raise damaged_plan("a query in two ties, or in none")
            queries[i].block.check_numbers()
            queries[i] = tied(queries[i], tie, place)
        if isinstance(tie, JointNoise):
            for i in tie.borrowers:
                queries[i] = lent_by(queries[i], tie)
    if any(query.block.shape.people is not None and query.block.lender is None for query in queries):
        raise lent_to_others()
    if any(query.block.shape is UNTOLD for query in queries):
        raise damaged_plan("a query in two ties, or in none")
    return tuple(queries)


def _check_tied(query: Query, tie: AnyTie) -> None:
    """Refuse a query that says something else of its noise than its tie does."""
    same = (query.guarantee, query.neighbours, query.block.guarantee) == (tie.guarantee, tie.neighbours, tie.guarantee)
    if not same:
        raise damaged_plan("a query that does not fit its tie")


def _share(groups: Groups, neighbours: str, block: Block) -> float:
    """By how much μ is divided for one group, rounded up."""
    m = float(groups.at_most)
    if neighbours == ADD_REMOVE:
        return sqrt_upward(m)
    unit = block.domain.sensitivity(block.shape.lift, ADD_REMOVE)
    changed = block.domain.extremes().replacement_sensitivity(block.shape.lift)
    factor = max(2.0, float(np.nextafter((changed / unit) ** 2, np.inf)) * (1 + 2.0**-50))
    return sqrt_upward(m * factor * (1 + 2.0**-50))

"""What one person adds to draws that share their noise: the body, from the draws alone.

How many groups there are, how many of them a person is in, and whether everybody who is counted is in a draw: all of it
follows from domains, groups and row rules, also when a plan is read from a file. Privacy rests on this.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.expressions import common_filter, same_meaning
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.doubles import require_finite, within_doubles
from gaussmith.numerics.linear import Array
from gaussmith.numerics.tied.parts import Body, Family, Part
from gaussmith.plans.row_rule import RowRule
from gaussmith.problem import Domain, Problem
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans.draw import Draw

NAME = "tied"
"""What the noise of a tied draw is called."""

MOST_GROUPS = 1000
"""Limit on the groups of a person whose rows are counted: how many have one row and how many all is certified."""


@dataclass(frozen=True)
class Place:
    """Where a draw is in the body: its part (None: it only counts people), its first group there, and its scale.

    `scale` is what its squared errors are worth against those of the other draws.
    """

    part: int | None
    start: int
    scale: float


def counts_everybody(draw: Draw, where: str | None) -> bool:
    """Whether the records of a draw are all people that pass the common filter."""
    rule = RowRule(()) if draw.row_rule is None else draw.row_rule
    everyone = not rule.present and rule.person_where is None and not rule.keys
    return draw.groups is None and rule.where == where and everyone


def parts_of(draw: Draw, where: str | None, scale: float = 1.0) -> tuple[Part, ...]:
    """What a person adds to a draw: a part for the groups of each weight; none where the draw only counts everybody.

    Raises PlanError where the draw cannot be tied.
    """
    part = part_of(draw, where, scale)
    if part is None or draw.groups is None or len(draw.groups.classes) == 1:
        return () if part is None else (part,)
    return tuple(
        replace(
            part,
            groups=len(places),
            most=min(part.most, len(places)),
            weights=part.weights * weight,
            count_weight=part.count_weight * weight,
        )
        for weight, places in draw.groups.classes
    )


def body_of(draw: Draw) -> Body | None:
    """What one person adds to a draw alone; None where it only counts everybody."""
    parts = parts_of(draw, None)
    return Body(parts, families=_families(draw, 0, len(parts))) if parts else None


def _families(draw: Draw, start: int, size: int) -> tuple[Family, ...]:
    """The limit that the parts of a draw have in common, where it has several."""
    if size == 1 or draw.groups is None:
        return ()
    return (Family(tuple(range(start, start + size)), draw.groups.at_most),)


def part_of(draw: Draw, where: str | None, scale: float = 1.0) -> Part | None:
    """What a person adds to a draw, for noise that is tied; None where the draw only counts everybody.

    Raises PlanError where the draw cannot be tied.
    """
    if draw.groups is not None and draw.groups.is_found:
        raise untied("its groups are found in the data")
    problem, domain = draw.block.problem, draw.block.domain
    everybody = counts_everybody(draw, where)
    if domain.marks_at_most is not None:
        weight = problem.common_weight
        if weight is None or draw.groups is not None or (draw.block.answers.count and not everybody):
            raise untied("its cells do not weigh the same, or are counted apart")
        none = np.zeros(0)
        return Part(domain.dimension, 0, domain.marks_at_most, none, none, none, weight * scale)
    if not domain.columns_vary_alone and domain.over_rows is None:
        raise untied("its columns are bound together")
    rows, max_rows = domain.over_rows or (0, 0)
    if max_rows and draw.neighbours != ADD_REMOVE:
        raise untied("rows of people who are replaced are not counted together")
    groups, most = (1, 1) if draw.groups is None else (draw.groups.size, draw.groups.at_most)
    kind = groups, int(everybody), most, scale
    known = _KNOWN.get(problem)  # a tie asks for the same several times
    if known is None or known[0] != kind:
        known = _KNOWN[problem] = kind, _make_part(problem, rows, max_rows, *kind)
    return known[1] if known[1].columns or not everybody else None


_KNOWN: WeakKeyDictionary[Problem[Domain], tuple[Hashable, Part]] = WeakKeyDictionary()


def _make_part(
    problem: Problem[Domain], rows: int, max_rows: int, groups: int, fewest: int, most: int, scale: float
) -> Part:
    """The part of a draw whose columns vary alone, or which counts rows; refuses one that cannot be tied."""
    with within_doubles():
        centre, radius, weights, count = _columns(problem)
        require_finite(centre, weights * scale, 1.0 / weights, count * scale)
    if max_rows and centre[len(centre) - rows - 1 :].any():
        raise untied("its sums over rows are not centred")
    if max_rows and most > MOST_GROUPS:
        raise untied("a person has rows in too many groups")
    return Part(groups, fewest, most, centre, radius, weights * scale, count * scale, rows, max_rows)


def untied(why: str) -> PlanError:
    """Why a draw has noise of its own."""
    return PlanError("a draw that cannot share its noise", why, "plan it apart", code="draw-cannot-be-tied")


def _columns(problem: Problem[Domain]) -> tuple[Array, Array, Array, float]:
    """Centre, radius and weight of each column and the weight of the count, as one square for each.

    Σ over answers of w (c a + r z)²  =  Σ_j w_j (c_j a + r_j z_j)² + w_0 a²
    """
    rows = problem.lifted_rows
    gram = rows.T @ rows
    p = problem.domain.dimension
    inner = gram[:p, :p]
    diagonal = np.diag(inner).copy()
    if (inner != np.diag(diagonal)).any() or not (diagonal > 0).all():
        raise untied("its answers mix columns")
    radius = problem.domain.coded[1]
    centre = radius * gram[:p, p] / diagonal
    rest = float(gram[p, p] - (gram[:p, p] ** 2 / diagonal).sum())
    count = problem.count_weight
    rest = count if abs(rest - count) <= 1e-9 * gram[p, p] else max(rest, 0.0)  # each column asked once: exactly this
    return centre, radius, diagonal / radius**2, rest


def placed(
    found: Sequence[tuple[int, tuple[Part, ...]]], scales: Sequence[float]
) -> tuple[tuple[int, ...], tuple[Place, ...]]:
    """A place for each draw: filters that ask the same of their people are groups of one part.

    A draw whose groups weigh differently has a part for each weight, one after the other from its place on.
    """
    kinds: list[Part] = []
    sizes: list[int] = []
    weighted: set[int] = set()
    places = []
    for i, parts in found:
        if not parts:
            places.append(Place(None, 0, scales[i]))
            continue
        part = parts[0]
        one = len(parts) == 1 and _is_filter(part)
        alike = (q for q, kind in enumerate(kinds) if one and q not in weighted and are_alike(kind, part))
        at = next((q for q in alike if _is_filter(kinds[q])), len(kinds))
        if len(parts) > 1:
            weighted |= set(range(at, at + len(parts)))
        if at == len(kinds):
            kinds += parts
            sizes += [0] * len(parts)
        places.append(Place(at, sizes[at], scales[i]))
        sizes[at] += part.groups
    return tuple(i for i, _ in found), tuple(places)


def _is_filter(part: Part) -> bool:
    return part.groups == 1 and not part.always


def make_body(draws: Sequence[Draw], places: Sequence[Place], where: str | None) -> Body:
    """What one person adds to all draws together; refuses places that are not those of the draws."""
    if len(places) != len(draws):
        raise _misplaced()
    parts: dict[int, list[tuple[Place, Part]]] = {}
    families: tuple[Family, ...] = ()
    people_weight = 0.0
    for draw, place in zip(draws, places, strict=True):
        if not (np.isfinite(place.scale) and place.scale > 0):
            raise PlanError(
                "a tie with a scale that is not positive",
                "every draw is worth something",
                "plan again",
                code="tie-scale-not-positive",
            )
        own = parts_of(draw, where, place.scale)
        if bool(own) != (place.part is not None):
            raise _misplaced()
        cells = [part for part in own if part.columns == 0 and part.groups == draw.block.domain.width]
        if not own or (cells and draw.block.answers.count):
            people_weight += place.scale * draw.block.problem.count_weight
        if place.part is not None:
            families += _families(draw, place.part, len(own))
            for q, part in enumerate(own, place.part):
                parts.setdefault(q, []).append((place, part))
    if sorted(parts) != list(range(len(parts))):
        raise _misplaced()
    shared = [q for family in families for q in family.members]
    if any(len(parts[q]) > 1 for q in shared):
        raise _misplaced()
    return Body(tuple(_pooled(parts[q]) for q in range(len(parts))), people_weight, families)


def _misplaced() -> PlanError:
    """The error for places that are not those of the draws."""
    what, rule = "a tie with places that do not fit", "each draw has a place, and pooled ones follow each other"
    return PlanError(what, rule, "plan again", code="tie-places-do-not-fit")


def _pooled(members: Sequence[tuple[Place, Part]]) -> Part:
    """Draws of one part, one after the other: a person is in as many groups as in all of them."""
    at = 0
    first = members[0][1]
    for place, part in members:
        alike = len(members) == 1 or (part.fewest == 0 and are_alike(part, first))
        if place.start != at or not alike:
            raise _misplaced()
        at += part.groups
    if len(members) == 1:
        return first
    most = sum(part.most for _, part in members)
    return replace(first, groups=at, most=most)


def same_people(one: Part, other: Part) -> bool:
    """Whether a person can add the same to two parts, as far as privacy goes."""
    return all(getattr(one, name) == getattr(other, name) for name in _PEOPLE)


_PEOPLE = ("groups", "fewest", "most", "columns", "row_columns", "max_rows")


def are_alike(one: Part, other: Part) -> bool:
    """Whether groups of two parts hold the same columns, of the same worth."""
    pairs = ((one.centre, other.centre), (one.radius, other.radius), (one.weights, other.weights))
    rows = (one.row_columns, one.max_rows) == (other.row_columns, other.max_rows)
    return rows and one.count_weight == other.count_weight and all(np.array_equal(a, b) for a, b in pairs)


def parts_by_groups(draw: Draw, place: Place) -> list[tuple[int, tuple[int, ...] | None]]:
    """The parts of a draw, and which of its groups are in each, in order; None where all are in its only part."""
    if place.part is None:
        return []
    if draw.groups is None or len(draw.groups.classes) == 1:
        return [(place.part, None)]
    return list(enumerate((places for _, places in draw.groups.classes), place.part))


def extents_of(draws: Sequence[Draw], places: Sequence[Place], body: Body) -> tuple[Array, ...]:
    found = [np.ones(part.columns) for part in body.parts]
    for draw, place in zip(draws, places, strict=True):
        if place.part is not None and draw.block.domain.marks_at_most is None:
            columns = draw.block.codes.extents
            if place.start and not np.array_equal(found[place.part], columns):
                raise _misplaced()
            for q, _ in parts_by_groups(draw, place):
                found[q] = columns
    return tuple(found)


def check_common(draws: Sequence[Draw], where: str | None) -> None:
    """Refuse draws whose people need not pass the common filter, or are named by other columns."""
    rules = [RowRule(()) if draw.row_rule is None else draw.row_rule for draw in draws]
    columns = [dict(rule.columns) for rule in rules]
    units = {rule.unit for rule in rules}
    if len(units) > 1 or not same_meaning((unit for unit in units if unit is not None), columns):
        raise PlanError(
            "a tie of tables with other people",
            "one column names them in all",
            "plan again",
            code="tie-of-other-people",
        )
    if not all(common_filter(where, rule.where, columns) for rule in rules):
        raise PlanError(
            "a tie of draws without a common filter",
            "who is in a draw is counted",
            "plan again",
            code="tie-without-common-filter",
        )

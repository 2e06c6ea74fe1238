"""The least noise for a whole request: from the exact optimum of small ones to closed forms of large ones.

types              all parts together, every type listed: the optimum (theorem A)
shared constant    each part around a centre (theorem C): the smallest together by types, the others in closed form or
                   with the same noise in every group
split              every part by itself: never better than the above, unless their search failed
additive roots     replace-one: every part by itself is the optimum of the request (theorem B)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gaussmith.numerics.kept import recall
from gaussmith.numerics.products import Array
from gaussmith.numerics.tied.blocks import Block, join, root_of_total, total_of, unboxed
from gaussmith.numerics.tied.centred import Batch, Centres, Law, everybody, find_centres, make_block
from gaussmith.numerics.tied.exact import solve_types
from gaussmith.numerics.tied.law import TypesLaw
from gaussmith.numerics.tied.lift import TiedLift
from gaussmith.numerics.tied.parts import Body, Family, Part
from gaussmith.numerics.tied.reduced import Reduced
from gaussmith.numerics.tied.replaced import solve_replaced, solve_replaced_family
from gaussmith.numerics.tied.signs import law_of_parts, law_of_people
from gaussmith.numerics.tied.uniform import MOST_COLUMNS, solve_uniform
from gaussmith.numerics.tied.weighted import solve_weighted
from gaussmith.values import dataclass

Known = dict[int, tuple[float, Array]]
"""Centres of parts in closed form."""

Solver = Callable[[Sequence[int], Sequence[Part], float], Block]

_MOST = 100_000
"""Combinations of types that are listed, at most."""

_WORK = 4e6
"""Combinations times squared answers of a request that is solved by types."""

_TABLE = 3e6
"""Types times corners of a part that is solved by types."""

_BLOCK = 1e6
"""The same of a block among others."""


MAX_KEPT = 4
"""Limit on the solutions that are kept."""

_KEPT: dict[Hashable, Solution] = {}

MAX_CENTRES, MAX_COLUMNS = 64, 1000
"""Limits on the centres that are kept, and on the columns of parts whose centres are."""

_CENTRES: dict[Hashable, Law] = {}


@dataclass(frozen=True, eq=False)
class Solution:
    """A lift at μ = 1, the weighted total of the variances of its noise, and a law that proves how little is possible.

    `how` names the rung. The norms of lifted people are at most 1 but for the rounding of the search: whoever releases
    divides by a certified bound.
    """

    lift: TiedLift
    total: float
    law: TypesLaw | None
    how: str


def solve(body: Body, neighbours: str) -> Solution:
    """The noise of the least total for a request.

    >>> none = np.zeros(0)
    >>> tens = Part(10, 0, 10, none, none, none, 1.0)      # ten filtered counts
    >>> found = solve(Body((tens,)), "add-remove")
    >>> round(found.total, 2), found.how
    (43.08, 'types')

    It does not depend on μ, so that the last solutions are kept: the same request at another guarantee has the same.
    """
    return recall(_KEPT, _content(body, neighbours), lambda: _solve(body, neighbours), MAX_KEPT)


def _content(body: Body, neighbours: str) -> Hashable:
    """All that a solution depends on."""
    parts = tuple((*_kind(part), part.row_columns, part.max_rows) for part in body.parts)
    return neighbours, body.people_weight, body.families, parts


def _solve(body: Body, neighbours: str) -> Solution:
    replaced = neighbours == "replace-one"
    silent = {q for q, part in enumerate(body.parts) if _is_silent(part)}
    heard = [q for q in range(len(body.parts)) if q not in silent]
    if replaced:
        body = replace(body, people_weight=0.0)  # nobody is added: the number of people is public
    found = [_silence(q, body.parts[q], replaced) for q in silent]
    place = {q: i for i, q in enumerate(heard)}
    families = [Family(tuple(place[q] for q in family.members if q in place), family.most) for family in body.families]
    rest = Body(
        tuple(body.parts[q] for q in heard),
        body.people_weight + sum(block.energy for block in found),
        tuple(family for family in families if family.members),
    )
    blocks, how, law = (_replace_one if replaced else _add_remove)(rest) if heard else ([], "types", NOBODY)
    found += [replace(block, members=tuple(heard[q] for q in block.members)) for block in blocks]
    lift = join(body, found)
    return Solution(
        lift, total_of(lift, body, replaced), None if law is None else _told(law, body, silent, replaced), how
    )


Found = tuple[list[Block], str, TypesLaw | None]
NOBODY = TypesLaw((), (), (), np.ones(1))


def _add_remove(body: Body) -> Found:
    reduced = [_reduced(part) for part in body.parts]
    if _fits(reduced, _WORK):
        solved = solve_types(range(len(body.parts)), body.parts, body.people_weight, families=body.families)
        return [solved.block], "types", law_of_people(solved.law)
    found = _share_constant(body, reduced)
    least = sum(_least_root(reduced[q]) for q in _single(body)) + math.sqrt(body.people_weight)
    if root_of_total(found, body.people_weight) < least * (1.0 - 1e-6):  # no need to solve them apart
        return found, "shared constant", None
    apart = [_alone(q, body.parts[q]) for q in _single(body)]
    apart += [_family(family.members, body, 0.0) for family in body.families]
    if root_of_total(apart, body.people_weight) < root_of_total(found, body.people_weight):
        return apart, "split", None
    return found, "shared constant", None


def _replace_one(body: Body) -> Found:
    if body.families:
        return _replace_families(body)
    solved = [solve_replaced(part, q) for q, part in enumerate(body.parts)]
    laws = [law for _, law in solved if law is not None]
    how = "types" if len(laws) == len(solved) == 1 else "additive roots"
    return [block for block, _ in solved], how, law_of_parts(laws) if len(laws) == len(solved) else None


def _replace_families(body: Body) -> Found:
    """The same where groups weigh differently: every family by itself. Its law is told where nothing else is asked."""
    solved = [solve_replaced(body.parts[q], q) for q in _single(body)]
    for family in body.families:
        solved.append(solve_replaced_family(family.members, [body.parts[q] for q in family.members], family.most))
    law = solved[0][1] if len(solved) == 1 else None
    how = "additive roots" if law is None else "types"
    return [block for block, _ in solved], how, None if law is None else law_of_people(law)


def _single(body: Body) -> list[int]:
    """The parts that are in no family."""
    return [q for q in range(len(body.parts)) if body.family_of(q) is None]


def _is_silent(part: Part) -> bool:
    """Whether nothing is asked of a part but, where everybody is in, their number."""
    return part.columns == 0 and (part.always or part.count_weight == 0)


def _silence(q: int, part: Part, replaced: bool) -> Block:
    """A part without rows: it adds to what the number of people is worth, if to anything."""
    energy = part.count_weight if part.always and not replaced else 0.0
    return Block((q,), (np.zeros((0, part.width)),), np.zeros((0, part.width)), np.zeros(0), 0.0, energy)


def _told(law: TypesLaw, body: Body, silent: set[int], replaced: bool) -> TypesLaw:
    """The law of all parts: in silent ones a person does what everybody does."""
    if not silent:
        return law
    fields: list[list[Array]] = [[], [], []]
    heard = iter(zip(law.corners, law.counts, law.picks, strict=True))
    for q, part in enumerate(body.parts):
        there = float(part.always and not replaced)
        same = np.full((1, 1), float(not replaced)), np.full((1, 1), there), np.zeros(len(law.weights))
        for field, each in zip(fields, same if q in silent else next(heard), strict=True):
            field.append(each)
    corners, counts, picks = map(tuple, fields)
    return TypesLaw(corners, counts, picks, law.weights)


def _fits(parts: Iterable[Reduced], work: float) -> bool:
    """Whether the combinations of types of these parts can be listed, and priced in reasonable time."""
    size, answers = 1, 1
    for part in parts:
        size *= part.size
        answers += part.answers
        if size > _MOST or size * answers**2 > work or part.size * part.corners > _TABLE:
            return False
    return True


def _reduced(part: Part) -> Reduced:
    return Reduced(part, False)


def _least_root(part: Reduced) -> float:
    """A bound of √T of a part by itself, from below: S of people in as many groups as can be, at corners of all signs.

    Where everybody is in, only what varies is told: the rest may be read from their number.
    """
    g, k = part.part.groups, part.part.most
    turned = math.sqrt(g * k) * (part.spread + part.row_spread)
    if not _fits([part], _BLOCK / 4):
        return turned
    varies = part.moving < part.part.varying  # all of their rows
    own, same = part.asked[:, :-1][:, varies], part.asked[:, :-1][:, ~varies].sum(axis=1) + part.asked[:, -1]
    scatter, middle = own @ own.T, np.outer(same, same) * (not part.part.always)
    across = (k * scatter + (k * (g - k) / (g - 1)) * middle) / g if g > 1 else 0.0 * scatter
    roots = (np.sqrt(np.maximum(np.linalg.eigvalsh(M), 0.0)).sum() for M in (across, (k * scatter + k**2 * middle) / g))
    return float(turned + (g - 1) * next(roots) + next(roots))


def _alone(q: int, part: Part) -> Block:
    """A part by itself, without a centre."""
    if _fits([_reduced(part)], _BLOCK / 4):
        return solve_types([q], [part], 0.0, gap=1e-4).block
    if part.always:
        return unboxed(everybody(q, part.boxed), part)
    batch = Batch([part.boxed])
    law = batch.law(np.zeros(1), np.zeros_like(batch.w))
    return unboxed(make_block(q, part.boxed, law, 0), part)


def _share_constant(body: Body, reduced: Sequence[Reduced]) -> list[Block]:
    """The best blocks around centres: all in closed form, then the smallest merged and solved by types, and so on until
    nothing is gained. A block feels the others through the energy of their centres alone."""
    known: Known = {}
    blocks = [_family(family.members, body, body.people_weight) for family in body.families]
    single = _single(body)
    blocks += _closed_forms(body.parts, single, body.people_weight + sum(b.energy for b in blocks), known)
    least = root_of_total(blocks, body.people_weight)
    merged, several = _groups(reduced, single)
    for _ in range(4):
        for family in body.families:
            blocks = _exchanged(body, blocks, list(family.members), partial(_family_beside, body))
        for group in merged:
            blocks = _exchanged(body, blocks, group, _by_types)
        for q in several:
            blocks = _exchanged(body, blocks, [q], _uniform)
        felt = sum(b.energy for b in blocks)
        blocks = _centred_anew(body, blocks, known)
        now = root_of_total(blocks, body.people_weight)
        # What is left to gain is of second order in how far the energy moved.
        if now > least * (1.0 - 1e-5) or abs(sum(b.energy for b in blocks) - felt) <= 0.01 * felt:
            break
        least = now
    return blocks


def _exchanged(body: Body, blocks: list[Block], group: list[int], solver: Solver) -> list[Block]:
    """The blocks with those of a group solved anew beside the others, where that is better."""
    kept = [b for b in blocks if not set(group).intersection(b.members)]
    outside = body.people_weight + sum(b.energy for b in kept)
    found = [*kept, solver(group, [body.parts[q] for q in group], outside)]
    better = root_of_total(found, body.people_weight) < root_of_total(blocks, body.people_weight)
    return found if better else blocks


def _centred_anew(body: Body, blocks: list[Block], known: Known) -> list[Block]:
    """The blocks with all closed forms around new centres, where that is better."""
    closed = sorted(b.members[0] for b in blocks if b.closed)
    kept = [b for b in blocks if not b.closed]
    if not closed:
        return blocks
    found = [*kept, *_closed_forms(body.parts, closed, body.people_weight + sum(b.energy for b in kept), known)]
    better = root_of_total(found, body.people_weight) < root_of_total(blocks, body.people_weight)
    return found if better else blocks


def _uniform(members: Sequence[int], parts: Sequence[Part], outside: float) -> Block:
    return solve_uniform(members[0], parts[0], outside)


def _by_types(members: Sequence[int], parts: Sequence[Part], outside: float) -> Block:
    return solve_types(members, parts, outside, gap=1e-5).block


def _family_beside(body: Body, members: Sequence[int], _: Sequence[Part], outside: float) -> Block:
    return _family(members, body, outside)


def _family(members: Sequence[int], body: Body, outside: float) -> Block:
    """The parts of a family, beside a constant that weighs `outside` elsewhere."""
    parts = [body.parts[q] for q in members]
    family = body.family_of(members[0])
    assert family is not None
    if _fits(map(_reduced, parts), _BLOCK / 4):
        within = Family(tuple(range(len(parts))), family.most)
        return solve_types(members, parts, outside, gap=1e-5, families=[within]).block
    return solve_weighted(members, parts, family.most, outside)


def _groups(parts: Sequence[Reduced], single: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """The smallest parts together, as far as their types can be listed, and others of several columns alone; then those
    of several columns whose types cannot be listed."""
    order = sorted(single, key=lambda q: (parts[q].size, q))
    first: list[int] = []
    for q in order:
        if not _fits([parts[at] for at in (*first, q)], _BLOCK):
            break
        first.append(q)
    groups, several = [sorted(first)] if first else [], []
    for q in order[len(first) :]:
        columns, part = len(parts[q].moving), parts[q].part
        if (columns >= 2 or part.counts_rows) and _fits([parts[q]], _BLOCK / 4):
            groups.append([q])
        elif 2 <= columns <= MOST_COLUMNS and not part.always and not part.counts_rows:
            several.append(q)
    return groups, several


def _closed_forms(parts: Sequence[Part], members: Sequence[int], outside: float, known: Known) -> list[Block]:
    """The closed form of each of these parts, at the best centres for all of them; like parts are solved once.

    Centres that are `known` from before are where the search begins; those that are found are kept there. The number of
    rows and the sums over them are taken for columns of a box.
    """
    whole, parts = parts, [part.boxed for part in parts]
    found = [everybody(q, parts[q]) for q in members if parts[q].always]
    rest = [q for q in members if not parts[q].always]
    if not rest:
        return [unboxed(block, whole[block.members[0]]) for block in found]
    kinds: dict[tuple[bytes, ...], list[int]] = {}
    for q in rest:
        kinds.setdefault(_kind(parts[q]), []).append(q)
    batch = Batch([parts[alike[0]] for alike in kinds.values()])
    copies = np.array([len(alike) for alike in kinds.values()], float)
    near = [known[alike[0]] for alike in kinds.values()] if all(q in known for q in rest) else None
    law = _recall_centres(batch, copies, outside + sum(block.energy for block in found), near)
    for i, alike in enumerate(kinds.values()):
        for q in alike:
            known[q] = float(law.kappa[i]), law.gamma[i, : len(batch.moving[i])]
            found.append(make_block(q, parts[q], law, i))
    return [unboxed(block, whole[block.members[0]]) for block in found]


def _recall_centres(batch: Batch, copies: Array, outside: float, near: Centres | None) -> Law:
    """As `find_centres` finds it, or has found it: columns centred at 0 count together, so that other bounds of theirs
    are seldom another search."""
    find = partial(find_centres, batch, copies, outside, near)
    if batch.w.size > MAX_COLUMNS:
        return find()
    places = None if near is None else tuple((kappa, gamma.tobytes()) for kappa, gamma in near)
    return recall(_CENTRES, (batch.content, copies.tobytes(), outside, places), find, MAX_CENTRES)


def _kind(part: Part) -> tuple[bytes, ...]:
    arrays: tuple[Array, ...] = (part.centre, part.radius, part.weights)
    numbers = np.array([part.groups, part.fewest, part.most, part.count_weight], float)
    return (*(each.tobytes() for each in arrays), numbers.tobytes())

"""The least noise for a whole request: from the exact optimum of small ones to closed forms of large ones.

types              all parts together, every type listed: the optimum (theorem A)
shared constant    each part around a centre (theorem C), in closed form or by its types
additive roots     replace-one: every part by itself is the optimum of the request (theorem B)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gaussmith.numerics.exact import Array
from gaussmith.numerics.joint.centred import (
    Batch,
    CentredLaw,
    LiftBlock,
    everybody,
    find_centres,
    join,
    make_block,
    make_rows,
    root_of_total,
    side_by_side,
    unboxed,
)
from gaussmith.numerics.joint.law import TypesLaw
from gaussmith.numerics.joint.lift import TiedLift, total_of
from gaussmith.numerics.joint.parts import Body, Family, JointPart
from gaussmith.numerics.joint.reduced import Index, Reduced, WorstLaw
from gaussmith.numerics.joint.replaced import solve_replaced, solve_replaced_family, solve_types
from gaussmith.numerics.kept import recall

# Worst laws written out as laws on whole people: the columns that were set aside get signs.
#
# A column centred at 0 has an independent fair sign in every group. Two of them are uncorrelated, and no more is
# needed: the rows of a Hadamard matrix, each with the same chance, give every (group, column) of a person signs of
# its own.

_LIGHT = 1e-13
"""People with less weight are left out."""

_MOST_SIGNS = 4_000_000
"""Numbers in a law's tables, at most."""


def law_of_people(law: WorstLaw) -> TypesLaw | None:
    """The law as a list of people, their signs drawn part by part; None where it would be too large."""
    kept = np.flatnonzero(law.weights > _LIGHT)
    weights, index = law.weights[kept], law.people.index[:, law.at[kept]]
    parts = [_signed(part, np.unique(types)) for part, types in zip(law.people.parts, index, strict=True)]
    if any(each is None for each in parts):
        return None
    corners, counts, picks = [], [], []
    for each, types in zip(parts, index, strict=True):
        assert each is not None
        held, rows, start = each
        corners.append(held)
        counts.append(rows)
        number = np.searchsorted(np.unique(types), types)
        sizes = np.diff(start)
        if (sizes == 1).all():
            picks.append(number.astype(float))
            continue
        if len(types) * len(rows) > _MOST_SIGNS:
            return None
        chances = np.zeros((len(types), len(rows)))
        for line, i in zip(chances, number, strict=True):
            line[start[i] : start[i + 1]] = 1.0 / sizes[i]
        picks.append(chances)
    return TypesLaw(tuple(corners), tuple(counts), tuple(picks), weights)


def law_of_parts(laws: Sequence[WorstLaw]) -> TypesLaw | None:
    """Independent laws of the parts under replace-one, each with either sign: one component."""
    corners, counts, picks = [], [], []
    for law in laws:
        kept = np.flatnonzero(law.weights > _LIGHT)
        (types,) = law.people.index[:, law.at[kept]]
        order = np.argsort(types)
        each = _signed(law.people.parts[0], types[order])
        if each is None:
            return None
        held, rows, start = each
        sizes = np.diff(start)
        chances = np.repeat(law.weights[kept][order] / sizes, sizes)
        nothing = np.zeros_like(rows)
        corners.append(np.vstack([held, -held]))
        counts.append(np.vstack([np.hstack([rows, nothing]), np.hstack([nothing, rows])]))
        picks.append(np.concatenate([chances, chances])[None, :] / 2.0)
    return TypesLaw(tuple(corners), tuple(counts), tuple(picks), np.ones(1))


def _signed(part: Reduced, types: Index) -> tuple[Array, Array, Index] | None:
    """Corners of all columns, counts of each type with signs, and where each of `types` begins among them."""
    held, counts = part.types
    turning = part.turning
    wide = np.zeros((len(held), part.part.columns + 1))
    wide[:, part.moving] = held[:, :-1]
    wide[:, -1] = held[:, -1]
    people, start = [], [0]
    for i in types:
        rows = np.repeat(wide, counts[i].astype(int), axis=0)
        if part.replaced and len(turning) and not part.part.always and not (held[:, -1] == 0).any():
            gained, lost = (counts[i, held[:, -1] == sign].sum() for sign in (1.0, -1.0))
            rows = np.vstack([rows, np.zeros((int(part.shared(gained, lost)), wide.shape[1]))])
        if 2 * len(rows) * len(turning) * (rows.size + 1) > _MOST_SIGNS or start[-1] > 20_000:
            return None
        signs = _signs(len(rows) * len(turning))
        for line in signs:
            person = rows.copy()
            size = np.where(rows[:, -1:] == 0, 2.0, 1.0)
            size = np.where(part.of_rows, rows[:, -2:-1], size)  # sums over rows are as long as there are rows
            person[:, turning] = line[: len(rows) * len(turning)].reshape(len(rows), len(turning)) * size
            people.append(person)
        start.append(len(people))
    stacked = np.vstack(people)
    corners, which = np.unique(stacked, axis=0, return_inverse=True)
    if len(corners) * len(people) > _MOST_SIGNS:
        return None
    found = np.zeros((len(people), len(corners)))
    owner = np.repeat(np.arange(len(people)), [len(person) for person in people])
    np.add.at(found, (owner, which.ravel()), 1.0)
    return corners, found, np.array(start)


def _signs(size: int) -> Array:
    """Rows of signs whose `size` columns have mean 0 and are uncorrelated."""
    found = np.ones((1, 1))
    while size and len(found) <= size:
        found = np.block([[found, found], [found, -found]])
    return found[:, 1:]


# Groups of one question that weigh differently: the parts of a family in closed form, around one centre for each.
#
# Every part has the noise of `centred`, and a person spends the common limit where the noise is worst: with κ₁ the
# mean number of groups by part,
#
#     √T = max over Σ κ₁ ≤ m of Σ_q √T_q(κ₁_q)
#
# is concave, and at its largest the slopes of all parts are the same, or κ₁ is at an end. What is found there is
# brought to norm 1 for everybody who keeps the limit, part by part the best number of groups.

_PLACES = 300
_BEND = 3e-3


def solve_weighted(members: Sequence[int], parts: Sequence[JointPart], most: int, outside: float) -> LiftBlock:
    """The best block of this form for a family, beside a constant that weighs `outside` elsewhere."""
    from scipy.optimize import minimize

    batch = Batch([part.boxed for part in parts])
    n, width = batch.w.shape
    units = np.maximum(np.abs(batch.mid), batch.r)
    free = batch.w > 0

    def law_at(x: Array, bend: float = 0.0) -> CentredLaw:
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


def _spread(batch: Batch, kappa: Array, gamma: Array, most: int, bend: float) -> CentredLaw:
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


def _make_block(members: Sequence[int], parts: Sequence[JointPart], most: int, law: CentredLaw) -> LiftBlock:
    root = float(law.roots.sum())
    rows = [make_rows(part.boxed, law, q, root) for q, part in enumerate(parts)]
    worst = np.zeros(most + 1)  # the largest squared norm by how many groups are taken
    for each in rows:
        worst = _both(worst, each.squares)
    norm = float(worst.max())
    blocks = [
        unboxed(LiftBlock((q,), (each.own,), each.ties, each.constant, math.sqrt(each.cost), each.energy), part)
        for q, (each, part) in enumerate(zip(rows, parts, strict=True))
    ]
    return side_by_side(members, blocks, np.full(len(blocks), 1.0 / math.sqrt(norm)))


def _both(worst: Array, squares: Array) -> Array:
    """The largest sums by how many groups both take."""
    found = np.full(len(worst), -np.inf)
    for k, value in enumerate(squares[: len(worst)]):
        found[k:] = np.maximum(found[k:], worst[: len(worst) - k] + value)
    return found


_MOST = 100_000
"""Combinations of types that are listed, at most."""

_WORK = 4e6
"""Combinations times squared answers of a request that is solved by types."""

_TABLE = 3e6
"""Types times corners of a part that is solved by types."""

_BLOCK = 250_000.0
"""The same of a block among others."""


MAX_KEPT = 4
"""Limit on the solutions that are kept."""

_KEPT: dict[Hashable, Solution] = {}

MAX_CENTRES, MAX_COLUMNS = 64, 1000
"""Limits on the centres that are kept, and on the columns of parts whose centres are."""

_CENTRES: dict[Hashable, CentredLaw] = {}


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
    >>> tens = JointPart(10, 0, 10, none, none, none, 1.0)      # ten filtered counts
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
    if replaced:
        body = replace(body, people_weight=0.0)  # nobody is added: the number of people is public
    silent = {q for q, part in enumerate(body.parts) if _is_silent(part)}
    heard = [q for q in range(len(body.parts)) if q not in silent]
    found = [_silence(q, body.parts[q], replaced) for q in silent]
    rest = _without_silent(body, heard, sum(block.energy for block in found))
    blocks, how, law = (_replace_one if replaced else _add_remove)(rest) if heard else ([], "types", NOBODY)
    found += [replace(block, members=tuple(heard[q] for q in block.members)) for block in blocks]
    lift = join(body, found)
    return Solution(lift, total_of(lift, body), None if law is None else _told(law, body, silent, replaced), how)


def _without_silent(body: Body, heard: Sequence[int], energy: float) -> Body:
    """The parts of which something is asked, beside a number of people that is worth more by so much."""
    place = {q: i for i, q in enumerate(heard)}
    families = [Family(tuple(place[q] for q in family.members if q in place), family.most) for family in body.families]
    kept = tuple(family for family in families if family.members)
    return Body(tuple(body.parts[q] for q in heard), body.people_weight + energy, kept)


Found = tuple[list[LiftBlock], str, TypesLaw | None]
NOBODY = TypesLaw((), (), (), np.ones(1))


def _add_remove(body: Body) -> Found:
    reduced = [Reduced(part, False) for part in body.parts]
    if _fits(reduced, _WORK):
        solved = solve_types(range(len(body.parts)), body.parts, body.people_weight, families=body.families)
        return [solved.block], "types", law_of_people(solved.law)
    return _share_constant(body, reduced), "shared constant", None


def _replace_one(body: Body) -> Found:
    if body.families:
        return _replace_families(body)
    solved = [solve_replaced(part, q) for q, part in enumerate(body.parts)]
    laws = [law for _, law in solved if law is not None]
    how = "types" if len(laws) == len(solved) == 1 else "additive roots"
    return [block for block, _ in solved], how, law_of_parts(laws) if len(laws) == len(solved) else None


def _replace_families(body: Body) -> Found:
    """The same where groups weigh differently: every family by itself. Its law is told where nothing else is asked."""
    solved = [solve_replaced(part, q) for q, part in enumerate(body.parts) if body.family_of(q) is None]
    for family in body.families:
        solved.append(solve_replaced_family(family.members, [body.parts[q] for q in family.members], family.most))
    law = solved[0][1] if len(solved) == 1 else None
    how = "additive roots" if law is None else "types"
    return [block for block, _ in solved], how, None if law is None else law_of_people(law)


def _is_silent(part: JointPart) -> bool:
    """Whether nothing is asked of a part but, where everybody is in, their number."""
    return part.columns == 0 and (part.always or part.count_weight == 0)


def _silence(q: int, part: JointPart, replaced: bool) -> LiftBlock:
    """A part without rows: it adds to what the number of people is worth, if to anything."""
    energy = part.count_weight if part.always and not replaced else 0.0
    return LiftBlock((q,), (np.zeros((0, part.width)),), np.zeros((0, part.width)), np.zeros(0), 0.0, energy)


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


def _share_constant(body: Body, reduced: Sequence[Reduced]) -> list[LiftBlock]:
    """Blocks around centres: closed forms, and by types where these can gain more than a few per cent.

    Solving small parts together, and all centres again beside what was found, gained less than a thousandth
    (docs/decisions.md, 15).
    """
    single = [q for q in range(len(body.parts)) if body.family_of(q) is None]
    blocks = _closed_forms(body.parts, single, body.people_weight)
    for family in body.families:
        blocks.append(_family(family.members, body, body.people_weight + sum(b.energy for b in blocks)))
    for q in single:
        part = body.parts[q]
        loses = len(reduced[q].moving) > 1 or part.counts_rows or not part.count_weight
        if loses and _fits([reduced[q]], _BLOCK):
            kept = [b for b in blocks if b.members != (q,)]
            outside = body.people_weight + sum(b.energy for b in kept)
            found = [*kept, solve_types([q], [part], outside, gap=1e-5).block]
            blocks = min(blocks, found, key=lambda each: root_of_total(each, body.people_weight))
    return blocks


def _family(members: Sequence[int], body: Body, outside: float) -> LiftBlock:
    """The parts of a family, beside a constant that weighs `outside` elsewhere."""
    parts = [body.parts[q] for q in members]
    family = body.family_of(members[0])
    assert family is not None
    if _fits((Reduced(part, False) for part in parts), _BLOCK):
        within = Family(tuple(range(len(parts))), family.most)
        return solve_types(members, parts, outside, gap=1e-5, families=[within]).block
    return solve_weighted(members, parts, family.most, outside)


def _closed_forms(parts: Sequence[JointPart], members: Sequence[int], outside: float) -> list[LiftBlock]:
    """The closed form of each of these parts, at the best centres for all of them; like parts are solved once.

    The number of rows and the sums over them are taken for columns of a box.
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
    law = _recall_centres(batch, copies, outside + sum(block.energy for block in found))
    for i, alike in enumerate(kinds.values()):
        for q in alike:
            found.append(make_block(q, parts[q], law, i))
    return [unboxed(block, whole[block.members[0]]) for block in found]


def _recall_centres(batch: Batch, copies: Array, outside: float) -> CentredLaw:
    """As `find_centres` finds it, or has found it: columns centred at 0 count together, so that other bounds of theirs
    are seldom another search."""
    find = partial(find_centres, batch, copies, outside)
    if batch.w.size > MAX_COLUMNS:
        return find()
    return recall(_CENTRES, (batch.content, copies.tobytes(), outside), find, MAX_CENTRES)


def _kind(part: JointPart) -> tuple[bytes, ...]:
    arrays: tuple[Array, ...] = (part.centre, part.radius, part.weights)
    numbers = np.array([part.groups, part.fewest, part.most, part.count_weight], float)
    return (*(each.tobytes() for each in arrays), numbers.tobytes())

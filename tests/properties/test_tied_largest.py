"""The largest norm of a lifted person, on random bodies and lifts, against all vertices in exact arithmetic.

Privacy of a tied request rests on this one number. What a person can be is written here anew, from the definition in
parts.py, group by group; lifts are drawn at random, with signs, zeros and structures that no planner makes.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from all_people import part_of
from planting import plant

from gaussmith.numerics.joint import parts
from gaussmith.numerics.joint import parts as states
from gaussmith.numerics.joint import sensitivity as clusters
from gaussmith.numerics.joint import sensitivity as module
from gaussmith.numerics.joint.lift import TiedLift
from gaussmith.numerics.joint.parts import Body, Family, JointPart
from gaussmith.numerics.joint.sensitivity import largest

Array = np.ndarray
NEIGHBOURS = ("add-remove", "replace-one")
MOST = 10_000
"""Limit on the vertices of a body that is drawn."""

STRUCTURES = ("full", "apart", "closed", "counts", "sparse")


# -- what a person can be, by the definition of a part ----------------------------------------------------------------


def vertices(body: Body, members: tuple[int, ...], replaced: bool) -> Array:
    """The extreme people of parts with one limit, or the differences of two, all groups' cores in a row each."""
    lists = [people_of(body.parts[q]) for q in members]
    chosen = itertools.product(*lists)
    limit = next((family.most for family in body.families if family.members == members), math.inf)
    people = np.array(
        [np.concatenate([core for _, core in each]) for each in chosen if sum(k for k, _ in each) <= limit]
    )
    if not replaced:
        return people
    return np.array(sorted({tuple(one - other) for one in people for other in people}))


def people_of(part: JointPart) -> list[tuple[int, Array]]:
    """The extreme people of a part: in how many groups they are, and the cores of all groups in a row."""
    found = []
    for k in range(part.fewest, part.most + 1):
        for active in itertools.combinations(range(part.groups), k):
            for corners in itertools.product(corners_of(part), repeat=k):
                cores = np.zeros((part.groups, part.width))
                for group, signs in zip(active, corners, strict=True):
                    cores[group] = signs if part.always else (*signs, 1)
                found.append((k, cores.ravel()))
    return found


def questions(body: Body) -> list[tuple[int, ...]]:
    """The parts in order, those of a family together."""
    alone = set(range(len(body.parts))).difference(*(family.members for family in body.families))
    return sorted([*((q,) for q in alone), *(family.members for family in body.families)])


def corners_of(part: JointPart) -> list[tuple[float, ...]]:
    """What the columns of a group can be: own numbers ±1; with rows also sums ±t, and t = 1/k or 1."""
    if not part.max_rows:
        return list(itertools.product((-1, 1), repeat=part.columns))
    own = itertools.product((-1, 1), repeat=part.columns - part.row_columns - 1)
    rows = [
        (*(t * sign for sign in signs), t)
        for t in (1 / part.max_rows, 1)
        for signs in itertools.product((-1, 1), repeat=part.row_columns)
    ]
    return [(*one, *other) for one, other in itertools.product(own, rows)]


def size_of(part: JointPart, replaced: bool) -> int:
    people = sum(math.comb(part.groups, k) * 2 ** (part.columns * k) for k in range(part.fewest, part.most + 1))
    return people**2 if replaced else people


def brute(lift: TiedLift, body: Body, neighbours: str, extents: list[Array] | None) -> Fraction:
    """The largest squared norm over all vertices: found in doubles, then taken exactly where it is nearly attained."""
    lists = [vertices(body, members, neighbours == "replace-one") for members in questions(body)]
    index = np.indices([len(each) for each in lists]).reshape(len(lists), -1)
    points = np.hstack(
        [each[i] for each, i in zip(lists, index, strict=True)] + [np.ones((index.shape[1], int(lift.counted)))]
    )
    units = [1.0] * points.shape[1]
    if extents is not None:
        rows = [
            [*extent, *[1] * (not part.always)] * part.groups for extent, part in zip(extents, body.parts, strict=True)
        ]
        units = [u for row in rows for u in row] + [1.0] * int(lift.counted)
    rows = exact_rows(lift, body)
    dense = np.array([[float(x) for x in row] for row in rows]) * units
    norms = ((points @ dense.T) ** 2).sum(axis=1)
    near = points[np.argsort(-norms)[:12]]
    return max(
        sum(
            (
                sum((a * Fraction(x) for a, x in zip(row, point * units, strict=True) if x), Fraction(0)) ** 2
                for row in rows
            ),
            Fraction(0),
        )
        for point in near
    )


def exact_rows(lift: TiedLift, body: Body) -> list[list[Fraction]]:
    """The whole lift over the cores of all groups, by the formula of lift.py."""
    places = [(q, i, j) for q, part in enumerate(body.parts) for i in range(part.groups) for j in range(part.width)]
    starts = np.cumsum([0, *(part.width for part in body.parts)])
    rows, above = [], 0
    for q, own in enumerate(lift.own):
        for i in range(body.parts[q].groups):
            for r, entries in enumerate(own):
                ties = lift.ties[above + r]
                row = [
                    Fraction(ties[starts[p] + j]) + (Fraction(entries[j]) if (p, k) == (q, i) else 0)
                    for p, k, j in places
                ]
                rows.append(row + [Fraction(ties[-1])] * lift.counted)
        above += len(own)
    if lift.last is not None:
        rows.append([Fraction(lift.last[starts[p] + j]) for p, _, j in places] + [Fraction(lift.last[-1])])
    return rows


# -- bodies and lifts drawn at random ---------------------------------------------------------------------------------


def draw_body(rng: np.random.Generator, replaced: bool, rows: bool = False) -> Body:
    while True:
        parts = []
        for _ in range(int(rng.integers(1, 5))):
            g, p = int(rng.integers(1, 5)), int(rng.integers(0, 3))
            always = g == 1 and rng.random() < 0.5
            most = 1 if always else int(rng.integers(1, g + 1))
            over, k = 0, 0
            if rows and rng.random() < 0.7:
                over, k = int(rng.integers(0, 3)), int(rng.choice([2, 3, 7, 20, 10**6]))
                p += over + 1
            parts.append(JointPart(g, int(always), most, np.zeros(p), np.ones(p), np.ones(p), 1.0, over, k))
        if 1 < math.prod(size_of(part, replaced) for part in parts) <= MOST:
            return Body(tuple(parts))


def draw_alike(rng: np.random.Generator, replaced: bool) -> Body:
    """A body of parts that are alike, and one that is not: their clusters are searched at once."""
    while True:
        body = draw_body(rng, replaced)
        body = Body((*body.parts[:1] * int(rng.integers(2, 4)), *body.parts[1:2]))
        if 1 < math.prod(size_of(part, replaced) for part in body.parts) <= MOST:
            return body


def draw_families(rng: np.random.Generator, replaced: bool) -> Body:
    """A body with one or two families, and perhaps a part of its own."""
    while True:
        parts: list[JointPart] = []
        families = []
        for _ in range(1 if replaced else int(rng.integers(1, 3))):
            p, size = int(rng.integers(0, 2)), int(rng.integers(2, 4))
            groups = rng.integers(1, 3, size).tolist()
            most = int(rng.integers(1, sum(groups) + 1))
            families.append(Family(tuple(range(len(parts), len(parts) + size)), most))
            parts += [JointPart(g, 0, min(most, g), np.zeros(p), np.ones(p), np.ones(p), 1.0) for g in groups]
        if rng.random() < 0.4:
            parts.append(part_of(int(rng.integers(1, 3)), 1, int(rng.integers(0, 2))))
        if 1 < math.prod(size_of(part, replaced) for part in parts) <= MOST * 4:
            return Body(tuple(parts), families=tuple(families))


def draw_lift(rng: np.random.Generator, body: Body, structure: str, counted: bool) -> TiedLift:
    def numbers(*size: int) -> Array:
        return np.asarray(rng.normal(size=size) * 10.0 ** rng.integers(-1, 2, size) * (rng.random(size) > 0.1))

    widths = [part.width for part in body.parts]
    heights = [int(rng.integers(max(1, w - 1), w + 1)) if w else 0 for w in widths]
    own = [numbers(h, w) for h, w in zip(heights, widths, strict=True)]
    ties = numbers(sum(heights), sum(widths) + counted)
    last = numbers(sum(widths) + 1) if counted and rng.random() < 0.7 else None
    column = np.array([j < part.columns for part in body.parts for j in range(part.width)] + [False] * counted)
    of = np.append(np.repeat(np.arange(len(widths)), widths), [-1] * counted)
    below = np.repeat(np.arange(len(widths)), heights)
    if structure == "sparse":
        ties *= rng.random(ties.shape) < 0.15
        own = [each * (rng.random(each.shape) < 0.5) for each in own]
        last = None if last is None else last * (rng.random(last.shape) < 0.3)
    if structure in ("apart", "closed"):
        ties[(below[:, None] != of) & (of >= 0)] = 0.0
        last = None if last is None else np.where(of < 0, last, 0.0)
    if structure in ("closed", "counts"):
        ties[:, column] = 0.0
        last = None if last is None else np.where(column, 0.0, last)
    if structure == "closed":
        for each, part in zip(own, body.parts, strict=True):
            for i, row in enumerate(each[:, : part.columns]):
                row[np.arange(part.columns) != i] = 0.0
    scale = 10.0 ** float(rng.integers(-12, 12))
    return TiedLift(
        tuple(part.groups for part in body.parts), tuple(each * scale for each in own), ties * scale,
        None if last is None else last * scale,
    )  # fmt: skip


Case = tuple[str, TiedLift, Body, str, list[Array] | None, Fraction]


def draw_cases(seed: int, draws: int, rows: bool = False, families: bool = False, alike: bool = False) -> list[Case]:
    rng = np.random.default_rng(seed)
    found: list[Case] = []
    for turn in range(draws):
        structure, neighbours = STRUCTURES[turn % len(STRUCTURES)], NEIGHBOURS[turn // len(STRUCTURES) % 2]
        neighbours = "add-remove" if rows else neighbours
        replaced = neighbours == "replace-one"
        if families or alike:
            body = (draw_families if families else draw_alike)(rng, replaced)
        else:
            body = draw_body(rng, replaced, rows)
        lift = draw_lift(rng, body, structure, neighbours == "add-remove" and rng.random() < 0.8)
        whole = [rng.integers(1, 2**42, part.columns).astype(float) for part in body.parts]
        extents = whole if rng.random() < 0.4 else None
        found.append((structure, lift, body, neighbours, extents, brute(lift, body, neighbours, extents)))
    return found


def crowded(alpha: float, s: float) -> Case:
    """Three of four groups: with two of them exchanged for others, or lost and gained, no group is left over."""
    body = Body((part_of(4, 3, 1),))
    lift = TiedLift((4,), (np.array([[1.0, -alpha], [0.0, s]]),), np.zeros((2, 2)), None)
    return "crowded", lift, body, "replace-one", None, brute(lift, body, "replace-one", None)


def uneven(k: int, columns: int) -> Case:
    """Differences between groups: the longest person has all rows in one group and one row in the other."""
    p = columns + 1
    body = Body((JointPart(2, 0, 2, np.zeros(p), np.ones(p), np.ones(p), 1.0, columns, k),))
    own = np.diag([*[0.1] * columns, 1.0, 3.0])
    ties = np.zeros((p + 1, p + 1))
    ties[columns, columns] = -0.5
    lift = TiedLift((2,), (own,), ties, None)
    return "uneven", lift, body, "add-remove", None, brute(lift, body, "add-remove", None)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Of all kinds in turn, so that most planted faults are met early."""
    rows = [uneven(3, 0), uneven(20, 1), *draw_cases(13, 300, rows=True)]
    families = draw_cases(14, 80, families=True)
    plain = [crowded(0.5, 0.9), crowded(0.0, 0.1), crowded(2.0, 1.0), *draw_cases(12, 400)]
    alike = draw_cases(15, 100, alike=True)
    turns = itertools.zip_longest(families, plain, rows, alike)
    return [case for turn in turns for case in turn if case is not None]


def test_no_vertex_is_longer_and_one_is_as_long(cases: list[Case]) -> None:
    for structure, lift, body, neighbours, extents, square in cases:
        bound = Fraction(largest(lift, body, neighbours, extents))
        assert bound**2 >= square, (structure, neighbours, body)
        assert bound**2 <= square * Fraction(1 + 1e-12) ** 2 + Fraction(1e-280), (structure, neighbours, body)


def test_all_structures_are_drawn(cases: list[Case]) -> None:
    """Every way through the search is taken many times: free and typed clusters, single and tied parts."""
    found = {"free": 0, "typed": 0, "typed over parts": 0, "tied by counts": 0, "constant": 0, "always": 0}
    found |= {"families": 0, "families apart": 0, "families replaced": 0, "alike": 0}
    found |= {"rows": 0, "rows beside rows": 0, "sums over rows": 0, "sums over rows typed": 0, "everybody's rows": 0}
    for structure, lift, body, neighbours, _, _ in cases:
        each = clusters.find_clusters(lift, body)
        search = module._Search(lift, body, neighbours == "replace-one", each)
        found["alike"] += len({search._likeness(c) for c in each}) < len(each)
        found["families"] += bool(body.families)
        found["families apart"] += bool(body.families) and structure in ("apart", "closed")
        found["families replaced"] += bool(body.families) and neighbours == "replace-one"
        found["free"] += any(c.free and c.columns for c in each)
        found["typed"] += any(not c.free for c in each)
        found["typed over parts"] += any(not c.free and len(c.columns) > 1 for c in each)
        found["tied by counts"] += any(c.free and len(c.seen) > 1 for c in each)
        found["constant"] += lift.counted
        found["always"] += any(part.always for part in body.parts)
        over = [part.of_rows.start if part.max_rows else 99 for part in body.parts]
        found["rows"] += any(part.max_rows for part in body.parts)
        found["rows beside rows"] += sum(part.max_rows > 0 for part in body.parts) > 1
        found["sums over rows"] += any(part.row_columns for part in body.parts)
        found["sums over rows typed"] += any(
            not c.free and max(j) >= over[q] for c in each for q, j in c.columns.items()
        )
        found["everybody's rows"] += any(part.always and part.max_rows for part in body.parts)
    assert min(found.values()) >= 30, found


FAULTS = [
    (module.largest, "math.sqrt(total *", "0.99 * math.sqrt(total *"),
    (states.list_states, "np.arange(part.fewest, part.most + 1.0)", "np.arange(part.most, part.most + 1.0)"),
    (states.list_states, "np.arange(part.fewest, part.most + 1.0)", "np.arange(part.fewest, max(part.most, 1.0))"),
    (states.list_states, "np.arange(part.fewest, part.most + 1.0)", "np.arange(max(part.fewest, 1), part.most + 1.0)"),
    (states.list_states, "np.minimum(g - m, end)", "end"),
    (states.list_states, "% 3 == 1, end,", "% 3 == 1, 0,"),
    (states.list_states, "m - net - lost,", "m - net - lost - 1,"),
    (module._Search._ties, "* self.lift.counted", "* 0.0"),
    (module._Search._ties, "sums @ G + constant,", "constant + 0 * sums @ G,"),
    (module._Search._own, "else own[:, -1:]", "else 0 * own[:, -1:]"),
    (module._Search._kinds, "-here,", "0 * here,"),
    (module._Search._kinds, "2.0 * signs", "signs"),
    (module._Search._kinds, "np.where(over, t, 1.0)", "np.where(over, t, t)"),
    (module._Search._kinds, "np.where(over, t, 1.0)", "np.where(over, t * t, 1.0)"),
    (module._Search._kinds, "t * one, one]", "0 * one, one]"),
    (module._Search._kinds, "t * one, one]", "one, one]"),
    (module._Search._kinds, "(1.0, one_row(part))", "(1.0, 1.0)"),
    (module._Search._kinds, "(1.0, one_row(part))", "(0.5, one_row(part))"),
    (module._Search._own, "own[:, part.varying : part.columns]", "0 * own[:, part.varying : part.columns]"),
    (module._Search._known_places, "range(start + part.varying,", "range(start + part.varying - 1,"),
    (states.list_states, "spread_over(int(n), 2)", "[[n, 0.0]]"),
    (states.list_states, "spread_over(int(n), 2)", "[[0.0, n]]"),
    (states.list_states, "spread_over(int(n), 2)", "[[n, 0.0], [0.0, n]]"),
    (module._Search._options, "if cluster.free or not columns:", "if True:"),
    (module._Search._values, ".max(axis=-1)", ".min(axis=-1)"),
    (module._Search._values, "(groups - numbers)", "(groups * 0)"),
    (module._Search._values, "if alike[0].last:", "if False:"),
    (module._Search._values, "[:, i][at[k]]", "[:, i][at[seen[0]]]"),
    (module._Search._likeness, "self._kind_of(q), ", ""),
    (module._Search._ties, "[at, of]", "[at[:1], of]"),
    (module.in_units, "own * each", "own"),
    (module.in_units, "lift.ties * stacked", "lift.ties"),
    (module._Search._by_spending, "(spent <= np.reshape", "(spent < np.reshape"),
    (module.add_spent, "found[there], many[rest] + few[at]", "found[there], np.maximum(many[rest], few[at])"),
    (states.all_states, "limited=True", "limited=False"),
    (clusters.find_clusters, "not summed.intersection(members)", "True"),
]  # fmt: skip


LOOSE = [
    (clusters.find_components, "for q in cluster.seen:", "for q in cluster.seen[:0]:"),
    (module._Search._ties, "gamma * (", "1e-9 * ("),
    (module._Search._kinds, "np.where(over, t, 1.0)", "1.0"),
    (states.one_row, "unit // part.max_rows / unit", "0.0"),
    (module._Search._by_spending, "family].members:", "family].members[:1]:"),
    (module._Search._families, "seen.intersection(family.members)", "False"),
    (parts.taken, "states[:, :2] + states[:, 2:]", "states[:, :2] + 0 * states[:, 2:]"),
]  # fmt: skip


def named(faults: list[tuple[Any, str, str]]) -> Any:
    names = [f"{function.__name__}: {wrong}" for function, _, wrong in faults]
    return pytest.mark.parametrize(("function", "right", "wrong"), faults, ids=names)


def is_below(case: Case) -> bool:
    """Whether somebody is longer than what is found; a fault may also leave nobody whose length could be."""
    try:
        return Fraction(largest(*case[1:5])) ** 2 < case[5]
    except ValueError:
        return False


@named(FAULTS)
def test_a_planted_fault_falls_below_a_vertex(
    cases: list[Case], monkeypatch: pytest.MonkeyPatch, function: Any, right: str, wrong: str
) -> None:
    plant(monkeypatch, function, right, wrong)
    assert any(map(is_below, cases))


@named(LOOSE)
def test_a_planted_looseness_is_seen(
    cases: list[Case], monkeypatch: pytest.MonkeyPatch, function: Any, right: str, wrong: str
) -> None:
    plant(monkeypatch, function, right, wrong)
    assert any(Fraction(largest(*case[1:5])) ** 2 > case[5] * Fraction(1 + 1e-12) ** 2 for case in cases)

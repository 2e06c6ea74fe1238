"""Everybody who can be in the table of a small request, written out: the oracle of the tests of tied noise."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pytest

from gaussmith.numerics.joint.ladder import Solution
from gaussmith.numerics.joint.law import TypesLaw
from gaussmith.numerics.joint.lift import TiedLift
from gaussmith.numerics.joint.parts import Body, JointPart

Array = npt.NDArray[np.float64]


def make_part(
    groups: int,
    most: int,
    columns: Iterable[tuple[float, float, float]] = (),
    count_weight: float = 0.0,
    *,
    always: bool = False,
    fewest: int = 0,
    over_rows: int = 0,
    max_rows: int = 0,
) -> JointPart:
    """A part of columns (centre, radius, weight); with rows, the last is their number and those before it sums."""
    centre, radius, weights = np.array(list(columns), float).reshape(-1, 3).T
    return JointPart(
        groups, max(fewest, int(always)), most, centre, radius, weights, float(count_weight), over_rows, max_rows
    )


def list_corners(part: JointPart) -> list[tuple[float, ...]]:
    """What the columns of a group are at corners: ±1, or with rows also ±t and t, the number of rows over the most."""
    if not part.max_rows:
        return list(itertools.product((-1.0, 1.0), repeat=part.columns))
    own, over = part.columns - part.row_columns - 1, part.row_columns
    return [
        (*z, *(t * sign for sign in y), t)
        for t in (1.0 / part.max_rows, 1.0)
        for z in itertools.product((-1.0, 1.0), repeat=own)
        for y in itertools.product((-1.0, 1.0), repeat=over)
    ]


def list_cores(part: JointPart, replaced: bool) -> Array:
    """The cores of all groups, of every person at corners, or of every difference of two: people × groups × width."""
    found = []
    for k in range(part.fewest, part.most + 1):
        for groups in itertools.combinations(range(part.groups), k):
            for signs in itertools.product(list_corners(part), repeat=k):
                core = np.zeros((part.groups, part.columns + 1))
                for i, z in zip(groups, signs, strict=True):
                    core[i] = (*z, 1.0)
                found.append(core[:, : part.width])
    cores = np.array(found)
    if replaced:
        cores = (cores[:, None] - cores[None]).reshape(-1, *cores.shape[1:])
        cores = np.unique(cores, axis=0)
    return cores


def list_people(body: Body, replaced: bool = False) -> list[Array]:
    """All combinations of the parts' cores: an array for each part, a row for each person."""
    cores = [list_cores(part, replaced and not body.families) for part in body.parts]
    index = np.indices([len(each) for each in cores]).reshape(len(cores), -1)
    for family in body.families:
        used = sum((each[..., -1] != 0).sum(axis=1)[index[q]] for q, each in enumerate(cores) if q in family.members)
        index = index[:, np.asarray(used) <= family.most]
    people = [each[at] for each, at in zip(cores, index, strict=True)]
    return _differences(people) if replaced and body.families else people


def _differences(people: list[Array]) -> list[Array]:
    """Those of any two people, each once."""
    flat = np.hstack([each.reshape(len(each), -1) for each in people])
    found = np.unique((flat[:, None] - flat[None]).reshape(-1, flat.shape[1]), axis=0)
    ends = np.cumsum([each[0].size for each in people])[:-1]
    return [
        part.reshape(len(found), *each.shape[1:]) for part, each in zip(np.split(found, ends, 1), people, strict=True)
    ]


def find_largest_square(lift: TiedLift, body: Body, replaced: bool = False) -> float:
    """The largest squared norm of a lifted person."""
    cores = list_people(body, replaced)
    sums = np.hstack([each.sum(axis=1) for each in cores])
    if lift.counted:
        sums = np.hstack([sums, np.full((len(sums), 1), float(not replaced))])
    squares = np.zeros(len(sums)) if lift.last is None else (sums @ lift.last) ** 2
    for q, each in enumerate(cores):
        rows = each @ lift.own[q].T + (sums @ lift.ties[lift.rows_of(q)].T)[:, None]
        squares = squares + (rows**2).sum(axis=(1, 2))
    return float(squares.max())


def list_answers(body: Body, replaced: bool = False) -> Array:
    """What every person adds to all answers, each scaled to the root of its weight; a row for each, up to sign."""
    columns = []
    for part, cores in zip(body.parts, list_people(body, replaced), strict=True):
        answers = cores @ part.rows[:, : part.width].T
        if part.always and not replaced:
            answers = answers + part.rows[:, -1]
        columns.append(answers.reshape(len(answers), -1))
    found = np.hstack(columns)
    if not replaced:
        found = np.hstack([found, np.full((len(found), 1), np.sqrt(body.people_weight))])
    found = found[np.abs(found).max(axis=1) > 0][:, np.abs(found).max(axis=0) > 0]
    first = found[np.arange(len(found)), (found != 0).argmax(axis=1)]
    return np.asarray(np.unique(np.round(found * np.sign(first)[:, None], 12), axis=0))


def find_lower_bound(law: TypesLaw, body: Body, replaced: bool = False) -> float:
    """(tr √M)² of a law on types, each type with its groups shuffled: no noise has a smaller total (statement 8)."""
    weights = law.weights / law.weights.sum()
    total, means, squares = 0.0, [], []
    for part, corners, counts, picks in zip(body.parts, law.corners, law.counts, law.picks, strict=True):
        chances = np.eye(len(counts))[picks.astype(int)] if picks.ndim == 1 else picks / picks.sum(axis=1)[:, None]
        answers = corners @ part.rows[:, : part.columns + 1].T
        if part.always:
            answers = answers[:, :-1]  # the number of people is asked once, below
        sums = counts @ answers
        marginal = weights @ chances
        inner = np.einsum("n,nt,ti,tj->ij", marginal, counts, answers, answers)
        outer = np.einsum("n,ni,nj->ij", marginal, sums, sums) / part.groups
        if part.groups > 1:
            total += np.sqrt((part.groups - 1) * np.maximum(np.linalg.eigvalsh(inner - outer), 0.0)).sum()
        means.append(chances @ sums / np.sqrt(part.groups))
        squares.append(outer)
    people = 0.0 if replaced else body.people_weight + sum(part.count_weight for part in body.parts if part.always)
    means.append(np.full((len(weights), 1), np.sqrt(people)))
    squares.append(np.array([[people]]))
    joined = np.hstack(means)
    moment = (joined * weights[:, None]).T @ joined
    at = 0
    for square in squares:  # given the component, parts are independent: their own squares are larger
        moment[at : at + len(square), at : at + len(square)] = square
        at += len(square)
    return float((total + np.sqrt(np.maximum(np.linalg.eigvalsh(moment), 0.0)).sum()) ** 2)


def part_of(groups: int, most: int, columns: int) -> JointPart:
    """A part of columns between −1 and 1, each of weight 1."""
    return JointPart(groups, 0, most, np.zeros(columns), np.ones(columns), np.ones(columns), 1.0)


def check_law(found: Solution, body: Body, replaced: bool = False) -> None:
    """The law is one of people of this body, and proves that no noise is better."""
    assert found.law is not None
    found.law.check(body, replaced)
    assert find_lower_bound(found.law, body, replaced) == pytest.approx(found.total, rel=5e-6)

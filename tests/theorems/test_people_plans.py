"""People with many rows: the best noise for a cone, its certificate, and the guarantee on every corner."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains.box import Box
from gaussmith.domains.domain import Domain, Problem
from gaussmith.domains.features import of_coordinates
from gaussmith.domains.people import People, best_share
from gaussmith.errors import PlanError
from gaussmith.numerics.solver import solve
from gaussmith.planning.block import Block
from gaussmith.planning.certificate import verify
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.choice import plan_problem
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import Query
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import ask, ground_of
from gaussmith.statistics.mean import Means
from gaussmith.statistics.statistic import Statistic
from gaussmith.statistics.sum import Count, Sums

UNIT = gm.Guarantee(mu=1)
OWN = {"none": None, "centred": Box([-5], [5]), "apart": Box([0, 2], [10, 3])}


def asked(domain: People, count: bool, rows_shown: bool = False, scale: float = 1.0) -> Answers:
    """Sums of the own numbers, means over rows, each relative to what one person can change."""
    own, over, last = domain.parts
    weights = scale / (2 * domain.radius[:last]) ** 2
    features = of_coordinates(np.arange(last + 1), np.zeros(last + 1, bool))
    ground = ground_of(domain, features)
    places = np.column_stack([np.arange(last), np.full(last, last)])
    names = tuple(f"a{i}" for i in range(last))
    statistics: list[Statistic] = [
        Sums(names[own], places[own, :1], weights[own]),
        Means.placed(names[over], places[over], weights[over], ground),
    ]
    if rows_shown:
        statistics.append(Count(("count",), np.array([[last]]), np.array([1 / domain.rows_per_unit**2])))
    if count:
        statistics.append(Count.of_records())
    return Answers.of(features, statistics, "relative")


def plan_asked(domain: Domain, answers: Answers, neighbours: str) -> Block:
    return plan_problem(Problem(domain, answers.features, neighbours), answers, UNIT)


def corners(domain: People, private: bool) -> np.ndarray:
    """All extreme differences of the core (own, over rows, t, 1), written out one by one."""
    own, _, last = domain.parts
    people = [
        np.array([*x, *(t * np.array(y)), t, 1.0])
        for x in itertools.product((-1, 1), repeat=own.stop)
        for y in itertools.product((-1, 1), repeat=last - own.stop)
        for t in (1.0, 1 / domain.max_rows)
    ]
    if private:
        return np.array(people)
    return np.array([a[:-1] - b[:-1] for a in people for b in people])


CASES = [
    pytest.param(neighbours, k, own, count, id=f"{neighbours}-{k}-{own}-{count}")
    for neighbours in ("add-remove", "replace-one")
    for k in (2, 7, 1000)
    for own in OWN
    for count in (False, True)
]


def planned(neighbours: str, k: int, own: str, count: bool) -> tuple[Block, People]:
    domain = People(OWN[own], Box([0, -1], [4, 1]), k)
    return plan_asked(domain, asked(domain, count), neighbours), domain


@pytest.mark.parametrize(("neighbours", "k", "own", "count"), CASES)
def test_the_plan_is_at_its_certified_limit(neighbours: str, k: int, own: str, count: bool) -> None:
    plan, _ = planned(neighbours, k, own, count)
    exact = own != "apart" or neighbours == "replace-one"
    assert exact or plan.shape.name == "solved" or plan.optimality <= 1.0001
    assert plan.optimality <= (1 + 1e-7 if exact else 1.0002)
    assert all(plan.total_variance <= price * (1 + 1e-9) for _, price in plan.alternatives)


@pytest.mark.parametrize(("neighbours", "k", "own", "count"), CASES)
def test_no_difference_leaves_the_unit_ball(neighbours: str, k: int, own: str, count: bool) -> None:
    """The lift at every corner; and the integers of every extreme person against the room that μ leaves, exactly."""
    plan, domain = planned(neighbours, k, own, count)
    points = corners(domain, neighbours == "add-remove")
    norms = np.linalg.norm(points @ plan.shape.lift.dense().T, axis=1)
    assert norms.max() == pytest.approx(1, abs=1e-9)
    codes = plan.codes
    C = [[Fraction(c) for c in row] for row in plan.grid.lift.dense().tolist()]
    room = (Fraction(2) ** NOISE_BITS - Fraction(math.isqrt(len(C)) + 1)) ** 2
    steps = codes.steps.tolist()
    p, q = domain.parts[0].stop, domain.parts[2]
    people = []
    for signs, T in itertools.product(itertools.product((0, 1), repeat=q), (1, k)):
        most = [*steps[:p], *(T * s for s in steps[p:q])]
        people.append([*codes.centred([*(sign * s for sign, s in zip(signs, most, strict=True)), T], 1), 1])
    lifted = [[sum(c * z for c, z in zip(row, person, strict=False)) for row in C] for person in people]
    if neighbours == "replace-one":
        lifted = [[x - y for x, y in zip(a, b, strict=True)] for a in lifted[:8] for b in lifted]
    assert max(sum(y * y for y in vector) for vector in lifted) <= room


@pytest.mark.parametrize(("k", "own"), [(2, "none"), (12, "none"), (5, "centred"), (5, "apart")])
def test_a_general_solver_finds_nothing_better(k: int, own: str) -> None:
    """The same cone given to the solver for arbitrary points: its certified bound and ours agree."""
    plan, domain = planned("add-remove", k, own, count=True)
    answers = plan.problem.features
    rows = np.zeros((answers.size + 1, domain.dimension + 1))
    rows[np.arange(answers.size), answers.index] = domain.radius[answers.index]
    rows[:-1, -1] = domain.centre[answers.index]
    rows[-1, -1] = 1.0
    rows[:-1] *= np.sqrt(answers.weights)[:, None]
    best = solve(corners(domain, True) @ rows.T, gap=1e-5)
    assert best.lower <= plan.total_variance * (1 + 1e-9)
    assert plan.lower_bound <= best.lower * (1 + 2e-5)
    loss = plan.total_variance / best.lower
    assert loss <= (1 + 2e-5 if own != "apart" else 1.0002)


@pytest.mark.parametrize(("k", "own"), [(2, "apart"), (7, "apart"), (7, "none")])
def test_dense_and_structured_lifts_are_bounded_alike(k: int, own: str) -> None:
    """The bound of a lift written out is that of its structure; and two people are never further apart than said."""
    from gaussmith.domains.people import lifted_people
    from gaussmith.numerics.matrices import Dense

    domain = People(OWN[own], Box([0, -1], [4, 1]), k)
    lift = lifted_people(Problem(domain, asked(domain, True).features, "add-remove")).lift
    assert domain.sensitivity(Dense(lift.dense()), "add-remove") == pytest.approx(
        domain.sensitivity(lift, "add-remove")
    )
    change = domain.extremes().replacement_sensitivity(Dense(lift.dense()))
    assert change <= domain.extremes().replacement_sensitivity(lift) * (1 + 1e-9)
    people = corners(domain, True)
    apart = (people[:, None] - people[None, :]).reshape(-1, people.shape[1])
    assert np.linalg.norm(apart @ lift.dense().T, axis=1).max() <= change


@pytest.mark.parametrize("k", [2, 5, 50])
def test_a_cone_needs_less_noise_than_the_box_around_it(k: int) -> None:
    domain = People(None, Box([0], [4]), k)
    answers = asked(domain, count=True)
    plan = plan_asked(domain, answers, "add-remove")
    box = Box([-2 * k, 0], [2 * k, k])
    around = ask(box, count=True, weights=answers.features.weights)
    assert plan.total_variance < 0.96 * plan_asked(box, around, "add-remove").total_variance


def test_means_over_rows_alone_cost_k_times_as_much_as_over_people() -> None:
    """With nothing else asked, a person is k rows: errors of sums over rows are k times those over single rows."""
    g = gm.Guarantee(epsilon=1, delta=1e-6)
    for k in (2, 12):
        rows = gm.Request("x", means={"km": (0, 30)}, unit="rider", rows_per_unit=k, guarantee=g)
        single = gm.Request("x", means={"km": (0, 30)}, guarantee=g)
        assert rows.plan.standard_errors == pytest.approx(k * single.plan.standard_errors, rel=1e-9)
        assert rows.plan.errors(rows=1000)["km_mean"] == pytest.approx(rows.plan.standard_errors[0] / 1000)


@pytest.mark.parametrize("place", [0.0, 0.2, 0.5, 0.99, 1.0])
def test_the_best_share_is_found(place: float) -> None:
    assert best_share(lambda p: -((p - place) ** 2)) == pytest.approx(place, abs=1e-6)


def test_the_domain_is_saved_and_read() -> None:
    plan, domain = planned("add-remove", 7, "apart", True)
    assert Block.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert gm.Plan.from_json(Plan.of(Query(plan, UNIT, "add-remove")).to_json()).queries[0].block == plan
    assert People.from_dict(domain.to_dict()) == domain
    assert domain.codes(np.zeros(5)).centred([3, 4, 5, 6, 7], 2)[-1] == 7


@pytest.mark.parametrize("k", [1, 0, True, 2.0, "2"])
def test_a_limit_that_is_none_is_refused(k: object) -> None:
    with refused("whole-number-out-of-range", gm.errors.DomainError, name="rows_per_unit"):
        People(None, Box([0], [1]), k)  # type: ignore[arg-type]


def test_lifts_that_do_not_fit_are_refused() -> None:
    plan, domain = planned("add-remove", 7, "none", True)
    with refused(damaged("a lift of")):
        domain.sensitivity(plan.shape.lift, "replace-one")
    from gaussmith.numerics.matrices import Bordered, Dense

    many = People(None, Box([0] * 20, [1] * 20), 7)
    with refused("too-many-extreme-units"):
        many.sensitivity(Dense(np.eye(22)), "add-remove")
    tied = Bordered(np.arange(3), np.ones(3), np.ones(3), 3)
    with refused(damaged("a lift that combines columns")):
        domain.sensitivity(tied, "replace-one")


def test_a_matrix_of_answers_is_read_from_the_coordinates_that_it_names() -> None:
    """Each answer takes from every coordinate what its row says; where that cannot be planned it is refused."""
    domain, rows = People(Box([0], [1]), Box([0], [2]), 3), np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    plan = gm.plan(domain, UNIT, answers=rows, count=True, weights="equal")
    shape = plan.block.shape
    wanted = np.column_stack([rows * domain.radius, rows @ domain.centre])
    assert (shape.features.dense() @ shape.lift.dense())[:2] == pytest.approx(wanted, abs=1e-9)
    assert verify(plan, plan.certificate).problems == ()
    with pytest.raises(PlanError, match="choose one of: best, solved"):
        gm.plan(domain, UNIT, answers=rows, shape="lifted")
    with pytest.raises(PlanError, match="under replace-one · it is solved under add-remove"):
        gm.plan(domain, UNIT, answers=rows, neighbours="replace-one")

"""The inequality that certifies a lift, with a stand-in for the domain that says what is to be tried.

    max ‖C s‖ + √m  ≤  μ · 2^52

Real domains leave the first try hardly any chance to fail, so neither the later tries nor the refusal would be run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planting import plant
from refusals import damaged, refused

import gaussmith as gm
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.domains.people import People
from gaussmith.domains.workloads import Marginals
from gaussmith.errors import PlanError
from gaussmith.numerics.exact import fraction_down
from gaussmith.numerics.marginals import ResidualLift, Residuals
from gaussmith.numerics.matrices import Dense, Diagonal, Matrix
from gaussmith.planning import certified_grid as grid_module
from gaussmith.planning.certified_grid import _SHRINKS, NOISE_BITS, Grid, core, grid_at, make_grid

CODES = BoxEncoding.for_bounds([0.0, -3.0], [1.0, 8.0], [0.0, 0.0])


@dataclass
class StandIn:
    """A domain that says `norm` of the lift it is planned with, and `reach` of each lift that is to be certified."""

    norm: float
    reach: Callable[[Matrix], float]
    asked: list[tuple[Matrix, str, Any]] = field(default_factory=list)

    def check_lift(self, lift: Matrix, codes: Any) -> None:
        """Any lift fits."""

    def sensitivity(self, lift: Matrix, neighbours: str, extent: Any = None) -> float:
        self.asked.append((lift, neighbours, extent))
        return self.norm if len(self.asked) == 1 else self.reach(lift)


def rows(m: int) -> Dense:
    return Dense(np.ones((m, 2)))


def make(domain: StandIn, m: int = 4, mu: float = 1.0, lift: Matrix | None = None) -> Grid:
    return make_grid(lift or rows(m), domain, CODES, "replace-one", mu)  # type: ignore[arg-type]


def check_tries() -> None:
    """A lift that comes out a little larger than its doubles promised is shrunk, by as little as will do."""
    room, charge, unit = 2.0**NOISE_BITS, 2.0, float(CODES.extents[0])
    for excess, used in ((1.0, 0), (1 + 2.0**-48, 1), (1 + 2.0**-43, 2)):
        domain = StandIn(3.0, lambda lift, excess=excess: 3.0 * float(lift.dense()[0, 0]) * unit * excess)  # type: ignore[misc]
        made = make(domain)
        assert made.scale == (room - charge) / 3.0 * _SHRINKS[used]
        assert len(domain.asked) == used + 2
        assert made.lift is domain.asked[-1][0]  # what was certified is what is used
    domain = StandIn(3.0, lambda lift: 3.0 * float(lift.dense()[0, 0]) * unit * (1 + 2.0**-38))
    with refused("lift-not-certified"):
        make(domain)
    assert len(domain.asked) == 1 + len(_SHRINKS) == 4


def check_boundary() -> None:
    """The largest double that fits is taken, the next one refused; in exact arithmetic, √m rounded to no one's gain."""
    for m in (1, 2, 3, 4, 5, 7, 12, 1000):
        for mu in (1.0, 0.1, 1 / 3, 0.2367043806634357, 2.0**-30, 5e3):
            limit = Fraction(mu) * 2**NOISE_BITS
            root = Fraction(math.isqrt(m << 200) + (math.isqrt(m) ** 2 != m), 1 << 100)  # √m, at most 2^-100 too much
            fits = fraction_down(limit - root)
            beyond = math.nextafter(fits, math.inf)
            assert (limit - Fraction(beyond)) < root
            # √m is itself rounded up to a double, which may cost the last double that would fit, no more.
            lower = math.nextafter(fits, 0.0)
            taken = [_taken(reach, m, mu) for reach in (lower, fits, beyond, float(limit), 2 * fits)]
            assert taken[0] and not any(taken[2:]), (m, mu)
            if math.isqrt(m) ** 2 == m:
                assert taken[1], (m, mu)


def _taken(reach: float, m: int, mu: float) -> bool:
    try:
        make(StandIn(1.0, lambda lift: reach), m, mu)
    except PlanError as error:
        assert error.code == "lift-not-certified"
        return False
    return True


def check_room() -> None:
    """μ·2^52 must exceed twice √m; and what has no largest difference is refused before it is scaled."""
    least = 2.0 * 2.0 / 2.0**NOISE_BITS  # of four rows
    make(StandIn(1.0, lambda lift: 0.0), 4, math.nextafter(least, 1.0))
    for mu in (least, least / 2, 1e-100):
        with refused("guarantee-too-small-for-rounding"):
            make(StandIn(1.0, lambda lift: 0.0), 4, mu)
    for norm in (math.inf, math.nan):
        with refused(damaged("a lift without a largest difference")):
            make(StandIn(norm, lambda lift: 0.0))
    public = make(StandIn(0.0, lambda lift: math.inf))
    assert public.scale == 2.0**NOISE_BITS
    assert (public.lift.dense() == 1.0 / CODES.extents).all()


def check_units() -> None:
    """Columns are divided by the integer that stands for core 1, the column of the records by nothing."""
    domain = StandIn(1.0, lambda lift: 1.0)
    made = make(domain)
    assert [(neighbours, extent is None) for _, neighbours, extent in domain.asked] == [
        ("replace-one", True), ("replace-one", False),
    ]  # fmt: skip
    assert (domain.asked[1][2] == CODES.extents).all()
    assert made.lift.dense() == pytest.approx(np.tile(made.scale / CODES.extents, (4, 1)), rel=1e-15)
    counted = make(StandIn(1.0, lambda lift: 1.0), lift=Diagonal(np.ones(3)))
    assert counted.lift.row_norms() == pytest.approx(counted.scale / np.append(CODES.extents, 1.0), rel=1e-15)
    for columns in (1, 4):
        with refused(damaged("a lift of")):
            make(domain, lift=Diagonal(np.ones(columns)))


def check_reach() -> None:
    """What a verdict states: the largest difference and the roundings, upward."""
    made = Grid(rows(3), 1.0)
    reach = made.reach(StandIn(1.0, lambda lift: 1.0), CODES, "replace-one")  # type: ignore[arg-type]
    assert (Fraction(reach) - 1) ** 2 >= 3
    assert reach == pytest.approx(1 + math.sqrt(3), rel=1e-15)
    assert made.noise_scale == 2.0**NOISE_BITS


CHECKS = [check_tries, check_boundary, check_room, check_units, check_reach]


@pytest.mark.parametrize("check", CHECKS)
def test_a_lift_is_certified_or_refused(check: Callable[[], None]) -> None:
    check()


INEQUALITY = "Fraction(reach) + Fraction(charge) <= Fraction(mu) * 2**NOISE_BITS"


@pytest.mark.parametrize(
    ("check", "function", "right", "wrong"),
    [
        (check_tries, make_grid, INEQUALITY, "True"),
        (check_boundary, make_grid, INEQUALITY, "True"),
        (check_boundary, make_grid, "Fraction(reach) + Fraction(charge)", "Fraction(reach)"),
        (check_boundary, make_grid, "Fraction(reach) + Fraction(charge)", "Fraction(reach) + Fraction(charge) / 2"),
        (check_boundary, make_grid, "<= Fraction(mu)", "< Fraction(mu)"),
        (check_boundary, make_grid, INEQUALITY, "reach + charge <= room"),
        (check_boundary, make_grid, "sqrt_upward(float(lift.shape[0]))", "float(np.sqrt(lift.shape[0] - 1))"),
        (check_tries, make_grid, "_largest(grid.lift, grid.absent, domain, neighbours, codes.extents)", "norm * scale"),
        (check_tries, make_grid, "in _SHRINKS", "in _SHRINKS[:1]"),
        (check_tries, make_grid, "in _SHRINKS", "in _SHRINKS[:2]"),
        (check_tries, make_grid, "in _SHRINKS", "in _SHRINKS[1:]"),
        (check_tries, make_grid, "in _SHRINKS", "in (*_SHRINKS, 0.5)"),
        (check_tries, make_grid, "return grid\n", "return grid_at(scale, lift, codes, absent)\n"),
        (check_tries, make_grid, "(room - charge) / norm", "room / norm"),
        (check_room, make_grid, "room > 2.0 * charge", "room >= 2.0 * charge"),
        (check_room, make_grid, "room > 2.0 * charge", "room > charge"),
        (check_room, make_grid, "not np.isfinite(norm)", "norm == np.inf"),
        (check_room, make_grid, "replace(grid_at(1.0, lift, codes), scale=room)", "Grid(lift, room)"),
        (check_units, grid_at, "np.append(units, 1.0)", "np.append(units, units[0])"),
        (check_units, make_grid, "_largest(grid.lift, grid.absent, domain, neighbours, codes.extents)",
         'domain.sensitivity(grid.lift, "add-remove", codes.extents)'),
        (check_units, make_grid, "not in (0, 1)", "not in (-1, 0, 1, 2)"),
        (check_reach, Grid.reach, "sqrt_upward(float(self.lift.shape[0]))", "0.0"),
        (check_reach, Grid.reach, "sqrt_upward(float(self.lift.shape[0]))", "float(np.sqrt(self.lift.shape[0]))"),
    ],
)  # fmt: skip
def test_planted_faults_are_found(
    check: Callable[[], None], function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    with pytest.raises((AssertionError, PlanError, pytest.fail.Exception, ValueError)):
        check()


@pytest.mark.parametrize("shrinks", [(1.0,), _SHRINKS[1:]])
def test_the_factors_are_what_they_are(shrinks: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_module, "_SHRINKS", shrinks)
    with pytest.raises((AssertionError, PlanError)):
        check_tries()


def test_the_first_try_is_enough_for_what_is_planned() -> None:
    """Hence the noise is above what the guarantee needs by no more than 2^-49 and the charge for rounding."""
    for domain in (gm.Box([0, -3], [1, 8]), gm.domains.Ball(3, 2.0), gm.Counts(4, 2), gm.domains.Votes(3)):
        plan = gm.plan(domain, gm.Guarantee(epsilon=1, delta=1e-6))
        norm = domain.sensitivity(plan.block.shape.lift, plan.neighbours)
        room = plan.guarantee.mu * 2.0**NOISE_BITS - math.sqrt(plan.block.shape.lift.shape[0])
        assert plan.block.grid.scale == pytest.approx(room / norm, rel=2.0**-49)


@pytest.mark.parametrize("records", [0, 1, (1 << 18) - 1, 1 << 18, 1 << 40])
@pytest.mark.parametrize("columns", [1, 2, 31, 32, 40])
def test_the_core_is_exact_however_many_records(columns: int, records: int) -> None:
    """Wide sums are kept in words of 64 bits while they fit; the number of records comes last, where it is asked."""
    codes = BoxEncoding.for_bounds([0.0] * columns, [1.75] * columns, [0.0] * columns)
    top = int(codes.steps[0])
    assert (top + 1) * 2 * ((1 << 18) - 1) < 1 << 63 < top * (1 << 40)
    for each in (0, top, top // 3):
        sums: list[int] = [each * records] * columns
        expected = [(2 * each - top) * records] * columns
        assert [int(x) for x in core(codes, sums, records, counted=False)] == expected
        assert [int(x) for x in core(codes, sums, records, counted=True)] == [*expected, records]


def test_counts_of_marginals_are_lifted_by_their_own_residuals() -> None:
    """A record is in one cell of each marginal: residuals of another set of them would bound another difference."""
    cells = gm.Cells(shape=(2, 2))
    single, whole = ((0,), (1,)), ((0, 1),)
    lifts = {
        single: ResidualLift(Residuals((2, 2), single, ((), (0,), (1,)), np.ones(3))),
        whole: ResidualLift(Residuals((2, 2), whole, ((), (0,), (1,), (0, 1)), np.ones(4))),
    }
    for asked, counted in itertools.product((single, whole), repeat=2):
        codes = cells.codes(workload=Marginals((2, 2), counted))
        if asked == counted:
            assert make_grid(lifts[asked], cells, codes, "add-remove", 1.0).scale > 0
            continue
        with refused(damaged("residuals of other marginals")):
            make_grid(lifts[asked], cells, codes, "add-remove", 1.0)
    with refused(damaged("counts of marginals without residuals")):
        make_grid(Diagonal(np.ones(4)), cells, cells.codes(workload=Marginals((2, 2), single)), "add-remove", 1.0)


@pytest.mark.parametrize("k", [2, 1000, *range(99_991, 100_001), 2**20 - 1])
def test_no_person_is_larger_than_the_extents(k: int) -> None:
    """A sum over rows may need 62 bits: the double that stands for it is never below it."""
    people = People(None, gm.Box([0.0, 0.0, -7.3], [1.7, 100.0, 11.1]), k)
    codes = people.codes(np.zeros(4))
    exact = [int(steps) * k for steps in codes.steps[:-1]]
    assert all(Fraction(e) >= whole for e, whole in zip(codes.extents, exact, strict=False))
    assert codes.extents[:-1] == pytest.approx([float(whole) for whole in exact], rel=1e-15)
    assert codes.extents[-1] == k


BOX = gm.Box([0.0, -3.0], [1.0, 8.0])


@pytest.mark.parametrize("absent", [0.25, 5.0])
def test_somebody_who_is_absent_is_charged_like_a_record(absent: float) -> None:
    lift, gone = Dense(np.ones((2, 3))), np.full(2, absent)
    grid = make_grid(lift, BOX, CODES, "add-remove", 1.0, gone)
    assert grid.absent is not None and np.allclose(grid.absent, gone * grid.scale)
    record, nobody = BOX.sensitivity(grid.lift, "add-remove", CODES.extents), math.sqrt(2) * absent * grid.scale
    assert math.isclose(grid.reach(BOX, CODES, "add-remove"), max(record, nobody) + math.sqrt(2), rel_tol=1e-12)
    assert math.isclose(max(record, nobody), 2.0**NOISE_BITS, rel_tol=1e-9)


def test_absent_people_who_do_not_fit_are_refused() -> None:
    with refused(damaged("people who are absent from another lift")):
        make_grid(rows(2), BOX, CODES, "add-remove", 1.0, np.ones(3))
    with refused(damaged("people who are absent from another lift")):
        make_grid(Diagonal(np.ones(2)), BOX, CODES, "add-remove", 1.0, np.ones(2))
    with refused(damaged("people who are absent under replace-one")):
        make_grid(rows(2), BOX, CODES, "replace-one", 1.0, np.ones(2))


@pytest.mark.parametrize("columns", [2, 3])
def test_many_groups_are_lifted_as_each_alone(columns: int) -> None:
    grid = Grid(Dense(np.arange(1.0, 2 * columns + 1).reshape(2, columns)), 1.0)
    sums, records = np.array([[5, 7], [11, 2]]), np.array([3, 4])
    found = grid.lifted_rows(CODES, sums, records)
    each = [list(map(int, grid.lifted(CODES, s.tolist(), int(n)))) for s, n in zip(sums, records, strict=True)]
    assert found is not None and found.tolist() == each


@pytest.mark.parametrize("answers", ["sums", [[1, 1], [1, -2]]], ids=["sums", "a matrix"])
@pytest.mark.parametrize(("neighbours", "count"), [("add-remove", False), ("add-remove", True), ("replace-one", False)])
def test_groups_of_a_plan_are_lifted_as_each_alone(neighbours: str, count: bool, answers: Any) -> None:
    """With the number of records, where the lift takes it, and without."""
    asked = {"neighbours": neighbours, "count": count, "answers": answers}
    block = gm.plan(gm.Box([0, -3], [1, 8]), gm.Guarantee(mu=1), **asked).block
    sums, records = np.array([[5, 7], [1 << 40, 3], [0, 0]], np.int64), np.array([3, 2, 0], np.int64)
    rows = block.grid.lifted_rows(block.codes, sums, records)
    assert rows is not None and rows.shape == (3, block.grid.lift.shape[0])
    for row, each, n in zip(rows, sums, records, strict=True):
        assert row.tolist() == list(block.grid.lifted(block.codes, each.tolist(), int(n)))

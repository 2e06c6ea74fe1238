"""Cells, points and workloads: what they refuse, how they read, what is kept of a solve."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refusal, refused

import gaussmith as gm
from gaussmith.errors import DomainError, PlanError
from gaussmith.numerics import stored
from gaussmith.numerics.intervals import gram

G = gm.Guarantee(epsilon=1, delta=1e-6)
W = gm.workloads
CELLS = gm.Cells(["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (lambda: gm.Cells(), DomainError, "cells-not-given-in-one-way"),
        (lambda: gm.Cells(["a"], size=3), DomainError, "cells-not-given-in-one-way"),
        (lambda: gm.Cells([]), DomainError, refusal("no-labels", kind="cell")),
        (lambda: gm.Cells({}), DomainError, "cells-without-attributes"),
        (lambda: gm.Cells(["a", "a"]), DomainError, refusal("label-twice", label="a", kind="cell")),
        (lambda: gm.Cells(size=0), DomainError, refusal("too-many-labels", number=0, kind="cell")),
        (lambda: gm.Cells(shape=(2, -1)), DomainError, refusal("too-many-labels", number=-1, kind="cell")),
        (lambda: gm.Cells(["a", "b"], other="c"), DomainError, "other-not-declared"),
        (lambda: gm.Cells(["a", "b"], other="a", or_none=True), DomainError, "other-beside-or-none"),
        (lambda: gm.Cells({"x": 2, "y": 2}, other={"z": 1}), DomainError, "other-names-no-attribute"),
        (lambda: gm.Cells({"x": 2, "y": 2}, other=1), DomainError, "other-without-attribute"),
        (lambda: gm.domains.Points([1.0, 2.0]), DomainError, "points-malformed"),
        (lambda: gm.domains.Points([[1.0, float("nan")]]), DomainError, "points-malformed"),
        (lambda: gm.domains.Points([[1, 2], [1, 2]]), DomainError, "point-twice"),
        (
            lambda: gm.domains.Points([[1, 2]], names=["x"]),
            DomainError,
            refusal("names-do-not-match-coordinates", names=1, coordinates=2),
        ),
        (lambda: W.prefix(0), PlanError, refusal("whole-number-out-of-range", name="cells", value=0)),
        (lambda: W.prefix(2.5), PlanError, refusal("whole-number-out-of-range", name="cells", value=2.5)),
        (lambda: W.ranges(20_000), PlanError, "too-many-ranges"),
        (lambda: W.tree(8, 1), PlanError, refusal("whole-number-out-of-range", name="branching", value=1)),
        (lambda: W.marginals([], 1), PlanError, refusal("shape-malformed", shape=())),
        (lambda: W.marginals([3, 2], 3), PlanError, refusal("ways-out-of-range", attributes=2)),
        (lambda: W.marginals([3, 2], []), PlanError, "no-marginals"),
        (lambda: W.marginals([3, 2], [(0, 0)]), PlanError, "marginal-malformed"),
        (lambda: W.marginals([3, 2], [(0, 5)]), PlanError, "marginal-malformed"),
        (lambda: W.marginals([3, 2], [(0,), 1]), PlanError, "marginal-twice"),
        (lambda: W.matrix([]), PlanError, refusal("workload-malformed", shape=(0,))),
        (lambda: W.matrix(np.zeros((0, 4))), PlanError, refusal("workload-malformed", shape=(0, 4))),
        (lambda: W.matrix([[0, 0]]), PlanError, "workload-answer-always-zero"),
        (lambda: W.matrix([[1, float("inf")]]), PlanError, "workload-malformed"),
        (
            lambda: gm.plan(CELLS, G, answers=W.prefix(5)),
            PlanError,
            refusal("workload-does-not-match-cells", cells=5, wanted=4),
        ),
        (
            lambda: gm.plan(CELLS, G, answers=W.matrix(np.ones((2, 3)))),
            PlanError,
            refusal("workload-does-not-match-cells", cells=3),
        ),
        (
            lambda: gm.plan(CELLS, G, answers=W.marginals([2, 2], 1)),
            PlanError,
            refusal("marginals-do-not-match-cells", cells=(4,)),
        ),
        (lambda: gm.plan(gm.Box([0], [1]), G, answers=W.prefix(1)), PlanError, "workload-without-cells"),
        (
            lambda: gm.plan(CELLS, G, answers=W.prefix(4), weights=[1, 2]),
            PlanError,
            refusal("weights-malformed", size=4),
        ),
        (
            lambda: gm.plan(CELLS, G, answers=W.prefix(4), gap=0),
            PlanError,
            refusal("number-out-of-range", name="gap", value=0),
        ),
        (
            lambda: gm.plan(CELLS, G, answers=W.prefix(4), gap=1e-14),
            PlanError,
            refusal("number-out-of-range", name="gap"),
        ),
        (lambda: gm.plan(CELLS, G, objective="best"), PlanError, refusal("unknown-objective", objective="best")),
        (lambda: gm.plan(CELLS, G, targets=[1, 1, 1, 1]), PlanError, "targets-with-objective-total"),
        (
            lambda: gm.plan(CELLS, G, objective="worst", targets=[1, -1, 1, 1]),
            PlanError,
            refusal("targets-malformed", shape=(4,), size=4),
        ),
        (lambda: gm.plan(CELLS, G, objective="worst", weights=[1, 2, 3, 4]), PlanError, "weights-with-objective-worst"),
        (lambda: gm.plan(gm.Box([0], [1]), G, objective="worst"), PlanError, "objective-worst-not-for-this-domain"),
        (
            lambda: gm.plan(gm.Counts(3, at_most=1), G, objective="worst"),
            PlanError,
            "objective-worst-not-for-this-domain",
        ),
        (lambda: gm.plan(gm.Cells(1), G, neighbours="replace-one"), PlanError, "one-cell-under-replace-one"),
        (lambda: gm.plan(gm.Cells(shape=[10] * 40), G), PlanError, "too-many-cells-to-release"),
        (
            lambda: gm.plan(gm.Cells(5000), G, answers=W.prefix(5000), objective="worst"),
            PlanError,
            refusal("too-many-cells-to-solve", cells=5000, most=2048),
        ),
        (
            lambda: gm.plan(gm.Cells(2000), G, answers=W.ranges(2000), objective="worst"),
            PlanError,
            "too-many-answers-over-cells",
        ),
        (
            lambda: gm.plan(
                gm.Cells(shape=(2, 2), or_none=True), G, answers=W.marginals([2, 2], 1), neighbours="replace-one"
            ),
            PlanError,
            "marginals-with-or-none",
        ),
        (lambda: gm.plan(CELLS, G).release(["a"]).marginal(0), PlanError, "answers-not-marginals"),
    ],
)
def test_wrong_cells_and_workloads_are_refused_in_words(arguments, error, words):
    with refused(words, error):
        arguments()


def test_undeclared_values_count_as_the_stand_in_and_nothing_fails():
    plain = gm.plan(gm.Cells(["a", "b"], other="b"), gm.Guarantee(mu=1000), neighbours="replace-one")
    values = plain.release(["a", "zzz", "", None]).values
    assert values == pytest.approx([1, 3], abs=0.1)
    assert values.sum() == pytest.approx(4, abs=1e-9)  # the total is public, and exact
    assert "counts as: b" in plain.domain.words.reading
    left_out = gm.plan(gm.Cells(["a", "b"], or_none=True), gm.Guarantee(mu=1000), count=True)
    released = left_out.release(["a", "zzz", "", None])
    assert released.names == ("a", "b", "count")
    assert released.values == pytest.approx([1, 0, 4], abs=0.1)


def test_a_gram_matrix_of_runs_is_that_of_the_matrix_written_out():
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 9, 50)
    stops = starts + 1 + rng.integers(0, 10 - starts)
    rows = ((np.arange(10) >= starts[:, None]) & (np.arange(10) < stops[:, None])).astype(float)
    weights = rng.random(50)
    assert gram(starts, stops, 10, weights) == pytest.approx(rows.T @ (weights[:, None] * rows))


def test_marginals_by_name_and_number():
    cells = gm.Cells({"age": 3, "sex": ["f", "m"], "plan": ["x", "y"]})
    plan = gm.plan(cells, gm.Guarantee(mu=1e4), answers=W.marginals([3, 2, 2], [(0, 1), (2,)]))
    released = plan.release([[0, "f", "x"], [2, "m", "x"], [2, "m", "y"]])
    assert released.marginal("sex", "age") == pytest.approx(np.array([[1, 0, 0], [0, 0, 2]]), abs=0.01)
    assert released.marginal("plan") == pytest.approx([2, 1], abs=0.01)
    assert released.names[0] == "age=0, sex=f"
    assert released["plan=y"].value == pytest.approx(1, abs=0.01)
    unknown = refusal("no-such-attribute", says="did you mean 'age'?", attribute="agee")
    for wrong, expected in (("agee", unknown), ("age", "marginal-not-asked")):
        with refused(expected, PlanError):
            released.marginal(wrong)
    assert "age × sex (6 cells)" in str(plan)


def test_plans_and_releases_of_cells_print_chart_report_and_come_back(tmp_path):
    for domain, options in (
        (gm.Cells({"health": ["good", "fair", "poor"]}), {"count": True}),
        (gm.Cells({"health": ["good", "fair", "poor"]}), {"answers": W.prefix(3), "neighbours": "replace-one"}),
        (gm.Cells({"health": ["good", "fair", "poor"]}), {"answers": W.prefix(3), "objective": "worst"}),
        (gm.Cells({"a": 3, "b": 2}), {"answers": W.marginals([3, 2], range(3)), "count": True}),
        (gm.domains.Points([[0.0, 1.0], [2.0, 5.0], [3.0, 3.0]], names=["x", "y"]), {"count": True}),
    ):
        plan = gm.plan(domain, G, **options)
        rows = {1: ["good", "poor"], 2: np.zeros((5, 2))}[len(getattr(domain, "sizes", (1, 2)))]
        released = plan.release(rows)
        again = gm.Release.from_json(released.to_json())
        assert again.values == pytest.approx(released.values)
        assert again.plan == plan
        page = released.report(tmp_path / "page.html").read_text(encoding="utf-8")
        assert domain.words.reading.split(".")[0] in page
        assert str(plan) and plan.explain() and plan.chart() and str(released)
        assert released.to_polars().height == len(released)


def test_damaged_plans_of_marginals_are_refused():
    plan = gm.plan(gm.Cells(shape=(3, 2)), G, answers=W.marginals([3, 2], 1))
    for change in (
        lambda f: f["shape"]["lift"].update(ways=[[1], [0]]),
        lambda f: f["shape"]["lift"].update(sizes=[2, 3]),
        lambda f: f["shape"]["lift"].update(variances=[1.0, -1.0, 1.0]),
        lambda f: f["answers"]["features"]["workload"].update(kind="magic"),
        lambda f: f["domain"].update(others=[7, 0]),
    ):
        fields = plan.to_dict()
        change(fields["queries"][0]["block"])
        with pytest.raises((PlanError, DomainError)):
            gm.Plan.from_dict(fields)


# -- what is kept of a solve -------------------------------------------------------------------------------------------


def solves(monkeypatch) -> list[bool]:
    """Whether each call of the solver had to search."""
    calls: list[bool] = []
    solve = stored.solve

    def spy(*arguments, known=None, **options):
        calls.append(known is None)
        return solve(*arguments, known=known, **options)

    monkeypatch.setattr(stored, "solve", spy)
    return calls


@pytest.mark.parametrize("options", [{}, {"pairs": True}, {"objective": "worst", "targets": np.ones(3)}])
def test_what_was_solved_is_not_searched_again(monkeypatch, options):
    points = np.random.default_rng(1).normal(size=(8, 3))
    monkeypatch.setattr(stored, "_KEPT", type(stored._KEPT)())
    calls = solves(monkeypatch)
    first = stored.solve_once(points, **options)
    again = stored.solve_once(points, **options)
    assert calls == [True, False]
    assert again.upper == pytest.approx(first.upper, rel=1e-12)
    assert again.lower == pytest.approx(first.lower, rel=1e-12)
    stored.solve_once(points * 2, **options)
    assert calls == [True, False, True]


def test_nothing_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(stored, "_KEPT", type(stored._KEPT)())
    stored.solve_once(np.random.default_rng(1).normal(size=(8, 3)))
    assert list(tmp_path.iterdir()) == []

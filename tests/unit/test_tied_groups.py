"""Groups of plain data whose noise counts people too: released, saved and charged like any other plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gaussmith as gm

BY = gm.Groups({"k": list(range(40))}, gm.Box({"a": (0, 1), "b": (0, 1), "c": (5, 6)}), at_most=30)
ROWS = pl.DataFrame({"k": [1, 2, 2], "a": [0.25, 0.5, 0.5], "b": [0.1, 0.2, 0.3], "c": [5.0, 6.0, 6.0]})


def test_groups_whose_noise_counts_people_are_released_from_plain_data(tmp_path: Path) -> None:
    plan = gm.plan(BY, gm.Guarantee(mu=1e6))
    assert len(plan.queries) == 2 and plan.ties[0].people == 1  # one more query counts people, and answers nothing
    expected = np.zeros((40, 3))
    expected[1], expected[2] = [0.25, 0.1, 5.0], [1.0, 0.5, 12.0]
    release = plan.release(ROWS)
    assert release.values == pytest.approx(expected, abs=1e-3)
    again = gm.Release.from_json(release.to_json())
    assert np.array_equal(again.values, release.values)
    book = gm.Ledger.create(tmp_path / "ledger.db", gm.Guarantee(mu=2e6))
    charged = plan.release(ROWS, ledger=book, id="groups")
    assert charged.values == pytest.approx(expected, abs=1e-3)
    assert np.array_equal(plan.release(ROWS, ledger=book, id="groups").values, charged.values)


@pytest.mark.parametrize("neighbours, at_most", [("add-remove", 2), ("replace-one", 1), ("replace-one", 2)])
@pytest.mark.parametrize("matrix", [[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 1.0], [-2.0, 0.0]], [[0.0, 1.0]]])
@pytest.mark.parametrize("count", [False, True])
def test_answers_given_as_a_matrix_are_read_from_tied_noise(
    matrix: list[list[float]], neighbours: str, at_most: int, count: bool
) -> None:
    """Each value is near its truth, and no error is below what one person can change: it is at the least, or above."""
    asked = np.array(matrix)
    used = asked.any(axis=0)
    names, bounds = np.array(["a", "b"])[used], np.array([(5.0, 9.0), (-1.0, 4.0)])[used]
    box = gm.Box(dict(zip(names.tolist(), map(tuple, bounds.tolist()), strict=True)))
    groups = gm.Groups({"k": [0, 1, 2]}, box, at_most=at_most)
    plan = gm.plan(groups, gm.Guarantee(mu=1e6), answers=asked[:, used], neighbours=neighbours, count=count)
    assert plan.ties and plan.optimality >= 1
    rows = pl.DataFrame({"k": [0, 0, 1], "a": [6.0, 7.0, 8.5], "b": [0.5, -1.0, 3.0]})
    sums = np.array([[13.0, -0.5], [8.5, 3.0], [0.0, 0.0]]) @ asked.T
    expected = np.column_stack([sums, [2, 1, 0]]) if count else sums
    assert plan.release(rows).values.reshape(expected.shape) == pytest.approx(expected, abs=1e-3)
    least = np.abs(asked[:, used] * np.abs(bounds).max(axis=1)).max(axis=1) / 1e6
    assert (plan.standard_errors[: len(least)] >= least * (1 - 1e-9)).all()


def test_a_solution_is_kept_for_another_guarantee(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaussmith.numerics.joint import ladder

    monkeypatch.setattr(ladder, "_KEPT", {})
    asked = {"means": {"a": (0, 1), "b": (0, 2)}, "count": True}
    first = gm.Request("a.csv", guarantee=gm.Guarantee(mu=1), **asked).plan
    assert first.ties and ladder._KEPT
    fresh = gm.Request("a.csv", guarantee=gm.Guarantee(mu=2), **asked).plan
    calls: list[str] = []
    solve = ladder._solve
    monkeypatch.setattr(ladder, "_solve", lambda body, how: calls.append(how) or solve(body, how))
    again = gm.Request("a.csv", guarantee=gm.Guarantee(mu=2), **asked).plan
    assert calls == [] and again.hash == fresh.hash
    monkeypatch.setattr(ladder, "_KEPT", {})
    solved = gm.Request("a.csv", guarantee=gm.Guarantee(mu=2), **asked).plan
    assert calls and solved.hash == fresh.hash
    for i in range(ladder.MAX_KEPT + 2):
        _ = gm.Request("a.csv", means={"a": (0, 3 + i), "b": (0, 2)}, count=True, guarantee=gm.Guarantee(mu=1)).plan
    assert len(ladder._KEPT) == ladder.MAX_KEPT

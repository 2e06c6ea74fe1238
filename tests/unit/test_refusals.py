"""Mistakes that no other test makes: every code is raised somewhere (`tests/sentences/record.py --raised`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import Expected, damaged, refusal, refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.domain import WorstCase
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.domains.extremes import largest_listed
from gaussmith.engines.engine import Totals
from gaussmith.engines.files import find_files
from gaussmith.engines.numpy import NUMPY
from gaussmith.expressions.keys import declare_groups
from gaussmith.ledger.book import Ledger
from gaussmith.ledger.chain import check_links, seal
from gaussmith.numerics.intervals import Intervals
from gaussmith.numerics.matrices import Dense, Exchangeable
from gaussmith.numerics.packed_arrays import unpack
from gaussmith.totals.opened import open_data

G = gm.Guarantee(mu=1)
BOX = gm.Box({"a": (0, 1), "b": (0, 2)})


def grouped() -> gm.Release:
    frame = pl.DataFrame({"r": ["x", "y"], "a": [0.5, 1.0]})
    return gm.release(gm.Request(frame, sums={"a": (0, 1)}, by={"r": ["x", "y"]}, guarantee=G))


def two_questions(**own: Any) -> gm.Plan:
    asked: list[Any] = [{"name": "a", "count": True, **own}, {"name": "b", "count": True, "where": "age > 20", **own}]
    return gm.Request("nowhere.csv", questions=asked, guarantee=G).plan


def without_a_query() -> str:
    fields = json.loads(gm.plan(BOX, G).release([[0.5, 1.0]]).to_json())
    return json.dumps({**fields, "queries": []})


def marginal_maps() -> tuple[Any, Any]:
    shape = gm.plan(gm.Cells(shape=(70, 70)), G, answers=gm.workloads.marginals([70, 70], 1)).block.shape
    return shape.lift, shape.features


INTERVALS = Intervals(np.array([0]), np.array([2]), np.eye(3))

CASES: dict[str, tuple[Callable[[], object], Expected]] = {
    "more groups than there are": (
        lambda: gm.Groups({"r": ["x", "y"]}, BOX, at_most=3),
        refusal("at-most-exceeds-groups", at_most=3, groups=2),
    ),
    "no groups": (lambda: gm.Groups([], BOX), "no-groups"),
    "too many groups": (lambda: gm.Groups({k: list(range(1000)) for k in "abc"}, BOX), "too-many-groups"),
    "a group of other columns": (lambda: gm.Groups([{"r": "x"}, {"s": "y"}], BOX), "group-with-other-columns"),
    "groups without that column": (
        lambda: grouped().total(q="x"),
        refusal("groups-without-column", column="q"),
    ),
    "groups without that key": (lambda: grouped().total(r="z"), "no-group-with-keys"),
    "a total without groups": (lambda: gm.plan(BOX, G).release([[0.5, 1.0]]).total(), "total-without-groups"),
    "the covariance of groups": (lambda: grouped().covariance(), "covariance-of-groups"),
    "the value of groups": (lambda: grouped().value, refusal("release-of-several-groups", groups=2)),
    "no ledger": (
        lambda: gm.plan(BOX, G).release([[0.5, 1.0]], ledger=3),  # type: ignore[arg-type]
        refusal("not-a-ledger", type="int"),
    ),
    "a record without a query": (lambda: gm.read(without_a_query()), "release-of-other-queries"),
    "one proof of two": (lambda: two_questions(share=1).certificate.proof, refusal("several-proofs", queries=2)),
    "a question that is no list": (
        lambda: gm.Request.from_dict({"source": "x.csv", "guarantee": {"mu": 1}, "question": {"count": True}}),
        "question-not-a-list",
    ),
    "marginals for the worst answer": (
        lambda: gm.plan(gm.Cells(shape=(2, 2)), G, answers=gm.workloads.marginals([2, 2], 1), objective="worst"),
        "marginals-with-objective-worst",
    ),
    "the worst of cells that need not be, and their number": (
        lambda: gm.plan(gm.Cells(3, or_none=True), G, answers=gm.workloads.prefix(3), objective="worst", count=True),
        "worst-cells-with-count",
    ),
    "answers that never change": (
        lambda: gm.plan(
            gm.Cells(3), G, answers=gm.workloads.matrix([[1, 1, 1]]), objective="worst", neighbours="replace-one"
        ),
        "answers-never-change",
    ),
    "a key that is nothing": (
        lambda: declare_groups(["r"], [(float("nan"),)], {"r": "object"}),
        refusal("key-names-nothing", column="r"),
    ),
    "bounds farther apart than doubles": (
        lambda: BoxEncoding.for_bounds([-1.7e308], [1.7e308], [0]),
        "bounds-distance-beyond-doubles",
    ),
    "columns of an exchangeable matrix": (
        lambda: Exchangeable(2, 1.0, 0.0).scaled(np.array([1.0, 2.0])),
        damaged("columns with different scales"),
    ),
    "an unknown law": (lambda: WorstCase.from_dict({"kind": "magic"}), damaged("a law of unknown kind")),
    "a damaged matrix": (
        lambda: unpack({"shape": [2], "doubles": "!"}),
        damaged("a damaged matrix"),
    ),
    "a lift of other columns": (
        lambda: BOX.sensitivity(Dense(np.ones((2, 7))), "replace-one"),
        damaged("a lift of"),
    ),
    "corners of a large box": (lambda: gm.Box(np.zeros(60), np.ones(60)).corners(), "too-many-corners-of-box"),
    "a dense lift of a large box": (
        lambda: gm.Box(np.zeros(60), np.ones(60)).sensitivity(Dense(np.ones((2, 60))), "replace-one"),
        "too-many-corners-for-dense-lift",
    ),
    "intervals that stop before they start": (
        lambda: Intervals(np.array([2]), np.array([2]), np.eye(3)),
        damaged("intervals out of range"),
    ),
    "intervals as a lift": (lambda: INTERVALS.exact_times(np.array([1, 2, 3])), damaged("Intervals as a lift")),
    "marginals scaled apart": (
        lambda: marginal_maps()[0].scaled(np.arange(1.0, 4901.0)),
        damaged("columns with different scales"),
    ),
    "decoding as a lift": (
        lambda: marginal_maps()[1].exact_times(np.ones(3, dtype=np.int64)),
        damaged("ResidualDecode as a lift"),
    ),
    "decoding that is scaled": (lambda: marginal_maps()[1].scaled(np.ones(3)), damaged("ResidualDecode as a lift")),
    "a plan that is no request's": (
        lambda: open_data([[0.5, 1.0]], gm.plan(BOX, G).queries[0]),
        "plan-not-of-a-request",
    ),
    "records that are too many": (
        lambda: largest_listed(Dense(np.ones((1, 1))), None, "add-remove"),
        "too-many-records-for-dense-lift",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_has_its_code(case: str) -> None:
    make, expected = CASES[case]
    with refused(expected):
        make()


def test_numpy_reads_no_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    with refused("files-read-by-numpy"):
        NUMPY.open_files(find_files(str(tmp_path / "a.csv")), None, None)


def test_entries_that_do_not_follow_each_other(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study.ledger", G)
    ledger.reserve("a", "request", gm.Guarantee(mu=0.5))
    first, second = ledger.entries()
    with refused("ledger-entries-not-linked", ledger="here", entry=1):
        check_links([first, seal(replace(second, previous="0" * 64))], "here")


def test_sums_that_do_not_fit_the_plan_are_not_released() -> None:
    plan = gm.plan(BOX, G)
    with refused("sums-do-not-match-groups"):
        mechanism.release_totals(plan, [[]])
    with refused("sums-do-not-match-plan"):
        mechanism.release_totals(plan, [[Totals([1], 1)]])

"""All golden cases: a name under which the extract is kept, a way to get there, and the function that goes it.

Cases speak the public language alone, so that they outlive any reorganisation of the source: domains, `gm.plan`,
`plan.release`, `gm.Request`, `gm.release`, `gm.read`, requests in TOML, the command line. All plans have their stored
strategies (`strategies.py`); `new_plans` makes them as the solver finds them here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import plan_cases
import request_cases
from comparison import Kept, keep, keep_errors, keep_numbers, keep_rows
from fixed_noise import fixed_noise
from plan_cases import planned, release_plan
from request_cases import make_request, release_request
from strategies import read_again
from tables import file, table

import gaussmith as gm


@dataclass(frozen=True)
class Case:
    """One way to one extract; several ways share a name and come to the same."""

    name: str
    way: str
    find: Callable[[Path], Kept]

    def __str__(self) -> str:
        return f"{self.name} | {self.way}"


def all_cases() -> Iterator[Case]:
    """Every case; of one name the first way is the one that is recorded."""
    for name, (family, neighbours, question) in plan_cases.plan_cases():
        yield Case(f"{name} | errors", "plan", partial(_errors_of_plan, family, neighbours, question))
        for source in plan_cases.sources_of(family, question):
            yield Case(name, source, partial(_plan, family, neighbours, question, source))
        if not family.startswith("groups") and question == next(iter(plan_cases.FAMILIES[family].questions)):
            yield Case(name, "saved plan", partial(_saved_plan, family, neighbours, question))
    for name, (asked, neighbours) in request_cases.request_cases().items():
        yield Case(f"{name} | errors", "plan", partial(_errors_of_request, asked, neighbours))
        for source in request_cases.sources_of(asked, neighbours):
            yield Case(name, source, partial(_request, asked, neighbours, source))
        if asked in request_cases.EVERYWHERE or neighbours == request_cases.PURE:
            if neighbours != request_cases.PURE:
                yield Case(name, "ledger", partial(_charged, asked, neighbours))
            yield Case(name, "read again", partial(_read_again, asked, neighbours))
    for name, view in VIEWS.items():
        yield Case(f"view | {name}", "polars", partial(_view, view))
    for name, make in SAMPLES.items():
        yield Case(f"catalogue | {name}", "sample", partial(_sample, make))


def new_plans() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The plan of every case, as the solver finds it on this processor."""
    for name, asked in plan_cases.plan_cases():
        yield name, partial(plan_cases.newly_planned, *asked)
    for name, wanted in request_cases.request_cases().items():
        yield name, partial(request_cases.newly_planned_request, *wanted)


def spark_cases() -> Iterator[tuple[str, Callable[[Any], Kept]]]:
    """A few of them on a Spark frame: Spark is slow to start."""
    for family in ("box", "ball", "counts", "sparse", "votes", "cells", "marginals", "points", "groups"):
        chosen = plan_cases.FAMILIES[family]
        question = next(iter(chosen.questions))
        name = f"{family} | add-remove | {question}"
        yield name, partial(_plan_of, family, "add-remove", question, chosen.columns)
    for asked in request_cases.EVERYWHERE:
        yield f"request | add-remove | {asked}", partial(_request_of, asked, "add-remove")


# -- plans ------------------------------------------------------------------------------------------------------------


def _plan(family: str, neighbours: str, question: str, source: str, folder: Path) -> Kept:
    plan = planned(family, neighbours, question)
    with fixed_noise() as integers:
        return keep(release_plan(plan, family, source, folder), integers)


def _plan_of(family: str, neighbours: str, question: str, columns: list[str] | None, data: Any) -> Kept:
    plan = planned(family, neighbours, question)
    with fixed_noise() as integers:
        return keep(plan.release(data) if columns is None else plan.release(data, columns=columns), integers)


def _saved_plan(family: str, neighbours: str, question: str, folder: Path) -> Kept:
    plan = read_again(planned(family, neighbours, question))
    with fixed_noise() as integers:
        return keep(release_plan(plan, family, "polars", folder), integers)


def _errors_of_plan(family: str, neighbours: str, question: str, _: Path) -> Kept:
    return keep_errors(planned(family, neighbours, question).errors(rows=100))


# -- requests ---------------------------------------------------------------------------------------------------------


def _request(asked: str, neighbours: str, source: str, folder: Path) -> Kept:
    with fixed_noise() as integers:
        return keep(release_request(asked, neighbours, source, folder), integers)


def _request_of(asked: str, neighbours: str, data: Any) -> Kept:
    with fixed_noise() as integers:
        return keep(gm.release(make_request(asked, neighbours, data)), integers)


def _charged(asked: str, neighbours: str, folder: Path) -> Kept:
    """Released under a ledger, and asked again under the same id: stored once, the same ever after."""
    ledger = gm.Ledger.create(folder / f"{uuid.uuid4().hex}.ledger", gm.Guarantee(mu=2))
    request = make_request(asked, neighbours, file(folder, "parquet"))
    with fixed_noise() as integers:
        gm.release(request, ledger=ledger, id="first")
        noisy = list(integers)
        again = gm.release(request, ledger=ledger, id="first")
        assert integers == noisy, "noise was drawn twice under one id"
    return keep(again, noisy)


def _read_again(asked: str, neighbours: str, folder: Path) -> Kept:
    """Saved and read back."""
    with fixed_noise() as integers:
        return keep(gm.read(release_request(asked, neighbours, "polars", folder).to_json()), integers)


def _errors_of_request(asked: str, neighbours: str, _: Path) -> Kept:
    return keep_errors(make_request(asked, neighbours, table()).plan.errors(rows=100))


# -- what else can be read from a release -----------------------------------------------------------------------------


def _released(asked: str) -> Any:
    return gm.release(make_request(asked, "add-remove", table()))


def _marginal(release: Any, *attributes: str) -> list[float]:
    return [float(v) for v in release.marginal(*attributes).ravel()]


def _marginals() -> Any:
    return release_plan(planned("marginals", "add-remove", "pairs"), "marginals", "polars", Path())


def _ends(release: Any, **options: Any) -> list[float]:
    lower, upper = release.intervals(**options)
    return [float(v) for v in (*lower.ravel(), *upper.ravel())]


def _without_keys(release: Any, *columns: str) -> list[dict[str, Any]]:
    """The rows of one group without its keys, which are the same in every row."""
    return [{name: value for name, value in row.items() if name not in columns} for row in release.rows()]


VIEWS: dict[str, Callable[[], list[Any]]] = {
    "total of groups": lambda: _released("by").total().rows(),
    "total of some groups": lambda: _released("by two columns").total(sex="f").rows(),
    "total of groups of people": lambda: _released("person, by two columns").total(year=2020).rows(),
    "one group": lambda: _without_keys(_released("by")["south"], "region"),
    "one group of two columns": lambda: _without_keys(
        _released("person, by two columns")["north", 2021], "region", "year"
    ),
    "one question": lambda: _released("person, questions")["women"].rows(),
    "one group of one question": lambda: _without_keys(_released("person, questions")["regions"]["north"], "region"),
    "rows at 80 %": lambda: _released("sums, means, count").rows(0.8),
    "delta intervals": lambda: _ends(_released("sums, means, count"), confidence=0.9, method="delta"),
    "simultaneous intervals": lambda: _ends(_released("sums, means, count"), simultaneous=True),
    "delta intervals of people": lambda: _ends(_released("person, all"), method="delta"),
    "simultaneous intervals of groups": lambda: _ends(_released("person, by two columns"), simultaneous=True),
    "a marginal": lambda: _marginal(_marginals(), "band", "health"),
    "another marginal": lambda: _marginal(_marginals(), "sex", "band"),
    "covariance": lambda: [float(v) for v in _released("sums, means, count").covariance().ravel()],
}
"""Narrowed and summed releases, by their rows alone: what guarantee they state is not for a golden file to say."""


def _view(view: Callable[[], list[Any]], _: Path) -> Kept:
    with fixed_noise():
        found = view()
    return keep_rows(found) if isinstance(found[0], dict) else keep_numbers(found)


# -- the catalogue ----------------------------------------------------------------------------------------------------

STATED: dict[str, Any] = {"epsilon": 0.5, "delta": 1e-6}

SAMPLES: dict[str, Callable[[], Any]] = {
    "analytic": lambda: gm.papers.analytic(dimension=3, **STATED),
    "classic": lambda: gm.papers.classic(dimension=3, **STATED),
    "clipped": lambda: gm.papers.clipped(dimension=3, radius=2, **STATED),
    "correlated": lambda: gm.papers.correlated(dimension=3, **STATED),
    "correlated, count": lambda: gm.papers.correlated(dimension=3, upper=[1, 2, 3], count=True, **STATED),
    "elliptical": lambda: gm.papers.elliptical(sensitivity=[1, 2, 3], **STATED),
    "bounded contribution": lambda: gm.papers.bounded_contribution(dimension=4, at_most=2, **STATED),
    "gaussian data": lambda: gm.papers.gaussian_data(sd=[1, 2, 3], rows=1000, **STATED),
    "slides": lambda: gm.papers.slides(dimension=3, **STATED),
}


def _sample(make: Callable[[], Any], _: Path) -> Kept:
    entry = make()
    with fixed_noise():
        return keep_numbers([*map(float, entry.sample(2).ravel()), *map(float, entry.standard_errors)])

"""A domain is one file and one line: a toy with nothing but its duties is planned, told, saved and released."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusal, refused

import gaussmith as gm
from gaussmith.domains.domain import Domain, DomainWords, Problem
from gaussmith.domains.encoding import BoxEncoding
from gaussmith.domains.extremes import Signs
from gaussmith.domains.registry import DOMAINS
from gaussmith.domains.strategies import Candidate, Candidates, Search, Strategy, Way, isotropic, lifted, try_ways
from gaussmith.numerics.exact import Array
from gaussmith.planning.certificate import verify

GUARANTEE = gm.Guarantee(mu=1)


@dataclass(frozen=True)
class Swing(Domain):
    """One number between −1 and 1."""

    kind = "swing"

    @property
    def dimension(self) -> int:
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        return ("swing",)

    @property
    def centre(self) -> Array:
        return np.zeros(1)

    @property
    def radius(self) -> Array:
        return np.ones(1)

    def codes(self, substitutes: Array, workload: Any = None) -> BoxEncoding:
        return BoxEncoding.for_bounds([-1.0], [1.0], substitutes)

    def extremes(self) -> Signs:
        return Signs(1)

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        return try_ways([Way("lifted", lambda: Candidate(lifted(problem, "swung")))], problem, search)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:
        return self, isotropic(problem)

    @property
    def words(self) -> DomainWords:
        return DomainWords("Values beyond −1 and 1 are moved to them.")

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Swing:
        return cls()


@pytest.fixture
def swing(monkeypatch: pytest.MonkeyPatch) -> Swing:
    monkeypatch.setitem(DOMAINS, Swing.kind, Swing)  # its line in domains/registry.py
    return Swing()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_toy_domain_is_planned_told_saved_and_released(swing: Swing, neighbours: str, tmp_path: Path) -> None:
    plan = gm.plan(swing, GUARANTEE, neighbours=neighbours, answers="means")
    assert plan.errors(rows=100)["swing"] == pytest.approx(
        {"add-remove": (1 + 3**-0.5) * 3**0.25 / 100, "replace-one": 0.02}[neighbours], rel=1e-9
    )
    assert "swung" in plan.explain()
    assert "Values beyond" in str(plan.domain.words.reading)
    read = gm.read(plan.to_json())
    assert isinstance(read, gm.Plan) and read == plan and read.domain == swing
    released = plan.release(np.full((10_000, 1), 7.0))
    low, high = released["swing"].interval(1 - 1e-9)
    assert low < 1 <= high, "1 is the upper end of what it can be"
    page = released.report(tmp_path / "swing.html")
    assert "Values beyond −1 and 1 are moved to them." in Path(page).read_text("utf-8")


def test_a_toy_domain_is_bounded_by_what_it_proves_alone(swing: Swing) -> None:
    """Without a law of its own nothing is claimed of its optimality, and its certificate still holds."""
    plan = gm.plan(swing, GUARANTEE)
    assert plan.lower_bound == 0 and plan.optimality == np.inf
    assert "at an unknown distance from the best Gaussian noise" in str(plan)
    assert "no lower bound for other noise is known" in plan.explain() and "as good as any" not in plan.explain()
    assert "no lower bound for other noise is known" in str(plan.certificate)
    assert not verify(plan, plan.certificate).problems


def test_nothing_is_claimed_of_more_counts_than_a_bound_is_computed_for() -> None:
    plan = gm.plan(gm.Counts(2000, at_most=3), GUARANTEE, weights=np.linspace(1, 2, 2000))
    assert plan.lower_bound == 0 and "as good as any" not in plan.explain()


def test_what_a_toy_domain_cannot_do_is_refused(swing: Swing) -> None:
    for asked, expected in (
        ({"objective": "worst"}, "objective-worst-not-for-this-domain"),
        ({"answers": gm.workloads.prefix(1)}, "workload-without-cells"),
        ({"missing": {"swing": 0.5}}, "missing-not-for-this-domain"),
        ({"shape": "two-level"}, refusal("shape-not-for-this-problem", says="choose one of: best, lifted")),
    ):
        with refused(expected):
            gm.plan(swing, GUARANTEE, **asked)  # type: ignore[arg-type]


def test_a_domain_without_a_duty_cannot_be_made() -> None:
    duties = set(Domain.__abstractmethods__)
    assert duties == {
        "codes", "extremes", "candidates", "standard", "words", "to_dict",
    }  # fmt: skip
    for name in duties:
        fields = {key: value for key, value in vars(Swing).items() if key in duties and key != name}
        with pytest.raises(TypeError, match=name):
            type("Partial", (Domain,), fields)()
    assert not inspect.isabstract(Swing)


@pytest.mark.parametrize("shape", ["best", "lifted", "isotropic"])
@pytest.mark.parametrize("domain", [gm.Box([0, 0], [1, 1]), gm.domains.Ball(2, 1), gm.domains.GaussianData(0, [1, 2])])
def test_the_worst_answer_is_not_planned_where_its_bound_is_not_known(domain: Any, shape: str) -> None:
    """Such a plan would claim to be within a bound on the total, which is more than the worst."""
    with refused("objective-worst-not-for-this-domain"):
        gm.plan(domain, GUARANTEE, objective="worst", shape=shape)

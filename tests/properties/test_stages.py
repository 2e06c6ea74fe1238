"""Promise 16: adaptive stages spend what was charged on every path, and each keeps its share in exact integers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from fixed_noise import fixed_noise
from planting import plant
from refusals import damaged, refused

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.pipeline import staged_release
from gaussmith.planning.certified_grid import NOISE_BITS
from gaussmith.planning.learned_bounds import LearnBounds, Target, powers_of_two
from gaussmith.planning.learned_cells import ONE, SEVERAL, FindCells
from gaussmith.planning.staging import ANSWERS, NOTHING, Seen
from gaussmith.releases import path

G = gm.Guarantee(mu=3)
ODD = [1e308, float("-inf"), None, 1001.5]
X = [1000 + np.cos(i) for i in range(240)]


def rows(extra: list[tuple[int, float | None]] = []) -> pl.DataFrame:  # noqa: B006 (never changed)
    people = [(i // 2, x) for i, x in enumerate(X)] + extra
    return pl.DataFrame(people, schema={"person": pl.Int64, "x": pl.Float64}, orient="row")


ASKS: dict[str, dict[str, Any]] = {
    "rows": {"means": {"x": "private"}, "count": True},
    "people": {
        "unit": "person", "rows_per_unit": 2, "means": {"x": "private"}, "sums": {"x": "private"},
    },
    "quantiles": {"quantiles": {"x": [0.5]}, "bins": {"x": "private"}, "count": True},
    "replaced quantiles": {
        "quantiles": {"x": [0.25, 0.75]}, "bins": {"x": "private"}, "neighbours": "replace-one",
    },
    "replace": {"sums": {"x": "private"}, "neighbours": "replace-one"},
}  # fmt: skip


class Run:
    """A staged release with fixed noise, and the noisy integers of each of its stages."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, ask: dict[str, Any], seen: Any = None):
        self.stages: list[tuple[gm.Plan, list[int]]] = []
        self.seen: list[Seen] = []
        real, see = mechanism.release, path.seen_of

        def release(prepared: Any, progress: Any = None) -> gm.Release:
            before = len(sums)
            made = real(prepared, progress)
            self.stages.append((prepared.plan, sums[before:]))
            return made

        def look(stage: str, made: gm.Release) -> Seen:
            return see(stage, made) if seen is None else next(each for each in seen if each.stage == stage)

        with monkeypatch.context() as patch, fixed_noise() as sums:
            patch.setattr(mechanism, "release", release)
            patch.setattr(staged_release, "seen_of", look)
            self.release = gm.release(gm.Request(table, guarantee=G, **ask))
        assert self.release.path is not None
        self.seen = [see(each.step.stage, each.release) for each in self.release.path.stages]


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_a_person_changes_no_stage_by_more_than_its_share(ask: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The neighbour gets the same noisy outputs between stages: what an adversary compares is then each stage alone."""
    one = Run(monkeypatch, rows(), ask)
    assert len(one.stages) > 1
    unit = Fraction(1 << 2 * NOISE_BITS)
    worst = Fraction(0)
    for values in ([(9999, value)] for value in ODD):
        extra = [*values, (9999, 1000.0)] if "unit" in ask else values
        table = rows(extra)
        if ask.get("neighbours") == "replace-one":
            table = pl.concat([rows()[1:], table[-1:]])
        other = Run(monkeypatch, table, ask, one.seen)
        whole = Fraction(0)
        for (plan, mine), (same, theirs) in zip(one.stages, other.stages, strict=True):
            assert plan == same and len(mine) == len(theirs)
            moved = sum((a - b) ** 2 for a, b in zip(mine, theirs, strict=True)) / unit
            assert moved <= plan.spent
            whole += moved
        assert whole <= G.mu_squared
        worst = max(worst, whole)
    assert worst > G.mu_squared / 20  # the harness sees a person at all


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_all_stages_together_spend_no_more_than_the_guarantee(
    ask: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(monkeypatch, rows(), ask)
    spent = sum(plan.spent for plan, _ in run.stages)
    assert spent <= G.mu_squared
    assert spent > G.mu_squared * (1 - Fraction(1, 10**12))  # and what zooms left over goes to the answers


def spikes(size: int, random: np.random.Generator) -> tuple[float, ...]:
    """Noise alone, or with some people in a few neighbouring cells."""
    counts, at, few = random.normal(0, 1, size), int(random.integers(size)), int(random.integers(5))
    counts[at : at + few] += random.choice([3.0, 100.0])
    return tuple(counts.tolist())


def test_every_path_of_the_rule_keeps_its_shares() -> None:
    """Whatever is seen: an adversary chooses the noisy counts of every stage."""
    rule = LearnBounds(
        (Target("x", "value", "a", "b"), Target("y", "total", "t", "t")),
        Fraction(6, 100), Fraction(4, 100), 3, Fraction(2, 100),
    )  # fmt: skip
    random = np.random.default_rng()
    lengths = set()
    for _ in range(200):
        seen: list[Seen] = []
        left = Fraction(1)
        while (step := rule.step(seen, left)).stage not in (ANSWERS, NOTHING):
            assert step.share is not None and step.share > 0
            left -= step.share
            assert left >= 1 - rule.most_before
            sizes = {name: len(edges) + 1 for name, edges in step.asks["edges"].items()}
            values = {name: spikes(size, random) for name, size in sizes.items()}
            seen.append(Seen(step.stage, values, {name: (1.0,) * size for name, size in sizes.items()}))
            for edges in step.asks["edges"].values():
                assert all(a < b for a, b in itertools.pairwise(edges))
        lengths.add(len(seen))
        for _, of, low, high in step.asks["bounds"]:
            assert -(2.0**42) < low < high < 2.0**42
            assert of == "value" or low <= 0 <= high
    assert len(lengths) > 1


def test_every_path_to_the_cells_of_quantiles_keeps_its_shares() -> None:
    """Whatever is seen: an adversary says at every stage between which edges the quantiles may be."""
    rule = FindCells((("x", (0.5,)), ("y", (0.1, 0.9))))
    random = np.random.default_rng()
    lengths = set()
    for _ in range(200):
        seen: list[Seen] = []
        left = Fraction(1)
        while (step := rule.step(seen, left)).stage not in (ANSWERS, NOTHING):
            assert step.share is not None and step.share > 0
            left -= step.share
            assert left >= 1 - rule.most_before
            values = {}
            for name, edges in step.asks["edges"].items():
                assert all(a < b for a, b in itertools.pairwise(edges))
                assert all(map(np.isfinite, edges))
                limits = [-np.inf, *edges, np.inf]
                ends: list[float] = []
                for _ in range(1 if name == "x" else 2):
                    low = int(random.integers(len(limits) - 1))
                    ends += [limits[low], limits[min(low + int(random.choice([1, 1, 1, 6])), len(limits) - 1)]]
                values[name] = tuple(ends)
            seen.append(Seen(step.stage, values, {}))
        lengths.add(len(seen))
        most = {"x": 4 * ONE + 3, "y": 2 * (4 * SEVERAL + 3)}  # edges of each quantile, and one to either side
        for name, edges in step.asks["cells"].items():
            assert 4 <= len(edges) <= most[name] and all(a < b for a, b in itertools.pairwise(edges))
    assert len(lengths) > 3


# -- faults -----------------------------------------------------------------------------------------------------------


def spoiled(release: gm.Release, change: Callable[[Any], None]) -> str:
    fields = json.loads(release.to_json())
    change(fields)
    return json.dumps(fields)


def test_a_budget_that_is_taken_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, staged_release.release_stages, "left -= own.spent", "left -= 0 * own.spent")
    made = Run(monkeypatch, rows(), ASKS["rows"])
    assert sum(plan.spent for plan, _ in made.stages) > G.mu_squared
    with refused("stages-spend-too-much"):
        gm.read(made.release.to_json())


def test_bounds_that_do_not_come_from_noisy_cells_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exact counts two people at 2³⁰ are seen, which noise would hide."""
    table = rows([(9998, 2.0**30), (9999, 2.0**30)])
    counts = np.bincount(np.searchsorted(powers_of_two().edges, table["x"].to_numpy(), side="right"), minlength=123)
    exact = Seen("cells", {"x": tuple(map(float, counts))}, {"x": (1e-9,) * 123})
    made = Run(monkeypatch, table, {"means": {"x": "private"}}, [exact]).release
    assert made.path is not None and made.path.last.asks["bounds"][0][3] > 2.0**29
    with refused("stages-do-not-follow"):
        gm.read(made.to_json())


def test_a_tampered_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    release = Run(monkeypatch, rows(), ASKS["rows"]).release
    assert gm.read(release.to_json()) == release

    def other_cell(fields: Any) -> None:
        cells = fields["stages"]["stages"][0]["queries"][0]["features"]
        cells[0] = [500.0 if i == 100 else cell for i, cell in enumerate(cells[0])]

    def other_bounds(fields: Any) -> None:
        fields["stages"]["last"]["asks"]["bounds"][0][3] *= 2

    def no_zoom(fields: Any) -> None:
        fields["stages"]["stages"].pop()

    def other_share(fields: Any) -> None:
        fields["stages"]["rule"]["cells"] = "1/1000"

    def other_answers(fields: Any) -> None:
        fields["stages"]["rule"]["targets"][0][0] = "y"

    for change in (other_cell, other_bounds, no_zoom, other_share, other_answers):
        with refused("stages-do-not-follow"):
            gm.read(spoiled(release, change))

    def other_rule(fields: Any) -> None:
        fields["stages"]["rule"]["kind"] = "guess"

    with refused("unknown-rule-of-stages"):
        gm.read(spoiled(release, other_rule))
    plan = gm.Request(rows(), guarantee=G, **ASKS["rows"]).plan.to_json()
    assert gm.read(plan).to_json() == plan

    def dear_first(fields: Any) -> None:
        fields["stages"]["rule"]["cells"] = "1/1000"

    with refused(damaged("that spends too much")):
        fields = json.loads(plan)
        dear_first(fields)
        gm.read(json.dumps(fields))

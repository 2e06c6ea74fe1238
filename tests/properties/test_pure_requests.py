"""Requests under pure ε: no neighbours lose more than was charged, through the whole path and in exact integers.

Fresh random requests each time; `./run prove pure` tries many more of them (docs/evidence/pure.json).
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from lifts import Vector, bordered, diagonal, entries, exchangeable
from planting import plant
from whole.asks import ALL, FILTER, GROUPS, HISTOGRAM, SMALL, WIDE, Asked, Size, WholeAsk
from whole.pure import random_pure, random_pure_statistics, try_pure_pairs, try_pure_statistics

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.domains.cells import CellMarks
from gaussmith.domains.extremes import Extremes, Marks, PersonRows, Product, Signs
from gaussmith.domains.moments import ValueProducts
from gaussmith.domains.pure_strategies import MAX_NORM, ONE_NORM, pure_sensitivity
from gaussmith.errors import GaussmithError
from gaussmith.noise.law import Law
from gaussmith.numerics.marginals import TableCounts
from gaussmith.planning import pure_intervals, pure_lattice, pure_noise
from gaussmith.planning.plan import Plan
from gaussmith.requests import noise_laws

ROOT = Path(__file__).parents[2]

PAIRS = 30
"""Of neighbours, for each request."""

ALL_OF_IT = 1 - Fraction(1, 10**9)

# -- neighbours --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
def test_random_neighbours_lose_no_more_than_was_charged(size: Size) -> None:
    largest = []
    for _ in range(12):
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        found, together = try_pure_pairs(random_pure(generator, size), generator, PAIRS)
        assert found <= 1 and together <= 1, seed
        largest.append(found)
    assert max(largest) >= ALL_OF_IT  # nothing is wasted
    assert np.median([float(each) for each in largest]) > 0.9


def test_statistics_lose_no_more_than_was_charged() -> None:
    for _ in range(6):
        seed = str(random.SystemRandom().getrandbits(64))
        generator = random.Random(seed)
        name, plan = random_pure_statistics(generator)
        found, together = try_pure_statistics(plan, generator, 4)
        assert found <= 1 and together <= 1, (seed, name)


ASK = WholeAsk(
    (
        Asked(GROUPS, {"x0a": (0.0, 1.0)}, count=True, groups=3, most=2),
        Asked(HISTOGRAM, groups=4, most=3),
        Asked(ALL, {"x2a": (0.0, 4.0), "x2b": (-1.0, 2.0)}, count=True),
    ),
    True,
    "add-remove",
)
MIXED = WholeAsk((Asked(FILTER, count=True), Asked(ALL, {"x1a": (0.0, 4.0)})), True, "add-remove")


def is_noticed(ask: WholeAsk) -> bool:
    """Whether neighbours lose too much, or the plan is refused before."""
    try:
        found, together = try_pure_pairs(ask, random.Random(), 60)
    except GaussmithError:
        return True
    return found > 1 or together > 1


def test_without_a_fault_nothing_is_noticed() -> None:
    assert not is_noticed(ASK) and not is_noticed(MIXED)


BLIND = (pure_lattice.certify_block, 'raise damaged_plan("pure noise for a smaller change of one person")', "pass")
DEAF = (pure_noise.certify_query, 'raise damaged_plan("a group\'s share is too large")', "pass")
IDLE = (pure_noise.certify_pure, 'raise damaged_plan("queries that spend too much")', "pass")
"""Checks of a plan, which are taken away so that the neighbours must notice by themselves."""


@pytest.mark.parametrize(
    ("ask", "check", "function", "right", "wrong"),
    [
        (ASK, BLIND, pure_noise._drawn_together, "round(largest * scale)", "1"),
        (ASK, BLIND, pure_noise._lattice, "largest = max(", "largest = 0.5 * max("),
        (MIXED, BLIND, pure_noise._lattice, "1.0 if all(", "1.0 if any("),
        (ASK, DEAF, pure_noise._drawn_together, "fraction_down(of_noise / held)", "fraction_down(of_noise)"),
        (ASK, DEAF, pure_noise._drawn_together, "of_noise / held", "of_noise * 3 / (2 * held)"),
        (ASK, IDLE, pure_noise.shares_of, "fraction_down(epsilon * size / total)", "fraction_down(epsilon)"),
        (ASK, IDLE, pure_noise.shares_of, "total = max(sum(sizes, Fraction(0))", "total = max(max(sizes)"),
    ],
)
def test_a_plan_with_too_little_noise_is_noticed_by_its_neighbours(
    ask: WholeAsk,
    check: tuple[Any, str, str],
    function: Any,
    right: str,
    wrong: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, *check)
    assert not is_noticed(ask)
    plant(monkeypatch, function, right, wrong)
    assert is_noticed(ask)


@pytest.mark.parametrize("values", [1, 3])
def test_a_person_with_several_values_is_noticed_where_one_was_planned(
    values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S = 1 for every whole number would be for people with one value."""
    from gaussmith.domains import pure_strategies

    ask = WholeAsk((Asked(HISTOGRAM, groups=4, most=values),), True, "add-remove")
    plant(monkeypatch, pure_strategies._largest_marks, "[n - k :]", "[n - 1 :]")
    assert is_noticed(ask) == (values > 1)


# -- sensitivities, beside all extreme units ---------------------------------------------------------------------------


def units_of(kind: Extremes, extent: Vector) -> Iterator[Vector]:
    """Every unit that a norm can be largest at; of rows and products also those between."""
    match kind:
        case Signs(n):
            for signs in itertools.product((-1, 1), repeat=n):
                yield [s * e for s, e in zip(signs, extent, strict=True)]
        case CellMarks():
            for cell in range(kind.size):
                yield [Fraction(int(i == cell)) for i in range(kind.size)]
        case Marks(n, most, least):
            for row in itertools.product((0, 1), repeat=n):
                if least <= sum(row) <= most:
                    yield [Fraction(x) for x in row]
        case PersonRows(sums, k):
            for T in range(1, k + 1):
                for signs in itertools.product((-1, 1), repeat=sums + 1):
                    yield [s * e * Fraction(T, k) for s, e in zip((*signs[:-1], 1), extent, strict=True)]
        case ValueProducts(columns, pairs, rows):
            for z in itertools.product((-1, 0, 1), repeat=columns):
                both = [*z, *(z[i] * z[j] for i, j in pairs)]
                yield [rows * x * e for x, e in zip(both, extent, strict=True)]
        case Product(factors):
            ends = np.cumsum([factor.size for factor in factors]).tolist()
            parts = [extent[end - f.size : end] for f, end in zip(factors, ends, strict=True)]
            for each in itertools.product(*(units_of(f, part) for f, part in zip(factors, parts, strict=True))):
                yield [x for part in each for x in part]


def largest_of(rows: Sequence[Vector], units: Iterator[Vector], norm: str, people: int) -> Fraction:
    """max N(lift · (s, people)) over all units, by its definition."""
    size: Callable[[list[Fraction]], Fraction] = sum if norm == ONE_NORM else max  # type: ignore[assignment]
    found = Fraction(0)
    for unit in units:
        whole = [*unit, Fraction(people)]
        parts = [abs(sum((c * x for c, x in zip(row, whole, strict=False)), Fraction(0))) for row in rows]
        found = max(found, size(parts))
    return found


def kind_in_the_largest_number(rng: np.random.Generator) -> Extremes:
    chosen = int(rng.integers(4))
    if chosen == 0:
        return Signs(int(rng.integers(1, 4)))
    if chosen == 1:
        return PersonRows(int(rng.integers(0, 3)), int(rng.integers(2, 5)))
    if chosen == 2:
        columns = int(rng.integers(1, 4))
        pairs = [(i, j) for i in range(columns) for j in range(i, columns) if rng.random() < 0.7]
        return ValueProducts(columns, tuple(pairs), int(rng.integers(1, 4)))
    return Product(Signs(int(rng.integers(0, 3))), PersonRows(int(rng.integers(0, 3)), int(rng.integers(2, 5))))


def test_in_the_largest_number_no_unit_is_beyond_the_sensitivity() -> None:
    """Of numbers within bounds it is attained; of the number of rows, which is never below 0, it may be more."""
    rng = np.random.default_rng()
    attained = 0
    for _ in range(300):
        kind = kind_in_the_largest_number(rng)
        extent = rng.integers(1, 1 << 42, kind.size).astype(float)
        lift = bordered(rng, kind.size + 1)
        found = pure_sensitivity(lift, MAX_NORM, kind, extent)
        people = kind.rows if isinstance(kind, ValueProducts) else 1
        truth = largest_of(entries(lift), units_of(kind, [Fraction(e) for e in extent]), MAX_NORM, people)
        assert found >= truth, (kind, lift, extent)
        attained += found == truth
        if isinstance(kind, Signs | ValueProducts):
            assert found == truth, (kind, lift, extent)
    assert attained > 100


def test_in_the_sum_of_numbers_no_unit_is_beyond_the_sensitivity() -> None:
    """Of lists of values, with one number each or with those in none beside them: exact."""
    rng = np.random.default_rng()
    for _ in range(300):
        n = int(rng.integers(2, 6))
        most = int(rng.integers(1, n + 1))
        kind = Marks(n, most, int(rng.integers(0, most + 1)) if most == 1 else 0)
        counted = bool(rng.random() < 0.5)
        lift = diagonal(rng, n + counted)
        if most == 1 and rng.random() < 0.5:
            lift = exchangeable(rng, n, True)
            if lift.tail is None:
                continue
        found = pure_sensitivity(lift, ONE_NORM, kind, np.ones(n))
        truth = largest_of(entries(lift), units_of(kind, [Fraction(1)] * n), ONE_NORM, 1)
        assert found == truth, (kind, lift)


@pytest.mark.parametrize("tables", [((0,),), ((0, 1),), ((0, 1), (1,)), ((0,), (1,), (2,)), ((0, 1), (1, 2), (0, 2))])
@pytest.mark.parametrize("counted", [False, True])
def test_a_person_is_in_one_cell_of_each_table(tables: tuple[tuple[int, ...], ...], counted: bool) -> None:
    sizes = (2, 3, 2)
    request = gm.Request(
        "people.csv",
        marginals=[[f"c{i}" for i in table] for table in tables],
        values={f"c{i}": list("abc")[: sizes[i]] for i in range(3) if any(i in table for table in tables)},
        count=counted,
        guarantee=gm.Guarantee(epsilon=1),
    )
    (noise,) = request.plan.pure_noises
    block = request.plan.queries[0].block
    kind = block.domain.extremes()
    assert noise.law.norm == ONE_NORM and isinstance(kind, Marks)
    found = pure_sensitivity(block.grid.lift, ONE_NORM, kind, np.ones(kind.size))
    assert isinstance(block.shape.lift, TableCounts)
    assert found == noise.law.sensitivity == len(tables) + counted


# -- the law of what is released, on small lattices --------------------------------------------------------------------

SMALL_STEP = 4.0
"""Steps of a lattice for numbers that are not whole: as few as that, so that all of it is seen."""

X, LETTERS = [0.0, 0.3, 1.0], ["a", "b", None]
TINY: dict[str, dict[str, Any]] = {
    "count": {"count": True},
    "count of some": {"count": True, "where": "x > 0.2"},
    "sum": {"sums": {"x": (0, 1)}},
    "sum and count": {"sums": {"x": (0, 1)}, "count": True},
    "mean": {"means": {"x": (0, 1)}},
    "variance": {"variances": {"x": (0, 1)}},
    "histogram": {"histograms": {"h": ["a", "b"]}},
    "histogram and count": {"histograms": {"h": ["a", "b"]}, "count": True},
    "groups": {"sums": {"x": (0, 1)}, "by": {"h": ["a", "b"]}},
    "together": {"questions": [{"name": "a", "sums": {"x": (0, 1)}}, {"name": "b", "count": True, "where": "x > 0.2"}]},
    "apart": {"questions": [{"name": "a", "histograms": {"h": ["a", "b"]}}, {"name": "b", "count": True}]},
    "values": {"histograms": {"h": ["a", "b"]}, "unit": "u", "values_per_unit": 2},
}
PERSONS = [[{"x": x, "h": h}] for x in X for h in ("a", None)]
SEVERAL = [[{"x": 0.0, "h": h} for h in each] for each in (["a"], ["a", "b"], [None], ["b", "b"])]


def tables_of(name: str) -> list[list[dict[str, Any]]]:
    """Pairs of neighbours with up to three people."""
    persons = SEVERAL if name == "values" else PERSONS
    found = []
    for size in range(3):
        for others in itertools.islice(itertools.combinations_with_replacement(persons, size), 3):
            for last in persons:
                rows = [{**row, "u": i} for i, person in enumerate([*others, last]) for row in person]
                found.append(rows)
    return found


def released(plan: Plan, rows: list[dict[str, Any]], draws: list[list[np.ndarray]]) -> list[tuple[float, ...]]:
    """What a release tells for every draw of all noises, along the real path."""
    frame = pl.DataFrame(rows, schema={"x": pl.Float64, "h": pl.String, "u": pl.Int64})
    totals = mechanism.add_up(mechanism.prepare_request(plan, frame))
    found = []
    for draw in draws:
        given = iter(draw)
        with mock.patch.object(mechanism, "pure_integers", lambda law, blocks, given=given: next(given)):
            noisy = mechanism.release_totals(plan, totals).noisy
        found.append(tuple(float(x) for each in noisy for x in np.asarray(each).ravel()))
    return found


def height(plan: Plan, draw: list[np.ndarray]) -> Fraction:
    """−ln of the weight of a draw, from what the laws say."""
    total = Fraction(0)
    for noise, blocks in zip(plan.pure_noises, draw, strict=True):
        for block in np.abs(blocks).tolist():
            total += noise.law.rate * (sum(block) if noise.law.norm == ONE_NORM else max(block))
    return total


def draws_of(plan: Plan) -> list[list[np.ndarray]]:
    """Noise around 0: all of it, or of three numbers so much that the largest change of a person is among it."""
    shapes = [(noise.copies, noise.law.numbers) for noise in plan.pure_noises]
    count = sum(copies * numbers for copies, numbers in shapes)
    is_whole = all(noise.law.sensitivity < SMALL_STEP for noise in plan.pure_noises)
    found = []
    for z in itertools.product(range(-6, 7) if count < 3 else (-2, -1, 0, 1, 2) if is_whole else FEW, repeat=count):
        parts, at = [], 0
        for copies, numbers in shapes:
            parts.append(np.array(z[at : at + copies * numbers], np.int64).reshape(copies, numbers))
            at += copies * numbers
        found.append(parts)
    return found


FEW = (-5, -4, -2, 0, 2, 4, 5)


def largest_loss(name: str) -> tuple[Fraction, Fraction]:
    """The largest ln P(y)/P(y′) over neighbours and everything that both can release, and the guarantee's ε."""
    plan = gm.Request("table", guarantee=gm.Guarantee(epsilon=1), **TINY[name]).plan
    draws = draws_of(plan)
    heights = [height(plan, draw) for draw in draws]
    largest = Fraction(0)
    for rows in tables_of(name):
        gone = [row for row in rows if row["u"] != rows[-1]["u"]]
        one, other = (dict(zip(released(plan, each, draws), heights, strict=True)) for each in (rows, gone))
        assert len(one) == len(other) == len(draws), "two draws of noise gave one release"
        shared = one.keys() & other.keys()
        largest = max([largest, *(abs(one[y] - other[y]) for y in shared)])
    return largest, plan.guarantee.pure_epsilon


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pure_lattice, pure_noise):
        monkeypatch.setattr(module, "FINE", SMALL_STEP)


WHOLE = ("count", "count of some", "histogram", "histogram and count", "values")


@pytest.mark.parametrize("name", TINY)
@pytest.mark.usefixtures("coarse")
def test_ratios_of_releases_keep_to_the_guarantee(name: str) -> None:
    """Of all tables with up to three people, and all noise around 0: the ratio of two releases is at most e^ε."""
    found, epsilon = largest_loss(name)
    assert found <= epsilon
    if name != "apart":  # whose shares are rounded down
        # The bound is met, but for one step in five that is charged for rounding.
        assert found == (epsilon if name in WHOLE else epsilon * Fraction(4, 5))


@pytest.mark.parametrize(
    ("name", "law", "wrong"),
    [
        ("values", "sensitivity", 1),  # S = 1 for people with two values
        ("histogram", "epsilon", Fraction(2)),
        ("sum", "sensitivity", 3),
    ],
)
@pytest.mark.usefixtures("coarse")
def test_a_law_with_less_noise_is_noticed(name: str, law: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = pure_lattice.Drawn.law

    def narrow(drawn: pure_lattice.Drawn, epsilon: Fraction) -> Law:
        return replace(right(drawn, epsilon), **{law: wrong})  # type: ignore[type-var]

    monkeypatch.setattr(pure_lattice.Drawn, "law", narrow)
    found, epsilon = largest_loss(name)
    assert found > epsilon


@pytest.mark.usefixtures("coarse")
def test_numbers_that_are_read_twice_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries that take the same numbers of one noise: their difference would have none."""
    plant(monkeypatch, mechanism._release_pure, "start : start + query", "0 : query")
    with pytest.raises(AssertionError, match="two draws"):
        largest_loss("together")


# -- the proof ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("proof_of_pure", ROOT / "proofs" / "pure.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(module)
    few = ("one sum", "count", "histogram", "several values", "means")
    monkeypatch.setattr(module, "ASKED", {name: module.ASKED[name] for name in few})
    monkeypatch.setattr(module, "LONGEST", 3)
    monkeypatch.setattr(module, "EVIDENCE", tmp_path / "evidence" / "pure.json")
    return module


def test_the_proof_says_what_was_tried(
    proof: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proof.main(["--pairs", "60", "--repeats", "300", "--seed", "abc"]) == 0
    assert "60 pairs, 300 releases" in capsys.readouterr().out and not proof.EVIDENCE.exists()
    parts = {name: {"missed": []} for name in ("least", "whole", "coverage", "neighbours")}
    proof.write_evidence(parts, "abc", 1.0)
    written = json.loads(proof.EVIDENCE.read_text("utf-8"))
    assert written["seed"] == "abc" and {"commit", "claim", "versions", *parts} <= written.keys()


@pytest.mark.parametrize(
    ("part", "function", "right", "wrong"),
    [
        ("neighbours", BLIND[0], *BLIND[1:]),
        ("coverage", pure_intervals.confidence_of, "math.erf(width / math.sqrt(2))", "0.8"),
        ("whole", pure_intervals.confidence_of, "math.erf(width / math.sqrt(2))", "0.99"),
        ("least", noise_laws.plan_by_law, "return min(made", "return max(made"),
    ],
)
def test_the_proof_fails_where_something_is_missed(
    part: str, function: Any, right: str, wrong: str, proof: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    if part == "neighbours":
        plant(monkeypatch, pure_noise._drawn_together, "round(largest * scale)", "1")
    ways = {
        "neighbours": lambda: proof.prove_neighbours(40, "abc"),
        "coverage": lambda: proof.prove_coverage(500),
        "whole": lambda: proof.prove_whole(500),
        "least": proof.prove_least,
    }
    assert ways[part]()["missed"]

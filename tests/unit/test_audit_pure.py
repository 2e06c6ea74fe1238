"""The auditor under pure ε: right plans survive, planted bugs are refuted, and its tests of laws have their power."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.audit import pure_samples
from gaussmith.audit.auditor import audit
from gaussmith.audit.verdict import Attempt
from gaussmith.cli import main
from gaussmith.noise.cube import Cube
from gaussmith.noise.geometric import Geometric
from gaussmith.noise.keystream import pure_integers
from gaussmith.noise.law import Law

ROOT = Path(__file__).parents[2]
PURE = gm.Guarantee(epsilon=1)
SAFE = {"error": 1e-11, "samples": 4_000}
"""A true claim fails one test here less than once in 10^9 runs of this file."""


@pytest.fixture(autouse=True)
def few_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole releases take a millisecond or more each; at an error of 1e-11 any number of them is right."""
    monkeypatch.setattr(pure_samples, "RELEASES", 100)
    monkeypatch.setattr(pure_samples, "RESTS", 100_000)


REQUESTS: dict[str, dict[str, Any]] = {
    "count": {"count": True},
    "sums": {"sums": {"x": (0, 1), "y": (-3, 5)}, "count": True},
    "groups": {"sums": {"x": (0, 1)}, "by": {"r": ["a", "b", "c"]}, "unit": "u", "groups_per_unit": 2},
    "values": {"histograms": {"h": ["a", "b", "c"]}, "unit": "u", "values_per_unit": 2},
    "apart": {"questions": [{"name": "a", "histograms": {"h": ["a", "b"]}}, {"name": "b", "means": {"x": (0, 1)}}]},
    "together": {"questions": [{"name": "a", "sums": {"x": (0, 1)}}, {"name": "b", "count": True, "where": "x > 0"}]},
    "rows": {"variances": {"x": (0, 1)}, "unit": "u", "rows_per_unit": 3},
    "tables": {"marginals": [["h", "r"], ["r"]], "values": {"h": ["a", "b"], "r": ["a", "b", "c"]}, "count": True},
    "median": {"medians": ["x"], "bins": {"x": [0, 10, 20]}},
}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("epsilon", [0.01, 1, 3])
def test_right_requests_survive_and_their_worst_person_uses_all_that_is_charged(name: str, epsilon: float) -> None:
    verdict = audit(gm.Request("people.csv", guarantee=gm.Guarantee(epsilon=epsilon), **REQUESTS[name]), **SAFE)
    assert verdict.survived, str(verdict)
    worst = next(each for each in verdict.attempts if each.name == "worst neighbours, in integers")
    assert worst.found == pytest.approx(1.0, abs=1e-4)
    assert verdict.epsilon == epsilon and verdict.mu is None
    assert verdict.bound == pytest.approx(epsilon, rel=1e-4)
    assert sum(each.name.endswith((", noise", ", releases")) for each in verdict.attempts) >= 2


@pytest.mark.parametrize("domain", [gm.Box([0, 0], [1, 3]), gm.Counts(4, at_most=2), gm.Cells({"a": ["x", "y"]})])
def test_right_plans_of_domains_survive(domain: Any) -> None:
    verdict = audit(gm.plan(domain, PURE, count=True), **SAFE)
    assert verdict.survived, str(verdict)


def test_the_command_says_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, page = tmp_path / "plan.json", tmp_path / "audit.html"
    plan.write_text(gm.Request("people.csv", guarantee=PURE, sums={"x": (0, 1)}).plan.to_json(), "utf-8")
    told = ["--json", "--samples", "4000", "--error", "1e-11", "--out", str(page)]
    assert main(["audit", str(plan), *told]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["claimed_epsilon"] == 1 and said["bound_on_epsilon"] == pytest.approx(1)
    assert "claimed_mu" not in said and said["claim"] == "pure ε=1 (δ=0), add-remove"
    assert "lower bound on ε" in page.read_text("utf-8")


# -- functions of others -----------------------------------------------------------------------------------------------


def test_functions_are_held_to_a_pure_epsilon() -> None:
    """Noise on a coarse lattice survives; floats keep low bits of what was added, and half the noise is too little."""
    rng = np.random.default_rng()

    def clipped(data: Any) -> float:
        return float(np.clip(data, 0, 1).sum())

    def whole(scale: float) -> float:
        q = math.exp(-1 / scale)
        return float(rng.geometric(1 - q) - rng.geometric(1 - q))

    box = gm.Box([0], [1])
    options = {"error": 1e-11, "samples": 40_000}
    assert audit(lambda data: round(clipped(data)) + whole(1.0), box, PURE, **options).survived
    assert not audit(lambda data: round(clipped(data)) + whole(0.4), box, PURE, **options).survived
    floats = audit(lambda data: clipped(data) + float(rng.laplace()), box, PURE, **options)
    assert [each.name for each in floats.refuted_by] == ["low bits"]


# -- tests of laws -----------------------------------------------------------------------------------------------------

LAWS: list[Law] = [
    Cube(Fraction(1), 1, 1),
    Cube(Fraction(1, 10), 1, 3),
    Cube(Fraction(3), 2, 2),
    Cube(Fraction(1), 2**40 + 1, 1),
    Cube(Fraction(1), 2**40 + 1, 6),
    Cube(Fraction(1, 10**7), 2**40 + 1, 2),
    Geometric(Fraction(1), 1, 4),
    Geometric(Fraction(1, 10), 3, 2),
    Geometric(Fraction(3), 1, 5),
]


def judged(law: Law, drawn: Law, numbers: int, error: float) -> Attempt:
    return pure_samples.judge("noise", law, pure_integers(drawn, numbers // law.numbers), error)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_noise_of_the_claimed_law_survives(law: Law) -> None:
    assert not judged(law, law, 200_000, 1e-11).refutes


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_noise_of_another_scale_is_refuted_from_twice_what_is_stated_on(law: Law, sign: int) -> None:
    right = judged(law, law, 200_000, 1e-5)
    off = Fraction(float(right.detects.split()[1])) / 100 * 2 * sign
    wrong = replace(law, epsilon=law.epsilon * (1 + off))  # type: ignore[type-var]
    assert judged(law, wrong, 200_000, 1e-5).refutes, right.detects


@pytest.mark.parametrize(
    ("claimed", "drawn"),
    [
        (Cube(Fraction(1), 1, 3), Geometric(Fraction(1), 1, 3)),
        (Cube(Fraction(1), 2**40, 3), Geometric(Fraction(1), 2**40, 3)),
        (Geometric(Fraction(1), 1, 3), Cube(Fraction(1), 1, 3)),
        (Cube(Fraction(1), 2**40, 3), Cube(Fraction(1), 2**40, 2)),
    ],
)
def test_noise_of_another_law_is_refuted(claimed: Law, drawn: Law) -> None:
    blocks = pure_integers(drawn, 50_000)
    blocks = np.hstack([blocks, blocks])[:, : claimed.numbers]
    assert pure_samples.judge("noise", claimed, blocks, 1e-11).refutes


def test_numbers_of_other_blocks_do_not_pass_for_one_radius() -> None:
    for law in (Cube(Fraction(1), 1, 3), Cube(Fraction(1), 2**40, 3)):
        blocks = pure_integers(law, 100_000)
        mixed = np.column_stack([np.roll(blocks[:, i], i) for i in range(3)])
        assert pure_samples.p_values(law, mixed) > 1e-11  # each number alone is right
        assert pure_samples.p_radius(law, blocks) > 1e-11
        assert pure_samples.p_radius(law, mixed) < 1e-20


@pytest.mark.parametrize("law", [Cube(Fraction(1), 2**40, 2), Geometric(Fraction(1), 2**40, 2)], ids=str)
def test_low_bits_signs_and_repetitions_are_seen(law: Law) -> None:
    blocks = pure_integers(law, 50_000)
    assert pure_samples.p_bits(law, blocks & -4) < 1e-20
    assert pure_samples.p_bits(law, np.abs(blocks) * np.where(np.arange(len(blocks)) % 2, 1, -1)[:, None]) < 1e-20
    again = blocks.copy()
    again[1::2] = blocks[::2]
    assert pure_samples.p_fresh(law, again) < 1e-20 < pure_samples.p_fresh(law, blocks)


def test_both_numbers_beyond_an_end_by_quadrature_and_by_sums() -> None:
    """The limit on fine lattices is that of coarse ones with more and more steps."""
    fine = pure_samples._both_beyond(Cube(Fraction(1), 2**40, 3), 2 * 2**40)
    near = pure_samples._both_beyond(Cube(Fraction(1), 2**12, 3), 2 * 2**12)
    assert fine == pytest.approx(near, rel=1e-3)


# -- planted bugs ------------------------------------------------------------------------------------------------------


def load(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(module)
    return module


FAULTS = (
    "radius of D numbers", "radius without its offset", "acceptance left out", "rate 2 % too large",
    "one radius for all", "two zeros", "sensitivity in the wrong norm", "sensitivity of one value", "sensitivity 1",
    "ε split twice", "ε of one group", "δ = 0 of Gaussian noise", "a forgotten reader of μ", "the same noise in groups",
    "noise of another query", "clipped", "low bits 0", "even noise", "no noise on 0", "counts below 0 cut",
)  # fmt: skip


def test_all_planted_bugs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = load(ROOT / "proofs" / "planted" / "faults.py", "faults", monkeypatch).FAULTS
    assert {name for name in faults if name.startswith("pure: ")} == {f"pure: {name}" for name in FAULTS}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_bug_is_refuted(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = load(ROOT / "proofs" / "planted" / "faults.py", "faults", monkeypatch).FAULTS
    proof = load(ROOT / "proofs" / "audit.py", "proof_of_audit", monkeypatch)
    fault, edits = faults[f"pure: {name}"], {}
    path = tmp_path / "request.toml"
    path.write_text(fault.request, "utf-8")
    for place, right, wrong in fault.places:
        edits.setdefault(place, []).append((right, wrong))
    for place, each in edits.items():
        proof.plant_all(monkeypatch, proof.find(place), each)
    pure_samples._largest_law.cache_clear()
    told = ["--json", "--samples", "200000", "--error", "1e-6"]
    assert main(["audit", str(path), *told]) == 1
    assert not json.loads(capsys.readouterr().out)["survived"]

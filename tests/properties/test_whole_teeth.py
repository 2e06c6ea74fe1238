"""Faults planted where whole requests are planned and lifted are found by what `test_whole_requests` tries."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from planting import plant
from whole.asks import ALL, FILTER, GROUPS, HISTOGRAM, Asked, WholeAsk
from whole.trials import try_corners, try_optimum, try_pairs

from gaussmith import mechanism
from gaussmith.errors import GaussmithError
from gaussmith.numerics.joint.lift import TiedLift
from gaussmith.planning import joining as tying
from gaussmith.planning import joint_people as tied_people
from gaussmith.planning import query
from gaussmith.planning.joint_noise import JointNoise

ROOT = Path(__file__).parents[2]
ASK = WholeAsk(
    (
        Asked(GROUPS, {"x0a": (0.0, 1.0)}, count=True, groups=3, most=2),
        Asked(FILTER, {"x1a": (0.0, 4.0)}, count=True),
        Asked(FILTER, {"x2a": (0.0, 4.0)}, count=True),
        Asked(ALL, {"x3a": (0.0, 2.0)}),
    ),
    True,
    "add-remove",
)
WEIGHED = WholeAsk(
    (
        Asked(GROUPS, {"x0a": (0.0, 1.0)}, count=True, groups=4, most=3, worth=(1.0, 4.0, 1.0, 9.0)),
        Asked(ALL, count=True),
    ),
    True,
    "add-remove",
)
FILTERED = WholeAsk((Asked(FILTER, {"x0a": (-1.0, 1.0)}),), True, "replace-one")
PLAIN = (mechanism._cores, mechanism.lift_members, JointNoise.cores)
"""Taken where words do not hold the sums."""
KINDS = WholeAsk((Asked(HISTOGRAM, groups=4, most=3), Asked(FILTER, count=True)), True, "add-remove")


def test_without_a_fault_nothing_is_found() -> None:
    for ask in (ASK, KINDS, FILTERED, WEIGHED):
        assert max(try_corners(ask)) <= 1
        assert try_optimum(ask).least <= 1.0001
        assert try_pairs(ask, random.Random(), 30).violations == 0


@pytest.mark.parametrize(
    ("ask", "function", "right", "wrong"),
    [
        (ASK, tied_people.part_of, "(query.groups.size, query.groups.at_most)", "(query.groups.size, 1)"),
        (ASK, JointNoise._largest, "found = largest(", "found = 0.99 * largest("),
        (FILTERED, query._filtered_share, "max(1.0, ", "0.99 * max(1.0, "),
        (ASK, tied_people._pooled, "most = sum(part.most for _, part in members)", "most = 1"),
        (ASK, tied_people.extents_of, "columns = query.block.codes.extents", "columns = query.block.codes.extents / 2"),
        (ASK, mechanism._cores, "python(codes.centred(each.sums, each.records))", "python([2 * s for s in each.sums])"),
        (ASK, mechanism._cores, "[*core, each.records]", "[*core, 2 * each.records]"),
        (ASK, mechanism.lift_members, "members[tie.people][1][0].records", "3 * members[tie.people][1][0].records"),
        (KINDS, tied_people.part_of, "0, most_marks,", "0, 1,"),
        (WEIGHED, tied_people._families, "query.groups.at_most)", "1)"),
        (WEIGHED, tied_people.parts_of, "min(part.most, len(places))", "1"),
        (WEIGHED, tied_people.extents_of, "found[q] = columns", "found[q] = columns / 2"),
        (WEIGHED, JointNoise.cores, "[groups[i] for i in places]", "[groups[0] for i in places]"),
        (KINDS, mechanism._cores, "[[count] for count in found[0]]", "[[2 * count] for count in found[0]]"),
        (ASK, mechanism._core_rows, "codes.centred_rows(words.sums,", "codes.centred_rows(2 * words.sums,"),
        (ASK, mechanism._core_rows, "[core, words.records]", "[core, 2 * words.records]"),
        (ASK, mechanism.lift_copies, "else records_of(", "else 3 * records_of("),
        (KINDS, mechanism._core_rows, "core[:, :, None]", "2 * core[:, :, None]"),
        (WEIGHED, JointNoise.lifted_rows, "groups[:, list(places)]", "groups[:, [0] * len(places)]"),
        (ASK, TiedLift.exact_times_rows, "core.sum(axis=1)", "2 * core.sum(axis=1)"),
    ],
)
def test_a_person_who_adds_more_than_planned_is_found(
    ask: WholeAsk, function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if function in PLAIN:
        monkeypatch.setattr(mechanism, "in_words", lambda totals: None)
    plant(monkeypatch, function, right, wrong)
    assert max(try_corners(ask)) > 1


@pytest.mark.parametrize(
    ("function", "right", "wrong"),
    [
        (tying.Questions._joined, "self.neighbours == ADD_REMOVE", "False"),  # questions apart
        (tied_people.part_of, "(query.groups.size, query.groups.at_most)", "(query.groups.size, query.groups.size)"),
        (tied_people._pooled, "groups=at, most=most)", "groups=at, most=most, weights=first.weights * 3)"),
    ],
)
def test_noise_that_is_not_the_best_is_found(
    function: Any, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, function, right, wrong)
    try:
        found = try_optimum(ASK)
    except GaussmithError:
        return  # refused, which is noticed
    assert found.least > 1.01 or found.most < 1 - 1e-6


# -- the proof ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("proof_of_requests", ROOT / "proofs" / "requests.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "EVIDENCE", tmp_path / "evidence" / "requests.json")
    return module


def test_the_proof_says_what_was_tried(proof: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert proof.main(["--requests", "2", "--pairs", "60", "--certificates", "3", "--seed", "abc"]) == 0
    assert "seed abc" in capsys.readouterr().out
    evidence = json.loads(proof.EVIDENCE.read_text("utf-8"))
    assert evidence["optimum"]["requests"] == 2 and evidence["neighbours"]["pairs"] == 60
    assert evidence["realistic"]["requests"] == 26
    assert evidence["certificates"]["requests"] == 3 and len(evidence["certificates"]["named"]) == 12
    assert evidence["by_the_same_groups"]["requests"] == 3
    for part in ("certificates", "by_the_same_groups"):
        assert evidence[part]["neighbours"]["pairs"] == 60 and evidence[part]["neighbours"]["violations"] == 0
    assert evidence["seed"] == "abc" and {"commit", "seconds", "versions"} <= evidence.keys()


def test_the_proof_fails_where_something_is_missed(proof: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "prove_realistic", lambda: {"missed": []})
    plant(monkeypatch, mechanism._core_rows, "[core, words.records]", "[core, 9 * words.records]")
    assert proof.main(["--requests", "3", "--pairs", "300", "--certificates", "1", "--seed", "abc"]) == 1
    evidence = json.loads(proof.EVIDENCE.read_text("utf-8"))
    assert evidence["neighbours"]["violations"] > 0 and evidence["neighbours"]["missed"]
    assert evidence["certificates"]["neighbours"]["violations"] > 0 and evidence["certificates"]["missed"]

"""A plan and its certificate, written by one command and checked by another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from terminal import run

import gaussmith as gm
from gaussmith.domains.domain import WorstCase
from gaussmith.planning import certificate

ASKED = ["--sum", "income:0:200000", "--mean", "age:0:100", "--complete", "age", "--count", "--epsilon", "1"]
ASKED += ["--delta", "1e-6"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_plan_is_verified_by_its_certificate(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "plan", *ASKED, "--save", "plan.json", "--certificate", "proof.json")
    assert code == 0
    assert "Saved to proof.json" in out
    code, out, err = run(capsys, "verify", "plan.json", "proof.json")
    assert (code, err) == (0, "")
    assert "The certificate holds" in out
    assert "no difference of neighbours exceeds the guarantee" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run(capsys, "verify", "plan.json", "proof.json", "--json")
    found = json.loads(out)
    assert found["holds"] and found["largest_difference"] <= 1 and found["lower_bound"] <= found["price"]


def test_a_certificate_that_does_not_hold_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "plan", *ASKED, "--save", "plan.json", "--certificate", "proof.json")
    proof = json.loads(Path("proof.json").read_text())
    proof["proofs"][0]["lower_bound"] *= 1.01
    Path("forged.json").write_text(json.dumps(proof))
    code, out, err = run(capsys, "verify", "plan.json", "forged.json")
    assert (code, out) == (2, "")
    assert "a certificate that does not hold" in err
    plan = json.loads(Path("plan.json").read_text())
    lift = plan["queries"][0]["block"]["shape"]["lift"]
    lift["matrix" if "matrix" in lift else "entries"] = [[1e9]]
    Path("broken.json").write_text(json.dumps(plan))
    assert run(capsys, "verify", "broken.json", "proof.json")[0] == 2
    for words in (["nothing.json", "proof.json"], ["plan.json", "plan.json"], ["proof.json", "proof.json"]):
        code, out, err = run(capsys, "verify", *words)
        assert code == 2 and not out and err.startswith("Error:")


def test_groups_are_verified_by_the_certificate_of_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several = ["--unit", "person", "--rows-per-unit", "4", "--groups-per-unit", "2", "--by", "region=north,south,east"]
    several += ["--neighbours", "replace-one"]  # else the groups share one noise
    for more, words in ((["--by", "region=north,south"], "the guarantee"), (several, "group's share of the guarantee")):
        code, _, _ = run(capsys, "plan", *ASKED, *more, "--save", "plan.json", "--certificate", "proof.json")
        assert code == 0
        assert json.loads(Path("proof.json").read_text())["kind"] == "certificate"
        code, out, err = run(capsys, "verify", "plan.json", "proof.json")
        assert (code, err) == (0, "")
        assert "groups (each person is in " in out and words in " ".join(out.split())
        assert json.loads(run(capsys, "verify", "plan.json", "proof.json", "--json")[1])["optimality"] < 1.001
    plan = json.loads(Path("plan.json").read_text())
    plan["queries"][0]["groups"]["at_most"] = 3  # a person in more groups than was planned for
    Path("forged.json").write_text(json.dumps(plan))
    code, out, err = run(capsys, "verify", "forged.json", "proof.json")
    assert (code, out) == (2, "") and "a group's share is too large" in err


QUESTIONS = """
source = "people.parquet"
guarantee = { epsilon = 1, delta = 1e-6 }
[[question]]
name = "spending"
sums = { income = [0, 500000] }
[[question]]
name = "people"
count = true
[[question]]
name = "regions"
count = true
by = { region = ["north", "south"] }
"""


def test_several_questions_are_verified_query_by_query(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.toml").write_text(QUESTIONS)
    code, _, err = run(capsys, "plan", "q.toml", "--save", "plan.json", "--certificate", "proof.json")
    assert (code, err) == (0, "")
    code, out, err = run(capsys, "verify", "plan.json", "proof.json")
    assert (code, err) == (0, "")
    assert "\nspending, people, regions\nOne noise for all groups and questions:\n" in out
    assert max(map(len, out.splitlines())) <= 80
    found = json.loads(run(capsys, "verify", "plan.json", "proof.json", "--json")[1])
    assert [part["questions"] for part in found["queries"]] == [["spending", "people", "regions"]]
    proof = json.loads(Path("proof.json").read_text())
    proof["proofs"][0]["lower_bound"] *= 1.01
    Path("forged.json").write_text(json.dumps(proof))
    assert "the law proves" in " ".join(run(capsys, "verify", "plan.json", "forged.json")[2].split())
    proof["proofs"].pop()
    Path("forged.json").write_text(json.dumps(proof))
    assert "one proof for each query" in " ".join(run(capsys, "verify", "plan.json", "forged.json")[2].split())
    run(capsys, "plan", *ASKED, "--certificate", "one.json")
    assert "the law proves nothing" in " ".join(run(capsys, "verify", "plan.json", "one.json")[2].split())
    plan = json.loads(Path("plan.json").read_text())
    plan["guarantee"] = {"mu": 0.2}
    Path("forged.json").write_text(json.dumps(plan))
    code, out, err = run(capsys, "verify", "forged.json", "proof.json")
    assert (code, out) == (2, "") and "queries that spend too much" in err


def test_questions_with_shares_are_verified_query_by_query(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.toml").write_text(QUESTIONS.replace("count = true", "count = true\nshare = 1"))
    run(capsys, "plan", "q.toml", "--save", "plan.json", "--certificate", "proof.json")
    code, out, err = run(capsys, "verify", "plan.json", "proof.json")
    assert (code, err) == (0, "")
    assert "\nspending\n" in out and "\nregions\n" in out and "add up to no more than the guarantee" in out
    proof = json.loads(Path("proof.json").read_text())
    proof["proofs"][1]["lower_bound"] *= 1.01
    Path("forged.json").write_text(json.dumps(proof))
    assert "query 2: the law proves" in " ".join(run(capsys, "verify", "plan.json", "forged.json")[2].split())


def test_files_in_the_wrong_order_are_told_apart(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "plan", *ASKED, "--save", "plan.json", "--certificate", "proof.json")
    code, out, err = run(capsys, "verify", "proof.json", "plan.json")
    assert (code, out) == (2, "")
    assert "a certificate where a plan is expected" in err and "the plan comes first" in err
    release = gm.plan(gm.Records(), gm.Guarantee(mu=1), count=True).release([[], []])
    Path("release.json").write_text(release.to_json())
    assert "a release where a plan is expected" in run(capsys, "verify", "release.json", "proof.json")[2]


def test_nothing_is_written_unless_both_files_can_be(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for other in ("no/such/folder/proof.json", ".", "plan.json"):
        code, _, err = run(capsys, "plan", *ASKED, "--save", "plan.json", "--certificate", other)
        assert code == 2 and "--certificate" in err
        assert not Path("plan.json").exists()


def test_a_workload_from_python_is_verified_on_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = gm.plan(gm.Cells(32), gm.Guarantee(mu=1), answers=gm.workloads.prefix(32), neighbours="replace-one")
    Path("plan.json").write_text(plan.to_json())
    Path("proof.json").write_text(plan.certificate.to_json())
    code, out, _ = run(capsys, "verify", "plan.json", "proof.json")
    assert code == 0 and "within 0.0" in out


def test_a_plan_that_does_not_give_its_answers_is_refused() -> None:
    """Its decoder was made ten times smaller: errors look ten times smaller, and below what any noise can have."""
    plan = gm.plan(gm.Box({"a": (0, 10), "b": (-3, 5)}), gm.Guarantee(mu=1), count=True)
    fields = json.loads(plan.to_json())
    features = fields["queries"][0]["block"]["shape"]["features"]
    for name in ("matrix", "inner", "border"):
        if name in features:
            features[name] = (np.array(features[name]) * 0.1).tolist()
    edited = gm.Plan.from_json(json.dumps(fields))
    assert certificate.verify(plan, plan.certificate).problems == ()
    assert any("does not give the answers" in p for p in certificate.verify(edited, edited.certificate).problems)


def test_a_law_of_the_total_proves_nothing_of_the_worst() -> None:
    plan = gm.plan(gm.Cells(5), gm.Guarantee(mu=1), objective="worst")
    law = WorstCase("levels", 0.0, {"levels": np.array([[1.0, 0.0, 1.0]])})

    def problems(**changed: object) -> tuple[str, ...]:
        proof = replace(plan.certificate.proof, **changed)  # type: ignore[arg-type]
        return certificate.verify(plan, replace(plan.certificate, proofs=(proof,))).problems

    assert problems() == ()
    assert any("the law proves nothing" in problem for problem in problems(law=law, lower_bound=4.9))
    for numbers in ({"lower_bound": float("nan")}, {"price": float("inf")}, {"objective": "total"}):
        assert problems(**numbers)
    assert problems(law=WorstCase("cells", 0.0, {"weights": np.ones((5, 1))}))

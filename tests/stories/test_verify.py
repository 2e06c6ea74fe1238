"""A plan and its certificate, written by one command and checked by another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gaussmith as gm
from gaussmith import cli

ASKED = ["--sum", "income:0:200000", "--mean", "age:0:100", "--count", "--epsilon", "1", "--delta", "1e-6"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(words)
    out, err = capsys.readouterr()
    return code, out, err


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
    proof["lower_bound"] *= 1.01
    Path("forged.json").write_text(json.dumps(proof))
    code, out, err = run(capsys, "verify", "plan.json", "forged.json")
    assert (code, out) == (2, "")
    assert "a certificate that does not hold" in err
    plan = json.loads(Path("plan.json").read_text())
    plan["shape"]["lift"]["matrix" if "matrix" in plan["shape"]["lift"] else "entries"] = [[1e9]]
    Path("broken.json").write_text(json.dumps(plan))
    assert run(capsys, "verify", "broken.json", "proof.json")[0] == 2
    for words in (["nothing.json", "proof.json"], ["plan.json", "plan.json"], ["proof.json", "proof.json"]):
        code, out, err = run(capsys, "verify", *words)
        assert code == 2 and not out and err.startswith("Error:")


def test_groups_have_the_certificate_of_one_and_questions_their_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = run(capsys, "plan", *ASKED, "--by", "region=north,south", "--certificate", "proof.json")
    assert code == 0
    assert json.loads(Path("proof.json").read_text())["kind"] == "certificate"
    code, _, err = run(capsys, "plan", *ASKED, "--certificate", "no/such/folder/proof.json")
    assert code == 2 and "--certificate" in err


def test_a_workload_from_python_is_verified_on_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = gm.plan(gm.Cells(32), gm.Guarantee(mu=1), answers=gm.workloads.prefix(32), neighbours="replace-one")
    Path("plan.json").write_text(plan.to_json())
    Path("proof.json").write_text(plan.certificate.to_json())
    code, out, _ = run(capsys, "verify", "plan.json", "proof.json")
    assert code == 0 and "within 0.0" in out

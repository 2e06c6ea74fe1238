"""`gaussmith compare` from end to end."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import gaussmith as gm
from gaussmith import cli
from gaussmith.papers.sweeps import sweep_spec

G = ["--epsilon", "1", "--delta", "1e-6"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(["compare", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_table_a_picture_and_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "--box", "0:1", "--dimension", "16", *G, "--out", str(tmp_path / "c.png"))
    assert (code, err) == (0, "")
    assert "gaussmith" in out and "no: true δ = " in out and "~~" not in out and "Saved to" in out
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    code, out, err = run(capsys, "--box", "0:1", "--dimension", "16", *G, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"][0]["mechanism"] == "gaussmith"
    code, out, err = run(capsys, "--ball", "2", "--dimension", "3", *G, "--csv", "--neighbours", "replace-one")
    assert code == 0 and out.startswith("mechanism,sound,") and "clipped sum,corrected" in out


def test_sweeps_and_other_domains(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = str(tmp_path / "sweep.svg")
    code, out, _ = run(capsys, "--box", "0:1", *G, "--over", "d=4,16", "--out", target)
    assert (
        code == 0 and "\ndimension  " in out and "~~" not in out and Path(target).read_text("utf-8").startswith("<svg")
    )
    code, out, _ = run(capsys, "--box", "0:1", "--box=-2:5", *G, "--json")
    assert code == 0 and json.loads(out)["dimension"] == 2
    code, out, _ = run(capsys, "--sd", "power:1", "--dimension", "3", "--rows", "1e5", *G)
    assert code == 0 and "Gaussian data, report" in out
    code, out, _ = run(capsys, "--sd", "1,0.5", *G, "--over", "rows=100,1e4", "--json")
    assert code == 0 and json.loads(out)["over"] == "rows"
    code, out, _ = run(capsys, "--counts", "3", "--dimension", "10", *G, "--over", "k=1,3", "--csv")
    assert code == 0 and out.startswith("at_most,mechanism") and "bounded contribution" in out
    code, out, _ = run(capsys, "--votes", "--dimension", "5", *G)
    assert code == 0 and "bounded contribution" in out
    code, out, _ = run(capsys, "--sparse", "2:3.5", "--dimension", "5", *G, "--json")
    assert code == 0 and "within ±3.5" in json.loads(out)["domain"]
    code, out, _ = run(capsys, "--ball", "1", "--dimension", "3", *G, "--over", "epsilon=0.5,2", "--csv")
    assert code == 0 and out.startswith("epsilon,mechanism")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*G], "one kind of record"),
        (["--box", "0:1", "--ball", "1", *G], "--box --ball"),
        (["--box", "0:1", *G], "no --dimension"),
        (["--box", "0", "--dimension", "2", *G], "two bounds"),
        (["--box", "0:1", "--dimension", "2.5", *G], "whole number"),
        (["--box", "0:1", "--box", "0:2", "--dimension", "3", *G], "one box per coordinate"),
        (["--box", "0:1", "--dimension", "2", "--epsilon", "1"], "no delta"),
        (["--box", "0:1", "--dimension", "2", *G, "--over", "dimenson=2,4"], "did you mean 'dimension'?"),
        (["--box", "0:1", "--dimension", "2", *G, "--over", "dimension="], "1 to 40 values"),
        (["--box", "0:1", "--dimension", "2", *G, "--csv", "--json"], "only one format"),
        (["--box", "0:1", "--dimension", "2", *G, "--out", "x.pdf"], "its suffix says"),
        (["--sd", "1,0", *G], "between 1e-150"),
        (["--counts", "7", "--dimension", "5", *G], "at_most=7"),
        (["--box", "0:x", "--dimension", "2", *G], "takes a number"),
        (["--box", "1:0", "--dimension", "2", *G], "below the upper bound"),
    ],
)
def test_wrong_requests_exit_with_2(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert says in err


def test_bounds_below_zero_are_no_flags(capsys: pytest.CaptureFixture[str]) -> None:
    for bounds in ("-3:3", "-.5:1", "-1e3:-1"):
        code, out, err = run(capsys, "--box", bounds, "--dimension", "2", *G, "--json")
        assert (code, err) == (0, "") and json.loads(out)["dimension"] == 2
    code, _, err = run(capsys, "--box", "-inf:3", "--dimension", "2", *G)
    assert code == 2 and "expected one argument" not in err
    code, _, err = run(capsys, "--box", "--dimension", "2", *G)
    assert code == 2 and "expected one argument" in err


def test_every_line_of_a_sweep_can_be_seen() -> None:
    found = gm.papers.sweep("d", [2, 4, 8], lambda d: gm.compare(gm.Box([-3] * d, [3] * d), epsilon=1, delta=1e-6))
    lines: dict[str, dict[float, float]] = {}
    widths: dict[str, int] = {}
    for value in sweep_spec(found)["data"]["values"]:  # in the order in which they are drawn
        lines.setdefault(value["series"], {})[value["x"]] = value["y"]
        widths[value["series"]] = value["width"]
    assert len(lines) == 6 and next(iter(lines)) == "gaussmith" and min(widths.values()) == 2
    met = 0
    for (below, one), (above, other) in itertools.combinations(lines.items(), 2):
        if any(y == pytest.approx(other.get(x, -1.0), rel=5e-3) for x, y in one.items()):
            met += 1
            assert widths[below] >= widths[above] + 3
    assert met >= 3  # ours, the analytic, the elliptical and the correlated one have equal errors

"""A plan is printed in the time it was made: a lower bound that takes longer is left to who asks for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from growing import growth

import gaussmith as gm
from gaussmith.cli import main
from gaussmith.planning.certificate import MAX_FEATURES, verify
from gaussmith.planning.joint_noise import MAX_SOUGHT
from gaussmith.report.tables import ON_REQUEST

G = gm.Guarantee(mu=1)


def columns(size: int) -> list[str]:
    return [f"x{i}" for i in range(size)]


def numbers(size: int) -> pl.DataFrame:
    return pl.DataFrame({name: [1.0, 2.0] for name in columns(size)})


def means(size: int) -> gm.Request:
    """One noise: each with bounds of its own, so that none is like another."""
    return gm.Request(numbers(size), means={name: (0, 1 + i) for i, name in enumerate(columns(size))}, guarantee=G)


def histograms(size: int) -> gm.Request:
    table = pl.DataFrame({name: ["a", "b"] for name in columns(size)})
    return gm.Request(table, histograms={name: ["a", "b"] for name in columns(size)}, guarantee=G)


def quantiles(size: int) -> gm.Request:
    """A noise each, and a common number of people."""
    bounds = dict.fromkeys(columns(size), (0, 10))
    return gm.Request(numbers(size), quantiles={name: [0.2, 0.7] for name in bounds}, bounds=bounds, guarantee=G)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("ask", "most"),
    [(means, MAX_SOUGHT), (histograms, MAX_SOUGHT), (quantiles, 2)],
    ids=["means", "histograms", "quantiles"],
)
def test_only_a_quick_bound_is_printed(ask: Callable[[int], gm.Request], most: int) -> None:
    """By the number of questions alone; the same plan, printed again after the bound was found, reads the same."""
    small, large = ask(most).plan, ask(most + 1).plan
    assert " Gaussian noise" in flat(str(small))
    assert ON_REQUEST not in flat(str(small))
    with (
        mock.patch("gaussmith.domains.joint_bounds.find_law", side_effect=AssertionError),
        mock.patch("gaussmith.planning.certificate.law_together", side_effect=AssertionError),
    ):
        before = str(large), large._repr_html_()
    assert all(ON_REQUEST in flat(each) and " Gaussian noise" not in flat(each) for each in before)
    assert 1 <= large.optimality < 1.1
    assert (str(large), large._repr_html_()) == before


def test_a_bound_that_is_not_printed_is_still_proven() -> None:
    plan = histograms(MAX_SOUGHT + 1).plan
    found = verify(plan, plan.certificate)
    assert found.problems == ()
    assert found.optimality == pytest.approx(plan.optimality, rel=1e-6)


def test_the_limit_on_features_is_the_cells_of_two_columns() -> None:
    sizes = [query.block.domain.dimension for query in quantiles(3).plan.untied]
    assert sum(sizes[:2]) <= MAX_FEATURES < sum(sizes)


def test_the_page_of_a_release_asks_for_no_slow_bound(tmp_path: Path) -> None:
    release = gm.release(histograms(MAX_SOUGHT + 1))
    with mock.patch("gaussmith.domains.joint_bounds.find_law", side_effect=AssertionError):
        text = release.report(tmp_path / "r.html").read_text("utf-8")
    assert "certificate on request" in text


def test_the_command_that_is_named_writes_the_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text(",".join(columns(3)) + "\n1,2,3\n")
    asked = [each for name in columns(3) for each in (f"--quantile={name}=0.2,0.7", f"--bounds={name}:0:10")]
    proof, saved = str(tmp_path / "proof.json"), str(tmp_path / "plan.json")
    told = ["plan", str(tmp_path / "t.csv"), *asked, "--mu", "1"]
    assert main(told) == 0
    assert ON_REQUEST in flat(capsys.readouterr().out)
    assert main([*told, "--save", saved, "--certificate", proof]) == 0
    assert main(["verify", saved, proof]) == 0
    assert "The certificate holds" in capsys.readouterr().out


@pytest.mark.parametrize("ask", [means, histograms, quantiles], ids=lambda each: each.__name__)
def test_a_print_grows_with_the_number_of_answers(ask: Callable[[int], gm.Request]) -> None:
    def work(size: int) -> Callable[[], Any]:
        plan = ask(size).plan
        return lambda: (str(plan), plan.to_json())

    assert growth(work, 4 if ask is quantiles else 60) < 2.3

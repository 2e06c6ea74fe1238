"""Releases of other tools in a ledger, events of dp_accounting, and logging."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith import cli
from gaussmith.ledger.protection import both_ways, larger_reading
from gaussmith.ledger.units import UNIT_BITS, budget_square, charge_units
from gaussmith.privacy.pure import gdp_of_pure

ROOT = Path(__file__).parents[2]
YEAR = gm.Guarantee(epsilon=3, delta=1e-6)


def test_other_releases_are_charged_shown_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "year.ledger")
    words = ["ledger", "add", where, "--epsilon", "0.5", "--delta", "1e-8", "--note", "theirs", "--id", "a"]
    ledger = gm.Ledger.create(where, YEAR, keys_delta=1e-7)
    assert cli.main(words) == 0
    assert "a release of another tool, charged as μ = 0.6239 and κ = 1e-08" in capsys.readouterr().out
    assert cli.main(words) == 0
    (row,) = ledger.history()
    assert row["state"] == "other tool" and row["keys_delta"] >= 1e-8
    assert ledger.spent >= charge_units(gdp_of_pure(Fraction(1, 2)))
    ledger.add(mu=0.125, note="Gaussian noise elsewhere")
    assert ledger.history()[1]["mu"] == 0.125
    found = ledger.verify()
    assert found.releases == 2 and not found.pending
    assert b"theirs" in (ledger.result("a") or b"")
    cli.main(["ledger", "show", where])
    assert "other tool" in capsys.readouterr().out


@pytest.mark.parametrize(("epsilon", "delta", "K"), [(3, 1e-6, Fraction(1, 10**7)), (1, 1e-3, Fraction(1, 2000))])
def test_what_is_left_beside_leaks_in_both_directions_is_the_largest_that_keeps_delta(
    epsilon: float, delta: float, K: Fraction
) -> None:
    """K + (1 − K) δ(ε; μ) ≤ δ, and hardly less, for the μ that both charges leave."""
    extra = both_ways(gm.Guarantee(epsilon=epsilon, delta=delta), K)
    square = budget_square(gm.Guarantee(epsilon=epsilon, delta=delta), K) - extra
    rest = Fraction(gm.Guarantee(mu=float(square) ** 0.5).delta_at(epsilon=epsilon))
    assert float((K + (1 - K) * rest) / Fraction(delta)) == pytest.approx(1, abs=1e-9)
    for whole in (gm.Guarantee(mu=1), gm.Guarantee(rho=1)):
        assert both_ways(whole, K) == 0
    assert both_ways(gm.Guarantee(epsilon=epsilon, delta=delta), Fraction(0)) == 0


def test_only_a_release_with_a_delta_may_leak_in_both_directions(tmp_path: Path) -> None:
    ledger = gm.Ledger.create(tmp_path / "year.ledger", YEAR, keys_delta=1e-7)
    pure = charge_units(gdp_of_pure(larger_reading(0.1)))
    ledger.add(epsilon=0.1)
    assert ledger.spent == pure
    ledger.add(epsilon=0.1, delta=1e-8)
    both = Fraction(ledger.spent - pure, 1 << UNIT_BITS)
    assert both - Fraction(gdp_of_pure(larger_reading(0.1))) ** 2 >= both_ways(YEAR, ledger.keys_delta) > 0


def test_what_does_not_fit_or_is_not_known_is_refused(tmp_path: Path) -> None:
    plain = gm.Ledger.create(tmp_path / "plain.ledger", YEAR)
    with refused("no-room-for-other-delta", says="create the ledger with keys_delta"):
        plain.add(epsilon=0.5, delta=1e-8)
    some = gm.Ledger.create(tmp_path / "some.ledger", YEAR, keys_delta=1e-8)
    with refused("no-room-for-other-delta", says="at most δ=1e-08 fits"):
        some.add(epsilon=0.5, delta=1e-7)
    assert some.history() == []
    plain.add(epsilon=0.5, note="pure")
    with refused("budget-exceeded"):
        plain.add(epsilon=50)
    for wrong in ({}, {"epsilon": 1, "mu": 1}):
        with refused("other-release-without-guarantee"):
            plain.add(**wrong)
    for epsilon in (0, -1, 101, float("nan"), "1"):
        with refused("other-epsilon-out-of-range"):
            plain.add(epsilon=epsilon)
    for delta in (-1e-9, 1, "0"):
        with refused("other-delta-out-of-range"):
            plain.add(epsilon=1, delta=delta)
    with refused("other-note-unusable"):
        plain.add(epsilon=1, note="x\x1b")
    with refused("id-of-another-request"):
        plain.add(epsilon=0.02, id=plain.add(epsilon=0.01, id="x").release_id)
    assert cli.main(["ledger", "add", str(tmp_path / "plain.ledger"), "--rho", "0.1"]) == 2


def test_an_exhausted_ledger_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "full.ledger")
    gm.Ledger.create(where, gm.Guarantee(mu=0.5)).add(mu=0.5)
    small = str(tmp_path / "small.ledger")
    gm.Ledger.create(small, YEAR).add(mu=YEAR.mu)
    for each in (where, small):
        cli.main(["ledger", "show", each])
        out = capsys.readouterr().out
        assert "left: nothing: the budget is spent, and no further release fits" in out and "ε = 0" not in out


def test_events_go_both_ways_on_the_safe_side() -> None:
    dp = pytest.importorskip("dp_accounting", reason="dp_accounting is no part of the core")
    for mu in (0.1, 0.2367043806634357, 1 / 3, 7.7):
        event = gm.Guarantee(mu=mu).to_dp_event()
        assert Fraction(event.noise_multiplier) <= 1 / Fraction(mu)
        assert mu <= gm.Guarantee.from_dp_event(event).mu <= mu * (1 + 1e-15)
    accountant = dp.pld.PLDAccountant()
    accountant.compose(gm.Guarantee(epsilon=1, delta=1e-6).to_dp_event())
    assert accountant.get_epsilon(1e-6) == pytest.approx(1, rel=1e-3)
    both = dp.ComposedDpEvent([dp.GaussianDpEvent(2.0), dp.SelfComposedDpEvent(dp.GaussianDpEvent(4.0), 4)])
    assert gm.Guarantee.from_dp_event(both).mu == 0.5**0.5
    assert gm.Guarantee.from_dp_event(dp.LaplaceDpEvent(1.0)) == gm.Guarantee(mu=gdp_of_pure(Fraction(1)))
    for event in (
        dp.ZCDpEvent(0.1),
        dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(1.0)),
        dp.NonPrivateDpEvent(),
    ):
        with refused("event-not-covered"):
            gm.Guarantee.from_dp_event(event)


def test_logs_say_the_same_whatever_the_data(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told = []
    for which, values in (("one", [1.0]), ("other", [float("inf"), 5e9, -3.0] * 1000)):
        caplog.clear()
        folder = tmp_path / which
        folder.mkdir()
        file = tmp_path / "people.parquet"
        pl.DataFrame({"income": values}).write_parquet(file)
        ledger = gm.Ledger.create(folder / "l", YEAR)
        request = gm.Request(str(file), sums={"income": (0, 10)}, count=True, guarantee=gm.Guarantee(mu=0.1))
        with caplog.at_level(logging.DEBUG, logger="gaussmith"):
            gm.release(request, ledger=ledger, id="a")
            gm.release(request)
        told.append([record.getMessage().replace(str(folder), "") for record in caplog.records])
    assert told[0] == told[1] and len(told[0]) == 4
    assert "charge is new" in told[0][0]


def test_the_nightly_job_runs_and_runs_again(tmp_path: Path) -> None:
    pl.DataFrame({"age": [30.0] * 500}).write_parquet(tmp_path / "people.parquet")
    (tmp_path / "request.toml").write_text(
        'source = "people.parquet"\nguarantee = { epsilon = 2, delta = 1e-6 }\ncount = true\n', encoding="utf-8"
    )
    command = f"{sys.executable} -m gaussmith"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "FOLDER": str(tmp_path), "GAUSSMITH": command}

    def night(day: str) -> subprocess.CompletedProcess[str]:
        script = ["sh", str(ROOT / "examples" / "nightly.sh")]
        return subprocess.run(script, env={**environment, "DAY": day}, capture_output=True, text=True, timeout=120)

    first = night("2026-01-01")
    assert first.returncode == 0, first.stderr
    assert "is valid" in first.stdout
    again = night("2026-01-01")
    assert again.returncode == 0 and "was released before" in again.stdout
    assert night("2026-01-02").returncode == 0
    refused_day = night("2026-01-03")
    assert refused_day.returncode == 3 and "more than is left" in refused_day.stderr

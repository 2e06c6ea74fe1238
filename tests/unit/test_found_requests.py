"""Requests about found keys: what may be asked, what is said of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from terminal import run

import gaussmith as gm
from gaussmith.planning.discovered_groups import Threshold

GUARANTEE = gm.Guarantee(epsilon=1, delta=1e-5)
FOUND: dict[str, Any] = {"unit": "person", "by": {"airport": "found"}, "groups_per_unit": 1, "count": True}


def _plan(**more: Any) -> gm.Plan:
    return gm.Request("flights.csv", **{"guarantee": GUARANTEE, **FOUND, **more}).plan


def _visits() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in range(900)],
            "airport": [["OSL", "BER", "ÅLE"][i % 3] for i in range(897)] + [None] * 3,
            "sex": ["f", "m"] * 450,
            "delay": [float(i % 60) for i in range(900)],
        }
    )


def test_a_plan_says_which_groups_are_shown() -> None:
    plan = _plan()
    assert "a group of 17 people is shown half of the time, one of 23 in 95 %" in str(plan)
    assert "one group for each key found in airport, each person in one group" in str(plan)
    assert "1 groups" not in str(plan) + plan.explain()
    assert "declared" not in str(plan) + plan.explain()
    floor = str(_plan(keys_at_least=10, top=5))
    assert "keys with fewer than 10 people are never shown" in floor
    assert "at most 5 groups are shown" in floor
    assert "if each of them is in 10 groups" in " ".join(str(_plan(groups_per_unit=10)).split())


def test_several_questions_have_thresholds_of_their_own() -> None:
    asked = [
        {"name": "by airport", "by": {"airport": "found"}, "groups_per_unit": 1, "count": True},
        {"name": "by airline", "by": {"airline": "found"}, "groups_per_unit": 5, "count": True, "keys_at_least": 4},
        {"name": "all", "count": True},
    ]
    plan = gm.Request("flights.csv", unit="person", questions=asked, guarantee=GUARANTEE).plan
    one, other = plan["by airport"], plan["by airline"]
    assert one.threshold < other.threshold
    assert one.shown(one.threshold) == pytest.approx(0.5)
    assert other.shown(3) == 0 < other.shown(1000) == pytest.approx(1)
    with refused("threshold-without-found-keys"):
        plan["all"].threshold  # noqa: B018 (refuses)
    assert "by airline: a group of" in plan.explain()


@pytest.mark.parametrize("stated", [gm.Guarantee(mu=0.5), gm.Guarantee(rho=0.125)])
def test_a_release_with_found_keys_is_never_said_to_be_gaussian_private(stated: gm.Guarantee, tmp_path: Path) -> None:
    request = gm.Request(_visits(), **{**FOUND, "guarantee": stated, "keys_delta": 1e-7})
    release = gm.release(request)
    statement = "κ-approximately μ-GDP with κ=1e-07 and μ=0.5"
    assert statement in str(release) and statement in str(request.plan) and statement in request.plan.explain()
    assert "that is ρ" not in str(release) + str(request.plan)
    saved = json.loads(release.to_json())["guarantee"]
    assert saved["keys_delta"] == 1e-7 and saved["mu_of_noise"] == pytest.approx(0.5)
    assert "mu" not in saved and "rho" not in saved and saved["statement"] == "κ-approximately μ-GDP"
    page = release.report(tmp_path / "r.html").read_text("utf-8")
    assert "satisfy κ-approximate μ-Gaussian differential privacy" in page
    assert "satisfy μ-Gaussian" not in page and "zero-concentrated" not in page
    assert "How often a group is shown" in page and "Which groups are shown" in page


def test_what_is_promised_counts_keys_too() -> None:
    from gaussmith.report.keys import promise

    plan = _plan(guarantee=gm.Guarantee(mu=0.01), keys_delta=0.2)
    assert "right at most 60.2 % of the time" in promise(plan)  # (1 + 0.2 + 0.8 · 0.004) / 2


def test_row_rules_say_how_keys_are_found() -> None:
    release = gm.release(gm.Request(_visits(), guarantee=GUARANTEE, **FOUND))
    notes = " ".join(release.notes())
    assert "groups are the keys found in airport" in notes and "hash of person and key" in notes
    assert "declared" not in notes
    mixed = {**FOUND, "by": {"airport": "found", "sex": ["f", "m"]}}
    notes = " ".join(gm.release(gm.Request(_visits(), guarantee=GUARANTEE, **mixed)).notes())
    assert "groups are the keys found in airport" in notes and "keys that are not declared are dropped" in notes


def test_a_histogram_of_found_values_counts_people_by_value() -> None:
    asked = {"unit": "person", "histograms": {"airport": "found"}, "values_per_unit": 1, "guarantee": GUARANTEE}
    alone = gm.release(gm.Request(_visits(), **asked))
    assert alone.labels == (("BER",), ("OSL",), ("ÅLE",)) and alone.names == ("count",)
    beside = gm.Request(_visits(), **{**asked, "count": True, "means": {"delay": (0, 60)}, "rows_per_unit": 1})
    release = gm.release(beside)
    assert release.questions == ("answers", "airport")
    assert release["airport"].labels == alone.labels
    assert release["answers"]["count"].value == pytest.approx(900, abs=100)
    counted = gm.release(gm.Request(_visits(), **{**asked, "count": True}))
    assert counted.questions == ("answers", "airport") and counted["answers"].names == ("count",)
    both = gm.Request(_visits(), **{**asked, "histograms": {"airport": "found", "sex": ["f", "m"]}, "count": True})
    assert gm.release(both).questions == ("airport", "sex")
    assert both.plan["airport"].groups is not None and both.plan["sex"].names[-1] == "count"


def test_a_question_of_its_own_has_a_histogram_of_found_values() -> None:
    asked = [{"name": "where", "histograms": {"airport": "found"}, "values_per_unit": 1}, {"name": "n", "count": True}]
    release = gm.release(gm.Request(_visits(), unit="person", questions=asked, guarantee=GUARANTEE))
    assert release["where"].labels == (("BER",), ("OSL",), ("ÅLE",))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"neighbours": "replace-one"}, "request-found-keys-under-replace-one"),
        ({"guarantee": gm.Guarantee(mu=1)}, "keys-delta-not-stated"),
        ({"keys_delta": 1e-5}, "keys-delta-does-not-fit"),
        ({"keys_delta": 0.3}, "keys-delta-not-a-probability"),
        ({"keys_delta": "much"}, "keys-delta-not-a-probability"),
        ({"by": {"airport": ["OSL"]}, "keys_delta": 1e-6}, "keys-delta-without-found-keys"),
        ({"by": {"airport": ["OSL"]}, "top": 3}, "found-limit-without-found-keys"),
        ({"by": {"airport": ["OSL"]}, "keys_at_least": 3}, "found-limit-without-found-keys"),
        ({"groups_per_unit": None}, "found-limit-not-given"),
        ({"keys_at_least": 0}, "whole-number-out-of-range"),
        ({"top": 0}, "whole-number-out-of-range"),
        ({"by": {}, "histograms": {"airport": "found"}, "groups_per_unit": None, "count": False},
         "found-values-limit-not-given"),
        ({"questions": [{"by": {"sex": "found"}, "histograms": {"airport": "found"}, "values_per_unit": 1}],
          "by": {}, "count": False, "groups_per_unit": None}, "found-histogram-beside-other-answers"),
        ({"by": {}, "proportions": {"airport": "found"}, "groups_per_unit": None, "values_per_unit": 1},
         "histogram-values-not-listed"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(more: dict[str, Any], code: str) -> None:
    with refused(code):
        _plan(**more)


def test_flags_ask_for_found_keys(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _visits().write_parquet("flights.parquet")
    words = ["--by-found", "airport", "--unit", "person", "--groups-per-unit", "1", "--count"]
    stated = ["--epsilon", "1", "--delta", "1e-5"]
    code, out, err = run(capsys, "release", "flights.parquet", *words, *stated, "--json")
    assert (code, err) == (0, "")
    assert gm.read(out).labels == (("BER",), ("OSL",), ("ÅLE",))
    code, out, _ = run(capsys, "release", "flights.parquet", *words, *stated, "--by", "sex=f,m", "--top", "2")
    assert code == 0 and len([line for line in out.splitlines() if " count " in line]) == 2
    code, out, _ = run(capsys, "plan", *words, *stated, "--keys-at-least", "30", "--keys-delta", "1e-6")
    assert code == 0 and "keys with fewer than 30 people are never shown" in out and "κ=1e-06" in out
    code, _, err = run(capsys, "plan", *words, "--mu", "1")
    assert code == 2 and "--keys-delta 1e-7" in err
    for wrong in (["--by-found", "sex=f"], ["--by-found", "airport"], ["--by", "airport=OSL"]):
        code, _, err = run(capsys, "plan", *words, *stated, *wrong)
        assert code == 2 and "Error: " in err
    code, _, err = run(capsys, "plan", "--count", "--top", "3", *stated)
    assert code == 2 and "--by-found airport" in err


def test_a_request_file_asks_for_found_keys(tmp_path: Path) -> None:
    _visits().write_parquet(tmp_path / "flights.parquet")
    (tmp_path / "request.toml").write_text(
        'source = "flights.parquet"\nunit = "person"\nby = { airport = "found", sex = ["f", "m"] }\n'
        "groups_per_unit = 1\ncount = true\nkeys_at_least = 5\ntop = 4\nkeys_delta = 1e-6\n"
        "guarantee = { epsilon = 1, delta = 1e-5 }\n"
    )
    request = gm.Request.from_toml(tmp_path / "request.toml")
    assert float(request.plan.keys_delta) == 1e-6
    release = gm.release(request)
    values = release.values.ravel().tolist()
    assert len(values) == len(set(release.labels)) == 4 and values == sorted(values, reverse=True)


def test_a_ledger_reserves_a_tenth_for_keys_if_told_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _visits().write_parquet("flights.parquet")
    stated = ["--epsilon", "1", "--delta", "1e-5"]
    code, out, _ = run(capsys, "ledger", "init", "plain.ledger", *stated, "--json")
    assert code == 0 and json.loads(out)["keys_delta"] == 0
    code, out, _ = run(capsys, "ledger", "init", "keys.ledger", *stated, "--keys-delta", "--json")
    assert code == 0 and json.loads(out)["keys_delta"] == pytest.approx(1e-6)
    code, _, err = run(capsys, "ledger", "init", "mu.ledger", "--mu", "1", "--keys-delta")
    assert code == 2 and "--keys-delta 1e-7" in err
    words = ["flights.parquet", "--by-found", "airport", "--unit", "person", "--groups-per-unit", "1", "--count"]
    small = [*stated, "--keys-delta", "1e-6"]
    for command in ("plan", "release"):
        code, out, err = run(capsys, command, *words, *small, "--ledger", "plain.ledger")
        assert code == 3 and "no release that finds keys in the data fits" in err
        code, _, err = run(capsys, command, *words, *stated, "--ledger", "keys.ledger")
        assert code == 3  # all of μ(ε, δ) and κ = δ: neither fits beside what is reserved
    code, out, _ = run(capsys, "release", *words, *small, "--ledger", "keys.ledger")
    assert code == 0 and "the budget is spent, and no further release fits" in out  # a request can spend all of both
    code, out, _ = run(capsys, "ledger", "show", "keys.ledger")
    assert code == 0 and " κ " in out and "1e-06" in out
    code, out, _ = run(capsys, "release", "flights.parquet", "--count", "--unit", "person", *stated, "--ledger",
                       "plain.ledger")  # fmt: skip
    assert code == 0  # a ledger of a whole guarantee takes one plain release of that guarantee


def test_a_certificate_says_what_keys_cost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--by-found", "airport", "--count", "--mu", "0.5", "--keys-delta", "1e-7"]
    assert run(capsys, "plan", *words, "--save", "p.json", "--certificate", "c.json")[0] == 0
    code, out, _ = run(capsys, "verify", "p.json", "c.json")
    told = " ".join(out.split())
    assert code == 0 and "κ-approximately μ-GDP with κ=1e-07 and μ=0.5" in told
    assert "one group for each key found in airport" in told
    code, out, _ = run(capsys, "verify", "p.json", "c.json", "--json")
    assert json.loads(out)["keys_delta"] == 1e-7


def test_a_rehearsal_makes_up_keys() -> None:
    release = gm.rehearse(gm.Request("nowhere.csv", guarantee=GUARANTEE, **FOUND), rows=4000)
    assert release.labels and all(key.startswith("key ") for (key,) in release.labels)


def test_contrasts_forget_no_choice() -> None:
    """Counts decided which groups are shown; medians did not, and may be compared."""
    asked = {**FOUND, "medians": {"delay": (0, 60)}, "guarantee": GUARANTEE}
    release = gm.release(gm.Request(_visits(), **asked))
    for compare in (
        lambda: release.difference("OSL", "BER", "count"),
        lambda: release.ratio("OSL", "BER", "count"),
        lambda: release.contrast({"OSL": 1, "BER": -1}, "count"),
        lambda: release.contrasts(answer="count"),
    ):
        with refused("contrast-of-found-groups", answer="count"):
            compare()
    with refused("shares-of-found-groups"):
        release.shares("count")
    assert len(release.difference("OSL", "BER", "delay_median").rows()) == 1


@pytest.mark.parametrize("groups", [1, 10])
def test_the_spare_number_has_noise_of_its_own(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the noise of the count, both looks at a key would fail or pass together."""
    seen = []
    shows = Threshold.shows

    def record(self: Threshold, people: Any, noise: Any, spare: Any, spare_noise: Any) -> Any:
        seen.append((self.has_spare, noise.tolist(), spare_noise.tolist()))
        return shows(self, people, noise, spare, spare_noise)

    monkeypatch.setattr(Threshold, "shows", record)
    gm.release(gm.Request(_visits(), guarantee=GUARANTEE, **{**FOUND, "groups_per_unit": groups}))
    drawn = [each for _, noise, spare in seen for each in (*noise, *(spare if groups > 1 else ()))]
    assert {has for has, _, _ in seen} == {groups > 1}
    assert len(set(drawn)) == len(drawn) > 2  # two draws agree with probability 2^-50


def test_the_best_keys_are_those_with_the_largest_noisy_counts() -> None:
    found = gm.release(gm.Request(_visits(), guarantee=GUARANTEE, top=2, **FOUND))
    assert len(found.rows()) == 2
    assert all(200 < row["value"] < 400 for row in found.rows())
    assert len(gm.release(gm.Request(_visits(), guarantee=GUARANTEE, top=3, **FOUND)).rows()) == 3


def test_keys_are_told_in_the_order_of_texts_and_numbers() -> None:
    visits = _visits().with_columns(
        pl.col("sex").replace_strict({"f": 10, "m": 9}, return_dtype=pl.Int64).alias("code")
    )
    texts = gm.release(gm.Request(visits, guarantee=GUARANTEE, **FOUND)).rows()
    numbers = gm.release(gm.Request(visits, guarantee=GUARANTEE, **{**FOUND, "by": {"code": "found"}})).rows()
    assert [row["airport"] for row in texts] == ["BER", "OSL", "ÅLE"]
    assert [row["code"] for row in numbers] == [9, 10]


def test_a_count_is_released_with_the_noise_that_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of the other sign would tell the count itself, from whether it was shown."""
    visits = pl.DataFrame({"person": range(400), "airport": ["OSL"] * 400})
    for sign in (-1, 1):
        noise = sign * (1 << 52)
        monkeypatch.setattr("gaussmith.mechanism.normal_integers", lambda size, bits, noise=noise: np.full(size, noise))
        (row,) = gm.release(gm.Request(visits, guarantee=GUARANTEE, **FOUND)).rows()
        assert sign * (row["value"] - 400) > 1

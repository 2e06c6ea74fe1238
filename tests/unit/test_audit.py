"""The auditor: its bounds against other formulas, true claims survive, false ones are refuted, and what it says."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from scipy import stats

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.audit import bounds, plan_samples
from gaussmith.audit import verdict as effort
from gaussmith.audit.auditor import audit
from gaussmith.audit.exact import gaussian_delta, mu_is_safe
from gaussmith.audit.noise_tests import gaussian_length, true_delta
from gaussmith.audit.scenes import watch
from gaussmith.cli import main
from gaussmith.cli.parser import TICK, reading

G = gm.Guarantee(epsilon=1, delta=1e-5)
SAFE = {"error": 1e-11, "samples": 4_000}
"""A true claim fails one test here less than once in 10^9 runs of this file."""


WHOLE = plan_samples.RELEASES


@pytest.fixture(autouse=True)
def few_releases(monkeypatch):
    """Whole releases take a millisecond or more each; at an error of 1e-11 any number of them is right."""
    monkeypatch.setattr(plan_samples, "RELEASES", 100)


def test_confidence_bounds_are_those_of_the_binomial():
    low = bounds.lower_bound(700, 1000, 1e-6)
    assert stats.binom.sf(699, 1000, low) == pytest.approx(1e-6, rel=1e-6)
    high = bounds.upper_bound(3, 1000, 1e-6)
    assert stats.binom.cdf(3, 1000, high) == pytest.approx(1e-6, rel=1e-6)
    assert bounds.lower_bound(0, 10, 1e-3) == 0.0 and bounds.upper_bound(10, 10, 1e-3) == 1.0


def test_sizes_of_samples_keep_their_power():
    mu, error = G.mu, 1e-5
    n = bounds.samples_to_refute(mu, 1 / 0.95, error)
    assert n < 1_000_000
    p, q = stats.norm.cdf(mu / 2), stats.norm.cdf(mu / 0.95 / 2)
    needed = stats.binom.isf(error, n, p) + 1
    assert stats.binom.sf(needed - 1, n, q) == pytest.approx(0.8, abs=0.01)
    assert bounds.factor_detected(mu, n, error) == pytest.approx(1 / 0.95, rel=1e-3)
    assert bounds.scale_detected(2918, 1, 1e-6, 0.999) == pytest.approx(0.1, rel=1e-3)


def test_an_early_look_is_fair_and_stops_on_gross_violations():
    look = bounds.EarlyLook(1.0, 1e-3)
    p = stats.norm.cdf(1 / math.sqrt(2))
    ahead = [each for factor in bounds.BETS if (each := stats.norm.cdf(factor / math.sqrt(2))) < 1]
    for q in ahead:  # each bet is fair at p: its expected factor is 1
        assert p * (q / p) + (1 - p) * ((1 - q) / (1 - p)) == pytest.approx(1.0)
    assert not look.see(np.array([True, False] * 50))
    look = bounds.EarlyLook(1.0, 1e-3)
    assert look.see(np.ones(60, bool))
    assert look.log_wealth >= math.log(1000)


def test_true_delta_by_quadrature_is_that_of_the_gaussian_curve_and_of_the_catalogue():
    sigma = 1 / G.mu
    assert true_delta(5, 1.0, gaussian_length(sigma, 5), sigma) == pytest.approx(1e-5, rel=1e-4)
    assert float(gaussian_delta(1, 1)) == pytest.approx(gm.Guarantee(mu=1).delta_at(1), rel=1e-12)
    assert mu_is_safe(G) and mu_is_safe(gm.Guarantee(rho=0.1))


@pytest.mark.parametrize(
    ("dimension", "survives", "delta"),
    [(3, True, 1.736e-6), (4, False, 9.044e-4), (10, False, 0.1814), (100, False, 0.971)],
)
def test_the_rank_one_mechanism_survives_at_three_coordinates_alone(dimension, survives, delta):
    verdict = audit(gm.papers.rank_one(dimension=dimension, epsilon=1, delta=1e-5), **SAFE)
    assert verdict.survived is survives
    assert verdict.attempts[0].found == pytest.approx(delta, rel=1e-3)


def test_sound_entries_of_the_catalogue_survive_and_a_wrong_formula_does_not():
    sound = gm.papers.analytic(dimension=3, epsilon=1, delta=1e-5, sensitivity=1.0)
    assert audit(sound, **SAFE).survived
    little = gm.papers.analytic(dimension=3, epsilon=2, delta=1e-5, sensitivity=1.0)
    verdict = audit(replace(little, claimed=G), **SAFE)
    assert [each.name for each in verdict.refuted_by] == ["claim against the true curve, 50 digits"]


PLANS = {
    "sums": (gm.Box([0, -1], [1, 3]), {"count": True}),
    "means": (gm.Box({"age": (0, 100)}), {"answers": "means"}),
    "replaced": (gm.Box([0, -1], [1, 3]), {"neighbours": "replace-one"}),
    "ball": (gm.domains.Ball(3, 2.0), {}),
    "counts": (gm.Counts(4, at_most=2), {}),
    "cells": (gm.Cells({"a": ["x", "y"], "b": [1, 2]}), {}),
    "votes": (gm.domains.Votes(3), {"neighbours": "replace-one"}),
    "points": (gm.domains.Points([[0, 1], [1, 0], [2, 2]]), {}),
    "groups": (gm.Groups({"r": ["a", "b"]}, gm.Box({"x": (0, 1)}), at_most=1), {}),
}


@pytest.mark.parametrize("name", PLANS)
def test_right_plans_survive_and_their_worst_person_uses_all_that_is_charged(name):
    domain, options = PLANS[name]
    plan = gm.plan(domain, G, **options)
    verdict = audit(plan, **SAFE)
    assert verdict.survived, str(verdict)
    worst = next(each for each in verdict.attempts if each.name == "worst neighbours, in integers")
    assert worst.found == pytest.approx(1.0, abs=1e-9)


REQUESTS = {
    "people": {
        "unit": "person", "rows_per_unit": 3, "groups_per_unit": 1, "sums": {"spent": (0, 500)},
        "means": {"age": (20, 100)}, "count": True, "by": {"region": ["n", "s"]},
    },
    "filter": {"sums": {"spent": (0, 500)}, "where": "age > 3"},
    "found": {"unit": "person", "groups_per_unit": 1, "by": {"region": "found"}, "count": True},
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_right_requests_survive(name):
    verdict = audit(gm.Request("people.csv", guarantee=G, **REQUESTS[name]), **SAFE)
    assert verdict.survived, str(verdict)
    if name == "found":
        keys = next(each for each in verdict.attempts if each.name == "found keys")
        assert keys.found == pytest.approx(keys.limit, rel=1e-6)


def test_a_watched_release_repeats_its_noise_and_others_do_not():
    plan = gm.plan(gm.Box([0.0], [1.0]), G)
    data = [[0.5], [1.0]]
    first = watch(lambda: plan.release(data))
    again = watch(lambda: plan.release(data), given=first.drawn)
    assert first.release.values == again.release.values
    assert watch(lambda: plan.release(data)).release.values != first.release.values
    silent = watch(lambda: plan.release(data), zero=True)
    assert silent.release.values[0] == pytest.approx(1.5, abs=1e-6)
    inside: list[float] = []

    def other_thread():
        from threading import Thread

        thread = Thread(target=lambda: inside.append(plan.release(data).values[0]))
        thread.start()
        thread.join()
        return plan.release(data)

    watch(other_thread, zero=True)
    assert abs(inside[0] - 1.5) > 1e-12  # its noise was its own
    assert mechanism.normal_integers.__module__ == "gaussmith.noise.gaussian"


# -- words, pages and refusals --------------------------------------------------------------------------------


def test_the_command_says_what_was_found(tmp_path, capsys):
    plan = tmp_path / "plan.json"
    plan.write_text(gm.plan(gm.Box({"age": (0, 100)}), G).to_json(), "utf-8")
    page = tmp_path / "audit.html"
    code = main(["audit", str(plan), "--json", "--samples", "4000", "--error", "1e-11", "--out", str(page)])
    said = json.loads(capsys.readouterr().out)
    assert code == 0 and said["survived"] is True and said["error"] == 1e-11
    assert said["bound_on_mu"] == pytest.approx(G.mu, rel=1e-6)
    assert "The claim survived" in page.read_text("utf-8") and "record and replay: bytes" in page.read_text("utf-8")
    assert main(["audit", str(plan), "--samples", "4000", "--error", "1e-11"]) == 0
    shown = capsys.readouterr().out
    assert "\nWould have been noticed" in shown and "\n✓ certificate: " in shown
    assert "\\n" not in shown and max(map(len, shown.splitlines())) <= 80


def test_a_bound_of_nothing_is_no_evidence():
    verdict = audit(gm.plan(gm.Box({"age": (0, 100)}), G), **SAFE)
    bits = next(each for each in verdict.attempts if each.name == "low bits")
    assert bits.found == 0 and bits.finding.endswith("guesses: no evidence against the claim")
    assert "at least 0" not in re.sub(r"at least 0\.\d", "", str(verdict))


def test_help_says_what_samples_mean_for_a_request(capsys):
    with contextlib.suppress(SystemExit):
        main(["audit", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "split between the noises of the plan or the request" in shown
    assert f"more than {plan_samples.PER_SAMPLE} numbers" in shown
    assert f"released up to {WHOLE} times" in shown and f"default {effort.SAMPLES}" in shown


def test_a_terminal_shows_how_far_an_audit_is_and_a_file_does_not(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(gm.plan(gm.Box({"age": (0, 100)}), G).to_json(), "utf-8")
    told = []
    audit(str(plan), **SAFE, progress=told.append)
    assert told == sorted(told) and 0 < told[0] and told[-1] == 1.0 and len(told) > 5
    shown = {}
    for terminal in (True, False):
        with reading(stream := Terminal(terminal), word="Auditing") as report:
            if report is not None:
                report(0.5)
                time.sleep(2.5 * TICK)
        shown[terminal] = stream.getvalue()
    assert "Auditing  ━" in shown[True] and shown[False] == ""


class Terminal(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def test_a_data_file_that_begins_like_a_plan_is_called_one(tmp_path, capsys):
    data = tmp_path / "people.jsonl"
    data.write_text('{"age": 3}\n{"age": 4}\n', "utf-8")
    assert main(["audit", str(data)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("Error: a file of data, ") and "write gaussmith audit request.toml" in said


@pytest.mark.parametrize("content", [b"age,city\n3,a\n", b"PAR1\xff\xfe", b"\xff\xfe", b""])
def test_data_is_no_target_of_an_audit(tmp_path, capsys, content):
    data = tmp_path / "data.csv"
    data.write_bytes(content)
    assert main(["audit", str(data)]) == 2
    assert "audit takes a request (.toml) or a plan (.json)" in capsys.readouterr().err
    saved = tmp_path / "plan"  # a plan needs no suffix
    saved.write_text(gm.plan(gm.Box({"age": (0, 100)}), G).to_json(), "utf-8")
    assert audit(str(saved), **SAFE).target == "a plan"


def test_what_cannot_be_audited_is_refused(tmp_path, capsys):
    with refused("audit-without-claim"):
        audit(lambda data: 0.0)
    with refused("audit-of-something-else"):
        audit(3)
    assert main(["audit", str(tmp_path / "none.json")]) == 2
    assert main(["audit", "x.json", "--samples", "2.5"]) == 2
    assert main(["audit", "x.json", "--samples", "5"]) == 2
    capsys.readouterr()


# -- planted faults ------------------------------------------------------------------------------------------------

spec = importlib.util.spec_from_file_location("proof_of_audits", Path(__file__).parents[2] / "proofs" / "audit.py")
assert spec is not None and spec.loader is not None
PROOF = importlib.util.module_from_spec(spec)
spec.loader.exec_module(PROOF)


@pytest.mark.parametrize("name", PROOF.FAULTS)
def test_every_planted_fault_still_has_its_place(name, monkeypatch):
    """The proof audits each in minutes; that its text is still in the source shows at once."""
    PROOF.plant_fault(monkeypatch, PROOF.FAULTS[name])

"""Samples of an audit: what the mechanism releases, of every kind of noise, in any number, stopped early."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from planting import plant
from scipy import stats

import gaussmith as gm
from gaussmith import mechanism
from gaussmith.audit import noise_tests as integers
from gaussmith.audit import noise_tests as sampling
from gaussmith.audit import noise_tests as whitening
from gaussmith.audit import plan_samples, scenes
from gaussmith.audit import plan_samples as found_samples
from gaussmith.audit.auditor import audit
from gaussmith.audit.scenes import watch
from gaussmith.engines.engine import Totals
from gaussmith.noise import gaussian as normal
from gaussmith.planning.discovered_groups import threshold_of
from gaussmith.statistics.chosen import FOR_VALUE
from gaussmith.totals.opened import RepeatedTotals

G = gm.Guarantee(epsilon=1, delta=1e-5)
SAFE = {"error": 1e-11, "samples": 4_000}
"""A true claim fails one test here less than once in 10^9 runs of this file."""


@pytest.fixture(autouse=True)
def few_releases(monkeypatch):
    """Whole releases take a millisecond or more each; at an error of 1e-11 any number of them is right."""
    monkeypatch.setattr(plan_samples, "RELEASES", 100)


REQUESTS = {
    "people": {
        "unit": "person", "rows_per_unit": 3, "groups_per_unit": 1, "sums": {"spent": (0, 500)},
        "means": {"age": (20, 100)}, "count": True, "by": {"region": ["n", "s"]},
    },
    "filter": {"sums": {"spent": (0, 500)}, "where": "age > 3"},
    "found": {"unit": "person", "groups_per_unit": 1, "by": {"region": "found"}, "count": True},
}  # fmt: skip


MEDIANS = {
    "rows": {},
    "people": {"unit": "person", "rows_per_unit": 2},
    "cities": {"unit": "person", "rows_per_unit": 1, "groups_per_unit": 1, "by": {"city": ["a", "b"]}},
}


@pytest.fixture
def few_wide_releases(monkeypatch):
    """A whole release of 256 cells takes 10 ms."""
    monkeypatch.setattr(plan_samples, "WIDE_RELEASES", 20)
    monkeypatch.setattr(plan_samples, "RELEASES", 60)
    monkeypatch.setattr(scenes, "STEPS", 4)


@pytest.mark.parametrize("name", MEDIANS)
def test_quantiles_are_audited_on_an_even_choice_of_their_cells(name, few_wide_releases):
    asked = {"quantiles": {"wage": [0.2, 0.7]}, "bounds": {"wage": (0, 100)}}
    verdict = audit(gm.Request("people.csv", guarantee=G, **asked, **MEDIANS[name]), **SAFE)
    assert verdict.survived, str(verdict)
    found = {each.name: each for each in verdict.attempts}
    assert found["worst neighbours, in integers"].found == pytest.approx(1.0, abs=1e-2)
    assert found["noise, whitened"].samples == 2_000
    assert found["noise, whitened"].finding.endswith("128 of 256 numbers were tested, evenly chosen")
    assert found["likelihood ratio at the worst neighbours"].samples > 0


@pytest.mark.parametrize("name", MEDIANS)
def test_a_chosen_median_is_audited_around_one_cell(name, few_wide_releases):
    verdict = audit(gm.Request("people.csv", guarantee=G, medians={"wage": (0, 100)}, **MEDIANS[name]), **SAFE)
    assert verdict.survived, str(verdict)
    found = {each.name: each for each in verdict.attempts}
    assert found["worst neighbours, in integers"].found == pytest.approx(math.sqrt(1 - FOR_VALUE), abs=1e-2)
    assert found["noise, whitened"].samples > 2_000 and "evenly chosen" not in found["noise, whitened"].finding
    assert found["samples"].finding.startswith("choices of a cell are not sampled")
    assert found["likelihood ratio at the worst neighbours"].samples > 0


def test_noise_that_is_too_small_stops_the_sampling_early(monkeypatch, few_wide_releases):
    """One hundredth of the queries, 2,000 of 128 numbers, refutes noise 10 % too small; a miss has p < 1e-300."""
    request = gm.Request("people.csv", guarantee=G, quantiles={"wage": [0.2, 0.7]}, bounds={"wage": (0, 100)})
    plant(monkeypatch, normal._draw, "    return noise", "    return (noise * 0.9).astype(np.int64)")
    verdict = audit(request, error=1e-11, samples=400_000)
    white = next(each for each in verdict.attempts if each.name == "noise, whitened")
    assert white.refutes and 2_000 <= white.samples < 10_000
    assert "early look" not in [each.name for each in verdict.attempts]  # nothing is guessed of what is refuted


SHARED = {
    "people": ({**REQUESTS["people"]}, "noise that queries 1, 2 share, whitened"),
    "chosen": ({"medians": {"wage": (0, 100)}, "sums": {"spent": (0, 500)}}, "noise of query 1, whitened"),
    "lent": (
        {"quantiles": {"wage": [0.2, 0.7]}, "bounds": {"wage": (0, 100)}, "sums": {"spent": (0, 500)}},
        "noise that queries 1, 2 share, whitened",
    ),
    "tables": (
        {"marginals": [["a", "b"], ["b"]], "values": {"a": ["x", "y"], "b": ["u", "v", "w"]}},
        "noise, whitened",
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_samples_are_what_the_mechanism_releases_with_the_same_noise(name):
    """Lifted once and read by a matrix, the same recorded noise gives the same integers and features as a release."""
    plan = gm.Request("people.csv", guarantee=G, **SHARED[name][0]).plan
    scene = scenes.scene_of(plan)
    totals = mechanism.add_up(scene.prepare(scene.others))
    with scenes.fixed_choices():
        released = watch(lambda: mechanism.release_totals(plan, totals))
    sampler = sampling.Sampler(plan, [totals])
    noises = [sampling.Noise(((i, 0),)) for i, d in enumerate(plan.queries) if d.tie is None and d.block.lender is None]
    noises += [sampling.tied_noise(plan, at) for at in range(len(plan.ties))]

    def drawn():
        sampled = np.concatenate([sampler.take(noise, 1)[0] for noise in noises])
        return replace(released.release, noisy=(sampled[None],))

    sizes = [len(each) for each in watch(drawn).drawn]  # a release draws for all copies at once
    given = np.split(np.concatenate(released.drawn), np.cumsum(sizes)[:-1])
    again = watch(drawn, given=given)
    expected = np.concatenate([released.features[i][g] for noise in noises for i, g in noise.read])
    assert not again.strayed and sum(again.lifted, ()) == sum(released.lifted, ())
    assert sum(again.added, ()) == sum(released.added, ())
    assert again.features[0][0] == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    "plan", [gm.plan(gm.Box([0, -1], [1, 3]), G, count=True), gm.plan(gm.domains.Ball(3, 1e-9), G)]
)
def test_many_samples_are_single_releases_with_the_same_noise(plan):
    query, totals = plan.queries[0], Totals([3] * plan.queries[0].block.codes.width, 7)
    together = watch(lambda: replace(plan.release([]), noisy=(mechanism.sample_query(query, totals, 5),)))
    assert list(RepeatedTotals(totals, 3)) == [totals] * 3 and RepeatedTotals(totals, 3)[1:] == [totals] * 2
    noise = together.drawn[-1].reshape(5, -1)
    one_by_one = [watch(lambda: mechanism.release_totals(plan, [[totals]]), given=[each]) for each in noise]
    assert together.lifted[-1] == tuple(y for each in one_by_one for y in each.lifted[0])
    assert together.added[-1] == tuple(z for each in one_by_one for z in each.added[0])
    expected = np.array([each.features[0][0] for each in one_by_one])
    assert together.features[0] == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["people", "tables"])
def test_shared_noise_is_sampled_and_a_direction_without_enough_is_found(name, monkeypatch):
    request, said = SHARED[name]
    monkeypatch.setattr(plan_samples, "RELEASES", 60)
    verdict = audit(gm.Request("people.csv", guarantee=G, **request), **SAFE)
    assert verdict.survived, str(verdict)
    assert next(each.samples for each in verdict.attempts if each.name == said) == SAFE["samples"]
    right = mechanism.sample_lifted

    def smaller(lifted, scale, times):
        noisy, exact = right(lifted, scale, times), np.array([float(y) for y in lifted]) / scale
        return exact + (noisy - exact) * np.array([0.8, *[1.0] * (len(exact) - 1)])

    monkeypatch.setattr(mechanism, "sample_lifted", smaller)
    wrong = audit(gm.Request("people.csv", guarantee=G, **request), error=1e-11, samples=20_000)
    assert [each.name for each in wrong.refuted_by] == [said]


@pytest.fixture
def few_keys(monkeypatch):
    monkeypatch.setattr(found_samples, "ROWS", 10_000)
    monkeypatch.setattr(found_samples, "COUNTED", 4_000)


def test_noise_of_found_keys_is_sampled_and_how_often_they_are_shown(few_keys, monkeypatch):
    request = gm.Request("people.csv", guarantee=G, **REQUESTS["found"])
    found = {each.name: each for each in audit(request, **SAFE).attempts}
    assert found["noise of found keys, whitened"].samples >= SAFE["samples"]
    assert found["found keys, how often shown"].samples >= 4_000
    assert found["worst neighbours, in integers"].found == pytest.approx(1.0, abs=1e-9)
    plant(monkeypatch, mechanism._pass, "noise, spare_noise = drawn[0]", "noise, spare_noise = drawn[0] // 2")
    wrong = audit(request, error=1e-11, samples=2_000)
    assert "noise of found keys, whitened" in [each.name for each in wrong.refuted_by]


def test_a_threshold_that_shows_keys_too_easily_is_counted(few_keys, monkeypatch):
    """Bars 2 people lower show 72 % of the keys instead of half: 4,000 keys miss that with p < 1e-100."""
    plan = gm.Request("people.csv", guarantee=G, **REQUESTS["found"]).plan
    threshold = threshold_of(plan.queries[0])
    maker = found_samples._maker(plan, 0, threshold)
    assert not found_samples._count_shown(maker, threshold, 1e-11, "keys").refutes
    right = type(threshold).shows
    lower = 2 * threshold.people(1)
    monkeypatch.setattr(
        type(threshold), "shows", lambda own, people, noise, *rest: right(own, people, noise + lower, *rest)
    )
    assert found_samples._count_shown(maker, threshold, 1e-11, "keys").refutes


def test_the_verdict_says_what_was_not_sampled(monkeypatch):
    monkeypatch.setattr(plan_samples, "MAX_WIDTH", 100)
    monkeypatch.setattr(scenes, "STEPS", 4)
    asked = {"quantiles": {"wage": [0.2, 0.7]}, "bounds": {"wage": (0, 100)}}
    alone = audit(gm.Request("people.csv", guarantee=G, **asked), **SAFE)
    last = alone.attempts[-1]
    assert (alone.survived, last.kind, last.name) == (True, "not tried", "samples")
    assert all(each.kind != "sampled" for each in alone.attempts)
    assert "– samples: the noise is not sampled: an audit samples noises of up to 100 numbers" in str(alone)


def test_several_workers_draw_every_sample_once(monkeypatch):
    """Workers are threads here: processes take seconds to start (`./run prove audit` has two)."""
    pool = lambda workers, context, **begin: ThreadPoolExecutor(workers, **begin)  # noqa: E731
    monkeypatch.setattr(sampling, "ProcessPoolExecutor", pool)
    plan = gm.plan(gm.Box([0, -1], [1, 3]), G)
    with sampling.Sampler(plan, [[[Totals([0, 0], 0)]]], processes=2) as sampler:
        made = sampler.sample(sampling.Noise(((0, 0),)), 50_000)
    assert made.shape == (50_000, 2) and len(np.unique(made[:, 0])) == 50_000  # a repeat has p < 1e-6 · 2^-20


# -- tails, low bits and repetitions of integers --------------------------------------------------------------------


def judged(change=lambda noise: noise, count=1_000_000):
    """The tests of integers on so many noises of the sampler, each on another sum whose low bits are 0."""
    seen, sums = integers.SeenIntegers(), np.arange(count, dtype=np.int64) << 31
    seen.see(sums, sums + change(normal.normal_integers(count)))
    return integers.judge_integers("integers", seen, 1e-9)


def test_integers_of_the_sampler_pass_in_words_and_as_python_numbers():
    assert not judged().refutes
    noise = normal.normal_integers(3_000)
    seen = integers.SeenIntegers()
    for start in range(0, 3_000, 3):  # as a release of three numbers adds them
        lifted = [1 << 70, -(1 << 62), 0]
        seen.see(lifted, mechanism.add(lifted, noise[start : start + 3]))
    found = integers.judge_integers("integers", seen, 1e-9)
    assert not found.refutes and found.samples == 3_000 == len(np.concatenate(seen.kept))


BROKEN = {
    "clipped at 4 σ": (lambda z: z.clip(-(4 << 52), 4 << 52), "tails"),
    "none beyond 4 σ": (lambda z: np.where(abs(z) > 4 << 52, z >> 1, z), "tails"),
    "heavy": (lambda z: np.where(np.arange(len(z)) % 5_000, z, 5 * z), "tails"),
    "low 30 bits 0": (lambda z: z & -(1 << 30), "integers modulo 2^k"),
    "even": (lambda z: z & -2, "integers modulo 2^k"),
    "two bits alike": (lambda z: z & ~2 | (z & 1) << 1, "integers modulo 2^k"),
    "again": (lambda z: np.concatenate([z[:-10], -z[:10]]), "repetitions"),
    "positive": (lambda z: np.where(np.arange(len(z)) % 20, z, abs(z)), "signs"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_integers_are_found(name):
    change, test = BROKEN[name]
    found = judged(change)
    assert found.refutes and test in found.finding


def test_tails_are_exact_binomials():
    far = whitening.count_far(np.concatenate([np.full(7, 4.2), np.full(5, -4.2), np.zeros(88)]))
    assert far[:, 3].tolist() == [7, 5] and far[:, 4].tolist() == [0, 0]
    expected = stats.binom.sf(11, 100, 2 * stats.norm.sf(4))
    assert whitening.p_tails(far, 100) == pytest.approx(expected * 2 * 18, rel=1e-6)
    assert whitening.p_tails(whitening.count_far(np.zeros(0)), 10) == 1.0


PLANTED = {
    "clipped at 4 σ": (mechanism._release_noise, ".reshape(len(totals), m)",
        ".clip(-(4 << 52), 4 << 52).reshape(len(totals), m)", "record and replay: rare noise"),
    "low bits": (mechanism.add, "dtype=object)", "dtype=object) & -(1 << 30)", "record and replay: rare noise"),
    "no noise on 0": (mechanism.add, "y + z for", "y + z * bool(y) for", "record and replay: rare noise"),
    "low bits of the sampler": (normal._draw, "noise[:size]", "noise[:size] & -(1 << 30)", "integers of releases"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_faults_between_the_sampler_and_its_use_are_found(name, monkeypatch):
    function, right, wrong, test = PLANTED[name]
    plant(monkeypatch, function, right, wrong)
    verdict = audit(gm.plan(gm.Box([0, -1], [1, 3]), G, count=True), **SAFE)
    assert test in [each.name for each in verdict.refuted_by], str(verdict)


def test_counts_of_found_keys_are_looked_at_as_integers(few_keys, monkeypatch):
    request = gm.Request("people.csv", guarantee=G, **REQUESTS["found"])
    plant(monkeypatch, mechanism._pass, "noise, spare_noise = drawn[0]", "noise, spare_noise = drawn[0] & -(1 << 30)")
    wrong = audit(request, error=1e-11, samples=2_000)
    assert [each.name for each in wrong.refuted_by] == ["integers of found keys (people)"]

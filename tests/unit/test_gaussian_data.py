"""Gaussian data as a domain: what is refused, what a plan says, and that it survives JSON; codes of an ellipsoid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import Expected, damaged, refusal, refused

import gaussmith as gm
from gaussmith.domains.encoding import BALL_STEPS, BallEncoding

G = gm.Guarantee(epsilon=1, delta=1e-5)
SD = 1 / np.arange(1.0, 5.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"mean": 0, "sd": [1, 0]}, refusal("sd-out-of-range", index=1, sd=0.0)),
        ({"mean": 0, "sd": [-1, 1]}, refusal("sd-out-of-range", index=0, sd=-1.0)),
        ({"mean": 0, "sd": [1, np.nan]}, "not-numbers-per-coordinate"),
        ({"mean": 0, "sd": []}, "not-numbers-per-coordinate"),
        ({"mean": 0, "sd": ["a"]}, "not-numbers-per-coordinate"),
        ({"mean": [0, 1, 2], "sd": [1, 1]}, refusal("numbers-do-not-match-sd", dimension=2)),
        ({"mean": 1e200, "sd": [1, 1]}, "mean-not-finite"),
        ({"mean": 0, "sd": [1], "rows": 0}, refusal("number-out-of-range", name="rows", value=0)),
        ({"mean": 0, "sd": [1], "clip": "most"}, "unknown-clip"),
        ({"mean": 0, "sd": [1], "clip": 1.5}, refusal("probability-out-of-range", name="clip")),
        ({"mean": 0, "sd": [1], "scaling": "rapport"}, refusal("unknown-scaling", says="did you mean 'report'")),
        ({"mean": 0, "sd": [1], "mean_within": -1}, "mean-within-negative"),
        ({"mean": 0, "sd": [1, 2], "names": ["a", "a"]}, refusal("coordinate-name-twice", name="a")),
    ],
)
def test_wrong_domains_are_refused(arguments: dict[str, Any], says: Expected) -> None:
    with refused(says):
        gm.domains.GaussianData(**arguments)


def test_a_clip_is_chosen_by_planning() -> None:
    domain = gm.domains.GaussianData(mean=0, sd=SD)
    with refused("clip-not-planned"):
        domain.codes()
    plan = gm.plan(domain, G)
    assert plan.domain.half_axes is not None
    assert plan.block.shape.name == "clipped"
    assert 1e-4 < plan.domain.clipped_fraction() < 0.5
    with refused("shape-not-for-this-problem", says="choose one of: best, clipped"):
        gm.plan(domain, G, shape="elliptical")
    with refused("missing-not-for-this-domain"):
        gm.plan(domain, G, missing={"0": 1.0})
    with refused(damaged("half_axes")):
        domain.clipped_to(np.array([1.0, 2.0]))


def test_a_plan_survives_json_and_keeps_its_clip() -> None:
    plan = gm.plan(gm.domains.GaussianData([1, 2, 3, 4], SD, names=list("abcd")), G, answers="means", count=True)
    again = gm.Plan.from_json(plan.to_json())
    assert again == plan and again.domain == plan.domain and hash(again.domain) == hash(plan.domain)
    assert (again.domain.half_axes == plan.domain.half_axes).all()
    assert list(again.names) == [*"abcd", "count"]
    assert gm.domains.GaussianData(0, [1]) != gm.domains.GaussianData(0, [2])


def test_totals_are_those_of_the_formula() -> None:
    """(√(αΣ w/b²) + √E)², E = Σ w c² + w₀ for sums, Σ w τ² + w₀ for means; under replace-one 4αΣ w/b²."""
    w = np.array([1.0, 2.0, 0.5, 3.0])
    centre = np.array([1.0, -2.0, 0.0, 4.0])
    domain = gm.domains.GaussianData(centre, SD, clip=1e-3, mean_within=[0.1, 0.2, 0.3, 0.4])
    for answers, E in (("sums", w @ centre**2 + 1), ("means", w @ np.array([0.1, 0.2, 0.3, 0.4]) ** 2 + 1)):
        plan = gm.plan(domain, G, answers=answers, count=True, weights=w)
        S = float(w @ plan.domain.half_axes**2)
        assert plan.total_variance * G.mu**2 == pytest.approx((np.sqrt(S) + np.sqrt(E)) ** 2, rel=1e-6)
        assert plan.domain.clipped_fraction() == pytest.approx(1e-3, rel=1e-6)
    replaced = gm.plan(domain, G, weights=w, neighbours="replace-one")
    S = float(w @ replaced.domain.half_axes**2)
    assert replaced.total_variance * G.mu**2 == pytest.approx(4 * S, rel=1e-6)
    assert replaced.optimality == pytest.approx(1, rel=1e-6)


def test_the_report_scaling_is_theorem_four_and_round_is_the_plain_norm() -> None:
    from gaussmith.numerics import quadratic_forms

    plan = gm.plan(gm.domains.GaussianData(0, SD, scaling="report", clip=1e-4), G, weights="equal")
    alpha = quadratic_forms.quantile(SD / SD.sum(), 1e-4)
    assert plan.total_variance == pytest.approx(alpha * SD.sum() ** 2 / G.mu**2, rel=1e-6)
    b = 1 / np.sqrt(SD * SD.sum())  # theorem 4, as the multiplier
    assert plan.domain.half_axes == pytest.approx(np.sqrt(alpha) / b, rel=1e-9)
    standard = gm.plan(gm.domains.GaussianData(0, SD, clip=1e-4), G, weights="equal", shape="isotropic")
    C2 = quadratic_forms.quantile(SD**2, 1e-4)
    assert standard.total_variance == pytest.approx(4 * C2 / G.mu**2, rel=1e-6)
    assert standard.domain.half_axes == pytest.approx(np.full(4, np.sqrt(C2)))
    chebyshev = gm.plan(gm.domains.GaussianData(0, SD, scaling="chebyshev"), G, weights="equal")
    assert chebyshev.domain.clipped_fraction() < 0.05


def test_certificates_stay_below_totals() -> None:
    for centre in (0.0, 0.3, 5.0):
        for answers in ("sums", "means"):
            for count in (False, True):
                plan = gm.plan(gm.domains.GaussianData(centre, SD), G, answers=answers, count=count)
                assert plan.lower_bound <= plan.total_variance * (1 + 1e-9)
                assert plan.optimality < 1.6
                if answers == "means":
                    assert plan.optimality == pytest.approx(1, rel=1e-5)
    W = np.array([[1.0, 1, 0, 0], [0, 0, 1, -1]])
    plan = gm.plan(gm.domains.GaussianData(0, SD), G, answers=W)
    assert plan.lower_bound <= plan.total_variance
    assert plan.standard_errors.shape == (2,)


def test_plans_of_gaussian_data_speak_plainly(tmp_path: Any) -> None:
    plan = gm.plan(
        gm.domains.GaussianData([170.0, 70.0], [10, 15], names=["height", "weight"]), G, answers="means", count=True
    )
    said = plan.explain()
    assert "clipped" in said and "Privacy does not depend on it" in said and "isotropic" in said
    assert "height" in str(plan)
    release = plan.release(np.full((5000, 2), [171.0, 69.0]))
    page = release.report(tmp_path / "page.html").read_text("utf-8")
    assert "expected deviation" in page and "clipped to within" in page
    assert plan.chart() is not None
    assert gm.plan(gm.domains.GaussianData([1.0], [1.0]), G).explain()


def test_scales_however_far_apart_are_planned() -> None:
    plan = gm.plan(gm.domains.GaussianData(0, [1e-100, 1.0, 1e100]), G)
    assert (plan.standard_errors > 0).all() and np.isfinite(plan.standard_errors).all()
    even = gm.plan(gm.domains.GaussianData(0, [1e-9, 1e9]), G, weights="relative")
    assert even.standard_errors[1] / even.standard_errors[0] == pytest.approx(1e18, rel=1e-6)
    few = gm.plan(gm.domains.GaussianData(0, [1.0], rows=1), G)
    many = gm.plan(gm.domains.GaussianData(0, [1.0], rows=1e14), G)
    assert few.standard_errors[0] < many.standard_errors[0]


def test_codes_of_an_ellipsoid_are_those_of_a_ball_after_scaling() -> None:
    centre, axes = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, 1e-3])
    codes = BallEncoding(centre, axes)
    rng = np.random.default_rng()
    rows = centre + axes * rng.standard_normal((2000, 3)) * 10 ** rng.uniform(-3, 3, (2000, 1))
    rows[:4] = [[np.nan, 0, 0], [np.inf, 0, 0], [1.0, -2.0, 3.0], [1e300, -1e300, 1e300]]
    k = codes.encode(rows)
    assert all(sum(int(x) ** 2 for x in row) <= BALL_STEPS**2 for row in k)
    assert (k[:4] == 0).all(axis=1).tolist() == [True, True, True, False]
    z = (rows[4:] - centre) / axes
    norm = np.linalg.norm(z, axis=1, keepdims=True)
    assert k[4:] / BALL_STEPS == pytest.approx(z / np.maximum(norm, 1), abs=1e-9)
    assert (BallEncoding(centre, 2.0).encode(rows) == BallEncoding(centre, np.full(3, 2.0)).encode(rows)).all()

"""Means of vectors of which nothing is known: the rules on made-up cells, their words, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from refusals import refused
from scripts import importing

import gaussmith as gm
from gaussmith.papers import locating
from gaussmith.papers import vector_rule as level
from gaussmith.papers.locating import ANY, NORMAL, NORMAL_ONLY, quantiles
from gaussmith.papers.looks import ColumnCells, LengthCells
from gaussmith.papers.vector_rule import scale, vector_shares

with importing("benchmarks", "benchmarks/shared"):
    from unknown import every_row, measure, ratio_to_best
    from unknown_means import count_cells

G = gm.Guarantee(mu=1)


def looked(x: np.ndarray, sd: float, seed: int = 1) -> np.ndarray:
    found = count_cells(x, locating.LOCATING_EDGES)
    return found + np.random.default_rng(seed).normal(0, sd, found.shape)


def test_columns_are_located_whatever_their_scale():
    rng = np.random.default_rng(1)
    spread, middle = 10.0 ** rng.uniform(-3, 6, 20), rng.normal(size=20)
    x = (middle + rng.normal(size=(2000, 20))) * spread
    frame = locating.locate(looked(x, 60.0), 500.0, 60.0)
    assert (np.abs(frame.centre - x.mean(axis=0)) < 2.5 * spread).all()
    assert ((frame.width > 0.4 * spread) & (frame.width < 8 * spread)).all()
    assert frame.people == pytest.approx(2000, rel=0.25)  # though 500 was the guess


def test_columns_lend_each_other_strength():
    """The prior across columns, at a noise of a tenth of all people per cell. Seeded."""
    cells = looked(np.random.default_rng(2).normal(size=(1000, 64)), 100.0)
    together = np.abs(locating.locate(cells, 1000.0, 100.0).centre)
    alone = np.array([abs(locating.locate(each[None], 1000.0, 100.0).centre[0]) for each in cells])
    assert together.max() < 0.5 and alone.max() > 1000 and np.median(together) < np.median(alone) / 2


def test_what_is_found_is_never_far_away():
    """Also alone, where no other column helps; what is not found is left unknown. Seeded."""
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(60):
        sd, mean = 10.0 ** rng.uniform(-2, 3), rng.normal() * 10.0 ** rng.uniform(-1, 2)
        x = mean + sd * rng.normal(size=(1000, 1))
        cells = count_cells(x, locating.LOCATING_EDGES) + rng.normal(0, 55, (1, 123))
        if locating.is_found(cells, 55.0):
            found += 1
            assert abs(locating.locate(cells, 1000.0, 55.0).centre[0] - mean) < 16 * max(sd, abs(mean) / 8)
    assert 30 < found < 60
    assert not locating.is_found(rng.normal(0, 55, (1, 123)), 55.0)


@pytest.mark.parametrize("name", [law.name for law in ANY])
def test_zooming_tells_laws_apart_and_finds_their_means(name):
    law = next(law for law in ANY if law.name == name)
    x = 7 + 2 * law.quantile(np.random.default_rng(3).uniform(1e-9, 1, size=(20_000, 24)))
    frame = locating.Frame(np.full(24, 7.5), np.full(24, 2.4), 20_000.0)
    cells = count_cells(x, locating.edges_around(frame)) + np.random.default_rng(4).normal(0, 200, (24, 12))
    fit = locating.zoom(cells, frame, 200.0)
    assert ANY[int(fit.laws.mean(axis=0).argmax())].name == name
    assert np.abs(fit.mean - x.mean(axis=0)).max() < 0.4 and fit.people == pytest.approx(20_000, rel=0.05)


def test_laws_are_standardised_and_mirrored():
    for law in ANY:
        u = np.linspace(0.01, 0.99, 9)
        assert law.below(law.quantile(u)) == pytest.approx(u, abs=1e-9)
    found = quantiles(ANY, 512)
    assert found.mean(axis=1) == pytest.approx(0, abs=1e-12) and (found**2).mean(axis=1) == pytest.approx(1)
    assert found[-1] == pytest.approx(-found[5][::-1])


def test_made_up_records_are_always_the_same_and_symmetric_where_the_law_is():
    weights = np.eye(1, len(ANY)).repeat(5, 0)
    z = level.made_up_records(weights, ANY, 256)
    assert (z == level.made_up_records(weights, ANY, 256)).all() and z.shape == (512, 5)
    assert (z[:256] == pytest.approx(-z[256:])) and np.abs(np.corrcoef(z.T) - np.eye(5)).max() < 0.3
    assert np.sort(z, axis=0) == pytest.approx(np.sort(z, axis=0)[:, :1].repeat(5, 1))


def fit_of(d: int, law: int = 0, people: float = 4000.0) -> locating.Fit:
    one = np.ones(d)
    return locating.Fit(0 * one, one, 0.02 * one, np.eye(len(ANY))[law][None].repeat(d, 0), people)


def test_the_level_falls_with_the_noise_and_rises_with_skew_and_guard():
    fit, skewed = fit_of(16), fit_of(16, law=4)
    scaling = scale(fit.reach, np.ones(16))

    def level_of(which: locating.Fit, mu: float, guard: float = 0.0) -> float:
        return level.choose_level(None, which, scaling, ANY, mu, True, guard).value

    assert level_of(fit, 0.2) < level_of(fit, 1.0) < level_of(fit, 5.0)
    assert level_of(fit, 1.0) < level_of(skewed, 1.0)
    assert level_of(fit, 1.0) < level_of(fit, 1.0, guard=0.05)


def test_measured_lengths_count_where_they_are_longer_than_the_fitted_laws_say():
    fit = fit_of(16)
    scaling = scale(fit.reach, np.ones(16))
    cells = np.zeros(len(level.MIDDLES))
    cells[np.searchsorted(level.EDGES, 6.0)] = 4000.0  # columns that move together
    alone = level.choose_level(None, fit, scaling, ANY, 1.0, True).value
    assert level.choose_level(cells, fit, scaling, ANY, 1.0, True).value > 1.5 * alone


def test_shares_leave_most_of_the_budget_and_never_more_than_all():
    for d in (1, 16, 512, 4096):
        for rows in (1.0, 1e3, 1e9):
            for public in (False, True):
                shares = vector_shares(d, 0.2, rows, public)
                assert 0.74 <= shares.left < 1 and all(0 < s <= 0.08 for s in shares.columns)


def test_scaling_weighs_columns():
    reach = np.array([1.0, 10.0])
    even = scale(reach, reach**-2.0)
    assert even.shares == pytest.approx([0.5, 0.5]) and even.multipliers == pytest.approx(np.sqrt(0.5) / reach)
    assert scale(reach, np.ones(2)).shares[1] > 0.8


def test_plans_say_their_stages_and_errors_before_data():
    plan = gm.papers.plan_vectors(gm.papers.GaussianData(names=["a", "b"], rows=4000, normal=True), G)
    text = str(plan)
    assert "stage 1, 0.3 % of the budget" in text and "normal laws are" in text and "μ=1" in text
    assert plan.names == ("a", "b") and plan.errors(rows=4000)["a"] < 0.01
    assert (
        plan.guarantee == G
        and plan.staging is not None
        and plan.staging.first.domain == ColumnCells([locating.LOCATING_EDGES], names=["a", "b"], columns=2)
    )
    assert gm.read(plan.to_json()).hash == plan.hash


def test_a_few_runs_of_the_benchmark():
    """Seeded: A at d = 16 and exponential columns; all of it is `./run prove unknown`."""
    rows = {row.name: row for row in every_row()}
    even, skewed = (measure(rows[name], 3, seed=5) for name in ("A d=16", "C d=16, half normal"))
    assert ratio_to_best(even, "ours, normal") < 1 and even["ours, add-remove"] < even["ours"]
    assert ratio_to_best(skewed) < 0.8


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: gm.domains.GaussianData(mean=[1.0]), "gaussian-data-half-known"),
        (lambda: gm.domains.GaussianData(), "gaussian-data-half-known"),
        (lambda: gm.domains.GaussianData(0, [1.0], normal=True), "gaussian-data-half-known"),
        (lambda: gm.domains.GaussianData(dimension=2, clip=0.1), "unknown-data-told"),
        (lambda: gm.domains.GaussianData(dimension=2, normal=1), "normal-not-a-truth"),
        (lambda: gm.domains.GaussianData(dimension=0), "whole-number-out-of-range"),
        (lambda: ColumnCells([[0.0, np.nan]]), "edges-of-columns-damaged"),
        (lambda: ColumnCells([[1.0, 0.0]]), "edges-of-columns-damaged"),
        (lambda: ColumnCells([[0.0]], columns=1 << 20), "too-many-cells-of-columns"),
        (lambda: LengthCells([0.0], [0.0], [1.0]), "scale-of-length-not-positive"),
        (
            lambda: gm.papers.plan_vectors(gm.papers.GaussianData(dimension=2), G, weights=[1.0]),
            "weights-of-vectors-damaged",
        ),
        (lambda: gm.papers.plan_vectors(gm.papers.GaussianData(0, [1.0]), G), "vectors-of-known-data"),
        (lambda: gm.papers.plan_vectors(gm.papers.GaussianData(dimension=2), None), "request-without-guarantee"),
        (lambda: gm.plan(gm.papers.GaussianData(dimension=2), G, answers="means"), "unknown-data-in-one-stage"),
        (lambda: gm.plan(gm.papers.GaussianData(dimension=2), G, count=True), "unknown-data-in-one-stage"),
        (
            lambda: gm.plan(gm.Groups({"g": ["a"]}, gm.papers.GaussianData(names=["x"]), at_most=1), G),
            "unknown-data-in-one-stage",
        ),
    ],
)
def test_wrong_data_are_refused(make, code):
    with refused(code):
        make()


@pytest.mark.parametrize(
    ("columns", "options", "code"),
    [
        ("a", {}, "vector-means-without-columns"),
        ([], {}, "vector-means-without-columns"),
        (["a", "a"], {}, "vector-means-without-columns"),
        (["a"], {"count": True}, "no-such-argument"),
        (["a"], {"unit": "id"}, "vector-means-of-rows"),
        (["a"], {"unit": ""}, "unit-not-a-name"),
        (["a"], {"guarantee": None}, "request-without-guarantee"),
        (["a"], {"weights": [1.0, 2.0]}, "weights-of-vectors-damaged"),
        (["a"], {"id": "week-1"}, "id-without-ledger"),
        (["a"], {"where": "a > 0", "neighbours": "replace-one"}, "filtered-vector-means-under-replace-one"),
    ],
)
def test_wrong_calls_are_refused_before_a_source_is_opened(columns, options, code):
    with refused(code):
        gm.papers.vector_means("nowhere.csv", columns, **{"guarantee": G, **options})


def test_the_old_field_of_requests_says_where_it_went(tmp_path):
    with refused("unknown-field-of-request", says="gaussmith.papers.vector_means(", field="vector_means"):
        gm.Request("people.csv", vector_means=["a"], guarantee=G)
    file = tmp_path / "request.toml"
    file.write_text('source = "people.csv"\nvector_means = ["a"]\nguarantee = { mu = 1 }')
    with refused("unknown-key-in-request", says="gaussmith.papers.vector_means(", key="vector_means"):
        gm.Request.from_toml(file)


def test_a_file_a_ledger_and_a_rehearsal(tmp_path):
    """As a request: files by any engine, charged once, the same bytes again, and made-up rows before."""
    data = np.random.default_rng(1).normal(size=(600, 2)) * [1.0, 10.0] + 50
    path = str(tmp_path / "people.parquet")
    pl.DataFrame(data, schema=["a", "b"]).write_parquet(path)
    book = gm.Ledger.create(tmp_path / "study.ledger", G)
    made_up = gm.papers.vector_means(path, ["a", "b"], guarantee=G, rows=600, made_up=500)
    assert made_up.made_up and book.remaining_guarantee.mu == G.mu
    with refused("no-such-column"):
        gm.papers.vector_means(path, ["a", "z"], guarantee=G, ledger=book, id="1")
    assert book.remaining_guarantee.mu == G.mu
    how = {"guarantee": {"mu": 1}, "rows": 600, "about": {"curator": "Ada"}, "ledger": book, "id": "1"}
    first = gm.papers.vector_means(path, ["a", "b"], engine="duckdb", **how)
    assert np.abs(first.values - data.mean(axis=0)).max() < 5 and first.names == ("a_mean", "b_mean")
    assert gm.papers.vector_means(path, ["a", "b"], **how).to_json() == first.to_json()
    with refused("budget-exceeded"):
        gm.papers.vector_means(path, ["a", "b"], **{**how, "id": "2"})
    with pytest.raises(gm.LedgerError):
        gm.papers.vector_means(path, ["a"], **how)


def test_normal_laws_alone_where_data_are_declared_normal():
    assert NORMAL_ONLY == (NORMAL,) and ANY[0] is NORMAL

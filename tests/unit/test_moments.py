"""Moments: codes, coordinates, plans and releases of variances, covariances and regressions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from noisy import noisy_release
from refusals import refused

import gaussmith as gm
from gaussmith.domains.moments import MomentEncoding, coarse_codes
from gaussmith.statistics.statistic import Noisy

SURE = gm.Guarantee(mu=1e5)
BOUNDS = {"age": (0, 110), "bmi": (10, 70), "income": (0, 200_000)}


def people(n: int = 4000, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    z = np.clip(rng.normal(size=(n, 3)) * 0.3, -1, 1)
    income = 100_000 + 60_000 * z[:, 0] + 70_000 * np.clip(z[:, 2], -0.5, 0.5)
    return pl.DataFrame({"age": 55 + 55 * z[:, 0], "bmi": 40 + 30 * z[:, 1], "income": income})


# -- codes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0, 110), (-3.3, 1e-3), (1e6, 1e6 + 1), (0, 5e-90), (-1e99, 1e99)])
def test_codes_have_at_most_21_bits_and_lie_within_the_bounds(low: float, high: float) -> None:
    codes = coarse_codes(np.array([low]), np.array([high]), np.array([low]), None)
    assert 2**20 <= codes.steps[0] <= 2**21
    x = np.array([low, high, (low + high) / 2, np.nextafter(high, low), -np.inf, np.inf, np.nan])
    coded = codes.encode(x[:, None])[:, 0]
    assert coded.min() >= 0 and coded.max() == codes.steps[0]
    assert Fraction(low) + int(codes.steps[0]) / Fraction(codes.scale[0]) <= Fraction(high)


def test_the_summed_core_is_exact() -> None:
    base = coarse_codes(np.array([0.0, 10.0]), np.array([110.0, 70.0]), np.zeros(2), None)
    codes = MomentEncoding(base, ((0, 0), (0, 1), (1, 1)))
    rows = people(5000).select("age", "bmi").to_numpy()
    v = [[2 * int(c) - int(s) for c, s in zip(row, base.steps, strict=True)] for row in base.encode(rows)]
    wanted = [sum(a for a, _ in v), sum(b for _, b in v)]
    wanted += [sum(a * a for a, _ in v), sum(a * b for a, b in v), sum(b * b for _, b in v)]
    assert codes.sum_rows(rows).tolist() == codes.encode(rows).sum(axis=0).tolist()
    assert codes.centred(codes.sum_rows(rows), len(rows)) == wanted
    assert all(abs(w) <= len(rows) * e for w, e in zip(wanted, codes.extents.tolist(), strict=True))


def test_coordinates_and_their_names() -> None:
    domain = gm.Moments({"a": (0, 2), "b": (-3, 5)}, around=0.25)
    assert domain.names == ("a", "b", "a²", "a·b", "b²")
    assert domain.radius.tolist() == [1, 4, 1, 4, 16]
    assert domain.centre.tolist() == [1, 1, -0.25, 0, -4]
    assert gm.Moments({"a": (0, 2), "b": (0, 1)}, [("b", "a")]).names == ("a", "b", "a·b")


def test_refused_domains() -> None:
    with refused("too-many-columns-of-moments", columns=65):
        gm.Moments({f"c{j}": (0, 1) for j in range(65)})
    with refused("products-not-listed", products="some"):
        gm.Moments({"a": (0, 1)}, "some")
    with refused("product-of-unknown-columns"):
        gm.Moments({"a": (0, 1)}, [("a", "b")])
    with refused("bounds-reversed"):
        gm.Moments({"a": (1, 0)})
    with pytest.raises(gm.DomainError, match="share of the largest"):
        gm.Moments({"a": (0, 1)}, around=2)


# -- reading ----------------------------------------------------------------------------------------------------------


def test_answers_are_those_of_the_data() -> None:
    data = people()
    x = data.to_numpy()
    release = gm.plan(gm.Moments(BOUNDS, around=0.15), SURE, answers="covariance", weights="relative").release(data)
    C, R = np.cov(x.T, bias=True), np.corrcoef(x.T)
    for i, name in enumerate(BOUNDS):
        assert release[f"{name}_variance"].value == pytest.approx(C[i, i], rel=1e-3)
        assert release[f"{name}_sd"].value == pytest.approx(np.sqrt(C[i, i]), rel=1e-3)
    assert release["age_income_covariance"].value == pytest.approx(C[0, 2], rel=1e-3)
    assert release["age_income_correlation"].value == pytest.approx(R[0, 2], abs=1e-4)
    design = np.column_stack([x[:, :2], np.ones(len(x))])
    wanted = np.linalg.lstsq(design, x[:, 2], rcond=None)[0]
    ask = {"of": "income", "on": ["age", "bmi"]}
    fitted = gm.plan(gm.Moments(BOUNDS, around=0.15), SURE, answers=ask, weights="relative").release(data)
    assert fitted.names == ("income_on_age", "income_on_bmi", "income_on_constant")
    for value, error, true in zip(fitted.values, fitted.standard_errors, wanted, strict=True):
        assert value == pytest.approx(true, abs=6 * error + 1e-6 * abs(true))


@pytest.mark.parametrize("answers", ["covariance", {"of": "income", "on": ["age", "bmi"]}])
def test_gradients_are_those_of_small_changes(answers: object) -> None:
    """The delta method by finite differences: nothing is shared with the formulas but the values."""
    plan = gm.plan(gm.Moments(BOUNDS, around=0.15), gm.Guarantee(mu=1), answers=answers, weights="relative", count=True)
    release = plan.release(people(100_000))
    block, features = plan.block, release.noisy[0][0]

    def read(x: np.ndarray) -> np.ndarray:
        noisy = Noisy(x, block.shape.features, 1e-30, block.shape.counted)
        return block.answers.gathered(lambda each: each.values(noisy))

    noisy = Noisy(features, block.shape.features, 1e-30, block.shape.counted)
    slopes = block.answers.gradient(noisy)
    scale = np.sqrt(block.noise.variances)
    for j, step in enumerate(scale):
        moved = np.zeros(len(features))
        moved[j] = step
        found = (read(features + moved) - read(features - moved)) / (2 * step)
        assert np.allclose(found, slopes[:, j], rtol=1e-3, atol=1e-5 * np.abs(slopes * scale).max(axis=1) / step)


def test_what_cannot_be_told_is_unknown() -> None:
    plan = gm.plan(gm.Moments(BOUNDS, around=0.15), gm.Guarantee(mu=1), answers="covariance", weights="relative")
    block = plan.block
    kinds = {name: i for i, name in enumerate(plan.names)}
    x = np.zeros(block.shape.features.shape[0])
    x[-1] = 1000.0  # all squares lie `around` the middle: variances of 0.15 r², no covariance

    def read(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        noisy = Noisy(x, block.shape.features, block.noise_scale**2, True)
        values = block.answers.gathered(lambda each: each.values(noisy))
        ends = [each.intervals(noisy, 1.96, "fieller") for each in block.answers.statistics]
        return values, *(np.concatenate(each) for each in zip(*ends, strict=True))

    values, low, high = read(x)
    assert np.isfinite(values).all() and np.isfinite([low, high]).all()
    index = plan.block.problem.features.index.tolist()
    moved = x.copy()
    moved[index.index(int(block.domain.squares[0]))] = -1e6 * 1000  # a variance far below zero
    values, low, high = read(moved)
    for name in ("age_variance", "age_sd", "age_bmi_correlation"):
        assert np.isnan(values[kinds[name]]) and (low[kinds[name]], high[kinds[name]]) == (-np.inf, np.inf)
    assert np.isfinite(values[kinds["bmi_sd"]])
    assert np.isnan(read(np.append(x[:-1], -5.0))[0]).all()  # no records
    crossed = x.copy()
    crossed[index.index(int(block.domain.crossed[0]))] = 55 * 30 * 1000  # a correlation above one
    values, *_ = read(crossed)
    assert np.isnan(values[kinds["age_bmi_correlation"]]) and np.isfinite(values[kinds["age_bmi_covariance"]])


def test_a_constant_far_from_the_data_is_unknown_where_the_slope_is() -> None:
    """All records have one x, so that nothing tells the slope; where the line meets x = 0 cannot be told either."""
    asked = {"of": "y", "on": ["x"]}
    plan = gm.plan(gm.Moments({"y": (0, 10), "x": (100, 110)}, around=0.15), gm.Guarantee(mu=1), answers=asked)
    records = np.column_stack([np.full(5000, 5.0), np.full(5000, 105.0)])
    told = 0
    for _ in range(200):  # a false alarm of either needs 41 of 200 where 5 are expected: below 1e-20
        release = plan.release(records)
        told += bool(np.isfinite(release["y_on_constant"].interval(0.95)).all())
    assert told <= 40


def test_unknown_answers_say_so_in_every_table() -> None:
    plan = gm.plan(gm.Moments(BOUNDS, around=0.15), gm.Guarantee(mu=0.01), answers="variances", weights="relative")
    allowed = {
        f"{name}_{kind}": (0.0, ((high - low) / 2) ** power)
        for name, (low, high) in BOUNDS.items()
        for kind, power in (("variance", 2), ("sd", 1))
    }
    seen = 0
    for _ in range(60):  # more than half of such releases hold an unknown answer: none in 60 is less likely than 1e-18
        release = plan.release(people(2))
        unknown = [row for row in release.rows() if row["status"] == "unknown"]
        assert all((row["lower"], row["upper"]) == allowed[row["answer"]] for row in unknown)
        assert gm.read(release.to_json()) == release
        seen += bool(unknown)
    assert seen


def test_intervals_are_cut_to_what_the_bounds_allow() -> None:
    asked = {"variances": ["age"], "covariance": ["age", "bmi"]}
    rows = pl.DataFrame({"age": [55.0, 56.0] * 60, "bmi": [40.0, 41.0] * 60})
    request = gm.Request(rows, bounds=BOUNDS, guarantee=gm.Guarantee(mu=1), **asked)
    high = [55**2, 55, 55 * 30, 1]
    assert request.plan.names == ("age_variance", "age_sd", "age_bmi_covariance", "age_bmi_correlation")
    for _ in range(20):
        lower, upper = gm.release(request).intervals(0.99999)
        assert (lower >= [0, 0, -55 * 30, -1]).all() and (upper <= high).all() and (lower <= upper).all()


def test_variances_that_are_mostly_noise_are_not_presented() -> None:
    rows = pl.DataFrame({"age": [55.0, 56.0] * 500})
    exact = gm.release(gm.Request(rows, variances={"age": (0, 110)}, guarantee=gm.Guarantee(mu=1e6)))
    plan = gm.Request(rows, variances={"age": (0, 110)}, guarantee=gm.Guarantee(mu=1)).plan
    view = noisy_release(plan, *exact.noisy).presented().rows()
    assert {row["status"] for row in view} == {"suppressed"}


def test_stated_errors_of_variances_hold_wherever_the_data_lie() -> None:
    domain = gm.Moments({"a": (-1, 1)}, around=0.15)
    plan = gm.plan(domain, gm.Guarantee(mu=1), answers="variances")
    stated = plan.errors(rows=100_000)["a_variance"]
    block = plan.block
    for values in ([-1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.2, 0.9]):
        rows = np.resize(np.array(values), 100_000)[:, None] + 1e-9
        exact = plan.release(rows).noisy[0][0]
        noisy = Noisy(exact, block.shape.features, block.noise_scale**2, True)
        (variance, *_) = block.answers.statistics
        _, (over, below, of_over, of_below, both) = variance._read(noisy)
        value = over / below
        assert np.sqrt(of_over - 2 * both * value + of_below * value**2)[0] <= stated * 100_000 * 1.01


# -- requests ---------------------------------------------------------------------------------------------------------


def ask(**asked: object) -> gm.Request:
    return gm.Request(people(), bounds=BOUNDS, guarantee=SURE, **asked)  # type: ignore[arg-type]


def test_a_request_asks_for_everything() -> None:
    request = ask(
        variances=["age"], covariance=["age", "bmi"], regression={"of": "income", "on": ["age", "bmi"]}, count=True
    )
    assert request.plan.names == (
        "age_variance", "age_sd", "age_bmi_covariance", "age_bmi_correlation", "income_on_age", "income_on_bmi",
        "income_on_constant", "count",
    )  # fmt: skip
    release = gm.release(request)
    assert release["age_sd"].value == pytest.approx(people()["age"].std(ddof=0), rel=1e-2)
    assert gm.read(release.to_json()) == release


def test_rows_without_a_value_are_left_out() -> None:
    data = people().with_columns(age=pl.when(pl.col("bmi") > 42).then(None).otherwise(pl.col("age")))
    release = gm.release(gm.Request(data, bounds=BOUNDS, guarantee=SURE, variances=["age"]))
    present = data["age"].drop_nulls()
    assert len(present) < 3000
    assert release["age_variance"].value == pytest.approx(present.var(ddof=0), rel=1e-2)
    assert "rows where age is missing are left out" in release.notes()


def test_a_covariance_is_over_rows_that_have_all_its_columns() -> None:
    data = people().with_columns(age=pl.when(pl.col("bmi") > 42).then(None).otherwise(pl.col("age")))
    release = gm.release(gm.Request(data, bounds=BOUNDS, guarantee=SURE, covariance=["age", "bmi", "income"]))
    assert len(release.plan.queries) == 1
    complete = data.drop_nulls()
    wanted = np.corrcoef(complete["bmi"], complete["income"])[0, 1]
    assert release["bmi_income_correlation"].value == pytest.approx(wanted, abs=1e-3)


def test_complete_columns_share_one_query_and_save_noise() -> None:
    asked = {"variances": ["age", "bmi"], "covariance": ["age", "bmi"]}
    together, apart = ask(**asked, complete=["age", "bmi"]).plan, ask(**asked).plan
    assert (len(together.slot.queries), len(apart.slot.queries)) == (1, 3)
    assert together.errors(rows=1000)["age_variance"] < 0.9 * apart.errors(rows=1000)["age_variance"]


def test_people_count_with_the_mean_of_their_rows() -> None:
    data = people().with_row_index("row").with_columns(person=pl.col("row") // 2)
    own = data.group_by("person").agg(pl.col("age").mean(), pl.col("income").mean())
    asked = {"unit": "person", "mean_of": "units", "bounds": BOUNDS, "guarantee": SURE}
    release = gm.release(gm.Request(data, variances=["age"], regression={"of": "income", "on": ["age"]}, **asked))
    assert release["age_variance"].value == pytest.approx(own["age"].var(ddof=0), rel=1e-2)
    slope = np.polyfit(own["age"], own["income"], 1)[0]
    assert release["income_on_age"].value == pytest.approx(slope, rel=1e-2)


def test_groups_have_moments_of_their_own() -> None:
    data = people().with_columns(sex=pl.when(pl.col("bmi") > 40).then(pl.lit("f")).otherwise(pl.lit("m")))
    request = gm.Request(data, bounds=BOUNDS, variances=["age"], by={"sex": ["f", "m"]}, guarantee=SURE)
    release = gm.release(request)
    for sex in ("f", "m"):
        wanted = data.filter(pl.col("sex") == sex)["age"].var(ddof=0)
        assert release[sex]["age_variance"].value == pytest.approx(wanted, rel=1e-2)
    assert release.total()["age_variance"].value == pytest.approx(data["age"].var(ddof=0), rel=1e-2)


def test_wrong_requests_are_refused() -> None:
    with refused("regression-on-itself", column="age"):
        ask(regression={"of": "age", "on": ["age"]})
    with refused("regression-on-column-twice", column="bmi"):
        ask(regression={"of": "age", "on": ["bmi", "bmi"]})
    for wrong in ({"of": "age"}, {"of": "age", "on": []}, ["age", "bmi"], {"of": 3, "on": ["bmi"]}):
        with pytest.raises(gm.RequestError):
            ask(regression=wrong)
    with refused("request-regression-malformed"):
        ask(regression={"of": "age", "on": ["bmi"], "weights": 1})
    with refused("covariance-of-one-column"):
        ask(covariance=["age"])
    with refused("column-without-bounds", column="height"):
        ask(variances=["height"])
    with refused("column-listed-twice", column="age"):
        ask(covariance=["age", "age"])
    with refused("rows-per-unit-missing"):
        ask(variances=["age"], unit="person")
    many = {f"c{j}": (0, 1) for j in range(65)}
    with refused("too-many-columns-of-moments"):
        gm.Request(people(), covariance=many, guarantee=SURE)


def test_wrong_plans_are_refused() -> None:
    squares = gm.Moments({"a": (0, 1), "b": (0, 1)}, "squares")
    with refused("product-not-in-domain", first="a", second="b"):
        gm.plan(squares, SURE, answers="covariance")
    with refused("regression-malformed"):
        gm.plan(squares, SURE, answers={"of": "a"})
    with refused("no-such-coordinate", column="c"):
        gm.plan(squares, SURE, answers={"of": "a", "on": ["c"]})

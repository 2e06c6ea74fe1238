"""What clipping costs, by other routes: three degrees of freedom, a closed form, derivatives, sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused
from scipy import optimize, stats

from gaussmith.numerics import quadratic_forms
from gaussmith.papers import scaling
from gaussmith.papers.scaling import ClippingLoss, ClippingShift, conditional_squares, marked_tail

WEIGHTS = [
    np.array([1.0]),
    np.array([2.0, 0.1]),
    1 / np.arange(1.0, 6.0),
    np.arange(1.0, 61.0) ** -0.5,
    np.repeat([3.0, 1.0], [1, 200]),
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda w: str(len(w)))
def test_marked_tails_are_tails_with_three_degrees_of_freedom(weights: np.ndarray) -> None:
    marks = np.linspace(1, 2, len(weights)) ** 3
    picked = np.unique(np.linspace(0, len(weights) - 1, 5).astype(int))
    only = np.zeros(len(weights))
    only[picked] = marks[picked]
    for factor in (0.2, 0.8, 1.0, 1.3, 4.0):
        q = factor * float(weights.sum())
        expected = sum(only[j] * quadratic_forms.tail(np.append(weights, [weights[j]] * 2), q) for j in picked)
        assert marked_tail(weights, only, q) == pytest.approx(expected, rel=1e-8, abs=1e-12 * only.sum())
    assert marked_tail(weights, marks, 0.0) == pytest.approx(marks.sum())


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda w: str(len(w)))
@pytest.mark.parametrize("tail", [0.9, 0.1, 1e-6])
def test_conditional_squares_are_the_derivatives_of_the_quantile(weights: np.ndarray, tail: float) -> None:
    alpha = quadratic_forms.quantile(weights, tail)
    squares = conditional_squares(weights, alpha)
    assert float(weights @ squares) == pytest.approx(alpha, rel=1e-12)
    for j in (0, len(weights) - 1):
        step = 1e-4 * weights[j] * (np.arange(len(weights)) == j)
        up, down = (quadratic_forms.quantile(weights + sign * step, tail) for sign in (1, -1))
        assert squares[j] == pytest.approx((up - down) / (2 * step[j]), rel=1e-5)


def test_the_loss_in_one_dimension_has_a_closed_form() -> None:
    """E(|Z| − c)₊² = 2((1 + c²)(1 − Φ(c)) − c φ(c))."""
    loss = ClippingLoss(np.array([4.0]), np.array([3.0]))
    c = np.array([0.01, 0.5, 1.0, 2.0, 4.0])
    expected = 3 * 2 * ((1 + c * c) * stats.norm.sf(c) - c * stats.norm.pdf(c))
    assert loss.at(4 * c * c) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda w: str(len(w)))
def test_the_loss_is_the_average_over_clipped_records(weights: np.ndarray) -> None:
    marks = 1 / weights
    levels = np.array([quadratic_forms.quantile(weights, tail) for tail in (0.999, 0.7, 0.2, 0.02)])
    z2 = np.random.default_rng().standard_normal((100_000, len(weights))) ** 2
    Q = z2 @ weights
    for level, loss in zip(levels, ClippingLoss(weights, marks).at(levels), strict=True):
        seen = z2 @ marks * np.where(level < Q, 1 - np.sqrt(level / Q), 0.0) ** 2
        assert abs(seen.mean() - loss) < 7 * seen.std() / math.sqrt(len(seen)) + 1e-12  # beyond 7: once in 10^11


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda w: str(len(w)))
def test_the_shift_is_the_average_over_clipped_records(weights: np.ndarray) -> None:
    z2 = np.random.default_rng().standard_normal((100_000, len(weights))) ** 2
    Q = z2 @ weights
    shift = ClippingShift(weights)
    for tail in (0.9999, 0.7, 0.2, 0.02):
        level = quadratic_forms.quantile(weights, tail)
        seen = z2 * np.where(level < Q, 1 - np.sqrt(level / Q), 0.0)[:, None]
        found = shift.at(level)
        for j in {0, len(weights) - 1}:
            error = 8 * seen[:, j].std() / math.sqrt(len(seen))
            assert abs(seen[:, j].mean() - found[j]) < error + 2e-3 * found[j]


def test_a_mean_that_may_be_off_asks_for_a_wider_clip() -> None:
    values = np.array([1.0, 0.25])
    off = scaling.Price(values, 4.0, 0.0, 1e4, drift=np.array([0.01, 0.01]))
    sure = scaling.Price(values, 4.0, 0.0, 1e4)
    wide, narrow = scaling.best_clip(off), scaling.best_clip(sure)
    assert wide.clipped < narrow.clipped / 2
    assert wide.total < off.at(narrow.shares, narrow.level).total
    assert off.at(narrow.shares, narrow.level).loss > narrow.loss


def test_improved_shares_are_the_optimum_and_save_what_is_said() -> None:
    for sd, saving in ((1 / np.arange(1.0, 11.0), 0.24), (np.array([1.0] + [0.1] * 9), 0.26)):
        values, tail = sd * sd, 1e-6
        plain = scaling.report_shares(values)
        before = quadratic_forms.quantile(plain, tail) * float((values / plain).sum())
        assert before == pytest.approx(quadratic_forms.quantile(plain, tail) * sd.sum() ** 2)
        shares, level = scaling.improved_shares(values, tail)
        after = level * float((values / shares).sum())
        assert 1 - after / before == pytest.approx(saving, abs=0.005)

        def price(x: np.ndarray, values: np.ndarray = values, tail: float = tail) -> float:
            lam = np.exp(x - x.max())
            return math.log(quadratic_forms.quantile(lam, tail) * float((values / lam).sum()))

        found = optimize.minimize(price, np.log(plain), method="BFGS", options={"maxiter": 30})
        assert math.log(after) < found.fun + 1e-6
        pull, noise = shares * conditional_squares(shares, level) / level, values / shares
        assert pull == pytest.approx(noise / noise.sum(), rel=1e-3)


def test_chebyshev_shares_meet_their_constraint_and_are_the_optimum() -> None:
    values = (1 / np.arange(1.0, 9.0)) ** 2
    shares, level = scaling.chebyshev_shares(values)
    variance = 2 * float(shares @ shares)
    assert variance / (level - 1) ** 2 == pytest.approx(0.05, rel=1e-9)  # the report's constraint, clipped at `level`
    assert level > shares.sum()  # expected norm below the level, as the report asks
    assert quadratic_forms.tail(shares, level) < 0.05

    def price(x: np.ndarray) -> float:
        lam = np.exp(x - x.max())
        lam /= lam.sum()
        return math.log((1 + math.sqrt(20 * 2 * float(lam @ lam))) * float((values / lam).sum()))

    found = optimize.minimize(price, np.zeros(8), method="BFGS")
    assert math.log(level * float((values / shares).sum())) == pytest.approx(found.fun, abs=1e-7)
    with refused("fraction-out-of-range", fraction=1.0):
        scaling.chebyshev_shares(values, fraction=1.0)


@pytest.mark.parametrize("rows", [1e2, 1e4, 1e6])
def test_the_best_clip_is_no_worse_than_any_other_at_hand(rows: float) -> None:
    values = (1 / np.arange(1.0, 11.0)) ** 2
    price = scaling.Price(values, reach=1 / 0.268, offset=2.0, rows=rows)
    best = scaling.best_clip(price)
    plain = scaling.report_shares(values)
    assert best.total <= price.at(plain, quadratic_forms.quantile(plain, 1 / rows)).total
    assert best.total <= scaling.best_level(price, plain).total
    for factor in (0.8, 1.25):
        assert best.total <= price.at(best.shares, best.level * factor).total
    assert best.noise == pytest.approx(
        (math.sqrt(best.level * (values / best.shares).sum()) / 0.268 + math.sqrt(2)) ** 2
    )
    assert best.clipped > 50 / rows  # far more records than the report's one

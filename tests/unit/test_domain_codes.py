"""How the numbers of a record become coordinates: codes, substitutes, products and clips."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from refusals import refused
from sample_domains import Domains
from scipy import integrate, stats

import gaussmith as gm
from gaussmith.domains import moments as moment_codes
from gaussmith.domains.domain import Problem
from gaussmith.domains.extremes import Sphere
from gaussmith.domains.features import of_coordinates, of_matrix
from gaussmith.domains.moments import coarse_codes
from gaussmith.domains.row_moments import RowMoments
from gaussmith.papers.looks import LengthCells
from gaussmith.papers.sparse import SparseEncoding


def test_coded_points_lie_inside_their_bounds_and_nearly_fill_them() -> None:
    d = Domains()
    for domain in (d.box, d.people, d.only_own, d.only_rows, d.moments, d.few, d.rows, d.sparse, d.even):
        middle, half = domain.coded
        near = 2.0**-19 if isinstance(domain, gm.Moments) else 2.0**-40
        assert half == pytest.approx(domain.radius, rel=near, abs=0) and (half <= domain.radius).all()
        assert np.abs(middle - domain.centre) == pytest.approx(0, abs=near * float(domain.radius.max()))
    assert d.ball.coded == (d.ball.centre, d.ball.radius)
    assert d.people.means.middles == pytest.approx([3, 1, 0.25, 0], rel=2.0**-40) and d.people.means.middles[-1] == 0
    assert d.box.means.middles is d.box.coded[0]


def test_the_codes_of_people_end_with_the_number_of_rows() -> None:
    d = Domains()
    codes = d.people.codes(np.array([2.0, 0.5, 0.25, 9.0]))
    box = gm.Box([1, -1, 0], [5, 3, 0.5]).codes(np.array([2.0, 0.5, 0.25]))
    for name, last in (("low", 0.0), ("top", 4.0), ("scale", 1.0), ("steps", 4), ("substitute", 0.0)):
        assert getattr(codes, name).tolist() == [*getattr(box, name).tolist(), last], name
    assert (codes.rows, codes.max_rows) == (2, 4)


def test_what_replaces_missing_values() -> None:
    d = Domains()
    sums, means = of_coordinates(np.arange(3), np.zeros(3, bool)), of_coordinates(np.arange(3), np.ones(3, bool))
    assert d.box.substitutes(sums, {}).tolist() == [1, -1, 0]
    assert d.box.substitutes(means, {}).tolist() == [2.5, -2, 2]
    assert d.box.substitutes(of_matrix(np.ones((1, 3))), {}).tolist() == [1, -1, 0]
    assert d.box.substitutes(sums, {"b": -1, "a": 4.0, "c": -2}).tolist() == [4, -1, -2]
    some = of_coordinates(np.array([0, 2]), np.array([True, False]))
    assert d.box.substitutes(some, {}).tolist() == [2.5, -1, 0]
    both = of_coordinates(np.array([1, 1, 0]), np.array([True, False, True]))
    with refused("sum-and-mean-without-missing", column="b"):
        d.box.substitutes(both, {})
    with refused("sum-and-mean-without-missing", column="b"):
        d.box.substitutes(both, {"a": 2})
    assert d.box.substitutes(both, {"b": -2}).tolist() == [2.5, -2, 0]
    assert d.moments.substitutes(sums, {}).tolist() == [3, 3]
    assert d.moments.substitutes(sums, {"b": 6, "a": 1.0}).tolist() == [1, 6]
    assert d.moments.box.centre.tolist() == [3, 3], "the domain itself is left as it is"
    for domain, high in ((d.box, 4), (d.moments, 5)):
        with refused("missing-names-no-column", column="z"):
            domain.substitutes(sums, {"z": 1})
        for value in (0.9, high + 0.1, float("nan"), "1"):
            with refused("missing-outside-bounds", column="a", value=value, low=1, high=high):
                domain.substitutes(sums, {"a": value})
    clipped = d.box.codes(np.array([0.0, 0.0, 0.0])).substitute
    assert clipped.tolist() == [1, -1, 0]
    assert d.counts.substitutes(sums, {}).size == 0


def test_what_coordinates_are_made_of() -> None:
    d = Domains()
    assert [d.moments.input.made_of(j) for j in range(5)] == [(0,), (1,), (0, 0), (0, 1), (1, 1)]
    assert [d.columns.input.made_of(j) for j in range(6)] == [(0,)] * 3 + [(1,)] * 3
    assert [d.lengths.input.made_of(j) for j in range(4)] == [(0, 1)] * 4
    assert d.box.input.made_of(2) == (2,)


def test_cores_of_moments_and_of_pairs_of_them() -> None:
    moments = Domains().moments
    values = np.array([[0.5, -1.0], [0.25, 1.0]])
    assert moments.cores(values).tolist() == [[0.5, -1, 0.25, -0.5, 1], [0.25, 1, 0.0625, 0.25, 1]]
    near = 0.5
    ends = [(1.0, -1.0), (1.0, 1 - near), (1.0, 1.0)]  # at both ends, `near` apart from one, at one in both
    for kinds in np.ndindex(3, 3):
        (x, u), (y, v) = ends[kinds[0]], ends[kinds[1]]
        crossed = max(abs(x * y - u * v), abs(x * v - u * y))
        expected = [abs(x - u), abs(y - v), abs(x * x - u * u), crossed, abs(y * y - v * v)]
        assert moments.pair_cores(np.array([kinds]), near)[0].tolist() == expected, kinds


def test_a_person_of_row_moments_adds_little_more_than_its_rows() -> None:
    """k times one row, and half a code of each number for a rounded mean."""
    d = Domains()
    for domain in (d.rows, RowMoments({"a": (0, 1), "b": (0, 3)}, "all", 0.0, max_rows=7)):
        steps = [int(s) for s in domain.codes(domain.box.centre).base.steps]
        off = sum(Fraction(1, s) for s in steps)
        for i, j in domain.pairs:
            # the core is 4 c_i c_j − 2 steps_j c_i − 2 steps_i c_j + …, and core 1 of a square weighs twice
            core = Fraction(4 + 2 * steps[j] + 2 * steps[i], 2)
            off += (1 + (i == j)) * core / (steps[i] * steps[j])
        kind = domain.extremes()
        assert (kind.rows, kind.rounding) == (domain.max_rows, off)


def test_chosen_ellipsoids_and_other_means() -> None:
    d = Domains()
    domain = gm.domains.GaussianData([1, -2], [3, 4], rows=50, clip=0.01, scaling="round", names=["a", "b"])
    other = domain.off_by(np.array([1.0, 2.0]))
    assert other.mean_within is not None and other.mean_within.tolist() == [1, 2] and other.centre.tolist() == [1, -2]
    zero = d.clipped.around_zero()
    assert zero.centre.tolist() == [0, 0] and zero.half_axes is None and zero.sd.tolist() == [3, 4]
    for each in (other, zero, domain):
        assert each.rows == 50
    assert (other.clip, other.scaling, other.names) == (0.01, "round", ("a", "b"))
    with refused("clip-not-planned"):
        d.gaussian.codes()
    assert d.clipped.codes().encode(np.array([[1.0, -2.0], [7.0, -2.0]])).tolist() == [[0, 0], [2**42 - 4, 0]]
    single = gm.domains.GaussianData(7, [1, 2], mean_within=3)
    assert single.centre.tolist() == [7, 7] and single.means.squares.tolist() == [9, 9]


@pytest.mark.parametrize("within", [None, 0.5])
def test_the_loss_of_clipping_one_column_is_an_integral(within: float | None) -> None:
    """rows · w · E[(x − clipped x)²]; where the mean may be off, all records are shifted in one direction as well."""
    deviation = 1.0 if within is None else math.hypot(1.0, within)
    loss = 2 * integrate.quad(lambda x: (x - 1.5) ** 2 * stats.norm.pdf(x, scale=deviation), 1.5, 20)[0]
    for sd, weight, rows in ((1.0, 1.0, 50), (1.0, 4.0, 50), (2.0, 0.25, 20), (3.0, 5.0, 1)):
        domain = gm.domains.GaussianData(3.0, sd, rows=rows, mean_within=None if within is None else within * sd)
        found = domain.clipped_to(np.array([1.5 * sd])).clipping_loss(np.array([weight])) / (weight * sd**2)
        shifted = 0.0 if within is None else within**2 * rows**2 * SHIFT**2
        assert found == pytest.approx(rows * loss + shifted, rel=1e-5 if within is None else 0.02)
    assert gm.domains.GaussianData(0, 1).clipped_to(np.array([2.0])).clipping_loss(np.zeros(1)) == 0


SHIFT = 2 * float(stats.norm.sf(1.5 / math.hypot(1.0, 0.5)))
"""What is lost of a small shift of the mean: the share of records that are clipped, and so do not move."""


def test_the_clipped_fraction_is_a_tail() -> None:
    one = gm.domains.GaussianData(5.0, 2.0).clipped_to(np.array([3.0]))
    assert one.clipped_fraction() == pytest.approx(2 * stats.norm.sf(1.5), rel=1e-6)
    three = gm.domains.GaussianData([0, 0, 0], [1, 2, 4]).clipped_to(np.array([3.0, 6.0, 12.0]))
    assert three.clipped_fraction() == pytest.approx(stats.chi2.sf(9, 3), rel=1e-6)
    assert three.extremes() == Sphere(3)


def far_and_near() -> list[tuple[float, float]]:
    """Bounds of ordinary columns, and those so far from zero that few doubles lie between them."""
    narrow = [(10.0**e, 10.0**e + w) for e in (9, 12, 14, 15) for w in (1.0, 3.0, 7.0, 100.0)]
    for e in (30, 31, 32, 33):  # there two doubles differ by a quarter of a step, a half, one and two
        narrow += [(2.0**e, 2.0**e + w + j * 2.0 ** (e - 52)) for w in (1.0, 1.5) for j in (0, 1, 2, 3)]
    return [
        (0.0, 1.0),
        (-3.0, 4.0),
        (0.1, 0.3),
        (-1e-9, 2e-9),
        (0.0, 64.0),
        *narrow,
        *((-h, -low) for low, h in narrow),
    ]


def test_coarse_codes_end_at_the_last_whole_step_inside_the_bounds() -> None:
    for low, high in far_and_near():
        codes = coarse_codes(np.array([low]), np.array([high]), np.array([low]), None)
        steps, scale = int(codes.steps[0]), Fraction(float(codes.scale[0]))
        assert 1 << 20 <= steps <= 1 << 21 and codes.low[0] == low
        assert Fraction(low) + steps / scale <= Fraction(high) < Fraction(low) + (steps + 1) / scale
        inside = np.linspace(low, high, 33)
        found = codes.encode(np.array([[low], [high], [-np.inf], [np.inf], *inside[:, None].tolist()]))[:, 0]
        assert found[0] == found[2] == found.min() == 0 and found[1] == found[3] == found.max() <= steps
        last = min(high, float(Fraction(low) + (steps + Fraction(1, 2)) / scale))  # the last double of the last code
        while math.floor((Fraction(last) - Fraction(low)) * scale + Fraction(1, 2)) > steps:
            last = math.nextafter(last, low)
        assert int(found[1]) == math.floor((Fraction(last) - Fraction(low)) * scale + Fraction(1, 2))
        for x, code in zip(inside.tolist(), found[4:].tolist(), strict=True):
            nearest = math.floor((Fraction(min(x, last)) - Fraction(low)) * scale + Fraction(1, 2))
            assert abs(code - nearest) <= (abs(low) < 1e9)  # where doubles are dense, a difference may be rounded


def test_sums_of_products_are_exact_beyond_what_doubles_hold() -> None:
    """5 000 products of 42 bits each: 2¹¹ of them are added up at a time."""
    rng = np.random.default_rng(4)
    moments = gm.Moments(gm.Box([0, 0], [1.99, 1.99])).codes(np.zeros(2))
    rows = rng.uniform(1.97, 1.99, (5000, 2))
    for count in (1, 2047, 2048, 2049, 5000):
        exact = moments.encode(rows[:count]).astype(object).sum(axis=0)
        assert moments.sum_rows(rows[:count]).tolist() == exact.tolist()
    assert moment_codes.EXACT_ROWS == 2**11


def test_lengths_are_measured_from_the_centre_in_units_of_the_scale() -> None:
    codes = LengthCells([1.0, -2.0], [2.0, 0.5], [1.0, 5.0, 13.0]).codes()
    for (x, y), cell in (
        ((0.0, 0.0), 0),
        ((0.25, 0.0), 0),
        ((0.5, 0.0), 1),
        ((0.0, 1.99), 0),
        ((0.0, -2.0), 1),
        ((1.5, 8.0), 2),
        ((-1.5, 7.99), 1),
        ((2.5, 24.0), 3),
        ((1e200, 1e150), 3),
        ((np.inf, 0.0), None),
        ((np.nan, 0.0), None),
        ((1.7e308, 1.7e308), None),
    ):
        record = np.array([[1.0 + x, -2.0 + y]])
        with np.errstate(all="ignore"):
            found = codes.encode(record)[0].tolist()
            assert codes.sum_rows(record).tolist() == found
        assert found == [int(i == cell) for i in range(4)], (x, y)


def test_points_that_lie_close_together() -> None:
    points = gm.domains.Points([[0.25, 7.0], [0.5, 7.0], [0.375, 7.0]])
    assert points.ranges.tolist() == [0.5, 7.0] and gm.domains.Points([[0.0, 0.25]]).ranges.tolist() == [1.0, 0.25]
    codes = points.codes()
    assert codes.unit.tolist() == [0.25, 1.0]
    assert codes.place(np.array([[0.45, 7.1], [0.3, 7.0], [0.5, 8.0], [0.25, 6.0]])).tolist() == [1, 0, 1, 0]


def test_no_number_of_a_domain_is_minus_zero() -> None:
    for domain in (gm.Moments({"a": (-1, 1), "b": (-2, 2)}), gm.Moments({"a": (-1, 1)}, around=0.5)):
        for array in (domain.centre, *domain.coded):
            assert not (np.signbit(array) & (array == 0)).any()


def test_a_count_alone_has_no_noise_where_the_number_of_records_is_public() -> None:
    nothing = of_coordinates(np.zeros(0, np.int64), np.zeros(0, bool))
    counted = replace(nothing, count_weight=4.0)
    assert gm.Records().bounding_law(Problem(gm.Records(), counted, "replace-one")).lower == 0
    assert gm.Records().bounding_law(Problem(gm.Records(), counted, "add-remove")).lower == pytest.approx(4)
    assert gm.Records().bounding_law(Problem(gm.Records(), counted, "add-remove")).lower <= 4


def test_a_value_that_is_coded_zero_takes_no_place_of_another() -> None:
    """0.4 steps of a wide column are larger than three steps of a narrow one, and still count as nothing."""
    codes = SparseEncoding.for_bounds([1.0, 2.0**20], 1)
    narrow, wide = (1 / codes.sizes.scale).tolist()
    for steps in (1, 3):
        assert codes.encode(np.array([[steps * narrow, 0.4 * wide]])).tolist() == [[steps, 0]]
    assert codes.encode(np.array([[3 * narrow, -0.6 * wide]])).tolist() == [[0, -1]]

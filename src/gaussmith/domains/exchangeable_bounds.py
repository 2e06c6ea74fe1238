"""Laws that are symmetric in all coordinates, levels and rankings: in rationals if all answers have equal weight."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gaussmith.domains.domain import Domain, Problem, WorstCase, check_law, even_moment
from gaussmith.numerics.exact import sqrt_downward
from gaussmith.numerics.trace_roots import root_of, square_down


def proven_levels(problem: Problem[Domain], law: WorstCase, at_most: int, always_one: bool = False) -> float:
    """The bound from a law on levels for records with a limited number of ones (or always one, as in a cell)."""
    check_law(law.kind == "levels")
    _check_levels(problem, law, at_most, always_one)
    if problem.common_weight is None:
        return _uneven(problem, law)
    levels = [tuple(map(Fraction, level)) for level in law.numbers["levels"].tolist()]
    whole = sum((share for _, _, share in levels), Fraction(0))
    t = sum(((p + q) * share for p, q, share in levels), Fraction(0)) / whole
    delta2 = sum(((p - q) ** 2 * share for p, q, share in levels), Fraction(0)) / whole
    first = sum((p * share for p, _, share in levels), Fraction(0)) / whole
    return _even(problem, t, delta2, first, Fraction(1) if always_one else None)


def proven_rankings(problem: Problem[Domain], law: WorstCase) -> float:
    """The bound from the uniform law on rankings."""
    check_law(law.kind == "rankings")
    if problem.common_weight is None:
        return _uneven(problem, law)
    d, secret = problem.domain.dimension, problem.secret_count
    total = Fraction(d * (d - 1), 2)
    t = Fraction((d - 1) * d * (2 * d - 1), 6) if secret else Fraction(d * (d * d - 1), 3)
    return _even(problem, t, total**2 if secret else Fraction(0), total, total)


def _uneven(problem: Problem[Domain], law: WorstCase) -> float:
    d, rows = problem.domain.dimension, problem.weighted_rows
    moment = even_moment(law, d, problem.secret_count, rows.shape[1] > d)
    return square_down(root_of(rows @ moment @ rows.T))


def _even(
    problem: Problem[Domain], t: Fraction, delta2: Fraction, first: Fraction, per_record: Fraction | None
) -> float:
    """The bound from E ‖s‖², E (Σs)² and E Σs; `per_record` is the sum of one record, where all have the same."""
    assert problem.common_weight is not None
    d, w, e = problem.domain.dimension, Fraction(problem.common_weight), Fraction(problem.count_weight)
    alpha = delta2 / d
    across = sqrt_downward(w * (d - 1) * (t - alpha))
    if not problem.asks_secret_count:
        return square_down((across + sqrt_downward(w * alpha)) * (1.0 - 2.0**-50))
    if per_record is not None:
        return square_down((across + sqrt_downward((w + d * e / per_record**2) * alpha)) * (1.0 - 2.0**-50))
    determinant = max(w * e * (alpha - first * first / d), Fraction(0))
    block = sqrt_downward(w * alpha + e + 2 * Fraction(sqrt_downward(determinant)))
    return square_down((across + block) * (1.0 - 2.0**-50))


def _check_levels(problem: Problem[Domain], law: WorstCase, at_most: int, always_one: bool) -> None:
    """Refuse a law whose levels are not those of differences."""
    p, q, share = law.numbers["levels"].T
    whole = bool(((p == np.floor(p)) & (q == np.floor(q)) & (share >= 0)).all()) and bool(share.any())
    few = (p >= 0) & (q >= 0) & (p <= at_most) & (q <= at_most) & (p + q <= problem.domain.dimension)
    check_law(whole and bool(few.all()) and not (problem.secret_count and q.any()))
    if always_one:
        check_law(bool(((p == 1) & (q == (not problem.secret_count))).all()))

"""The vertices of a zonotope are all found: against every sign vector tried by itself, in exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from planting import plant

from gaussmith.errors import PlanError
from gaussmith.numerics import zonotopes
from gaussmith.numerics.zonotopes import find_vertices, is_within_reach


@pytest.fixture(autouse=True)
def _no_vertices_found_under_a_fault():
    zonotopes._find.cache_clear()
    yield
    zonotopes._find.cache_clear()


def is_region(rows: list[list[Fraction]]) -> bool:
    """Whether some u has uᵀh > 0 for all rows h: Fourier–Motzkin elimination, in rationals."""
    while rows and rows[0]:
        if not all(any(row) for row in rows):
            return False
        up = [[x / row[0] for x in row[1:]] for row in rows if row[0] > 0]
        down = [[x / row[0] for x in row[1:]] for row in rows if row[0] < 0]
        level = [row[1:] for row in rows if row[0] == 0]
        # u₀ > −a·u for each a of `up`, u₀ < −b·u for each b of `down`: (a − b)·u > 0
        rows = level + [[x - y for x, y in zip(a, b, strict=True)] for a in up for b in down]
        rows = [list(row) for row in {tuple(row) for row in rows}]
    return not rows


def regions(H: np.ndarray) -> set[tuple[int, ...]]:
    """The sign vectors of all directions that lie on no plane, each tried by itself."""
    columns = [[Fraction(x) for x in column] for column in H.T]
    found = set()
    for signs in itertools.product((1, -1), repeat=len(columns) - 1):
        z = (1, *signs)
        if is_region([[s * x for x in column] for s, column in zip(z, columns, strict=True)]):
            found |= {z, tuple(-s for s in z)}
    return found


def found_regions(H: np.ndarray) -> set[tuple[int, ...]]:
    vertices = find_vertices(H)
    half = vertices.signs(np.arange(vertices.size // 2))
    found = {tuple(int(s) for s in row) for row in np.vstack([half, -half])}
    assert len(found) == vertices.size, "some vertex is told twice"
    return found


def draw(rng: np.random.Generator, kind: str) -> np.ndarray:
    k, d = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    if kind == "ones":
        H = rng.integers(0, 2, (k, d)).astype(float)
    elif kind == "small":
        H = rng.integers(-2, 3, (k, d)).astype(float)
    else:
        H = rng.normal(size=(k, d)) * 10.0 ** rng.integers(-8, 9, (k, 1))
    if k > 2 and rng.random() < 0.3:  # fewer dimensions than rows
        H[2] = 2 * H[0] - H[1]
    if d > 2 and rng.random() < 0.3:  # multiples of each other, but for rounding of the doubles
        H[:, 2] = -3 * H[:, 0]
    return H[:, H.any(axis=0)] if H.any() else np.ones((1, 1))


@pytest.mark.parametrize("kind", ["ones", "small", "any"])
def test_every_vertex_is_found_and_no_other(kind):
    rng = np.random.default_rng()
    for _ in range(60):
        H = draw(rng, kind)
        assert found_regions(H) == regions(H), H.tolist()


TIED = np.array([[1, 1, 0, 1, 0, 1], [0, 1, 0, 0, 1, 1], [0, 1, 1, 1, 1, 0]], float)
"""Some of its regions have no edge but where more than two planes meet."""


def test_regions_whose_edges_are_all_on_many_planes_are_found(monkeypatch):
    assert len(regions(TIED)) == 26
    assert found_regions(TIED) == regions(TIED)
    zonotopes._find.cache_clear()
    plant(monkeypatch, zonotopes._regions, "~plain & (zeros < D)", "plain & (zeros < 0)")
    assert found_regions(TIED) < regions(TIED)


@pytest.mark.parametrize(
    ("function", "right", "wrong", "kind"),
    [
        (zonotopes._independent, "if rest[pivot]:", "if False:", "small"),
        (zonotopes._minors, "(-1) ** i * level", "level", "any"),
        (zonotopes._add, "signs * signs[:, :1]", "signs", "any"),
    ],
)
def test_planted_faults_are_found(function, right, wrong, kind, monkeypatch):
    plant(monkeypatch, function, right, wrong)
    rng = np.random.default_rng()
    with pytest.raises((AssertionError, ValueError, IndexError, KeyError, RecursionError)):
        for _ in range(3000):
            H = draw(rng, kind)
            assert found_regions(H) == regions(H)


def test_numbers_in_general_position_give_the_known_count():
    rng = np.random.default_rng(3)
    for k, d in ((1, 5), (2, 30), (3, 30), (4, 20), (5, 12), (6, 9), (4, 4)):
        H = rng.normal(size=(k, d))
        planes = 1 if k == 1 else d
        assert find_vertices(H).size == 2 * sum(math.comb(planes - 1, i) for i in range(k))


@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**70])
def test_a_last_bit_decides_between_a_tie_and_none(scale):
    """h₁, h₂ and h₁ + h₂ lie in one plane: 12 regions with a fourth column; one unit in the last place off it: 14."""
    first, second, other = np.array([1.0, 2.0, 4.0]), np.array([8.0, -1.0, 16.0]), np.array([0.3, 0.7, -0.2])
    tie = np.column_stack([first, second, first + second, other]) * scale
    off = tie.copy()
    off[1, 2] = np.nextafter(off[1, 2], np.inf)
    for H in (tie, off):
        assert found_regions(H) == regions(H)
    assert (find_vertices(tie).size, find_vertices(off).size) == (12, 14)


def test_without_exact_signs_the_last_bit_is_lost(monkeypatch):
    """The test above has teeth: doubles alone see no plane through three columns, or see one where there is none."""
    plant(monkeypatch, zonotopes._Planes.signs, "if doubt.any():", "if False:")
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        a, b, c = rng.integers(-9, 10, (3, 3)).astype(float)
        H = np.column_stack([a, b, 3 * a - 2 * b, 5 * a + 7 * b, c, a - c, b + 3 * c])
        H = H[:, H.any(axis=0)] / 3.0 if H.any() else np.eye(3)
        try:
            wrong += found_regions(H) != regions(H)
        except (AssertionError, ValueError):
            wrong += 1
        if wrong:
            return
    pytest.fail("no wrong sign was seen")


def test_vertices_hold_the_largest_of_every_direction_and_norm():
    rng = np.random.default_rng(4)
    H = np.round(rng.normal(size=(3, 13)), 1)
    radius = rng.random(13) + 0.1
    half = find_vertices(H).points(H * radius)
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=13))) * radius @ H.T
    for A in (np.eye(3), rng.normal(size=(4, 3))):
        middle = rng.normal(size=len(A))
        largest = max(np.linalg.norm(sign * half @ A.T + middle, axis=1).max() for sign in (1, -1))
        assert largest == pytest.approx(np.linalg.norm(corners @ A.T + middle, axis=1).max(), rel=1e-12)


def test_parallel_columns_are_one_and_zeros_are_none():
    H = np.array([[1.0, -2.0, 0.0, 3.0, 0.0, 0.5], [0.0, 0.0, 0.0, 3.0, 1.0, 0.0]])
    vertices = find_vertices(H)
    assert (vertices.planes, vertices.size) == (3, 6)
    signs = vertices.signs(np.arange(3))
    assert (signs[:, 0] == -signs[:, 1]).all() and (signs[:, 0] == signs[:, 5]).all() and (signs[:, 2] == 1).all()


def test_too_many_are_refused_and_known_to_be_beforehand():
    rng = np.random.default_rng(5)
    many = rng.normal(size=(5, 60))
    assert not is_within_reach(many)
    with pytest.raises(PlanError, match="vertices can be visited"):
        find_vertices(many)
    assert is_within_reach(np.repeat(many[:, :12], 50, axis=1))  # the same columns again are no more planes
    with pytest.raises(PlanError, match="not finite"):
        find_vertices(np.array([[np.nan, 1.0]]))

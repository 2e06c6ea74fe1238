"""The noise room: what it returns, what it refuses, which words it asks for, and that no keystream is shared."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from refusals import refused

from gaussmith.errors import RequestError
from gaussmith.noise import gaussian as decide
from gaussmith.noise import gaussian as normal
from gaussmith.noise.gaussian import make_cover, normal_integers
from gaussmith.noise.keystream import FEW, Keystream, pure_integers

ONES = 2**64 - 1


class Words:
    """A source of words for `_draw` that hands out what it is told to, then words of 0, and remembers the requests."""

    def __init__(self, *answers: list[int]) -> None:
        self.answers, self.requests = list(answers), []

    def __call__(self, size: int) -> np.ndarray:
        self.requests.append(size)
        answer = self.answers.pop(0) if self.answers else []
        return np.array(answer + [0] * (size - len(answer)), dtype=np.uint64)


@pytest.mark.parametrize("size", [0, 1, 2, 1000, normal.BLOCK - 1, normal.BLOCK, 2 * normal.BLOCK + 3])
def test_every_size_is_served_in_full(size):
    drawn = normal_integers(size)
    assert drawn.dtype == np.int64 and drawn.shape == (size,)
    assert np.count_nonzero(drawn) == size  # a draw of 0 has probability 2^-53: an unfilled place would show


@pytest.mark.parametrize("bits", [0, 1, 51, 52])
def test_bits_set_the_scale(bits):
    deviations = normal_integers(2000, bits) / 2.0**bits
    assert 0.5 < deviations.std() < 2


def test_numpy_integers_will_do_for_sizes():
    assert len(normal_integers(np.int64(3), np.int32(4))) == 3


def test_a_negative_size_is_refused():
    with refused("negative-number-of-draws", size=-1):
        normal_integers(-1)


@pytest.mark.parametrize("bits", [-1, 53, 64])
def test_bits_beyond_the_digits_of_a_place_are_refused(bits):
    with refused("noise-bits-out-of-range", RequestError, says="use bits=52", bits=bits):
        normal_integers(1, bits)


@pytest.mark.parametrize("size", [1.0, "1", None])
def test_sizes_that_are_not_whole_numbers_are_refused(size):
    with pytest.raises(TypeError):
        normal_integers(size)


def test_the_public_call_has_no_seed_and_no_source():
    assert list(inspect.signature(normal_integers).parameters) == ["size", "bits"]
    assert list(inspect.signature(pure_integers).parameters) == ["law", "blocks"]


def test_the_room_opens_without_heavy_libraries():
    script = (
        "import sys, gaussmith.noise.gaussian as n; n.normal_integers(5); print({'scipy', 'mpmath'} & set(sys.modules))"
    )
    path = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ, **path}
    )
    assert done.stdout.strip() == "set()"


def point(cell: int, fraction: int = 0) -> int:
    """The word of a point: its cell, and the first 48 digits of its place there."""
    return cell << 48 | fraction


def cell_of(bin_: int, level: int | None = None) -> int:
    """A sure cell of a bin, or its edge cell at a level."""
    cover = make_cover()
    if level is None:
        return int(np.flatnonzero(cover.bins[: cover.first_edge] == bin_)[0])
    of_edge = np.flatnonzero(cover.bins[cover.first_edge :] == bin_)
    return cover.first_edge + int(of_edge[cover.levels[of_edge] == level][0])


FAR_CELL = make_cover().first_edge + make_cover().far
LEFT_OVER = 2**16 - 1


def few(monkeypatch) -> None:
    """Two points more than are asked for, so that a test can say what all of them are."""
    monkeypatch.setattr(normal, "SPARE", 2)


def test_words_are_asked_for_block_by_block_then_for_the_heights():
    # Words of 0 are points at the left end of the first cell, which is sure.
    words = Words()
    place = int(make_cover().bins[0]) << 47
    assert normal._draw(3, 52, words).tolist() == [place] * 3
    assert words.requests == [3 + normal.SPARE, 0]
    words = Words()
    assert normal._draw(64, 52, words).tolist() == [place] * 64
    assert words.requests == [64 + 2 + normal.SPARE, 0]
    words = Words([point(FAR_CELL), point(LEFT_OVER), point(LEFT_OVER)], [ONES] * 3)
    assert normal._draw(3, 52, words).tolist() == [place] * 3
    assert words.requests == [3 + normal.SPARE, 3]
    words = Words()
    assert len(normal._draw(normal.BLOCK + 1, 52, words)) == normal.BLOCK + 1
    assert words.requests == [normal.BLOCK, 0, 1 + normal.SPARE, 0]


def test_some_points_of_the_smallest_call_are_in_edge_cells():
    """Whether or not the one returned is: 128 points without one come once in 60 calls."""
    assert 0.015 < (make_cover().first_edge / 2**16) ** (1 + normal.SPARE) < 0.017


@pytest.mark.parametrize("bits", [0, 1, 5, 6, 7, 51, 52])
@pytest.mark.parametrize("x", [0, 1, 2**47 - 1, 2**47, 2**47 + 1, 2**48 - 2, 2**48 - 1])
@pytest.mark.parametrize("j", [0, 1, 2, 15, 16, 100, -1, -2, -16, -17, -100])
def test_the_place_is_rounded_to_the_nearest_integer(bits, x, j):
    words = Words([point(cell_of(j), x)])
    expected = ((j << 48) + x + (1 << 52 - bits)) >> 53 - bits
    assert normal._draw(1, bits, words).tolist() == [expected]


@pytest.mark.parametrize("gaps", [[], [0], [11], [0, 11], [10, 11], [0, 5, 10], [3, 4, 8, 9], [*range(8)]])
def test_the_last_points_take_the_places_of_rejected_ones(gaps, monkeypatch):
    monkeypatch.setattr(normal, "SPARE", 8)
    answer = [point(LEFT_OVER) if i in gaps else point(cell_of(i - 6)) for i in range(12)]
    last = iter([i for i in range(12 - len(gaps), 12) if i not in gaps])
    kept = [next(last) if i in gaps else i for i in range(12 - len(gaps))]
    drawn = normal._draw(4, 52, Words(answer))
    assert drawn.tolist() == [(i - 6) << 47 for i in kept[:4]]


def test_a_block_without_enough_points_is_followed_by_another(monkeypatch):
    few(monkeypatch)
    words = Words([point(LEFT_OVER)] * 3, [], [point(cell_of(32))] * 3)
    assert normal._draw(1, 2, words).tolist() == [4]
    assert words.requests == [3, 3, 3, 0]
    words = Words([point(LEFT_OVER)] * 3 + [point(cell_of(-32))], [], [point(cell_of(32))] * 3)
    assert normal._draw(2, 2, words).tolist() == [-4, 4]
    assert words.requests == [4, 3, 3, 0]


def test_an_edge_cell_is_decided_by_the_height(monkeypatch):
    few(monkeypatch)
    # In bin 20 the curve falls from 660.5 to 647.4: at the left end all of the cell from 659 to 660 is below it.
    cell = cell_of(20, 659)
    words = Words([point(cell, 2**48 - 1)] * 2 + [point(cell)], [ONES] * 3)
    assert normal._draw(1, 52, words).tolist() == [20 << 47]


@pytest.mark.parametrize(("coins", "place"), [([0, 0], 6 << 52), ([0, 1], -6 << 52), ([1, 0, 0], 7 << 52)])
@pytest.mark.parametrize("further", [0, 2**63])
def test_the_far_cell_reaches_what_lies_beyond_the_bins(coins, place, further, monkeypatch):
    few(monkeypatch)
    words = Words([point(FAR_CELL)] + [point(LEFT_OVER)] * 2, [0] * 3, *([coin] for coin in coins), [further])
    drawn = normal._draw(1, 52, words).tolist()
    assert drawn == [place + (further >> 12) * (1 if place > 0 else -1)]
    assert words.requests == [3, 3, *[1] * (len(coins) + 2)]


@pytest.mark.parametrize("k", [13, 20, 126])
def test_coins_reach_any_whole_part(k):
    coins = iter([1] * (k - 6) + [0, 0])
    assert decide.settle_far(0, more=lambda: next(coins, 0)) == k << 53


def test_a_draw_that_does_not_fit_is_refused():
    coins = iter([1] * (127 - 6) + [0, 0])
    with refused("draw-too-large"):
        decide.settle_far(0, more=lambda: next(coins, 0))


def test_a_margin_within_the_stated_error_is_settled_exactly(monkeypatch):
    asked = []
    monkeypatch.setattr(normal, "SPARE", 8)
    monkeypatch.setattr(normal, "settle", lambda *of: asked.append(of[:3]) or False)
    edge = normal.HEIGHT * np.exp(-((20.5 / 32) ** 2) / 2)
    level = int(edge)
    at_edge = round(2**48 * (edge - level))
    near, far = round(2**48 * normal.ERROR * 0.99), round(2**48 * normal.ERROR * 1.01)
    heights = [at_edge - near, at_edge + near, at_edge + far, at_edge - far]
    words = Words([point(cell_of(20, level), 2**47)] * 4 + [point(LEFT_OVER)] * 5, [height << 16 for height in heights])
    assert normal._draw(1, 52, words).tolist() == [(20 << 47) + 2**46]
    assert asked == [((20 << 48) + 2**47, level, height) for height in heights[:2]]


def test_the_very_first_point_of_the_edge_cells_is_judged():
    """At the left end of the bins, where the curve is next to nothing, and as high in its cell as can be."""
    cover = make_cover()
    drawn = np.full(4, cover.first_edge << decide.DIGITS, np.uint64)
    served = iter([drawn.copy(), np.full(4, ONES, np.uint64)])
    _, rejected = normal._throw(np.empty(4, np.int64), lambda _: next(served))
    assert rejected.tolist() == [0, 1, 2, 3]


def test_a_place_just_below_zero_may_be_as_near_to_it_as_it_likes():
    """Between −½ and 0 the curve is between 708 and 803: a height of 750 is below it once the place is near 0."""
    assert decide.decide(-1, 2 * 750, 1, 0, more=lambda: ONES)


def test_two_keystreams_share_no_word():
    assert len(np.unique(np.concatenate([Keystream().words(1000) for _ in range(4)]))) == 4000


def test_a_keystream_goes_on_where_it_stopped():
    stream, sizes = Keystream(), [3, 1, 0, FEW, 2, FEW + 1, 5, FEW + 2]
    pieces = [stream.words(size) for size in sizes]
    assert [len(piece) for piece in pieces] == sizes
    assert len(np.unique(np.concatenate(pieces))) == sum(sizes)
    assert all(piece.flags.writeable for piece in pieces)


def test_few_words_are_those_of_the_system_and_many_need_one_key(monkeypatch):
    asked = []
    monkeypatch.setattr(
        os, "urandom", lambda size: asked.append(size) or (bytes(range(256)) * (size // 256 + 1))[:size]
    )
    stream = Keystream()
    assert stream.words(FEW).tobytes() == bytes(range(256)) * (8 * FEW // 256)
    sizes = [FEW + 1, FEW + 1, 3 * FEW, 2 * FEW]
    many = [stream.words(size) for size in sizes]
    assert asked == [8 * FEW, 32]
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    own = Cipher(algorithms.AES(bytes(range(32))), modes.CTR(bytes(16))).encryptor()
    assert [piece.tobytes() for piece in many] == [own.update(bytes(8 * size)) for size in sizes]


def test_a_keystream_refuses_another_process(monkeypatch):
    stream = Keystream()
    stream.words(1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with refused("keystream-of-another-process", used_in=-1):
        stream.words(1)

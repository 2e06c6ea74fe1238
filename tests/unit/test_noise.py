"""The noise room: what it returns, what it refuses, which words it asks for, and that no keystream is shared."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from refusals import refused

from gaussmith import noise
from gaussmith.errors import RequestError
from gaussmith.noise import decide, normal, normal_integers
from gaussmith.noise.keystream import Keystream

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


@pytest.mark.parametrize("bits", [0, 1, 52, 56])
def test_bits_set_the_scale(bits):
    deviations = normal_integers(2000, bits) / 2.0**bits
    assert 0.5 < deviations.std() < 2


def test_numpy_integers_will_do_for_sizes():
    assert len(normal_integers(np.int64(3), np.int32(4))) == 3


def test_a_negative_size_is_refused():
    with refused("negative-number-of-draws", size=-1):
        normal_integers(-1)


@pytest.mark.parametrize("bits", [-1, 57, 64])
def test_bits_outside_64_bit_integers_are_refused(bits):
    with refused("noise-bits-out-of-range", RequestError, says="use bits=52", bits=bits):
        normal_integers(1, bits)


@pytest.mark.parametrize("size", [1.0, "1", None])
def test_sizes_that_are_not_whole_numbers_are_refused(size):
    with pytest.raises(TypeError):
        normal_integers(size)


def test_the_public_call_has_no_seed_and_no_source():
    assert list(inspect.signature(normal_integers).parameters) == ["size", "bits"]
    assert noise.__all__ == ["DEFAULT_BITS", "normal_integers"]


def test_the_room_opens_without_heavy_libraries():
    script = "import sys, gaussmith.noise as n; n.normal_integers(5); print({'scipy', 'mpmath'} & set(sys.modules))"
    path = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ, **path}
    )
    assert done.stdout.strip() == "set()"


def test_words_are_asked_for_block_by_block_then_for_the_signs():
    words = Words()
    # Words of 0: k = 0, X = 0, V = 0 < 1: all accepted, sign plus.
    assert normal._draw(3, 52, words).tolist() == [0, 0, 0]
    assert words.requests == [3 * 20, 1]


@pytest.mark.parametrize("bits", [0, 1, 7, 52, 56])
@pytest.mark.parametrize("x", [0, 1, 2**63 - 1, 2**63, 2**63 + 2**10, ONES - 2**9, ONES])
@pytest.mark.parametrize("k", [0, 1, 2, 8])
def test_the_sum_is_rounded_to_the_nearest_integer(bits, x, k):
    u = normal.THRESHOLDS[k] - 1
    n = 17
    for sign, sign_word in ((1, 0), (-1, ONES)):
        words = Words([u] * n + [x] * n, [sign_word])
        expected = (((k << 64) + x) * 2**bits + 2**63) >> 64
        assert normal._draw(1, bits, words).tolist() == [sign * expected]


def test_rejected_proposals_are_not_returned():
    n = 17
    u, x, v = [0] * n, [ONES] * n, [ONES] * n
    x[5], v[5] = 2**63, 2**62
    words = Words(u + x + v, [0])
    assert normal._draw(1, 2, words).tolist() == [2]


def test_a_block_without_an_accepted_proposal_is_followed_by_another():
    n = 17
    words = Words([0] * n + [ONES] * n + [ONES] * n, [], [0] * n + [2**62] * n)
    assert normal._draw(1, 2, words).tolist() == [1]
    assert words.requests == [3 * n, 0, 3 * n, 1]


@pytest.mark.parametrize(("more", "k"), [([0], 9), ([ONES, 0], 13), ([ONES, ONES, 0], 16), ([ONES] * 7 + [0], 26)])
def test_words_beyond_the_last_threshold_reach_any_whole_part(more, k):
    n = 17
    words = Words([ONES] + [0] * (n - 1), *([word] for word in more))
    first = normal._draw(1, 52, words)
    assert first.tolist() == [k << 52]
    assert words.requests == [3 * n] + [1] * len(more) + [1]


def test_a_draw_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(normal, "settle", lambda *words, more: 127)
    with refused("draw-too-large"):
        normal._draw(1, 52, Words([ONES]))


def test_the_largest_draw_fits(monkeypatch):
    monkeypatch.setattr(normal, "settle", lambda *words, more: 126)
    n = 17
    words = Words([ONES] + [0] * (n - 1) + [ONES] * n, [ONES])
    assert normal._draw(1, 56, words).tolist() == [-127 << 56]


def test_a_margin_within_the_stated_error_is_settled_exactly(monkeypatch):
    asked = []
    monkeypatch.setattr(normal, "settle", lambda *words, more: asked.append(words))
    n = 17
    half = round(2**64 * np.exp(-1 / 8))  # V as near to e^{−X²/2} at X = ½ as doubles can tell
    near, far = round(2**64 * normal.ERROR * 0.99), round(2**64 * normal.ERROR * 1.01)
    v = [half - near, half + near, half - far, half + far, half - 2 * far] + [0] * (n - 5)
    drawn = normal._draw(1, 52, Words([0] * n + [2**63] * n + v))
    assert asked == [(0, 2**63, half - near), (0, 2**63, half + near)]
    assert drawn.tolist() == [2**51]


def test_settling_returns_none_for_a_rejected_proposal():
    assert decide.settle(0, ONES, ONES, more=lambda: 0) is None
    assert decide.settle(2**63 + 2**62, 0, 0, more=lambda: 0) == 1


def test_two_keystreams_share_no_word():
    assert len(np.unique(np.concatenate([Keystream().words(1000) for _ in range(4)]))) == 4000


def test_a_keystream_goes_on_where_it_stopped():
    stream = Keystream()
    pieces = [stream.words(size) for size in (3, 1, 0, 1000, 2)]
    assert [len(piece) for piece in pieces] == [3, 1, 0, 1000, 2]
    assert len(np.unique(np.concatenate(pieces))) == 1006


def test_a_keystream_refuses_another_process(monkeypatch):
    stream = Keystream()
    stream.words(1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with refused("keystream-of-another-process", used_in=-1):
        stream.words(1)

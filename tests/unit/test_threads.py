"""Linear algebra runs on one thread inside plans and reports, and the caller's setting comes back."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gaussmith as gm
from gaussmith.numerics import threads as limited
from gaussmith.numerics.threads import _THREADS, single_threaded, threads


@pytest.fixture
def four_threads():
    """The known libraries, set to four threads for a test; skipped where none is known (other BLAS libraries)."""
    found = _THREADS._libraries()
    if not found:
        pytest.skip("numpy is not linked to OpenBLAS here")
    before = threads()
    for _, set_to in found:
        set_to(4)
    if set(threads()) == {1}:
        pytest.skip("OpenBLAS was built for one thread")
    yield threads()
    for (_, set_to), number in zip(found, before, strict=True):
        set_to(number)


def test_the_callers_threads_come_back(four_threads):
    with single_threaded():
        assert set(threads()) == {1}
        with single_threaded():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert threads() == four_threads


def test_an_error_brings_the_threads_back(four_threads):
    with pytest.raises(ValueError, match="stop"), single_threaded():
        raise ValueError("stop")
    assert threads() == four_threads


def test_blocks_of_several_threads_end_in_any_order(four_threads):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with single_threaded():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    inside.wait(10)
    with single_threaded():
        leave.set()
        other.join(10)
        assert set(threads()) == {1}
    assert threads() == four_threads


def test_a_plan_its_limit_and_its_page_are_made_on_one_thread(four_threads, monkeypatch):
    seen = []
    real = np.linalg.eigh

    def eigh(*given, **more):
        seen.extend(threads())
        return real(*given, **more)

    monkeypatch.setattr(np.linalg, "eigh", eigh)
    assert gm.plan(gm.Box([0] * 14, [1] * 14), gm.Guarantee(mu=1)).optimality < 1.02
    assert gm.plan(gm.Cells(24), gm.Guarantee(mu=1), answers=gm.workloads.prefix(24)).optimality < 1.002
    assert seen and set(seen) == {1}
    assert threads() == four_threads


def test_a_module_without_a_library_is_left_alone():
    assert limited._functions(np, "no_such_{}_function") is None

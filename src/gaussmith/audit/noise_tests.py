"""White-box tests of a noise while it is drawn: looked at early, so that gross errors stop the drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from gaussmith.audit.bounds import scale_detected
from gaussmith.audit.verdict import EXACT, SAMPLED, Attempt, shares
from gaussmith.audit.whitening import TESTS, Tally, Whitener
from gaussmith.numerics.linear import Array

EARLY = (0.01, 0.1)
"""The parts of the draws after which all tests are made; then once more at the end."""

WEIGHTS = (1.0, 1.0, 8.0)
"""How the error probability is split over the looks: the early ones stop gross errors alone."""


def check_noise(
    name: str, errors: Iterable[Array], covariance: Array, error: float, draws: int,
    report: Callable[[float], None] | None = None,
) -> Attempt:  # fmt: skip
    """All tests of errors that arrive in blocks, so many draws in all; stops where an early look refutes the claim.

    Every look has its own share of the error probability, so however often it looks, a true claim is refuted with
    probability at most `error`.
    """
    whitener = Whitener(covariance)
    k = whitener.directions
    looks = [*(max(200, int(draws * part)) for part in EARLY), draws]
    limits = [share / len(TESTS) for share in shares(error, WEIGHTS)]
    tally = Tally(k)
    at = 0
    for block in errors:
        if stray := whitener.stray(block):
            return Attempt(name, EXACT, True, stray, samples=tally.draws + len(block))
        if not k:
            return Attempt(name, EXACT, False, "nothing here has noise, and nothing is claimed to")
        tally.see(whitener.units(block))
        if report is not None:
            report(min(1.0, tally.draws / draws))
        if at < len(EARLY) and looks[at] <= tally.draws < draws:
            found = _look(name, tally, limits[at], error)
            if found.refutes:
                return found
            while at < len(EARLY) and looks[at] <= tally.draws:
                at += 1
    return _look(name, tally, limits[-1], error)


def _look(name: str, tally: Tally, limit: float, error: float) -> Attempt:
    values = {test: p(tally) for test, p in TESTS.items()}
    n, k, least = tally.draws, tally.directions, min(values.values())
    wrong = [f"{test} (p={p:.2g})" for test, p in values.items() if p < limit]
    if wrong:
        said = f"{n:,} draws contradict the claimed covariance: {', '.join(wrong)}"
        return Attempt(name, SAMPLED, True, said, limit, least, error, n)
    said = f"{n:,} draws of {k} directions agree with the claimed covariance (smallest p={least:.2g})"
    detects = f"noise {100 * scale_detected(n, k, limit):.2g} % too small in all directions, or "
    detects += f"{100 * scale_detected(n, 1, limit / k):.2g} % in one of {k}"
    return Attempt(name, SAMPLED, False, said, limit, least, error, n, detects)


def evenly(count: int, most: int) -> npt.NDArray[np.int64]:
    """The places of at most so many of a count, evenly chosen.

    >>> evenly(10, 4).tolist(), evenly(3, 4).tolist()
    ([0, 2, 5, 7], [0, 1, 2])
    """
    few = min(count, most)
    return np.arange(few, dtype=np.int64) * count // max(1, few)

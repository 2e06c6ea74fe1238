"""The limits of doubles: numbers too large or too far apart for planning are refused with an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from gaussmith.errors import PlanError
from gaussmith.numerics.threads import single_threaded


def too_far() -> PlanError:
    """Why numbers that overflow are refused."""
    return PlanError(
        "bounds, answers or weights whose scales are too far apart",
        "every error, its square and their sum must be representable as doubles",
        "rescale the columns, or ask for answers of one unit at a time",
        code="scales-too-far-apart",
    )


@contextmanager
def within_doubles() -> Iterator[None]:
    """A context in which an overflow or a failed decomposition becomes a PlanError; linear algebra has one thread.

    The caller must check results for silent infinities and NaN (`require_finite`).

    >>> with within_doubles():
    ...     1e200 ** 2
    Traceback (most recent call last):
    gaussmith.errors.PlanError: bounds, answers or weights whose scales are too far apart · every error, its square ...
    """
    try:
        with np.errstate(all="ignore"), single_threaded():
            yield
    except (np.linalg.LinAlgError, ArithmeticError):
        raise too_far() from None


def require_finite(*numbers: float | np.ndarray) -> None:
    """Refuse infinities and NaN.

    >>> require_finite(1.0, np.zeros(2))
    """
    if not all(np.isfinite(each).all() for each in numbers):
        raise too_far()

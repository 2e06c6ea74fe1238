"""Releases made from noisy features that a test chooses: no data is read and no noise is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

import gaussmith as gm


def noisy_release(
    plan: gm.Plan, *features: Any, records: int | None = None, reading: Any = None, **fields: Any
) -> gm.Release:
    """The release of a plan with these features, one array for each draw; of groups one row each."""
    noisy = tuple(np.atleast_2d(np.asarray(each, float)) for each in features)
    return gm.Release(plan, noisy, (records,) * len(noisy), (reading,) * len(noisy), **fields)

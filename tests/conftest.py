"""Hypothesis: fresh examples on every run, a modest number of them, and no deadline on a busy machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("gaussmith", deadline=None, derandomize=False, max_examples=60)
settings.load_profile("gaussmith")

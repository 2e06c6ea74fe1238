"""Hypothesis: fresh examples on every run, a modest number of them, and no deadline on a busy machine.

Solved noise is not kept on disk: a test must not find what another run left there.
"""

from __future__ import annotations

import os

from hypothesis import settings

os.environ["GAUSSMITH_CACHE"] = "off"

settings.register_profile("gaussmith", deadline=None, derandomize=False, max_examples=60)
settings.load_profile("gaussmith")

"""The same with PipelineDP's experimental accountant of privacy loss distributions, which composes exactly."""

from __future__ import annotations

from functools import partial

import pipeline_dp
from pipelinedp_jobs import release
from questions import measure

if __name__ == "__main__":
    # The squared error is inverse to the weight's square, and squared weights add up.
    measure(partial(release, accountant=pipeline_dp.PLDBudgetAccountant), 1 / 4, "pipeline-dp", "dp-accounting")

"""The page of everyday jobs: each can be found from the top, is short, and says what to look at."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "howto.md").read_text("utf-8")
JOBS = 34
LONGEST = 16
"""Lines of code of one job, without what they print."""


def jobs() -> dict[str, str]:
    """The text of each job by its heading."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchor(heading: str) -> str:
    """Where a link to a heading points: as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_job_is_numbered_and_listed_at_the_top() -> None:
    headings = list(jobs())
    assert [int(heading.split(".")[0]) for heading in headings] == list(range(1, JOBS + 1))
    assert re.findall(r"\]\(#([^)]+)\)", PAGE) == [anchor(heading) for heading in headings]


def test_every_job_runs_a_few_lines_and_says_what_to_look_at() -> None:
    for heading, text in jobs().items():
        lines = re.findall(r"^(?:>>>|\.\.\.) ", text, flags=re.M)
        assert 1 <= len(lines) <= LONGEST, heading
        assert "**Look at**" in text or "**Note the denominator**" in text, heading

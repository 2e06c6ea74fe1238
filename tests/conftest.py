"""Hypothesis: fresh examples on every run, a modest number of them, and no deadline on a busy machine.

Solved noise is not kept on disk: a test must not find what another run left there.
With GAUSSMITH_RAISED=FILE the codes of all errors that the tests make are written to that file, for
`tests/sentences/record.py --raised FILE`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forgetting import forget_plans
from hypothesis import settings

from gaussmith.errors import GaussmithError

# Every Java that the tests start, in subprocesses too: small tables are done before an optimised compilation pays.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

settings.register_profile("gaussmith", deadline=None, derandomize=False, max_examples=60)
settings.load_profile("gaussmith")


SLOW = ("spark", "tests/stories", "tests/properties", "tests/statistics", "tests/golden", "tests/engines")
"""What the workers of a parallel run take first, so that none is left alone with a long file at the end."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With --dist loadfile: files go to workers whole, but all tests of Spark to one, which starts the only Spark."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            is_spark = nodeid.startswith("tests/engines/") and "spark" in nodeid
            return "spark" if is_spark else str(super()._split_scope(nodeid))

        def _assign_work_unit(self, node: Any) -> None:
            self.workqueue.move_to_end(min(self.workqueue, key=_place_in_queue), last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def _place_in_queue(scope: str) -> int:
    """Ties are taken in the order of xdist: files of many tests first."""
    return next((i for i, name in enumerate(SLOW) if scope.startswith(name)), len(SLOW))


@pytest.fixture(autouse=True)
def _forget_plans() -> None:
    """No test finds what another has planned: a planted fault would not be met."""
    forget_plans()


@pytest.fixture(scope="session", autouse=True)
def _record_codes() -> Iterator[None]:
    """Every process of the tests adds its codes to the file at its end."""
    if "GAUSSMITH_RAISED" not in os.environ:
        yield
        return
    codes: set[str] = set()
    make = GaussmithError.__init__

    def record(self: GaussmithError, *parts: str, code: str, **fields: Any) -> None:
        codes.add(code)
        make(self, *parts, code=code, **fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GaussmithError, "__init__", record)
        yield
    with Path(os.environ["GAUSSMITH_RAISED"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{code}\n" for code in sorted(codes))

"""Golden releases on Spark: what the golden file holds for the other engines holds for it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cases import spark_cases
from comparison import Kept, differences, read_golden
from tables import file

GOLDEN = read_golden()
CASES = dict(spark_cases())


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return spark.read.parquet(file(tmp_path_factory.mktemp("golden"), "parquet")).repartition(3)


@pytest.mark.parametrize("name", CASES)
def test_a_release_is_what_it_was(name: str, frame: Any) -> None:
    find: Callable[[Any], Kept] = CASES[name]
    assert differences(GOLDEN["cases"][name], find(frame)) == []

"""A Spark session for the whole run: local, two threads, a task may fail twice, no web page."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from sessions import why_no_spark

MASTER = "local[2,3]"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A small Spark on this machine; skipped, with the reason and the remedy, where Java or pyspark is missing."""
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    logging.getLogger("py4j").setLevel(logging.ERROR)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(MASTER).appName("gaussmith tests")
        for key, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
        }.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
    yield session
    session.stop()

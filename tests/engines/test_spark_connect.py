"""Spark Connect: the same totals through a server, where its packages are installed; and nothing is used it has not."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sessions import why_no_spark

from gaussmith.codes import BallCodes, BoxCodes
from gaussmith.sums import open_source, total

RELEASE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from pyspark.sql import SparkSession
import gaussmith as gm
from gaussmith.codes import BallCodes, BoxCodes
from gaussmith.sums import open_source, total

session = SparkSession.builder.remote("local[2]").getOrCreate()
frame = session.read.parquet(sys.argv[1])
source = open_source(frame)
assert type(frame).__module__.startswith("pyspark.sql.connect") and source.kind == "spark"
box = total(source, BoxCodes.for_bounds([0, 0], [100, 9], [50, 1]), ["a", "b"])
ball = total(source, BallCodes(np.array([50.0, 4.0]), 30.0), ["a", "b"])
request = gm.Request(frame, unit="person", sums={"a": (0, 300)}, count=True, by={"b": [1, 2]}, where="a > 3",
                     guarantee=gm.Guarantee(mu=1e6))
print(json.dumps([box.sums, ball.sums, box.records, gm.release(request).values.tolist()]))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("grpc") is None, reason="grpcio is not installed · pip install 'pyspark[connect]'"
)
def test_a_frame_of_spark_connect(tmp_path: Path) -> None:
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    random = np.random.default_rng()
    data = pl.DataFrame(
        {
            "a": [*random.normal(50, 40, 1000), None, float("nan"), float("inf")],
            "b": random.integers(0, 9, 1003),
            "person": random.integers(0, 300, 1003),
        }
    )
    data.write_parquet(tmp_path / "data.parquet")
    command = [sys.executable, "-c", RELEASE, str(tmp_path / "data.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    box, ball, records, values = json.loads(done.stdout.splitlines()[-1])
    source = open_source(data)
    assert box == total(source, BoxCodes.for_bounds([0, 0], [100, 9], [50, 1]), ["a", "b"]).sums
    assert ball == total(source, BallCodes(np.array([50.0, 4.0]), 30.0), ["a", "b"]).sums
    assert records == 1003 and len(values) == 2


def test_nothing_is_used_that_connect_has_not() -> None:
    """Read from the text of pyspark, which holds its client whether or not it can run here."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        pytest.skip("pyspark is not installed · pip install gaussmith[spark]")
    folder = Path(spec.origin).parent / "sql" / "connect"

    def methods(file: str, name: str) -> set[str]:
        tree = ast.parse((folder / file).read_text(encoding="utf-8"))
        (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        return {node.name for node in found.body if isinstance(node, ast.FunctionDef)}

    used = {"selectExpr", "collect", "count", "groupBy", "schema", "columns", "sparkSession"}
    assert used <= methods("dataframe.py", "DataFrame")
    assert {"version", "conf", "read", "createDataFrame"} <= methods("session.py", "SparkSession")
    assert {"option", "parquet"} <= methods("readwriter.py", "DataFrameReader")
    assert "get" in methods("conf.py", "RuntimeConf")

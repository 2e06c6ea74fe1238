"""Spark Connect: the same totals through a server, from Python and from the command line; nothing else is used."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sessions import why_no_spark
from summing import total_records

import gaussmith as gm
from gaussmith.domains.encoding import BallEncoding, BoxEncoding
from gaussmith.engines.registry import open_source

RELEASE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from pyspark.sql import SparkSession
import gaussmith as gm
from gaussmith.domains.encoding import BallEncoding, BoxEncoding
from gaussmith.engines.registry import open_source
sys.path.insert(0, sys.argv[3])
from summing import total_records

session = SparkSession.builder.remote(sys.argv[2]).getOrCreate()
frame = session.read.parquet(sys.argv[1])
source = open_source(frame)
assert type(frame).__module__.startswith("pyspark.sql.connect") and source.engine.name == "spark"
box = total_records(source, BoxEncoding.for_bounds([0, 0], [100, 9], [50, 1]), ["a", "b"])
ball = total_records(source, BallEncoding(np.array([50.0, 4.0]), 30.0), ["a", "b"])
request = gm.Request(frame, unit="person", sums={"a": (0, 300)}, count=True, by={"b": [1, 2]}, where="a > 3",
                     groups_per_unit=1, guarantee=gm.Guarantee(mu=1e6))
print(json.dumps([box.sums, ball.sums, box.records, gm.release(request).values.tolist()]))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of Spark Connect in a process of its own."""
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("grpcio is not installed · pip install 'pyspark[connect]'")
    import pyspark

    home, port = Path(pyspark.__file__).parent, free_port()
    (jar,) = (home / "jars").glob("spark-connect_*.jar")
    settings = {"spark.connect.grpc.binding.port": port, "spark.ui.enabled": "false"}
    command = [home / "bin" / "spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += ["--master", "local[2]", *(word for k, v in settings.items() for word in ("--conf", f"{k}={v}")), jar]
    folder = tmp_path_factory.mktemp("server")
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            stdout=log,
            stderr=log,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        try:
            deadline = time.monotonic() + 120
            while not answers(port):
                assert server.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
                time.sleep(0.2)
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=60)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng()
    data = pl.DataFrame(
        {
            "a": [*random.normal(50, 40, 1000), None, float("nan"), float("inf")],
            "b": random.integers(0, 9, 1003),
            "person": random.integers(0, 300, 1003),
        }
    )
    path = tmp_path_factory.mktemp("table") / "data.parquet"
    data.write_parquet(path)
    return path


def test_a_frame_of_spark_connect(address: str, table: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", RELEASE, str(table), address, str(Path(__file__).parents[1] / "shared")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    box, ball, records, values = json.loads(done.stdout.splitlines()[-1])
    source = open_source(table)
    assert box == total_records(source, BoxEncoding.for_bounds([0, 0], [100, 9], [50, 1]), ["a", "b"]).sums
    assert ball == total_records(source, BallEncoding(np.array([50.0, 4.0]), 30.0), ["a", "b"]).sums
    assert records == 1003
    request = gm.Request(
        table,
        unit="person",
        groups_per_unit=1,
        sums={"a": (0, 300)},
        count=True,
        by={"b": [1, 2]},
        where="a > 3",
        guarantee=gm.Guarantee(mu=1e6),
    )
    assert np.allclose(values, gm.release(request).values, rtol=1e-5, atol=0.01)


def test_files_through_a_server_from_the_command_line(address: str, table: Path) -> None:
    (table.parent / "request.toml").write_text(
        'source = "data.parquet"\ncount = true\nsums = { a = [0, 100] }\nguarantee = { mu = 1e6 }\n'
    )
    command = [sys.executable, "-m", "gaussmith", "release", "request.toml", "--engine", "spark", "--master", address]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=250, cwd=table.parent)
    assert (done.returncode, done.stderr) == (0, "")
    found = {answer["answer"]: answer["value"] for answer in json.loads(done.stdout)["answers"]}
    wanted = gm.release(gm.Request(table, count=True, sums={"a": (0, 100)}, guarantee=gm.Guarantee(mu=1e6)))
    assert round(found["count"]) == 1003 and abs(found["a_sum"] - wanted["a_sum"].value) < 0.1


def test_partitions_through_a_server(address: str, tmp_path: Path) -> None:
    for name in ("1", "01", "%C3%A9", "%FF"):
        (tmp_path / "visits" / f"person={name}").mkdir(parents=True)
        pl.DataFrame({"a": [7.0, 8.0]}).write_parquet(tmp_path / "visits" / f"person={name}" / "0.parquet")
    (tmp_path / "request.toml").write_text(
        'source = "visits"\nunit = "person"\ncount = true\nwhere = "person != \'1\'"\nguarantee = { mu = 1e6 }\n'
    )
    command = [sys.executable, "-m", "gaussmith", "release", "request.toml", "--engine", "spark", "--master", address]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert round(json.loads(done.stdout)["answers"][0]["value"]) == 2  # 01 and é


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
    used |= {"inputFiles", "metadataColumn", "withColumn", "join", "hint", "drop"}
    assert used <= methods("dataframe.py", "DataFrame")
    assert {"version", "conf", "read", "createDataFrame"} <= methods("session.py", "SparkSession")
    assert {"option", "parquet", "text"} <= methods("readwriter.py", "DataFrameReader")
    assert "get" in methods("conf.py", "RuntimeConf")

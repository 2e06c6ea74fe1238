"""Spark: a session where one is needed, files opened by it, and totals of its frames. Rows stay where they are.

A frame's own session is used as it is. A session for files is started here, quietly: what Java would print to a
terminal may quote data.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import typing
import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from gaussmith.addresses import without_secrets
from gaussmith.codes import Codes
from gaussmith.domains.points import PointCodes
from gaussmith.errors import SourceError
from gaussmith.expressions import kind_of
from gaussmith.sums.arrays import Totals, Unsteady
from gaussmith.sums.failures import attempt
from gaussmith.sums.files import Files
from gaussmith.sums.partitions import PATH, check_keys, list_store
from gaussmith.sums.sql import (
    BLOCK_COLUMNS,
    DOUBLE,
    LONG,
    quote,
    read_numbers,
    read_sums,
    spell_codes,
    spell_place,
    spell_sums,
)
from gaussmith.sums.versions import check_range, check_version

if typing.TYPE_CHECKING:
    import narwhals as nw

OLDEST_JAVA = 17

PATIENCE = 5.0
"""Seconds to wait for a master before it is called unreachable."""

DOUBLES_HOLD = 1 << 32
"""Limbs of up to so many rows add up in doubles without rounding."""

INSTALL = "pip install gaussmith[spark]"
INSTALL_JAVA = (
    "install one, for example with apt install openjdk-17-jre-headless, brew install openjdk@17 or "
    "conda install openjdk=17, or let JAVA_HOME name it"
)

QUIET = {
    "spark.app.name": "gaussmith",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


# ---- totals ----------------------------------------------------------------------------------------------------------


def total_spark(
    frame: Any,
    codes: Codes,
    columns: Sequence[str],
    schema: Mapping[str, nw.dtypes.DType],
    doubles_hold: int = DOUBLES_HOLD,
) -> Totals:
    """The exact totals of a Spark frame, added up by Spark: a query for every 16 codes, each of which returns one row.

    Guarantee: the integers of every other engine. A task that fails and is run again changes nothing: Spark adds up the
    results of each partition once.
    Requires: a frame that yields the same rows whenever it is read, and fewer than 2^42 of them (the first owed by the
    caller; that all queries saw as many rows is checked).
    """
    if not columns:
        return Totals([], int(frame.count()))
    numbers = frame.selectExpr(*read_numbers(columns, [kind_of(schema[name]) for name in columns]))
    if isinstance(codes, PointCodes):
        return _count_places(numbers, codes)
    sums: list[int] = []
    counts: set[int] = set()
    for start in range(0, codes.width, BLOCK_COLUMNS):
        which = range(start, min(start + BLOCK_COLUMNS, codes.width))
        coded = numbers
        for step in spell_codes(codes, which):
            coded = coded.selectExpr(*step)
        found, records = read_sums(coded.selectExpr(*spell_sums(which, DOUBLE)).collect()[0])
        if records > doubles_hold:
            found, records = read_sums(coded.selectExpr(*spell_sums(which, LONG)).collect()[0])
        sums += found
        counts.add(records)
    if len(counts) > 1:
        raise Unsteady
    return Totals(sums, counts.pop())


def _count_places(numbers: Any, codes: PointCodes) -> Totals:
    """How many records are at each point: one row comes back for each point that has any."""
    placed = numbers
    for step in spell_place(codes):
        placed = placed.selectExpr(*step)
    sums = [0] * codes.width
    for place, count in placed.groupBy("place").count().collect():
        sums[int(place)] = int(count)
    return Totals(sums, sum(sums))


def check_frame(frame: Any) -> None:
    """Refuse a frame without an end, of a Spark that is too old, or whose columns Spark itself cannot tell apart."""
    if frame.isStreaming:
        raise SourceError(
            "a streaming frame of Spark", "it has no end, and so no sums", "read what has arrived with spark.read"
        )
    session = frame.sparkSession
    check_range("pyspark", str(session.version), "the frame's Spark")
    if str(session.conf.get("spark.sql.caseSensitive", "false")).lower() == "true":
        return
    seen: dict[str, str] = {}
    for name in frame.columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise SourceError(
                f"columns {other!r} and {name!r} of the frame",
                "Spark does not tell capital letters from small ones",
                "rename one, or set spark.sql.caseSensitive to true",
            )


def list_files(files: Files, master: str | None) -> Files:
    """The files of a store, as Spark finds them, with the values of their folders; those of this machine are known."""
    if not files.is_unknown:
        return files
    session = open_session(master)

    def find(pattern: str) -> list[str]:
        if pattern != files.paths[0]:
            return list(session.read.text(pattern).columns)  # fails where there is nothing
        return [unquote(path) for path in read_files(files, master).inputFiles()]

    return list_store(files, find, _unreadable(files))


def read_files(files: Files, master: str | None) -> Any:
    """A frame over Parquet files, read by Spark, with the values of their folders.

    Executors must find files of this machine under the same path.
    """
    session = open_session(master)
    paths = [_address(files, path) for path in files.paths]
    reader = session.read.option("recursiveFileLookup", "true")  # and no types or columns from the names of folders
    frame = attempt(lambda: reader.parquet(*paths), _unreadable(files))
    if not files.keys:
        return frame
    check_keys(files, frame.columns)
    return attempt(lambda: _attach_values(session, frame, files), _unreadable(files))


def _unreadable(files: Files) -> SourceError:
    return SourceError(
        f"source={files.said!r} cannot be opened by Spark",
        "it must be able to read every file, and know the types of all columns in it",
        "try it with Spark itself, or leave engine out",
    )


def _attach_values(session: Any, frame: Any, files: Files) -> Any:
    """The frame with the values of its folders, joined by the file that Spark says a row is from."""
    known = {(path if files.remote else os.path.abspath(path)): files.values[path] for path in files.paths}
    rows = []
    for address in frame.inputFiles():
        path = unquote(address)
        rows.append((_plainly(address), *known[path if files.remote else re.sub("^file:/*", "/", path)]))
    told = frame.withColumn(PATH, frame.metadataColumn("_metadata").getField("file_path"))
    plain = f"regexp_replace({quote(PATH)}, '{_STROKES}', '$1:/') {quote(PATH)}"
    told = told.selectExpr(*map(quote, frame.columns), plain)
    fields = ", ".join(f"{quote(name)} string" for name in (PATH, *files.keys))
    return told.join(session.createDataFrame(rows, fields).hint("broadcast"), PATH, "left").drop(PATH)


_STROKES = "^([A-Za-z0-9]+):/+"
"""Spark writes file:/ and file:/// for the same."""


def _plainly(address: str) -> str:
    return re.sub(_STROKES, r"\1:/", address)


def _address(files: Files, path: str) -> str:
    """A path for Spark, which reads wildcards in paths."""
    if files.remote and not files.is_listed:
        return path
    place = path if files.remote else "file://" + os.path.abspath(path)
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", place)


# ---- sessions --------------------------------------------------------------------------------------------------------


def open_session(master: str | None) -> Any:
    """The running session, or a new one at `master` (by default all cores of this machine). Reads no data.

    Refuses in words: no pyspark, too old a one, no Java, a master that does not answer, another session in the way.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise SourceError('engine="spark"', "pyspark is not installed", INSTALL)
    check_version("pyspark")
    running = _running_session()
    if running is not None:
        return _same_master(running, master)
    master = master or os.environ.get("SPARK_REMOTE") or os.environ.get("MASTER") or "local[*]"
    _check_reachable(master)
    if master.startswith("sc://"):
        return _connect(master)
    check_java()
    return _start(master)


def _running_session() -> Any:
    """The session of this process, if there is one: Spark allows no other beside it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    return SparkSession.getActiveSession()


def _same_master(session: Any, master: str | None) -> Any:
    found = str(session.conf.get("spark.master", "") or "")
    if master is not None and master != found:
        raise SourceError(
            f"master={without_secrets(master)!r}",
            f"a session at {without_secrets(found)!r} is running in this process, and there can be one",
            "leave master out, or stop that session first",
        )
    return session


def _connect(address: str) -> Any:
    """A session of Spark Connect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark warns of versions of pandas, which is not used
        try:
            from pyspark.sql.connect.session import SparkSession
        except ImportError:
            SparkSession = None
    if SparkSession is None:
        raise SourceError(
            f"master={without_secrets(address)!r}",
            "Spark Connect needs more packages than Spark itself",
            f"{INSTALL} 'pyspark[connect]'",
        )
    problem = _not_started(address, "the server at this address did not open a session")
    session = attempt(lambda: SparkSession.builder.remote(address).getOrCreate(), problem)
    check_range("pyspark", str(attempt(lambda: session.version, problem)), "the server's Spark")
    return session


def _start(master: str) -> Any:
    """A classic session. Its Java writes to nowhere: warnings and failures there may quote data."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    def start() -> Any:
        conf = SparkConf().setMaster(master)
        for key, value in {**QUIET, **(LOCAL if master.startswith("local") else {})}.items():
            conf.set(key, value)
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyspark warns of versions of pandas, which is not used
            if SparkContext._gateway is None:
                SparkContext(conf=conf, gateway=launch_gateway(conf, silent))
            return SparkSession.builder.config(conf=conf).getOrCreate()

    return attempt(start, _not_started(master, "Spark could not be started there"))


def _not_started(master: str, rule: str) -> SourceError:
    remedy = "check the address, for example local[2], spark://host:7077 or sc://host:15002"
    return SourceError(f"master={without_secrets(master)!r}", rule, remedy)


def check_java() -> None:
    """Refuse a machine without a Java that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME={home!r} holds no Java" if home else "there is no Java on this machine"
        raise SourceError('engine="spark"', f"{where}; Spark needs Java {OLDEST_JAVA} or newer", INSTALL_JAVA)
    told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if version is not None and int(version[1]) < OLDEST_JAVA:
        raise SourceError(f"Java {version[1]}", f"Spark needs Java {OLDEST_JAVA} or newer", INSTALL_JAVA)


def _check_reachable(master: str) -> None:
    """Refuse a master that does not answer within seconds; Spark itself would try for minutes."""
    scheme, _, rest = master.partition("://")
    if scheme not in ("spark", "sc", "k8s"):
        return
    inner = rest if "://" in rest else f"//{rest}"
    addresses = [urlsplit(part if "//" in part else f"//{part}") for part in inner.split(",")]
    usual = {"spark": 7077, "sc": 15002, "k8s": 443}[scheme]
    for address in addresses:
        try:
            with socket.create_connection((address.hostname or "localhost", address.port or usual), timeout=PATIENCE):
                return
        except (OSError, ValueError):
            continue
    raise SourceError(
        f"master={without_secrets(master)!r}",
        f"nothing answers at this address within {PATIENCE:g} seconds",
        "check the host and the port, and that the cluster is up; nothing was read and nothing was spent",
    )

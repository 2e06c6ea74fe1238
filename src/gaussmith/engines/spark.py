"""Spark: frames, and Parquet files opened by it. Spark adds up the codes; rows stay where they are."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import socket
import subprocess
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from gaussmith.domains.encoding import Encoding, Step
from gaussmith.engines.addresses import without_secrets
from gaussmith.engines.engine import AddUp, Progress, Totals, Unsteady, Words, counted_places, key_columns
from gaussmith.engines.files import PATH, Files, check_keys, list_store
from gaussmith.engines.frames import bounds_of, dates_in, has_zone
from gaussmith.engines.relations import (
    derive_relation,
    first_numbered,
    numbered,
    open_parquet,
    open_relation,
    read_schema,
)
from gaussmith.engines.source import Source
from gaussmith.engines.versions import attempt, check_range, check_version
from gaussmith.errors import SourceError
from gaussmith.expressions.formulas import kind_of
from gaussmith.expressions.keys import GroupKeys
from gaussmith.expressions.spelling import Derivation

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from gaussmith.engines.engine import Frame


# Codes added up in Spark's SQL: text that Spark compiles where the rows are. Only totals come back.
#
# How a code is spelled is known to each coding (`Encoding.spell`). Encoding are summed in two limbs of 21 bits.
#
# **Why sums of doubles are exact here.** A limb is a whole number of at most 2^21 in size, so every partial sum of
# 2^32 of them is a whole number of at most 2^53 in size, which a double holds: no order of adding can round. Doubles
# are added up at the speed of Spark's plain sum; its integers are checked for overflow at every step. Beyond 2^32
# rows they are used all the same (`LONG`).
#
# **Why text and not columns.** Spark takes 50 ms to build one column's expression from Python objects, and a fraction
# of that to read it. Java leaves methods of more than 8 000 bytes uncompiled, hence at most 16 columns per query.

LIMB = 21
"""Bits of the lower limb of a code; the upper has as many, and a sign."""

BLOCK_COLUMNS = 16
"""Codes added up by one query."""

DOUBLE, LONG = "double", "bigint"
"""What limbs are added up in: doubles are exact up to 2^32 rows, integers of 64 bits up to 2^42."""


def quote(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def read_numbers(columns: Sequence[str], kinds: Sequence[str]) -> Step:
    """The columns as doubles x0, x1 …, null where missing. Long numbers go through text, which is rounded once."""
    inner = ["cast({} as string)" if kind == "long number" else "{}" for kind in kinds]
    return [
        f"cast({text.format(quote(c))} as double) x{j}" for j, (c, text) in enumerate(zip(columns, inner, strict=True))
    ]


def spell_sums(which: range, kind: str = DOUBLE) -> Step:
    """The sums of the limbs of the codes, upper and lower in turn, and the number of records."""
    mask = (1 << LIMB) - 1
    limbs = ((f"shiftright(c{j}, {LIMB})", f"c{j} & {mask}L") for j in which)
    return [*(f"sum(cast({limb} as {kind}))" for pair in limbs for limb in pair), "count(1)"]


def read_sums(row: Sequence[Any]) -> tuple[list[int], int]:
    """The sums and the number of records in a row of `spell_sums`; of no rows at all the sums are null."""
    *limbs, records = (0 if value is None else int(value) for value in row)
    return [(high << LIMB) + low for high, low in zip(limbs[::2], limbs[1::2], strict=True)], records


DOUBLES_HOLD = 1 << 32
"""Limit on the rows whose limbs add up in doubles without rounding."""


class Spark:
    """Spark frames, in the user's session or, for files, in our own."""

    name = "spark"
    modules = ("pyspark",)
    packages = ("pyspark", "polars", "narwhals")
    adds_here = False
    hands_over_texts = False
    wide_sums = None
    max_features = 4

    def open(self, data: Any) -> Source:
        schema = read_schema(data)
        check_frame(data)
        void = [column.name for column in data.schema if column.dataType.typeName() == "void"]
        return open_relation(self, data, schema, void, of_query=True)  # what Spark holds is a plan, and may be a query

    def open_files(self, files: Files, columns: Sequence[str] | None, master: str | None) -> Source:
        opened, _ = open_parquet(self, files, partial(list_files, master=master), partial(read_files, master=master))
        return opened

    def check_names(self, source: Source, columns: Sequence[str]) -> None:
        """Refuse names that Spark would take for something else in expressions: of people, groups and filters."""
        for name in columns:
            if name in source.schema and any(sign in name for sign in ".`*"):
                raise SourceError(
                    f"column={name!r}",
                    "Spark reads dots, backticks and stars in a name as part of an expression",
                    "rename it first, for example with toDF or withColumnRenamed",
                    code="column-name-is-an-expression",
                    column=name,
                )

    def frame(self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Frame:
        import narwhals as nw

        columns = tuple(dict.fromkeys(columns))
        native = _with_plain_dates(source.native, source.schema, columns)
        frame: Frame = nw.from_native(native).lazy().select(*columns)
        return frame

    def exact_ids(self, source: Source, unit: str, taken: Sequence[str]) -> dict[str, str]:
        return {}

    def derive(self, source: Source, derivation: Derivation) -> Any:
        return derive_relation(source, derivation)

    def total(
        self, source: Source, codes: Encoding, columns: Sequence[str], add_up: AddUp, progress: Progress | None
    ) -> Totals:
        source = numbered(source, columns)
        return total_frame(source.native, codes, columns, source.schema)

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        return self.places_in(self.frame(source, columns or ()), keys)

    def places_in(self, frame: Frame, keys: Sequence[GroupKeys]) -> Iterator[tuple[Words, Words | None]]:
        yield counted_places(frame, keys)

    def key_table(self, rows: Frame, keys: GroupKeys) -> Frame:
        import narwhals as nw

        columns, types = key_columns(keys)
        known = {"text": "string", "integer": "long", "double": "double"}
        fields = ", ".join(f"{name} {known[kind]}" for name, kind in zip(columns, types, strict=True))
        native: Any = rows.to_native()
        records = list(zip(*columns.values(), strict=True))
        table: Frame = nw.from_native(native.sparkSession.createDataFrame(records, fields))
        return table

    def fetch(self, frame: Frame) -> list[tuple[Any, ...]]:
        native: Any = frame.to_native()
        return [tuple(row) for row in native.collect()]

    def batches(self, frame: Frame, rows: int) -> Iterator[pl.DataFrame]:
        """One partition at a time is held here."""
        import polars as pl

        native: Any = frame.to_native()
        each = native.toLocalIterator(prefetchPartitions=True)
        while some := list(itertools.islice(each, rows)):
            yield pl.DataFrame(
                [tuple(row) for row in some], schema=native.columns, orient="row", infer_schema_length=None
            )

    def first_rows(self, frame: Frame, of: str, before: str, text: str, after: Sequence[str], most: int) -> Frame:
        from pyspark.sql import functions

        native: Any = frame.to_native()
        digested = native.withColumn("digest", functions.md5(functions.encode(text, "UTF-8")))
        return first_numbered(digested, of, [before, "digest", *after], most)

    def part(self, frame: Frame, column: str, part: int, parts: int) -> Frame | None:
        """None: Spark divides its work by itself."""
        return None

    def without_rows(self, source: Source) -> Source | None:
        """None: a query without rows costs Spark as much as one with a few."""
        return None


SPARK = Spark()


def total_frame(
    frame: Any,
    codes: Encoding,
    columns: Sequence[str],
    schema: Mapping[str, nw.dtypes.DType],
    doubles_hold: int = DOUBLES_HOLD,
) -> Totals:
    """The exact totals of a frame, added up by Spark: a query for every 16 codes, each of which returns one row.

    Guarantee: the integers of every other engine. A task that fails and is run again changes nothing: Spark adds up the
    results of each partition once.
    Requires: a frame that yields the same rows whenever it is read, and fewer than 2^42 of them (the first owed by the
    caller; that all queries saw as many rows is checked).
    """
    if not columns:
        return Totals([], int(frame.count()))
    numbers = frame.selectExpr(*read_numbers(columns, [kind_of(schema[name]) for name in columns]))
    if (steps := codes.spell_place()) is not None:
        return _count_places(numbers, steps, codes.width)
    sums: list[int] = []
    counts: set[int] = set()
    for start in range(0, codes.width, BLOCK_COLUMNS):
        which = range(start, min(start + BLOCK_COLUMNS, codes.width))
        coded = numbers
        for step in codes.spell(which):
            coded = coded.selectExpr(*step)
        found, records = read_sums(coded.selectExpr(*spell_sums(which, DOUBLE)).collect()[0])
        if records > doubles_hold:
            found, records = read_sums(coded.selectExpr(*spell_sums(which, LONG)).collect()[0])
        sums += found
        counts.add(records)
    if len(counts) > 1:
        raise Unsteady
    return Totals(sums, counts.pop())


def _count_places(numbers: Any, steps: list[Step], width: int) -> Totals:
    """How many records are at each place: one row comes back for each place that has any."""
    placed = numbers
    for step in steps:
        placed = placed.selectExpr(*step)
    sums = [0] * width
    for place, count in placed.groupBy("place").count().collect():
        sums[int(place)] = int(count)
    return Totals(sums, sum(sums))


def _with_plain_dates(frame: Any, schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str]) -> Any:
    """A frame in which dates and times outside the years 1 to 9999 are null, and times with a zone are in UTC."""
    dates = dates_in(schema, columns)
    if not dates:
        return frame
    kinds = {field.name: field.dataType.typeName() for field in frame.schema}
    chosen = []
    for name in columns:
        column = quote(name)
        low, high = "'0001-01-01'", "'9999-12-31'"
        if name in dates and has_zone(schema[name]):
            chosen.append(f"{_in_utc(column)} as {column}")
            continue
        if kinds.get(name) != "date":
            low, high = "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"
        inside = f"{column} between {kinds.get(name)}{low} and {kinds.get(name)}{high}"
        chosen.append(f"case when {inside} then {column} end as {column}" if name in dates else column)
    return frame.selectExpr(*chosen)


def _in_utc(column: str) -> str:
    """A time with a zone as one without, in UTC: by its microseconds, so that no table of zones is asked."""
    low, high = bounds_of("us")
    micros = f"case when unix_micros({column}) between {low} and {high} then unix_micros({column}) end"
    seconds = f"cast(cast({micros} as decimal(20, 0)) * 0.000001BD as decimal(18, 6))"
    return f"timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds})"


def check_frame(frame: Any) -> None:
    """Refuse a frame without an end, of a Spark that is too old, or whose columns Spark itself cannot tell apart."""
    if frame.isStreaming:
        remedy = "read the data that has arrived with spark.read"
        raise SourceError(
            "a streaming Spark frame", "it has no end, so it cannot be summed", remedy, code="streaming-frame"
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
                "Spark ignores case in column names",
                "rename one, or set spark.sql.caseSensitive to true",
                code="columns-differ-only-in-case-spark",
                other=other,
                column=name,
            )


def _open_session(master: str | None) -> Any:

    return open_session(master)


def list_files(files: Files, master: str | None) -> Files:
    """The files of a store, as Spark finds them, with the values of their folders; those of this machine are known."""
    if not files.is_unknown:
        return files
    session = _open_session(master)

    def find(pattern: str) -> list[str]:
        if pattern != files.paths[0]:
            return list(session.read.text(pattern).columns)  # fails where there is nothing
        return [unquote(path) for path in read_files(files, master).inputFiles()]

    return list_store(files, find, _unreadable(files))


def read_files(files: Files, master: str | None) -> Any:
    """A frame over Parquet files, read by Spark, with the values of their folders.

    Executors must find files of this machine under the same path.
    """
    session = _open_session(master)
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
        "Spark must be able to read every file and know the types of all columns",
        "try it in Spark itself, or leave engine out",
        code="not-opened-by-spark",
        source=files.said,
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


# Sessions of Spark: the running one, or a new one where files are to be read.
#
# A frame's own session is used as it is. A session for files is started here, quietly: what Java would print to a
# terminal may quote data.

OLDEST_JAVA = 17

PATIENCE = 5.0
"""Seconds to wait for a master before it counts as unreachable."""

INSTALL = "pip install gaussmith[spark]"
INSTALL_JAVA = (
    "install one, for example with apt install openjdk-17-jre-headless, brew install openjdk@17 or "
    "conda install openjdk=17, or set JAVA_HOME to an installed one"
)

QUIET = {
    "spark.app.name": "gaussmith",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def open_session(master: str | None) -> Any:
    """The running session, or a new one at `master` (by default all cores of this machine). Reads no data.

    Refuses with an error: no pyspark, a version that is too old, no Java, an unreachable master, another session.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise SourceError('engine="spark"', "pyspark is not installed", INSTALL, code="pyspark-not-installed")
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
    """The session of this process, if there is one: Spark allows only one."""
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
            f"a session at {without_secrets(found)!r} is already running in this process, and only one can run",
            "leave master out, or stop that session first",
            code="another-spark-session",
            master=without_secrets(master),
            found=without_secrets(found),
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
            code="spark-connect-not-installed",
            master=without_secrets(address),
        )
    problem = _not_started(
        address, "the server at this address did not open a session", code="spark-session-not-opened"
    )
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

    return attempt(start, _not_started(master, "Spark could not be started there", code="spark-not-started"))


def _not_started(master: str, rule: str, *, code: str) -> SourceError:
    remedy = "check the address, for example local[2], spark://host:7077 or sc://host:15002"
    return SourceError(f"master={without_secrets(master)!r}", rule, remedy, code=code, master=without_secrets(master))


def check_java() -> None:
    """Refuse a machine without a Java that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME={home!r} contains no Java" if home else "there is no Java on this machine"
        rule = f"{where}; Spark needs Java {OLDEST_JAVA} or newer"
        raise SourceError('engine="spark"', rule, INSTALL_JAVA, code="java-not-found", found=where)
    told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if version is not None and int(version[1]) < OLDEST_JAVA:
        rule = f"Spark needs Java {OLDEST_JAVA} or newer"
        raise SourceError(f"Java {version[1]}", rule, INSTALL_JAVA, code="java-too-old", version=version[1])


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
        code="spark-not-answering",
        master=without_secrets(master),
    )

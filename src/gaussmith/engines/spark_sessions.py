"""Sessions of Spark: the running one, or a new one where files are to be read.

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
import warnings
from typing import Any
from urllib.parse import urlsplit

from gaussmith.engines.addresses import without_secrets
from gaussmith.engines.failures import attempt
from gaussmith.engines.versions import check_range, check_version
from gaussmith.errors import SourceError

OLDEST_JAVA = 17

PATIENCE = 5.0
"""Seconds to wait for a master before it counts as unreachable."""

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
            f"a session at {without_secrets(found)!r} is running in this process, and there can be one",
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
        where = f"JAVA_HOME={home!r} holds no Java" if home else "there is no Java on this machine"
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

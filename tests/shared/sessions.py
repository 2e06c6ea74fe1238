"""Spark on this machine: whether it can run, and if not what is missing and how to get it."""

from __future__ import annotations

import importlib.util

from gaussmith.engines.spark import INSTALL, check_java
from gaussmith.errors import SourceError


def why_no_spark() -> str | None:
    if importlib.util.find_spec("pyspark") is None:
        return f"pyspark is not installed · {INSTALL}"
    try:
        check_java()
    except SourceError as error:
        return str(error)
    return None
